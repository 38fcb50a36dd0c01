/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libsluice.so when it is needed.
 *
 * Theory of operation: most programs of a preloaded session (shells, tools) never open a socket
 * that could be offloaded. They get this small library alone; libsluice.so, and the libraries that
 * it stands on, come with the first datagram socket or epoll set, and stay out of the program's
 * name space. What the loading itself calls, on its thread, is the kernel's. */
#include "real.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

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

void sl_lib_child(void)
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

	/* Not by REAL: a look-up would free what dlerror() said. */
	syscall(SYS_writev, STDERR_FILENO, line, 3);
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
	lib.signal_asker(sl_in_signal);
	sl_store_release(&lib.is_ours, is_ours);
	return true;
}

static const char name[] = "libsluice.so.1";
static const int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
static char beside[PATH_MAX];

/* "/proc/self/fd/N" (without stdio, which is not there yet). */
static void link_of(char link[32], int fd)
{
	static const char head[] = "/proc/self/fd/";
	char digits[12];
	int n = 0;
	char *to = link + sizeof(head) - 1;

	memcpy(link, head, sizeof(head) - 1);
	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	while (n > 0)
		*to++ = digits[--n];
	*to = 0;
}

/* The program may change its directory before the library is needed, and LD_PRELOAD may have a
 * relative path: the absolute one is found now. */
__attribute__((constructor)) static void find_lib(void)
{
	char link[32], *slash;
	ssize_t n = -1;
	Dl_info self;
	int fd;

	if (!dladdr(&lib, &self) || !self.dli_fname)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, self.dli_fname, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		link_of(link, fd);
		n = syscall(SYS_readlinkat, AT_FDCWD, link, beside, sizeof(beside) - sizeof(name));
		syscall(SYS_close, fd);
	}
	beside[n > 0 ? n : 0] = 0;
	/* Without /proc the loader's word is all there is. */
	if (n <= 0 && self.dli_fname[0] == '/' &&
	    strlen(self.dli_fname) < sizeof(beside) - sizeof(name))
		strcpy(beside, self.dli_fname);
	slash = beside[0] == '/' ? strrchr(beside, '/') : NULL;
	if (slash)
		memcpy(slash + 1, name, sizeof(name));
	else
		beside[0] = 0;
}

/* Beside this library, else where the system has it. (The run path would do, but for sanitizers,
 * which put themselves between us and dlopen.) Never unloaded. */
static void *open_lib(void)
{
	void *so = beside[0] ? dlopen(beside, how) : NULL;

	return so ? so : dlopen(name, how);
}

static void load(void)
{
	void *so;

	/* The program has rights that its user has not (set-user-ID, file capabilities): what that
	 * user says and has written is not for it, so everything is the kernel's. */
	if (getauxval(AT_SECURE)) {
		sl_store(&failed, true);
		return;
	}
	so = open_lib();
	if (so && resolve(so)) {
		pthread_atfork(NULL, NULL, sl_lib_child);
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
	if (loading || sl_load(&failed) || sl_in_signal())
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
