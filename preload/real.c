/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the C library's own functions, each at its first use.
 *
 * Theory of operation: there is no set-up, so it works before constructors run and costs a program
 * only the calls that it makes. dlsym() may allocate, and an allocator may read or write files: a
 * call made while this thread is inside dlsym() is answered by the raw system call. So is a call
 * that this C library does not have. */
#include "named.h"
#include "real.h"

#include <dlfcn.h>
#include <sys/syscall.h>

void *sl_real_table[SL_CALL_COUNT];
static __thread bool looking;

/* Numbers that this architecture's kernel does not have answer ENOSYS. */
#ifndef SYS_dup2
#define SYS_dup2 -1
#endif
#ifndef SYS_select
#define SYS_select -1
#endif
#ifndef SYS_poll
#define SYS_poll -1
#endif
#ifndef SYS_epoll_create
#define SYS_epoll_create -1
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait -1
#endif

#define RAW_ARGS(...) __VA_ARGS__
#define SL_CALL(result, name, params, raw)                                                         \
	static result raw_##name params                                                            \
	{                                                                                          \
		return (result)sl_raw(RAW_ARGS raw);                                               \
	}
#include "calls.def"
#undef SL_CALL

static const struct {
	const char *name;
	void *raw;
} calls[] = {
#define SL_CALL(result, name, params, raw) [SL_CALL_##name] = {#name, (void *)raw_##name},
#include "calls.def"
#undef SL_CALL
};

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.34"
#endif

__attribute__((SL_EARLY)) sl_dlsym_fn *sl_real_dlsym(void)
{
	static sl_dlsym_fn *f;
	sl_dlsym_fn *found = sl_load(&f);

	if (!found) {
		found = (sl_dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
		sl_store(&f, found);
	}
	return found;
}

void *sl_real_find(enum sl_call call)
{
	int saved = errno;
	void *f;

	if (looking)
		return calls[call].raw;
	looking = true;
	f = sl_real_dlsym()(RTLD_NEXT, calls[call].name);
	looking = false;
	errno = saved;
	if (!f)
		f = calls[call].raw;
	sl_store(&sl_real_table[call], f);
	return f;
}
