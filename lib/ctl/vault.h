/* SPDX-License-Identifier: BSD-2-Clause */
/* The vault: a small process that holds what sluiced cannot do without, so that it may die.
 *
 * What the daemon has stands in records: a kind, a key, some bytes and the descriptors they are
 * about. Each is one packet on a SOCK_SEQPACKET connection, and no answer is waited for: what was
 * sent is kept, even if its sender is dead before it is read. A record of the same kind and key
 * takes the place of the old one, in one step; so at any death each is whole, the old or the new.
 * What a record means is the daemon's affair; another version of it is known by SL_KEEP_META.
 *
 * When the daemon's connection ends without SL_VAULT_BYE the vault waits for the next one, at a
 * socket beside the daemon's own, which only its own user is served at. It ends when no program
 * that has a lease is left: with the last descriptors all that was lent ends, too (ctl/reaper.h).
 *
 * systemd's store of descriptors (FDSTORE=1) does half of that, where there is systemd. */
#ifndef SL_VAULT_H
#define SL_VAULT_H

#include "base/rights.h"

#define SL_VAULT_MAGIC   0x41564c53 /* "SLVA" */
#define SL_VAULT_VERSION 1
#define SL_VAULT_SUFFIX  ".vault" /* of its socket's path, behind the daemon's */
#define SL_VAULT_BYTES   6144     /* of a record */
#define SL_VAULT_FDS     SL_RIGHTS_MAX

enum sl_vault_op {
	SL_VAULT_PUT = 1, /* to the vault, and of each record from it */
	SL_VAULT_DEL,
	SL_VAULT_LIST, /* all of them, then SL_VAULT_END, whose key is the vault's process id */
	SL_VAULT_END,
	SL_VAULT_BUSY, /* from the vault: the daemon lives */
	SL_VAULT_BYE,  /* to the vault: nothing is to be kept any more */
};

/* Kinds of records. */
enum sl_keep {
	SL_KEEP_META = 1, /* which versions made them; first */
	SL_KEEP_LISTEN,   /* the daemon's socket */
	SL_KEEP_UMEM,     /* packet memory */
	SL_KEEP_DEVICE,   /* by ifindex */
	SL_KEEP_VIEW,     /* by ifindex */
	SL_KEEP_SESSION,  /* by number; its first descriptor is the connection, if it has one */
	SL_KEEP_LANE,     /* by session, device, and number */
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

/* A message with the first so many bytes of the body and the descriptors. MSG_NOSIGNAL; flags:
 * others. 0 or -errno. */
int sl_vault_send(int sock, const struct sl_vault_msg *m, int flags);
/* 1; 0: the other end has gone; -EPROTO, -errno. What came along is the receiver's to close. */
int sl_vault_recv(int sock, struct sl_vault_msg *m, int flags);

/* Descriptors in a record: adds one and says where it is (-1 stays -1); takes it out again. */
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
/* What nobody has taken. */
void sl_vault_close_fds(struct sl_vault_msg *m);

/* Descriptors that the process is started with: 3 + these. */
enum { SL_VAULT_FD_LISTEN, SL_VAULT_FD_DAEMON };
/* The process (`sluice vault`). */
int sl_vault_run(void);

#endif
