/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libsluice.so when it is needed.
 *
 * Theory of operation: most programs of a preloaded session (shells, tools) never open a socket
 * that could be offloaded. They get this small library alone; libsluice.so, and the libraries that
 * it stands on, come with the first datagram socket or epoll set, and stay out of the program's
 * name space. What the loading itself calls, on its thread, is the kernel's. */
#include "real.h"

#include <dlfcn.h>

struct sl_lib lib;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool loading;
static bool failed;

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
#define SL_LIB(name) {"sl_" #name, offsetof(struct sl_lib, name)},
#include "lib.def"
#undef SL_LIB
};

static void fork_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	load_lock = fresh; /* a thread of the parent may have held it */
	if (lib_is_there())
		lib.fork_child();
}

/* One line, since there is no log yet. */
static void complain(const char *why)
{
	struct iovec line[] = {
		{"Sluice WARNING: everything stays with the kernel: ", 50},
		{(void *)why, strlen(why)},
		{"\n", 1},
	};

	(void)!REAL(writev)(STDERR_FILENO, line, 3);
}

static bool resolve(void *so)
{
	struct sl_lib found;

	for (size_t i = 0; i < sl_array_len(symbols); i++) {
		void *f = dlsym(so, symbols[i].name);

		if (!f)
			return false;
		memcpy((char *)&found + symbols[i].at, &f, sizeof(f));
	}
	__typeof__(found.is_ours) is_ours = found.is_ours;

	found.is_ours = NULL;
	lib = found;
	sl_store_release(&lib.is_ours, is_ours);
	return true;
}

static void load(void)
{
	/* From $ORIGIN (our run path), else from where the system has it. Never unloaded. */
	void *so = dlopen("libsluice.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (so && resolve(so)) {
		pthread_atfork(NULL, NULL, fork_child);
		return;
	}
	sl_store(&failed, true);
	complain(so ? "libsluice.so.1 is of another version" : dlerror());
}

bool sl_lib_load(void)
{
	int saved = errno;

	if (sl_likely(lib_is_there()))
		return true;
	if (loading || sl_load(&failed))
		return false;
	pthread_mutex_lock(&load_lock);
	loading = true;
	if (!lib_is_there() && !failed)
		load();
	loading = false;
	pthread_mutex_unlock(&load_lock);
	errno = saved;
	return lib_is_there();
}
