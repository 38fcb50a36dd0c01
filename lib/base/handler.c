/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers: is this one (handler.h), and the return from guarded functions (guard.h). The
 * compiler's unwinder (libgcc) takes no memory; it reads the tables that -fexceptions puts beside
 * all code of the library, and those that the C library has for memcpy(). */
#include "base/guard.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "base/handler.h"

bool (*sl_handler_ask)(void);

#define FRAMES 16 /* looked at from the handler on: the faulting function is at most two away */
#define PAGE   4096

/* The fields of a frame are read from its neighbour's view of it, by number (DWARF). */
#if defined(__x86_64__)
static const struct {
	int dwarf, greg;
} saved[] = {{3, REG_RBX},  {6, REG_RBP},  {12, REG_R12},
	     {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};
#endif

extern const struct sl_guarded __start_sl_guarded[], __stop_sl_guarded[];

struct walk {
	ucontext_t *at;
	uintptr_t fault_ip;
	unsigned frames;
	bool faulted;                /* the walk has come to the frame that faulted */
	const struct sl_guarded *of; /* the guarded function; the next frame is its caller's */
	bool done;
};

static const struct sl_guarded *guarded(uintptr_t fn)
{
	for (const struct sl_guarded *g = __start_sl_guarded; g < __stop_sl_guarded; g++)
		if ((uintptr_t)g->fn == fn)
			return g;
	return NULL;
}

/* A shadow stack would not fit after the jump. */
static bool has_shadow_stack(void)
{
#if defined(__x86_64__)
	uint64_t ssp = 0;

	__asm__ volatile("rdsspq %0" : "+r"(ssp)); /* no operation without one */
	return ssp;
#else
	return false;
#endif
}

#if defined(__x86_64__)
static uintptr_t fault_ip(const ucontext_t *c)
{
	return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}

/* The thread goes on in frame f, as if the function that it called had returned `value`. */
static void return_to(ucontext_t *c, struct _Unwind_Context *f, uint64_t value)
{
	greg_t *r = c->uc_mcontext.gregs;

	for (size_t i = 0; i < sl_array_len(saved); i++)
		r[saved[i].greg] = (greg_t)_Unwind_GetGR(f, saved[i].dwarf);
	r[REG_RSP] = (greg_t)_Unwind_GetCFA(f);
	r[REG_RIP] = (greg_t)_Unwind_GetIP(f);
	r[REG_RAX] = (greg_t)value;
	r[REG_EFL] &= ~0x400; /* direction flag */
}
#elif defined(__aarch64__)
static uintptr_t fault_ip(const ucontext_t *c)
{
	return (uintptr_t)c->uc_mcontext.pc;
}

/* (The functions below a guarded one keep no floating-point register: v8 to v15 are unchanged.) */
static void return_to(ucontext_t *c, struct _Unwind_Context *f, uint64_t value)
{
	for (int i = 19; i <= 29; i++)
		c->uc_mcontext.regs[i] = _Unwind_GetGR(f, i);
	c->uc_mcontext.sp = _Unwind_GetCFA(f);
	c->uc_mcontext.pc = _Unwind_GetIP(f);
	c->uc_mcontext.regs[0] = value;
}
#else
static uintptr_t fault_ip(const ucontext_t *c)
{
	return 0;
}

static void return_to(ucontext_t *c, struct _Unwind_Context *f, uint64_t value)
{
}
#endif

static _Unwind_Reason_Code look(struct _Unwind_Context *f, void *arg)
{
	struct walk *w = arg;

	if (w->of) {
		return_to(w->at, f, w->of->failed);
		w->done = true;
		return _URC_END_OF_STACK;
	}
	if (++w->frames > FRAMES)
		return _URC_END_OF_STACK;
	if (!w->faulted && (uintptr_t)_Unwind_GetIP(f) == w->fault_ip) {
		w->faulted = true;
		w->frames = FRAMES - 4;
	}
	if (w->faulted)
		w->of = guarded((uintptr_t)_Unwind_GetRegionStart(f));
	return _URC_NO_REASON;
}

bool sl_guard_return(void *context)
{
	struct walk w = {.at = context, .fault_ip = fault_ip(context)};

	if (!w.fault_ip || has_shadow_stack())
		return false;
	_Unwind_Backtrace(look, &w);
	return w.done;
}

/* The guarded functions of this room --------------------------------------------------------------
 */

SL_APART int sl_guard_copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return 0;
}
SL_GUARDED(sl_guard_copy, (uint64_t)-EFAULT);

SL_APART int sl_guard_touch(const void *p, size_t n)
{
	const volatile char *at = p, *last = (const char *)((uintptr_t)p + n - 1);

	if (!n)
		return 0;
	if (!p || last < at)
		return -EFAULT;
	for (; at < last; at += PAGE)
		(void)*at;
	(void)*last;
	return 0;
}
SL_GUARDED(sl_guard_touch, (uint64_t)-EFAULT);

SL_APART int sl_guard_touch_out(void *p, size_t n)
{
	char *at = p, *last = (char *)((uintptr_t)p + n - 1);

	if (!n)
		return 0;
	if (!p || last < at)
		return -EFAULT;
	for (; at < last; at += PAGE)
		__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
	__atomic_fetch_or(last, 0, __ATOMIC_RELAXED);
	return 0;
}
SL_GUARDED(sl_guard_touch_out, (uint64_t)-EFAULT);
