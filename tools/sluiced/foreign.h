/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles descriptors that programs pass to the daemon so that they cannot stop its loop; see
 * foreign.c. */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "session.h"

/* Reads the session's next request, which stays in its queue, with copies of its descriptors. The
 * caller always closes these by sl_foreign_close(), when it has taken the request out of the queue.
 * 1; 0: an empty packet, or the end; -EAGAIN; -EINPROGRESS: too many of the user's descriptors are
 * not closed yet, ask later; -EPROTO and others: hang up on the session.
 * s->unread: the request is still in the queue. */
int sl_foreign_receive(struct sl_session *s, struct sl_lease_msg *m);
/* Checks that the n descriptors are of the kind that the request takes: 0 or -EPERM. */
int sl_foreign_check(struct sl_session *s, const struct sl_lease_msg *m, uint32_t n,
		     const char **why);
/* Inode number of the network namespace behind a descriptor; 0: not a namespace. */
uint32_t sl_foreign_netns(int fd);

/* Closes, outside the loop, a descriptor that the session has passed. */
void sl_foreign_close(const struct sl_session *s, int fd);
/* Closes the session's connection likewise; the loop takes back what the session has
 * (sl_sessions_reap()). */
void sl_session_hang_up(struct sl_session *s);

#endif
