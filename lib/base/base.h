/* SPDX-License-Identifier: BSD-2-Clause */
/* Used by every file: attributes, small macros, fixed-width types. */
#ifndef SL_BASE_H
#define SL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define sl_likely(x) __builtin_expect(!!(x), 1)
/* noipa: keeps cold code from being inlined into the hot caller. */
#ifdef __clang__ /* builds the fuzzers; has no noipa */
#define SL_APART __attribute__((noinline))
#else
#define SL_APART __attribute__((noipa))
#endif
#define sl_unlikely(x) __builtin_expect(!!(x), 0)
/* Exported from libsluice.so; everything else is hidden (sluice.map has the list). */
#define SL_API          __attribute__((visibility("default")))
#define SL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define SL_CACHELINE    64
#define SL_ALIGNED      __attribute__((aligned(SL_CACHELINE)))
#define SL_COLD         __attribute__((cold, noinline))

#define sl_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
/* sl_container_of() for a pointer to const. */
#define sl_container_of_const(ptr, type, member)                                                   \
	((const type *)((const char *)(ptr)-offsetof(type, member)))
#define sl_array_len(a) (sizeof(a) / sizeof((a)[0]))
#ifdef __CPPCHECK__ /* cannot read statement expressions everywhere */
#define sl_min(a, b) ((a) < (b) ? (a) : (b))
#define sl_max(a, b) ((a) > (b) ? (a) : (b))
#else
#define sl_min(a, b)                                                                               \
	({                                                                                         \
		__typeof__(a) a_ = (a);                                                            \
		__typeof__(b) b_ = (b);                                                            \
		a_ < b_ ? a_ : b_;                                                                 \
	})
#define sl_max(a, b)                                                                               \
	({                                                                                         \
		__typeof__(a) a_ = (a);                                                            \
		__typeof__(b) b_ = (b);                                                            \
		a_ > b_ ? a_ : b_;                                                                 \
	})
#endif

#define sl_load(p)             __atomic_load_n((p), __ATOMIC_RELAXED)
#define sl_store(p, v)         __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define sl_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define sl_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Adds one word to a hash: multiplies by 2^64 over the golden ratio (Knuth, 6.4). The last word's
 * upper bits change only the upper bits of the hash, so index a table by the upper bits. A peer
 * that chooses the words can build collisions: use base/hash.h for a remote peer's values. */
static inline uint64_t sl_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Tell the core that this is a spin-wait loop. */
static inline void sl_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* For calls of others whose types have no const, though nothing is written there: struct iovec and
 * struct msghdr of a send, the argv of execve(2), the CMSG_* macros. Our own types have const, so
 * no other cast drops it (-Wcast-qual). */
static inline void *sl_unconst(const void *p)
{
	return (void *)(uintptr_t)p;
}

#endif
