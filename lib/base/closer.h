/* SPDX-License-Identifier: BSD-2-Clause */
/* Closes descriptors that others have made, and that may be slow to close: the last close of a
 * socket with SO_LINGER waits for its peer, and so does that of a UNIX socket with such a socket in
 * its queue; close() of a file of FUSE waits for the file system. */
#ifndef SL_CLOSER_H
#define SL_CLOSER_H

#include "base/base.h"

#define SL_CLOSER_THREADS  16u /* the most */
#define SL_CLOSER_OF_OWNER 2u  /* of these for the descriptors of one owner */
#define SL_CLOSER_LOOK_MS  20  /* how often to call sl_closer_look() while something is open */
#define SL_CLOSER_NOBODY   UINT32_MAX

/* Starts the first thread. The others are started when they are needed; all functions below are for
 * the one thread that calls this. Without it sl_closer_add() closes at once. 0 or -errno. */
int sl_closer_start(void);

/* Has another thread close fd, which may take as long as the file's maker likes. Until then it
 * counts against owner (a user). alone: no other process reads from this socket, so the thread
 * reads what waits there first, and the peer gets no reset. sl_closer_go() wakes the threads. */
void sl_closer_add(int fd, uint32_t owner, bool alone);
void sl_closer_go(void);

/* Looks after the threads: interrupts one that waits, starts another beside it. True: something is
 * not closed yet. */
bool sl_closer_look(void);

/* How many of the owner's are not closed yet. */
uint32_t sl_closer_pending(uint32_t owner);
/* Waits until all of the owner's are closed, unless one takes long anyway. False: ms were over. */
bool sl_closer_wait(uint32_t owner, unsigned ms);

#endif
