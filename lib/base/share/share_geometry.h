/* SPDX-License-Identifier: BSD-2-Clause */
/* Where everything lies in the memory of a group, and what the group's owner tells its members.
 *
 * The owner (the daemon, or a process with a broker of its own) computes the geometry, keeps it in
 * its own memory, and gives copies to members and to the vault. No process reads a layout from the
 * shared memory: every member writes there, so a layout found there is the last writer's word. */
#ifndef SL_SHARE_GEOMETRY_H
#define SL_SHARE_GEOMETRY_H

#include "base/base.h"

#define SL_SHARE_MEMBERS 128 /* ids; 0: no member, 1: the first one */

struct sl_share;

/* Offsets are from the start of the memory. Fixed widths: it is sent and kept. */
struct sl_share_geometry {
	uint32_t nframes, frame_shift, nqueues, nxsks;
	/* Sizes of the records, which may differ between versions. */
	uint32_t word_size, member_size, queue_size, xsk_size;
	uint64_t bytes, told_bytes; /* of the group's memory, and of what its owner tells */
	uint64_t member_at, queue_at, xsk_at, word_at, link_at, free_at;
	uint64_t told_queue_at, told_xsk_at; /* in what the owner tells */
};
_Static_assert(sizeof(struct sl_share_geometry) == 112, "no holes: it is compared as bytes");

/* Told by the group's owner: memory that the owner alone can write. Members map it read-only, from
 * a descriptor that was opened for reading. */
struct sl_share_told {
	uint32_t open;   /* queues that are open */
	uint32_t bounce; /* frames below this number are bounce frames (share_bounce.h) */
	struct {
		uint32_t state; /* enum sl_member_state */
		uint32_t quota; /* the most frames that it may hold */
	} member[SL_SHARE_MEMBERS];
	/* Behind it: the queues' records, the XSKs'. */
};
struct sl_share_told_queue {
	uint32_t state;       /* enum sl_queue_state */
	uint32_t ifindex, nr; /* its device, and its number there */
	uint32_t xsks;        /* of all members */
};
struct sl_share_told_xsk {
	uint32_t used; /* its queue's number + 1, 0: free */
};

/* Computes the layout for these counts. */
void sl_share_geometry_make(struct sl_share_geometry *l, uint32_t nframes, uint32_t shift,
			    uint32_t nqueues, uint32_t nxsks);
/* True: this version computes the same layout from these counts, and they are within bounds. For a
 * layout that came by the lease protocol or out of the vault. */
bool sl_share_geometry_is_sound(const struct sl_share_geometry *l);

/* Maps a group's two files, which any process may have made. writes: this process is the owner, so
 * it alone writes the second one. -EINVAL: the geometry is not sound; -EPROTO: a file is shorter,
 * or can still be made so. Nothing is mapped then. */
int sl_share_open(struct sl_share *g, const struct sl_share_geometry *l, int fd, int told_fd,
		  bool writes);
/* Checks that the file has that many bytes at least and is sealed against shrinking. 0, -EPROTO,
 * -errno. */
int sl_share_check_file(int fd, uint64_t bytes);

#endif
