/* SPDX-License-Identifier: BSD-2-Clause */
/* The vault: a small process that holds the descriptors and state that sluiced needs after a
 * restart, so that sluiced may die.
 *
 * The daemon's state is kept as records: a kind, a key, some bytes and the descriptors that belong
 * to them. Each record is one packet on a SOCK_SEQPACKET connection, and the sender waits for no
 * answer: a record once sent is kept, even if its sender is dead before it is read. A record of the
 * same kind and key replaces the old one in one step; so at any death each is whole, the old or the
 * new. Only the daemon knows what a record means; SL_KEEP_META tells versions apart.
 *
 * When the daemon's connection ends without SL_VAULT_BYE the vault waits for the next daemon, at a
 * socket beside the daemon's own, which serves only the vault's own user. The vault ends when no
 * program with a lease is left: closing the last descriptors ends all that was lent, too
 * (ctl/broker/reaper.h).
 *
 * systemd's store of descriptors (FDSTORE=1) does half of that, where there is systemd. */
#ifndef SL_VAULT_H
#define SL_VAULT_H

#include "base/rights.h"

#define SL_VAULT_MAGIC   0x41564c53 /* "SLVA" */
#define SL_VAULT_VERSION 1
#define SL_VAULT_SUFFIX  ".vault" /* of its socket's path, behind the daemon's path */
#define SL_VAULT_BYTES   6144     /* of a record */
#define SL_VAULT_FDS     SL_RIGHTS_MAX

enum sl_vault_op {
	SL_VAULT_PUT = 1, /* to the vault; also each record from it */
	SL_VAULT_DEL,
	SL_VAULT_LIST, /* all of them, then SL_VAULT_END, whose key is the vault's process id */
	SL_VAULT_END,
	SL_VAULT_BUSY, /* from the vault: the daemon lives */
	SL_VAULT_BYE,  /* to the vault: drop all records */
};

/* Kinds of records. */
enum sl_keep {
	SL_KEEP_META = 1, /* versions that made the records; first */
	SL_KEEP_LISTEN,   /* the daemon's socket */
	SL_KEEP_UMEM,     /* packet memory */
	SL_KEEP_DEVICE,   /* by ifindex */
	SL_KEEP_VIEW,     /* by ifindex */
	SL_KEEP_SESSION,  /* by number; its first descriptor is the connection, if it has one */
	SL_KEEP_LANE,     /* by session, device, and number */
	SL_KEEP_RESTORE,  /* by session: the socket that becomes a connection of its */
	SL_KEEP_HEIR,     /* by user and inode: a dead process's connection that others have */
	SL_KEEP_KINDS
};

struct sl_vault_hdr {
	uint32_t magic;
	uint16_t version;
	uint8_t op;   /* enum sl_vault_op */
	uint8_t kind; /* enum sl_keep */
	uint64_t key;
};

struct sl_vault_msg {
	struct sl_vault_hdr hdr;
	uint8_t body[SL_VAULT_BYTES];
	/* Not part of the packet. */
	uint32_t bytes, nfds;
	int fd[SL_VAULT_FDS];
};

/* Sends a message with the first m->bytes of the body and the descriptors. MSG_NOSIGNAL is added to
 * flags. 0 or -errno. */
int sl_vault_send(int sock, const struct sl_vault_msg *m, int flags);
/* Receives a message; the caller closes its descriptors. Returns 1; 0: the other end has gone;
 * -EPROTO, -errno. */
int sl_vault_recv(int sock, struct sl_vault_msg *m, int flags);

/* Descriptors in a record: sl_vault_add() adds one and returns its place (-1 stays -1);
 * sl_vault_take() takes it out again. */
static inline int8_t sl_vault_add(struct sl_vault_msg *m, int fd)
{
	if (fd < 0 || m->nfds == SL_VAULT_FDS)
		return -1;
	m->fd[m->nfds] = fd;
	return (int8_t)m->nfds++;
}
static inline int sl_vault_take(struct sl_vault_msg *m, int8_t at)
{
	int fd = at < 0 || (uint32_t)at >= m->nfds ? -1 : m->fd[at];

	if (fd >= 0)
		m->fd[at] = -1;
	return fd;
}
/* Closes the descriptors that were not taken out. */
void sl_vault_close_fds(struct sl_vault_msg *m);

/* Descriptors that the process is started with: 3 + these. */
enum { SL_VAULT_FD_LISTEN, SL_VAULT_FD_DAEMON };
/* Runs the vault (`sluice vault`). */
int sl_vault_run(void);

#endif
