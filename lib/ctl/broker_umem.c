/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: one memfd, registered with each device; who has which frames. */
#include "ctl/broker_int.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker_lock.h"

#define HUGE_PAGE (2ul << 20)

struct sl_umem_info sl_umem = {.memfd = -1};
/* Frames below next_frame went into fill rings, those from split_frame on are the caller's. */
static struct sl_lock frames_lock; /* protects both; taken on the caller's packet path */
static uint32_t next_frame;
static uint32_t split_frame;

bool sl_umem_is_there(void)
{
	return sl_umem.base != NULL;
}

void sl_umem_child(void)
{
	if (sl_umem.memfd >= 0)
		sl_sys_close(sl_umem.memfd);
	sl_umem = (struct sl_umem_info){.memfd = -1};
	next_frame = split_frame = 0;
	frames_lock = (struct sl_lock){0};
}

static int umem_map(size_t bytes, bool huge, struct sl_umem_info *u)
{
	unsigned flags = MFD_CLOEXEC | (huge ? MFD_HUGETLB : 0);
	int err;

	u->memfd = sl_fd_keep(sl_sysi(SYS_memfd_create, "sluice-umem", flags));
	if (u->memfd < 0)
		return u->memfd;
	if (huge)
		bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	err = (int)sl_sys(SYS_ftruncate, u->memfd, bytes);
	if (err)
		goto close;
	u->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->memfd, 0);
	if (u->base == MAP_FAILED) {
		err = -errno;
		goto close;
	}
	u->huge = huge;
	return 0;
close:
	sl_sys_close(u->memfd);
	u->base = NULL;
	return err;
}

static int umem_make(uint32_t nframes, uint32_t frame_size, const char **why)
{
	struct sl_umem_info u = {.memfd = -1,
				 .nframes = nframes,
				 .frame_size = frame_size,
				 .headroom = SL_UMEM_HEADROOM};
	size_t bytes = (size_t)nframes * frame_size;
	int err = -ENOMEM;

	if (!nframes || (frame_size != 2048 && frame_size != 4096)) {
		sl_why(why, "frames must be 2048 or 4096 bytes");
		return -EINVAL;
	}
	if (!sl_broker_opts()->no_huge)
		err = umem_map(bytes, true, &u);
	if (err) {
		if (!sl_broker_opts()->no_huge)
			sl_log(sl_broker_opts()->want_huge ? SL_LOG_WARN : SL_LOG_INFO, "mem",
			       "no huge pages for %zu MB of packet memory, using ordinary pages; "
			       "remedy: sysctl vm.nr_hugepages=%zu",
			       bytes >> 20, (bytes + HUGE_PAGE - 1) / HUGE_PAGE);
		err = umem_map(bytes, false, &u);
	}
	if (err) {
		sl_why(why, "no memory for %u frames of %u bytes: %s", nframes, frame_size,
		       sl_strerror(err));
		return err;
	}
	sl_umem = u;
	return 0;
}

int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why)
{
	struct sl_broker_guard g;
	int err = 0;

	sl_broker_enter(&g);
	if (!sl_umem_is_there())
		err = umem_make(nframes, frame_size, why);
	if (!err && split_frame == 0)
		split_frame = sl_umem.nframes;
	if (!err)
		*out = sl_umem;
	sl_broker_leave(&g);
	return err;
}

int sl_umem_register(int fd)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)sl_umem.base,
		.len = (uint64_t)sl_umem.nframes * sl_umem.frame_size,
		.chunk_size = sl_umem.frame_size,
		.headroom = sl_umem.headroom,
	};
	struct rlimit old, high;
	int err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));

	if (err != -ENOBUFS)
		return err;
	/* Over the limit of locked memory. The soft limit is only a default: try with the hard. */
	if (sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &old))
		return err;
	high = (struct rlimit){.rlim_cur = old.rlim_max, .rlim_max = old.rlim_max};
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &high, NULL);
	err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &old, NULL);
	return err;
}

/* The frames that a new queue starts with: [*first, *first + the result). An eighth of what is
 * left: however many queues there come to be, sockets and senders have the most of it. */
uint32_t sl_frames_take(uint32_t fill_size, uint32_t *first)
{
	uint32_t n;

	sl_lock(&frames_lock);
	n = sl_min(fill_size / 2, (split_frame - next_frame) / 8);
	*first = next_frame;
	next_frame += n;
	sl_unlock(&frames_lock);
	return n;
}

/* They went nowhere. */
void sl_frames_untake(uint32_t first, uint32_t n)
{
	sl_lock(&frames_lock);
	if (next_frame == first + n)
		next_frame = first;
	sl_unlock(&frames_lock);
}

uint32_t sl_broker_frames(uint32_t want, uint32_t *first)
{
	if (!sl_lock(&frames_lock))
		return 0;
	want = sl_min(want, split_frame - next_frame);
	split_frame -= want;
	*first = split_frame;
	sl_unlock(&frames_lock);
	return want;
}
