/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs pass to the daemon, and how the loop stays clear of it; see foreign.c. */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "sluiced.h"

/* The next request of the session, which stays in its queue, and descriptors of what came along;
 * these are for the caller to close by sl_foreign_close(), in any case, when the request has been
 * taken out of the queue. 1; 0: an empty packet, or the end; -EAGAIN; -EPROTO and others: the
 * session is to be hung up on. s->unread: with the request in its queue. */
int sl_foreign_receive(struct sl_session *s, struct sl_lease_msg *m);
/* Are the n descriptors of the kind that the request takes? 0 or -EPERM. */
int sl_foreign_check(struct sl_session *s, const struct sl_lease_msg *m, uint32_t n,
		     const char **why);

/* What a descriptor is, without asking the file system. */
bool sl_foreign_is_socket(int fd);
bool sl_foreign_is_memory(int fd);
/* Inode number of the network namespace that it is; 0: it is none. */
uint32_t sl_foreign_netns(int fd);

/* Closes a descriptor that the session has passed, or its connection: beside the loop. */
void sl_foreign_close(const struct sl_session *s, int fd);
void sl_foreign_hang_up(struct sl_session *s);

#endif
