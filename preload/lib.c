/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libsluice.so when it is needed.
 *
 * Theory of operation: most programs of a preloaded session (shells, tools) never open a socket
 * that could be offloaded. They get this small library alone; libsluice.so, and the libraries that
 * it needs, come with the first stream or datagram socket over IP or the first epoll set, and stay
 * out of the program's name space. Calls that the loading itself makes, on its thread, go to the
 * kernel. */
#include "named.h"
#include "real.h"

#include "base/memcheck.h"
#include "base/roomy_asm.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct sl_lib lib;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool loading;
static bool failed;
static bool netns_begun; /* before the library was there */

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
#define SL_LIB(name) {"sl_" #name, offsetof(struct sl_lib, name)},
#include "lib.def"
#undef SL_LIB
};

void (*sl_look_in_child)(void);

void sl_lib_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	load_lock = fresh; /* a thread of the parent may have held it */
	if (sl_look_in_child)
		sl_look_in_child();
	if (lib_is_there())
		lib.fork_child();
}

/* Writes one line to stderr: there is no log yet. (Not by REAL(): a look-up would free the text
 * that dlerror() returned. A pipe that nobody reads, and a limit of a file's size, make no signal
 * for the program.) */
static void complain(const char *why)
{
	const uint64_t both = 1ull << (SIGPIPE - 1) | 1ull << (SIGXFSZ - 1);
	const struct timespec now = {0, 0};
	uint64_t old, pending = 0, caused;
	struct iovec line[] = {
		{"Sluice WARNING: everything stays with the kernel: ", 50},
		{sl_unconst(why), strlen(why)},
		{"\n", 1},
	};

	if (sl_raw(SYS_rt_sigprocmask, SIG_BLOCK, &both, &old, 8))
		return;
	sl_raw(SYS_rt_sigpending, &pending, 8);
	caused = sl_raw(SYS_writev, STDERR_FILENO, line, 3) < 0 ? both & ~pending : 0;
	if (caused)
		sl_raw(SYS_rt_sigtimedwait, &caused, NULL, &now, 8);
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
}

static bool resolve(void *so)
{
	struct sl_lib found;

	for (size_t i = 0; i < sl_array_len(symbols); i++) {
		void *f = sl_real_dlsym()(so, symbols[i].name);

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
static char start_dir[PATH_MAX]; /* with a slash at its end; "" if not needed */

/* Keeps the starting directory if LD_PRELOAD has a relative path: the program may change its
 * directory before the library is needed. (Runs before a sanitizer is ready.) */
__attribute__((constructor, no_sanitize("address", "undefined", "thread"))) static void
note_start_dir(void)
{
	Dl_info self;
	long n;

	if (!dladdr(&lib, &self) || !self.dli_fname || self.dli_fname[0] == '/')
		return;
	n = sl_raw(SYS_getcwd, start_dir, sizeof(start_dir)); /* with the zero at the end */
	if (n > 0 && n < (long)sizeof(start_dir) && start_dir[0] == '/')
		start_dir[n - 1] = '/';
	else
		start_dir[0] = 0;
}

/* Opens the library beside this one, else where the system has it. (The run path would do, but a
 * sanitizer puts itself between this library and dlopen().) Never unloaded. */
static void *open_lib(void)
{
	char path[2 * PATH_MAX], *slash;
	void *so = NULL;
	Dl_info self;
	size_t n;

	if (dladdr(&lib, &self) && self.dli_fname && (self.dli_fname[0] == '/' || start_dir[0])) {
		n = self.dli_fname[0] == '/' ? 0 : strlen(start_dir);
		if (n + strlen(self.dli_fname) + sizeof(name) < sizeof(path)) {
			memcpy(path, start_dir, n);
			strcpy(path + n, self.dli_fname);
			slash = strrchr(path, '/');
			memcpy(slash + 1, name, sizeof(name));
			so = REAL(dlopen)(path, how);
		}
	}
	return so ? so : REAL(dlopen)(name, how);
}

static void load_library(void)
{
	void *so;

	/* The program has rights that its user has not (set-user-ID, file capabilities). Settings
	 * and files of that user must not steer it, so everything stays with the kernel. */
	if (getauxval(AT_SECURE)) {
		sl_store(&failed, true);
		return;
	}
	so = open_lib();
	if (so && resolve(so)) {
		pthread_atfork(NULL, NULL, sl_lib_child);
		sl_faults_begin();
		if (sl_load(&netns_begun))
			lib.netns_begin();
		return;
	}
	sl_store(&failed, true);
	complain(so ? "libsluice.so.1 is of another version" : dlerror());
}

#ifdef SL_ROOMY_SWITCH
SL_ROOMY_SWITCH(sl_load_switch);
long sl_load_switch(uintptr_t fn, const long arg[6], void *top);
#define STACK_BYTES (512 << 10)

/* The dynamic linker needs more stack than the program's thread may have. No handler of the
 * program runs on the other stack, and the thread is not cancelled there (base/roomy.h). */
static void load_roomy(void)
{
	static const long none[6];
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	uint64_t all = ~0ull, mask;
	uintptr_t number;
	int cancel;

	if (stack == MAP_FAILED) {
		load_library();
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	number = sl_memcheck(SL_MEMCHECK_STACK, (uintptr_t)stack, (uintptr_t)stack + STACK_BYTES);
	sl_load_switch((uintptr_t)load_library, none, stack + STACK_BYTES);
	(void)sl_memcheck(SL_MEMCHECK_STACK_GONE, number, 0);
	sl_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	pthread_setcancelstate(cancel, NULL);
	munmap(stack, STACK_BYTES);
}
#else
#define load_roomy load_library
#endif

const char *sl_all_left;

bool sl_leave_tell(void)
{
	static bool told;
	const char *why = sl_load_acquire(&sl_all_left);

	if (sl_likely(!why))
		return true;
	if (lib_is_there() && !sl_in_vfork && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		lib.kernel_only(why);
	return false;
}

void sl_leave_all(const char *why)
{
	int saved = errno;

	if (!sl_load(&sl_all_left))
		sl_store_release(&sl_all_left, why);
	sl_leave_tell();
	errno = saved;
}

void sl_netns_changes(void)
{
	if (sl_in_vfork)
		return;
	sl_store(&netns_begun, true);
	if (lib_is_there())
		lib.netns_begin();
}

void sl_lib_never(void)
{
	sl_store(&failed, true);
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
		load_roomy();
	loading = false;
	pthread_mutex_unlock(&load_lock);
	errno = saved;
	return lib_is_there();
}
