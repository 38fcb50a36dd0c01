/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel about a socket that a program has passed, where the answer needs the socket's
 * lock. The program can hold that lock for as long as it likes: the kernel copies with the lock
 * held, and a page of FUSE, or of userfaultfd, comes when its server wants. The loop must not wait
 * for that, so other threads ask. */
#ifndef SLUICED_FACTS_H
#define SLUICED_FACTS_H

#include <sys/socket.h>

#include "base/addr.h"

struct sl_session;

/* Zeros where the kernel does not say: an address without a port is none. */
struct sl_facts {
	struct sl_addr own, peer;
	uint16_t own_port, peer_port;
	bool has_own, has_peer; /* there are such names */
	bool v6only, transparent;
};

/* Asks about the sockets of the request that the loop serves now, and forgets those of the one
 * before. 0; -EBUSY: a socket's lock is not free for half a second, or that user's sockets were
 * so. */
int sl_facts_begin(const struct sl_session *s, const int *fd, uint32_t n, const char **why);
/* Finds out about one socket likewise, without its lock where the kernel can; then `transparent` is
 * not known. */
int sl_facts_peek(const struct sl_session *s, int fd, const char **why);
/* Returns the answers about a descriptor that was passed to sl_facts_begin(); zeros if it is no
 * socket of IP. */
const struct sl_facts *sl_facts_of(int fd);

/* Make the system calls for a socket of that request; -EBUSY as above. len is at most
 * SL_FACTS_BYTES. */
#define SL_FACTS_BYTES 160
int sl_facts_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int sl_facts_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
/* sl_embedded_drop_packets(). */
int sl_facts_drop_packets(int fd, bool on);

#endif
