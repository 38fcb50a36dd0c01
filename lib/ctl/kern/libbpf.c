/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libbpf and libxdp, and looks their functions up. */
#include "ctl/kern/libbpf.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/lock.h"
#include "base/roomy.h"
#include "ctl/kern/say.h"

static struct sl_libbpf lib;
static bool loaded; /* lib is whole */

/* The handles stay open: the functions are used until the process ends. */
static bool look_up(struct sl_libbpf *to)
{
	void *bpf = dlopen("libbpf.so.1", RTLD_NOW | RTLD_LOCAL);
	void *xdp = dlopen("libxdp.so.1", RTLD_NOW | RTLD_LOCAL);
	void *from = bpf;

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
