/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: one memfd for a group, registered with each of its devices; and the group's shared
 * memory, which says which member has which frames (base/share/share.h). */
#include "ctl/umem/umem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/apart.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/reserve.h"
#include "base/share/share_bounce.h"
#include "base/sys.h"
#include "ctl/device/dev.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/pair.h"
#include "ctl/kern/memcg.h"
#include "ctl/kern/say.h"
#include "ctl/umem/memory.h"

static struct sl_umem *umems;

/* Memory of the program's own for the packets of a process alone. */
static struct {
	void *(*alloc)(size_t bytes);
	void (*release)(void *mem);
	void *mem; /* what alloc() gave; NULL: not used */
} programs;

void sl_umem_alloc_by(void *(*alloc)(size_t bytes), void (*release)(void *mem))
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	programs.alloc = alloc;
	if (!programs.mem)
		programs.release = release;
	sl_broker_leave(&g);
}

bool sl_umem_is_programs(void)
{
	return sl_load(&programs.mem) != NULL;
}

struct sl_umem *sl_umem_first(void)
{
	return umems;
}

struct sl_umem *sl_umem_find(uint32_t id)
{
	struct sl_umem *u = umems;

	while (u && u->info.id != id)
		u = u->next;
	return u;
}

static void file_close(int fd)
{
	if (fd >= 0)
		sl_sys_close(fd);
}

static size_t umem_bytes(const struct sl_umem_info *u)
{
	size_t bytes = (size_t)u->nframes * u->frame_size;

	return u->huge ? sl_pages_whole(bytes) : bytes;
}

/* Leaves the structs where they are: freeing is not async-signal-safe. */
void sl_umem_child(void)
{
	for (struct sl_umem *u = umems; u; u = u->next) {
		file_close(u->info.memfd);
		file_close(u->info.share_fd);
		file_close(u->info.told_fd);
		(void)sl_apart_hole(u->info.base, umem_bytes(&u->info));
		(void)sl_apart_hole(u->share_mem, u->share_bytes);
		(void)sl_apart_hole(u->info.share.told, u->info.geometry.told_bytes);
	}
	umems = NULL;
}

/* Copies this process's own frames, so that it can read them after the memory has gone. */
static void copy_frames(const struct sl_umem_info *u, char *copy)
{
	for (uint32_t f = 0; f < u->nframes; f++) {
		union sl_frame_word w = {.all = sl_load(&u->share.word[f].all)};
		size_t at = (size_t)f * u->frame_size;

		if (w.owner == u->member && w.refs)
			memcpy(copy + at, (const char *)u->base + at, u->frame_size);
	}
}

static void frames_become_private(const struct sl_umem_info *u, size_t bytes)
{
	char *copy = sl_apart_copy(bytes);

	if (copy)
		copy_frames(u, copy);
	if (sl_apart_become(u->base, copy, bytes))
		sl_warn("mem", "packet memory stays mapped: no memory to take its place");
}

/* The pool's lock is held meanwhile, and released in the copy. */
static void share_becomes_private(const struct sl_umem_info *u, void *mem, size_t bytes)
{
	struct sl_rlock *lock = &u->share.head->lock;
	bool locked = sl_rlock(lock, u->member);
	void *copy = sl_apart_copy(bytes);

	if (copy)
		memcpy(copy, mem, bytes);
	if (sl_apart_become(mem, copy, bytes))
		sl_warn("mem", "the state of the frames stays mapped: no memory");
	if (locked && sl_rlock_holder(lock))
		sl_runlock(lock);
}

static void told_becomes_private(const struct sl_umem_info *u)
{
	void *copy = sl_apart_copy(u->geometry.told_bytes);

	if (copy)
		memcpy(copy, u->share.told, u->geometry.told_bytes);
	if (sl_apart_become(u->share.told, copy, u->geometry.told_bytes))
		sl_warn("mem", "what the group was told stays mapped: no memory");
}

void sl_umem_part(struct sl_umem_info *u, void *share_mem, size_t share_bytes)
{
	if (!u->base)
		return;
	frames_become_private(u, umem_bytes(u));
	share_becomes_private(u, share_mem, share_bytes);
	told_becomes_private(u);
	file_close(u->memfd);
	file_close(u->share_fd);
	file_close(u->told_fd);
	u->memfd = u->share_fd = u->told_fd = -1;
}

void sl_umem_part_all(void)
{
	for (struct sl_umem *u = umems; u; u = u->next)
		sl_umem_part(&u->info, u->share_mem, u->share_bytes);
	umems = NULL;
}

/* Makes a file in memory of that size. A process that gets the descriptor must not be able to take
 * memory away from the others. */
static int memory_file(const char *name, unsigned flags, size_t bytes)
{
	int fd, err;

	if (!sl_file_fits(bytes))
		return -EFBIG;
	fd = sl_fd_keep(sl_sysi(SYS_memfd_create, name, flags | MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return fd;
	err = (int)sl_sys(SYS_ftruncate, fd, bytes);
	if (err) {
		sl_sys_close(fd);
		return err;
	}
	sl_sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

/* True: go on without a file. A process alone may, where its limit of files' sizes (ulimit -f) is
 * too low; a daemon passes its memory on, so it needs the file. */
static bool does_without_file(int err)
{
	return err == -EFBIG && !sl_broker_opts()->serve;
}

static int umem_map(size_t bytes, bool huge, struct sl_umem_info *u, size_t *mapped)
{
	int fd, err;

	if (huge)
		bytes = sl_pages_whole(bytes);
	fd = memory_file("sluice-umem", huge ? MFD_HUGETLB : 0, bytes);
	if (fd < 0 && !does_without_file(fd))
		return fd;
	u->base = fd < 0 ? sl_pages_map_anon(bytes, huge) : sl_pages_map(fd, bytes);
	if (!u->base) {
		err = -errno;
		file_close(fd);
		return err;
	}
	u->memfd = fd < 0 ? -1 : fd;
	u->huge = huge;
	*mapped = bytes;
	return 0;
}

/* Makes the file with the daemon's messages to its members. The next daemon maps it for writing,
 * too, so it is not sealed against that: members get descriptors for reading, and cannot open the
 * file for more. */
static int told_make(struct sl_umem_info *u, void **told)
{
	size_t bytes = u->geometry.told_bytes;
	int err = 0, fd = -1;

	if (sl_broker_opts()->serve) {
		fd = memory_file("sluice-told", 0, bytes);
		if (fd < 0)
			return fd;
		err = sl_file_freeze(fd);
	}
	if (!err)
		err = sl_sys_mmap(told, NULL, bytes,
				  fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (!err && fd >= 0) {
		err = sl_reserve_shared(*told, bytes);
		if (err)
			munmap(*told, bytes);
	}
	if (err) {
		file_close(fd);
	} else {
		sl_apart(*told, bytes);
		u->told_fd = fd;
	}
	return err;
}

/* A daemon waits for no lock of a group, and watches all of them (base/share/share_watch.h). */
static int watch_make(struct sl_umem *u)
{
	u->info.share.wary = true;
	u->watch = sl_calloc(u->info.geometry.nqueues + 1, sizeof(*u->watch));
	return u->watch ? 0 : -ENOMEM;
}

static void share_unmap(struct sl_umem *u)
{
	if (u->share_mem)
		munmap(u->share_mem, u->share_bytes);
	if (u->info.share.told)
		munmap(u->info.share.told, u->info.geometry.told_bytes);
	sl_free(u->watch);
}

/* True: the frames that are always registered are few of them. */
static bool is_large(const struct sl_umem_info *u)
{
	return (size_t)u->nframes * u->frame_size >= 4 * (size_t)SL_UMEM_LENT_NEAR_BYTES;
}

/* True: devices of the daemon may receive by packet sockets. */
static bool may_be_near(void)
{
	const struct sl_broker_opts *o = sl_broker_opts();

	if (o->rx == SL_BROKER_RX_XDP || o->zerocopy == SL_BROKER_ZC_FORCE)
		return false;
	return (o->rx == SL_BROKER_RX_PACKET || o->xdp == SL_BROKER_XDP_AUTO) && sl_pair_may();
}

bool sl_umem_read(const struct sl_umem_info *u, uint64_t at, void *to, uint32_t n)
{
	return sl_sys(SYS_pread64, u->memfd, to, n, at) == (long)n;
}

bool sl_umem_is_near(const struct sl_umem_info *u)
{
	return sl_load(&u->share.told->bounce);
}

/* Makes the group's shared memory. A daemon is its broker, any other process its only member. Where
 * the kernel promises no more memory than it has, all pages are allocated now. */
static int share_make(struct sl_umem *umem)
{
	struct sl_umem_info *u = &umem->info;
	size_t bytes;
	void *mem, *told;
	int err, fd;

	sl_share_geometry_make(&u->geometry, u->nframes, (uint32_t)__builtin_ctz(u->frame_size),
			       SL_UMEM_QUEUES, SL_UMEM_XSKS);
	bytes = u->geometry.bytes;
	fd = memory_file("sluice-share", 0, bytes);
	if (fd < 0 && !does_without_file(fd))
		return fd;
	u->share_fd = fd < 0 ? -1 : fd;
	err = sl_sys_mmap(&mem, NULL, bytes, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), u->share_fd,
			  0);
	if (err)
		goto close;
	sl_apart(mem, bytes);
	err = sl_reserve_shared(mem, bytes);
	if (!err)
		err = told_make(u, &told);
	if (err)
		goto unmap;
	sl_share_init(&u->share, mem, told, &u->geometry);
	umem->share_mem = mem;
	umem->share_bytes = bytes;
	if (sl_broker_opts()->serve) {
		if (is_large(u) && may_be_near())
			sl_share_set_bounce(&u->share);
		u->member = SL_SHARE_BROKER;
		return watch_make(umem);
	}
	u->member = (uint8_t)sl_share_join(&u->share, u->nframes, 0);
	return 0;
unmap:
	munmap(mem, bytes);
close:
	file_close(u->share_fd);
	return err;
}

/* Frames of the memory of a process alone that are on huge pages; 0: none, or all. Atomic. */
static uint32_t huge_frames;

static void note_huge(struct sl_umem *u, size_t bytes)
{
	uint32_t n = (uint32_t)(bytes / u->info.frame_size);

	u->huge_bytes = bytes;
	sl_store(&huge_frames, n < u->info.nframes ? n : 0);
}

/* Makes the first bytes of the memory of a process alone, on transparent huge pages, where none are
 * reserved. The first member of a daemon's group makes them all, at its own cost
 * (sl_lease_umem()). */
static void put_on_huge(struct sl_umem *u, size_t bytes)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	size_t done = u->huge_bytes;

	if (u->info.huge || o->no_huge || o->serve || bytes <= done || sl_umem_is_programs())
		return;
	note_huge(u, bytes);
	sl_pages_want_huge((char *)u->info.base + done, bytes - done, o->want_huge);
}

/* Frames lie on whole pages, so that a forked child can be without them. The steering program and
 * the parsers may read what is around a packet, so nothing of the program's is left there. */
static bool map_programs(size_t bytes, struct sl_umem_info *u)
{
	void *mem = programs.alloc(bytes + SL_HUGE_PAGE);

	if (!mem) {
		sl_warn("mem", "the program's allocator gave no %zu bytes of packet memory",
			bytes + SL_HUGE_PAGE);
		return false;
	}
	sl_store(&programs.mem, mem);
	u->base = (void *)sl_pages_whole((uintptr_t)mem);
	memset(u->base, 0, bytes);
	sl_apart(u->base, bytes);
	sl_info("mem", "%zu MB of packet memory are the program's own", bytes >> 20);
	return true;
}

static void frames_unmake(const struct sl_umem_info *u, size_t mapped)
{
	if (mapped) {
		munmap(u->base, mapped);
		return;
	}
	programs.release(programs.mem);
	sl_store(&programs.mem, NULL);
}

/* Huge pages, where there are any. *mapped 0: it is the program's. */
static int frames_make(struct sl_umem_info *u, size_t *mapped, const char **why)
{
	size_t bytes = (size_t)u->nframes * u->frame_size;
	int err = -ENOMEM;

	if (programs.alloc && !sl_broker_opts()->serve && map_programs(bytes, u))
		return 0;
	if (!sl_broker_opts()->no_huge)
		err = umem_map(bytes, true, u, mapped);
	if (err)
		err = umem_map(bytes, false, u, mapped);
	if (err)
		sl_why(why, "no memory for %u frames of %u bytes: %s", u->nframes, u->frame_size,
		       sl_strerror(err));
	return err;
}

static void umem_add(struct sl_umem *u)
{
	u->next = umems;
	umems = u;
}

int sl_umem_make(uint32_t id, uint32_t nframes, uint32_t frame_size, const char **why)
{
	struct sl_umem *u;
	size_t mapped = 0;
	int err;

	if (!frame_size)
		frame_size = sl_broker_frame_size();
	if (!nframes || !sl_is_frame_size(frame_size)) {
		sl_why(why, "frames must be 2048 or 4096 bytes");
		return -EINVAL;
	}
	u = sl_calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->info = (struct sl_umem_info){.id = id,
					.memfd = -1,
					.share_fd = -1,
					.told_fd = -1,
					.nframes = nframes,
					.frame_size = frame_size,
					.headroom = SL_UMEM_HEADROOM};
	err = frames_make(&u->info, &mapped, why);
	if (err)
		goto release;
	err = share_make(u);
	if (!err) {
		umem_add(u);
		return 0;
	}
	sl_why(why, "no memory for the state of %u frames: %s", nframes, sl_strerror(err));
	if (u->share_mem) {
		file_close(u->info.share_fd);
		file_close(u->info.told_fd);
		share_unmap(u);
	}
	frames_unmake(&u->info, mapped);
	file_close(u->info.memfd);
release:
	sl_free(u);
	return err;
}

static int map_again(struct sl_umem *u)
{
	size_t bytes = umem_bytes(&u->info);
	int err = sl_share_check_file(u->info.memfd, bytes);

	if (err)
		return err;
	u->info.base = sl_pages_map(u->info.memfd, bytes);
	if (!u->info.base)
		return -errno;
	err = sl_share_open(&u->info.share, &u->info.geometry, u->info.share_fd, u->info.told_fd,
			    true);
	if (!err) {
		u->share_mem = u->info.share.head;
		u->share_bytes = u->info.geometry.bytes;
		err = watch_make(u);
	}
	if (!err)
		return 0;
	munmap(u->info.base, bytes);
	share_unmap(u);
	return err;
}

int sl_umem_map_again(const struct sl_umem_info *info)
{
	struct sl_umem *u = sl_calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->info = *info;
	err = map_again(u);
	if (err)
		sl_free(u);
	else
		umem_add(u);
	return err;
}

uint32_t sl_broker_frame_size(void)
{
	return sl_dev_frame_size(sl_frame_mtu(2048));
}

int sl_embedded_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		     const char **why)
{
	struct sl_broker_guard g;
	int err = 0;

	sl_broker_enter(&g);
	if (!sl_umem_find(0))
		err = sl_umem_make(0, nframes, frame_size, why);
	if (!err)
		*out = sl_umem_find(0)->info;
	sl_broker_leave(&g);
	return err;
}

void sl_umem_drop(uint32_t id)
{
	struct sl_umem **at = &umems, *u = sl_umem_find(id);

	if (!u)
		return;
	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	munmap(u->info.base, umem_bytes(&u->info));
	share_unmap(u);
	file_close(u->info.memfd);
	file_close(u->info.share_fd);
	file_close(u->info.told_fd);
	sl_free(u);
}

uint32_t sl_umem_near(const struct sl_umem *u)
{
	uint32_t n = SL_UMEM_NEAR_BYTES / u->info.frame_size;

	if (sl_broker_opts()->serve)
		return sl_umem_is_near(&u->info) ? SL_UMEM_LENT_NEAR_BYTES / u->info.frame_size : 0;
	return n < u->info.nframes ? n : 0;
}

/* The kernel allocates what is registered. Beyond the limit of a control group it would end the
 * process, or another one of the group: a quarter is left to the program. */
static bool has_room(const struct sl_umem *u, uint64_t bytes)
{
	uint64_t room;

	if (u->info.huge || bytes <= u->registered)
		return true;
	room = sl_memcg_room();
	if (room >= bytes + bytes / 4)
		return true;
	sl_warn_once("mem",
		     "the memory control group leaves %llu MB, too little for %llu MB of packet "
		     "memory: devices stay with the kernel; remedy: a higher limit, or fewer "
		     "frames (SLUICE_FRAMES)",
		     (unsigned long long)room >> 20, (unsigned long long)bytes >> 20);
	return false;
}

static int register_with(int fd, const struct xdp_umem_reg *reg)
{
	int err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, reg, sizeof(*reg));
	struct rlimit old, high;

	if (err != -ENOBUFS)
		return err;
	/* Over the limit of locked memory. The soft limit is only a default: try with the hard. */
	if (sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &old))
		return err;
	high = (struct rlimit){.rlim_cur = old.rlim_max, .rlim_max = old.rlim_max};
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &high, NULL);
	err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, reg, sizeof(*reg));
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &old, NULL);
	return err;
}

int sl_umem_register(struct sl_umem *u, int fd, uint32_t near)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)u->info.base,
		.len = (uint64_t)(near ? near : u->info.nframes) * u->info.frame_size,
		.chunk_size = u->info.frame_size,
		.headroom = u->info.headroom,
	};
	int err;

	if (!has_room(u, reg.len))
		return -ENOMEM;
	put_on_huge(u, reg.len); /* pages that are registered cannot be moved */
	err = register_with(fd, &reg);
	if (!err)
		u->registered = sl_max(u->registered, (uint64_t)reg.len);
	return err;
}

#define GROW_FRAMES 512u /* ahead of their use */

bool sl_umem_grows(uint32_t born)
{
	uint32_t made = sl_load(&huge_frames);

	return made && born + GROW_FRAMES > made;
}

/* (Where it fails, as on pages that a call of the kernel's uses, these stay as they are.) */
void sl_umem_grow(uint32_t born)
{
	struct sl_broker_guard g;
	struct sl_umem *u;

	if (!sl_umem_grows(born))
		return;
	sl_broker_enter(&g);
	u = sl_umem_find(0);
	if (u && u->huge_bytes) {
		size_t all = (size_t)u->info.nframes * u->info.frame_size, done = u->huge_bytes;
		size_t want = sl_pages_whole((size_t)(born + GROW_FRAMES) * u->info.frame_size);

		want = sl_min(want, all);
		if (want > done)
			sl_pages_collapse((char *)u->info.base + done, want - done);
		note_huge(u, sl_max(want, done));
	}
	sl_broker_leave(&g);
}

/* Fill rings ----------------------------------------------------------------------------------- */

/* Takes an eighth of the frames that are left: however many queues there come to be, sockets and
 * senders have most of them. */
uint32_t sl_umem_take(struct sl_umem *u, uint32_t *frames, uint32_t max)
{
	struct sl_share *g = &u->info.share;

	max = sl_min(max, sl_share_left(g) / 8);
	return sl_share_fetch(g, SL_SHARE_BROKER, frames, max);
}

void sl_umem_untake(struct sl_umem *u, const uint32_t *frames, uint32_t n)
{
	struct sl_share *g = &u->info.share;

	/* The frames are marked as the broker's: sl_umems_bury_left() takes them back when the
	 * pool's lock is free. */
	if (!sl_share_lock(g, &g->head->lock, SL_SHARE_BROKER)) {
		u->unburied[SL_SHARE_BROKER] = true;
		return;
	}
	sl_share_push(g, frames, n);
	sl_runlock(&g->head->lock);
	sl_share_count(g, SL_SHARE_BROKER, -(int32_t)n);
}

void sl_umem_given(struct sl_umem *u, const uint32_t *frames, uint32_t n, uint32_t share_queue)
{
	struct sl_share *g = &u->info.share;
	const uint32_t name = sl_share_filled(g, &g->queue[share_queue]);

	for (uint32_t i = 0; i < n; i++)
		sl_store(&g->word[frames[i]].all, name);
	sl_share_count(g, SL_SHARE_BROKER, -(int32_t)n);
}
