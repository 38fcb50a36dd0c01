/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own heap: lists of free blocks by size, without locks.
 *
 * Theory of operation: memory comes from the kernel in regions of 1 MiB at multiples of that. A
 * region's first page says for each of its pages which class of sizes stands there. A class hands
 * out blocks of one size from a list of free ones (a stack of Treiber's); an empty list gets a run
 * of pages, cut up. A block larger than the largest class has a region of its own, as many times 1
 * MiB long as it needs. Pages of a region never go back to the kernel, so the lists are safe: a
 * thread may read the link of a block that another one has taken meanwhile, and then finds the head
 * changed. For this the head has a count beside the address, in the bits that a block's address
 * does not need (it is below 2^47, at a multiple of 16). */
#include "base/heap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAIN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLAIN_MALLOC 1
#endif
#endif

#ifdef PLAIN_MALLOC

#include <stdlib.h>

void *sl_malloc(size_t bytes)
{
	return malloc(bytes);
}

void *sl_calloc(size_t n, size_t bytes)
{
	return calloc(n, bytes);
}

void *sl_realloc(void *mem, size_t bytes)
{
	return realloc(mem, bytes);
}

void *sl_aligned_alloc(size_t align, size_t bytes)
{
	return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

void sl_free(void *mem)
{
	free(mem);
}

#else

#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"

#define REGION    (1ul << 20)
#define PAGE      4096ul
#define PAGES     (REGION / PAGE)
#define CLASSES   40
#define CLASS_MAX (32ul << 10)
/* Least bytes of a run of pages that is cut into blocks: few, so that a class with few users
 * touches little memory. */
#define RUN_BYTES (2 * PAGE)

/* In a region's first page. */
struct region {
	size_t bytes;         /* of a block that has the region to itself; 0: pages of classes */
	size_t mapped;        /* the region's length then */
	uint32_t next;        /* the first page that was not given out yet; atomic */
	uint8_t class[PAGES]; /* of each page */
};

struct block {
	struct block *next;
};

/* Free blocks of a size: the first one's address, and a count of changes. One cache line each. */
static struct {
	uint64_t head;
} __attribute__((aligned(SL_CACHELINE))) lists[CLASSES];
static struct region *current; /* where the next run of pages comes from */

#define COUNT_BITS 20 /* 64 - (47 - 4), less one to spare */

static uint64_t head_of(const struct block *b, uint64_t was)
{
	uint64_t count = (was + 1) & ((1ul << COUNT_BITS) - 1);

	return (uint64_t)(uintptr_t)b >> 4 << COUNT_BITS | count;
}

static struct block *block_of(uint64_t head)
{
	return (struct block *)(uintptr_t)(head >> COUNT_BITS << 4);
}

/* The class for that size. Sizes: 16, 32, ... 128, then four to a doubling. */
static unsigned class_of(size_t bytes)
{
	unsigned order;

	if (bytes <= 128)
		return bytes ? (unsigned)(bytes - 1) / 16 : 0;
	order = 63 - (unsigned)__builtin_clzl(bytes - 1); /* 7: 129 to 256 */
	return 8 + (order - 7) * 4 + (unsigned)((bytes - 1) >> (order - 2) & 3);
}

static size_t class_bytes(unsigned class)
{
	if (class < 8)
		return (class + 1) * 16ul;
	class -= 8;
	return (5ul + class % 4) << (5 + class / 4);
}

static struct region *region_of(const void *mem)
{
	return (struct region *)((uintptr_t)mem & ~(REGION - 1));
}

/* Maps whole regions, at a multiple of a region's size. They are not in core dumps, like all memory
 * of the library's. */
static struct region *map_regions(size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t asked = bytes + REGION, before;
	char *at;
	void *mem;

	if (asked < bytes || sl_sys_mmap(&mem, NULL, asked, flags, -1, 0) < 0)
		return NULL;
	at = (char *)(((uintptr_t)mem + REGION - 1) & ~(REGION - 1));
	before = (size_t)(at - (char *)mem);
	if (before)
		sl_sys(SYS_munmap, mem, before);
	if (REGION - before)
		sl_sys(SYS_munmap, at + bytes, REGION - before);
	sl_sys(SYS_madvise, at, bytes, MADV_DONTDUMP); /* (tells it from the program's memory) */
	return (struct region *)at;
}

/* Takes pages that were not given out yet. NULL: there is no memory. */
static char *take_pages(unsigned npages, unsigned class)
{
	struct region *r, *fresh;
	uint32_t at;

	while (true) {
		r = sl_load_acquire(&current);
		at = r ? sl_load(&r->next) : PAGES;
		while (at + npages <= PAGES)
			if (__atomic_compare_exchange_n(&r->next, &at, at + npages, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				goto taken;
		fresh = map_regions(REGION);
		if (!fresh)
			return NULL;
		fresh->next = 1;
		if (!__atomic_compare_exchange_n(&current, &r, fresh, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			sl_sys(SYS_munmap, fresh, REGION); /* another thread was faster */
	}
taken:
	memset(r->class + at, (int)class, npages);
	return (char *)r + at * PAGE;
}

/* Puts a chain of free blocks on their list. */
static void put_chain(unsigned class, struct block *first, struct block *last)
{
	uint64_t head = sl_load(&lists[class].head);

	do
		__atomic_store_n(&last->next, block_of(head), __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&lists[class].head, &head, head_of(first, head), true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Cuts new pages up: one block is the caller's, the others are put on the list. */
static void *cut_pages(unsigned class)
{
	size_t bytes = class_bytes(class);
	unsigned npages = (unsigned)(((bytes > RUN_BYTES ? bytes : RUN_BYTES) + PAGE - 1) / PAGE);
	char *mem = take_pages(npages, class);
	size_t n = npages * PAGE / bytes;

	if (!mem)
		return NULL;
	for (size_t i = 1; i + 1 < n; i++)
		((struct block *)(mem + i * bytes))->next = (struct block *)(mem + (i + 1) * bytes);
	if (n > 1)
		put_chain(class, (struct block *)(mem + bytes),
			  (struct block *)(mem + (n - 1) * bytes));
	return mem;
}

static void *take_block(unsigned class)
{
	uint64_t head = __atomic_load_n(&lists[class].head, __ATOMIC_ACQUIRE);
	struct block *b, *next;

	do {
		b = block_of(head);
		if (!b)
			return cut_pages(class);
		/* The link is rubbish if another thread took b meanwhile; the count differs then.
		 */
		next = __atomic_load_n(&b->next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&lists[class].head, &head, head_of(next, head), true,
					      __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return b;
}

static void *take_large(size_t bytes)
{
	size_t mapped = (bytes + PAGE + PAGE - 1) & ~(PAGE - 1);
	struct region *r = mapped > bytes ? map_regions(mapped) : NULL;

	if (!r)
		return NULL;
	r->bytes = bytes;
	r->mapped = mapped;
	return (char *)r + PAGE;
}

void *sl_malloc(size_t bytes)
{
	return bytes <= CLASS_MAX ? take_block(class_of(bytes)) : take_large(bytes);
}

void *sl_calloc(size_t n, size_t bytes)
{
	size_t all;
	void *mem;

	if (__builtin_mul_overflow(n, bytes, &all))
		return NULL;
	if (all > CLASS_MAX)
		return take_large(all); /* zeroes, from the kernel */
	mem = sl_malloc(all);
	return mem ? memset(mem, 0, all) : NULL;
}

void *sl_aligned_alloc(size_t align, size_t bytes)
{
	unsigned class;

	if (bytes < align)
		bytes = align;
	if (bytes > CLASS_MAX)
		return take_large(bytes);
	/* Runs of pages start at a page: blocks of a size stand at its multiples from there. */
	for (class = class_of(bytes); class < CLASSES; class ++)
		if (class_bytes(class) % align == 0)
			return take_block(class);
	return take_large(bytes);
}

static size_t bytes_of(const void *mem)
{
	const struct region *r = region_of(mem);

	return r->bytes ? r->bytes : class_bytes(r->class[((uintptr_t)mem & (REGION - 1)) / PAGE]);
}

void sl_free(void *mem)
{
	struct region *r = region_of(mem);
	struct block *b = mem;

	if (!mem)
		return;
	if (r->bytes)
		sl_sys(SYS_munmap, r, r->mapped);
	else
		put_chain(r->class[((uintptr_t)mem & (REGION - 1)) / PAGE], b, b);
}

void *sl_realloc(void *mem, size_t bytes)
{
	size_t had = mem ? bytes_of(mem) : 0;
	void *to;

	if (mem && bytes <= had && (bytes > CLASS_MAX || class_bytes(class_of(bytes)) == had))
		return mem;
	to = sl_malloc(bytes);
	if (to && mem) {
		memcpy(to, mem, had < bytes ? had : bytes);
		sl_free(mem);
	}
	return to;
}

#endif
