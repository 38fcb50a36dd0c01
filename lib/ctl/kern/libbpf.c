/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libbpf and libxdp, and looks their functions up. */
#include "ctl/kern/libbpf.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/lock.h"
#include "base/names.h"
#include "base/roomy.h"
#include "ctl/kern/say.h"

static struct sl_libbpf lib;
static bool loaded; /* lib is whole */
static bool clash;  /* the program has functions of the same names, and libbpf would call these */

/* A program may have functions of such names (dnsdist has a bpf_prog_load(), others are linked with
 * libbpf statically and export it). The libraries' own calls would reach the program's functions.
 * (Names that only the libraries call are not looked for.) */
static bool names_are_taken(void)
{
	bool taken = false;

#define X(name) taken = taken || sl_name_is_from_elsewhere(#name, file);
	const char *file = "libbpf.so.";
	SL_LIBBPF_CALLS(X)
	file = "libxdp.so.";
	SL_LIBXDP_CALLS(X)
#undef X
	(void)dlerror(); /* of names that are not there */
	return taken;
}

/* The libraries free memory that the skeletons have allocated here, so they need the program's
 * malloc(3). A library that is loaded already stays bound as it is. */
static int mode_of_load(void)
{
	return sl_name_mode(!sl_name_is_loaded("/libbpf.so.1") &&
				    !sl_name_is_loaded("/libxdp.so.1"),
			    names_are_taken);
}

/* The handles stay open: the functions are used until the process ends. */
static bool look_up(struct sl_libbpf *to)
{
	int mode = mode_of_load();
	void *bpf = mode ? dlopen("libbpf.so.1", mode) : NULL;
	void *xdp = mode ? dlopen("libxdp.so.1", mode) : NULL;
	void *from = bpf;

	sl_store(&clash, !mode);
	if (!bpf || !xdp)
		return false;
#define X(name)                                                                                    \
	to->name##_ = (__typeof__(to->name##_))dlsym(from, #name);                                 \
	if (!to->name##_)                                                                          \
		return false;
	SL_LIBBPF_CALLS(X)
	from = xdp;
	SL_LIBXDP_CALLS(X)
#undef X
	return true;
}

int sl_libbpf_load(const char **why)
{
	static struct sl_lock lock;
	struct sl_libbpf found;

	if (sl_load_acquire(&loaded))
		return 0;
	if (!SL_ROOMY(look_up, &found)) {
		const char *text = dlerror();

		if (sl_load(&clash))
			sl_why(why, "the program has functions of libbpf's names; remedy: start "
				    "sluiced(8)");
		else
			sl_why(why, "%s; remedy: install libbpf (libbpf1) and libxdp (libxdp1)",
			       text ? text : "libbpf or libxdp is too old");
		return -ELIBACC;
	}
	/* (Two threads may come at once: neither waits for the other in dlopen(3).) */
	sl_lock(&lock);
	if (!loaded) {
		lib = found;
		sl_store_release(&loaded, true);
	}
	sl_unlock(&lock);
	return 0;
}

const struct sl_libbpf *sl_libbpf(void)
{
	if (sl_unlikely(!sl_load_acquire(&loaded)))
		(void)sl_libbpf_load(NULL);
	return &lib;
}
