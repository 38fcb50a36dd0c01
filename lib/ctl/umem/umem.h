/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet memory of groups, and the frames of closed queues (reclaim.c). Call everything here
 * with the broker's lock held, except where a comment says otherwise. */
#ifndef SL_CTL_UMEM_H
#define SL_CTL_UMEM_H

#include "ctl/umem/memory.h"

/* A group's packet memory and the owners of its frames. The embedded broker has one alone. */
struct sl_umem {
	struct sl_umem *next;
	struct sl_umem_info info;
	size_t huge_bytes;   /* of the memory, which were put on huge pages, if there are any */
	uint64_t registered; /* bytes that the kernel has allocated for a device */
	void *share_mem;
	size_t share_bytes;
	struct sl_share_watch
		*watch; /* watches its locks (base/share/share_watch.h); NULL: a process alone */
	bool broken;    /* a lock is broken; the shared memory is not used any more */
	bool unburied[SL_SHARE_MEMBERS]; /* members without lanes, still to be buried */
};

struct sl_umem *sl_umem_first(void);
struct sl_umem *sl_umem_find(uint32_t id);
/* The next packet memory of a process alone comes from alloc(), which is called with locks held. It
 * goes by release() if it cannot be used; else the process has it until its end. NULL, NULL: none
 * does. Takes the lock. */
void sl_umem_alloc_by(void *(*alloc)(size_t bytes), void (*release)(void *mem));
/* True: it has come from there. */
bool sl_umem_is_programs(void);
/* Makes packet memory with this number (0: the embedded broker's only one). */
int sl_umem_make(uint32_t id, uint32_t nframes, uint32_t frame_size, const char **why);
void sl_umem_child(void);
/* The process is about to change its user: puts private memory at these addresses, with the
 * process's own data copied, and closes the descriptors. Nothing of the devices is kept. */
void sl_umem_part(struct sl_umem_info *u, void *share_mem, size_t share_bytes);
void sl_umem_part_all(void);
/* Gives up the packet memory; no device may have it open. Harmless when there is none. */
void sl_umem_drop(uint32_t id);
/* Takes existing memory into use: info has everything but the mappings. */
int sl_umem_map_again(const struct sl_umem_info *info);
/* Reads packet memory by its file, for a daemon: a member can make holes in the file, and a touch
 * of the mapping would take a page, or end the process (SIGBUS) where no huge page is left. A hole
 * reads as zeros. False: those bytes are not there. */
bool sl_umem_read(const struct sl_umem_info *u, uint64_t at, void *to, uint32_t n);
/* True: devices of this daemon's groups may receive by packet sockets. There the group's first
 * frames suffice (SL_UMEM_LENT_NEAR_BYTES), and it has bounce frames. */
bool sl_umem_is_near(const struct sl_umem_info *u);
/* Frames that sl_umem_register() registers, if the XSK only sends; 0: all. */
uint32_t sl_umem_near(const struct sl_umem *u);
/* Registers the packet memory with an XSK that is not bound: the first `near` frames; 0: all. */
int sl_umem_register(struct sl_umem *u, int fd, uint32_t near);
/* sl_umem_take() gives frames for an empty fill ring, at most max, and returns how many.
 * sl_umem_untake() returns them; sl_umem_given() says that the ring of that queue has them now. */
uint32_t sl_umem_take(struct sl_umem *u, uint32_t *frames, uint32_t max);
void sl_umem_untake(struct sl_umem *u, const uint32_t *frames, uint32_t n);
void sl_umem_given(struct sl_umem *u, const uint32_t *frames, uint32_t n, uint32_t share_queue);

/* sl_broker_umem() by the broker in this process; takes the lock. */
int sl_embedded_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		     const char **why);

/* sl_umem_grow() puts packet memory of a process alone that is in use, or soon will be, on huge
 * pages. born: frames that were ever used. It takes the lock if sl_umem_grows(), which takes none,
 * says that there is some. */
void sl_umem_grow(uint32_t born);
bool sl_umem_grows(uint32_t born);

/* Takes back the frames of closed queues once the kernel is done with them. Cheap when there are
 * none. opening: the device whose queues are about to be bound, 0: none; call it again after that.
 */
void sl_queues_reclaim(uint32_t opening);

#endif
