/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet memory that sluiced lends to this process. */
#include <errno.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/pages.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/dev.h"
#include "ctl/kern/say.h"
#include "ctl/lease/client.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"
#include "ctl/umem/umem.h"

static struct sl_umem_info umem = {.memfd = -1};
static struct sl_umem_info parents; /* the parent's memory: a hole in a child */
static void *share_mem;
static size_t share_bytes;
static bool wants_pages; /* put the memory on huge pages before a device is opened */
static size_t made;      /* bytes that are on huge pages; 0: none yet */

static size_t umem_bytes(const struct sl_umem_info *u)
{
	return (size_t)u->nframes * u->frame_size;
}

static bool umem_sound(const struct sl_lease_umem_ok *u)
{
	return u->nframes && u->member && u->member < SL_SHARE_BROKER &&
	       sl_umem_is_sound(u->nframes, u->frame_size, u->headroom, &u->geometry);
}

/* Maps the group's table of frame owners. A child must not touch it: see sl_lease_child(). (The
 * pages are not mapped in advance, since few programs touch all of them: mapping each at once took
 * 10 to 18 ms, in every child of a server.) */
static int share_take(int fd, int told_fd, struct sl_umem_info *u)
{
	int err = sl_share_open(&u->share, &u->geometry, fd, told_fd, false);

	if (err)
		return err;
	share_mem = u->share.head;
	share_bytes = u->geometry.bytes;
	return 0;
}

/* No frame is taken yet: we are the first member, and the daemon has not registered the memory. */
static bool is_fresh(const struct sl_share *g)
{
	return sl_share_left(g) == g->nframes - g->told->bounce;
}

/* Bytes of the memory that the daemon registers with the device. */
static size_t registered_bytes(uint32_t ifindex)
{
	struct sl_port_info info;

	if (!sl_umem_is_near(&umem))
		return umem_bytes(&umem);
	return sl_dev_query(ifindex, &info, NULL) || sl_dev_is_better_without_xdp(&info)
		       ? SL_UMEM_LENT_NEAR_BYTES
		       : umem_bytes(&umem);
}

/* The process has no use for most of the memory: what it touches is mapped again. (A wrong guess of
 * how the device receives has the daemon make the pages.) */
void sl_lease_umem_pages(uint32_t ifindex)
{
	size_t bytes;

	if (!wants_pages)
		return;
	wants_pages = made || is_fresh(&umem.share);
	bytes = wants_pages ? registered_bytes(ifindex) : 0;
	if (bytes <= made)
		return;
	sl_pages_want_huge((char *)umem.base + made, bytes - made,
			   sl_settings.mem_alloc_type == SL_MEM_HUGE);
	(void)sl_sys(SYS_madvise, (char *)umem.base + made, bytes - made, MADV_DONTNEED);
	made = bytes;
}

static int umem_take(const struct sl_lease_umem_ok *u, const int fd[3], const char **why)
{
	size_t bytes = (size_t)u->nframes * u->frame_size;
	struct sl_umem_info info = {
		.base = sl_pages_map(fd[0], bytes),
		.nframes = u->nframes,
		.frame_size = u->frame_size,
		.headroom = u->headroom,
		.huge = u->huge,
		.member = (uint8_t)u->member,
		.geometry = u->geometry,
	};
	int err = info.base ? sl_share_check_file(fd[0], bytes) : -ENOMEM;

	if (!err)
		err = share_take(fd[1], fd[2], &info);
	if (err) {
		if (info.base)
			munmap(info.base, bytes);
		sl_why(why, "the packet memory cannot be mapped: %s", sl_strerror(err));
		return err;
	}
	wants_pages = !u->huge && sl_settings.mem_alloc_type != SL_MEM_ANON;
	made = 0;
	info.memfd = sl_fd_keep(fd[0]);
	info.share_fd = sl_fd_keep(fd[1]);
	info.told_fd = sl_fd_keep(fd[2]);
	umem = info;
	return 0;
}

const struct sl_umem_info *sl_lease_memory(void)
{
	return &umem;
}

/* Called when a child needs its own memory, not at the fork: most children never do. */
static void unmap_parents(void)
{
	if (parents.base)
		munmap(parents.base, umem_bytes(&parents));
	parents.base = NULL;
}

int sl_lease_umem(struct sl_umem_info *out, const char **why)
{
	struct sl_lease_msg m = {0};
	int err = umem.base ? 0 : sl_lease_request(&m, SL_LEASE_UMEM, why);

	unmap_parents();
	if (!err && !umem.base) {
		err = umem_sound(&m.body.umem_ok) ? umem_take(&m.body.umem_ok, m.fd, why) : -EPROTO;
		if (err)
			sl_lease_close_fds(&m);
	}
	if (!err)
		*out = umem;
	return err;
}

void sl_lease_umem_part(void)
{
	sl_umem_part(&umem, share_mem, share_bytes);
	share_mem = NULL;
	umem = (struct sl_umem_info){.memfd = -1};
	wants_pages = false;
}

void sl_lease_umem_child(void)
{
	wants_pages = false;
	if (umem.memfd >= 0) {
		sl_sys_close(umem.memfd);
		sl_sys_close(umem.share_fd);
		sl_sys_close(umem.told_fd);
	}
	(void)sl_apart_hole(share_mem, share_bytes);
	(void)sl_apart_hole(umem.share.told, umem.geometry.told_bytes);
	share_mem = NULL;
	if (sl_apart_hole(umem.base, umem_bytes(&umem)))
		parents = umem;
	umem = (struct sl_umem_info){.memfd = -1};
}
