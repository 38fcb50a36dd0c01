/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a group's memory, computed by its owner and checked by all other processes. */
#include "base/share/share_geometry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/apart.h"
#include "base/share/share.h"
#include "base/sys.h"

/* A frame's number + 1 is a word of 32 bits, a queue's + 1 one of 16. */
#define FRAMES_MOST (1u << 30)
#define QUEUES_MOST 65534u
#define XSKS_MOST   65536u

static uint64_t line_up(uint64_t at)
{
	return (at + SL_CACHELINE - 1) & ~(uint64_t)(SL_CACHELINE - 1);
}

void sl_share_geometry_make(struct sl_share_geometry *l, uint32_t nframes, uint32_t shift,
			    uint32_t nqueues, uint32_t nxsks)
{
	uint64_t at = sizeof(struct sl_share_head);

	*l = (struct sl_share_geometry){
		.nframes = nframes,
		.frame_shift = shift,
		.nqueues = nqueues,
		.nxsks = nxsks,
		.word_size = sizeof(union sl_frame_word),
		.member_size = sizeof(struct sl_share_member),
		.queue_size = sizeof(struct sl_share_queue),
		.xsk_size = sizeof(struct sl_share_xsk),
	};
	l->member_at = at;
	at += SL_SHARE_MEMBERS * sizeof(struct sl_share_member);
	l->queue_at = at = line_up(at);
	at += (uint64_t)nqueues * sizeof(struct sl_share_queue);
	l->xsk_at = at;
	at += (uint64_t)nxsks * sizeof(struct sl_share_xsk);
	l->word_at = at;
	at += (uint64_t)nframes * sizeof(union sl_frame_word);
	l->free_at = at = line_up(at);
	at += (uint64_t)nframes * sizeof(uint32_t);
	l->link_at = at = line_up(at);
	l->bytes = at + (uint64_t)nframes * sizeof(uint32_t);
	l->told_queue_at = sizeof(struct sl_share_told);
	l->told_xsk_at = l->told_queue_at + (uint64_t)nqueues * sizeof(struct sl_share_told_queue);
	l->told_bytes = l->told_xsk_at + (uint64_t)nxsks * sizeof(struct sl_share_told_xsk);
}

bool sl_share_geometry_is_sound(const struct sl_share_geometry *l)
{
	struct sl_share_geometry want;

	if (!l->nframes || l->nframes > FRAMES_MOST || l->frame_shift < 6 || l->frame_shift > 16 ||
	    !l->nqueues || l->nqueues > QUEUES_MOST || !l->nxsks || l->nxsks > XSKS_MOST)
		return false;
	sl_share_geometry_make(&want, l->nframes, l->frame_shift, l->nqueues, l->nxsks);
	return !memcmp(l, &want, sizeof(want));
}

int sl_share_check_file(int fd, uint64_t bytes)
{
	struct stat st;
	long seals;

	if (fstat(fd, &st))
		return -errno;
	seals = sl_sys_fcntl(fd, F_GET_SEALS, 0);
	if (seals < 0)
		return -EPROTO;
	return st.st_size >= 0 && (uint64_t)st.st_size >= bytes && seals & F_SEAL_SHRINK ? 0
											 : -EPROTO;
}

static int map_file(void **mem, int fd, uint64_t bytes, int prot)
{
	int err = sl_share_check_file(fd, bytes);

	if (err)
		return err;
	*mem = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);
	if (*mem == MAP_FAILED)
		return -errno;
	sl_apart(*mem, bytes); /* members are processes of the group, and none of their children */
	return 0;
}

int sl_share_open(struct sl_share *g, const struct sl_share_geometry *l, int fd, int told_fd,
		  bool writes)
{
	void *mem, *told;
	int err = sl_share_geometry_is_sound(l) ? 0 : -EINVAL;

	if (!err)
		err = map_file(&mem, fd, l->bytes, PROT_READ | PROT_WRITE);
	if (err)
		return err;
	err = map_file(&told, told_fd, l->told_bytes, PROT_READ | (writes ? PROT_WRITE : 0));
	if (err)
		munmap(mem, l->bytes);
	else
		sl_share_map(g, mem, told, l);
	return err;
}
