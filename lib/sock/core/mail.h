/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters of children to the keeper of the process that forked them. */
#ifndef SL_MAIL_H
#define SL_MAIL_H

#include "sock/core/sock.h"

/* The use that a child makes of an inherited socket. */
enum sl_letter_use {
	SL_USE_ANY,
	SL_USE_ACCEPT, /* a listener: it accepts what the kernel has, and what was there before */
	SL_USE_SHARE,  /* a listener: each process that accepts has a part of it */
	SL_USE_NONE,   /* nothing is used yet: the child itself reports that it exists */
	SL_USE_LEFT, /* the child has no number for the file of a connection that it was forked with
		      */
	SL_USE_BOX,  /* nothing is used: what comes with the letter is a mailbox of the child's own
		      */
	SL_USE_LEND, /* a datagram socket: another program gets it, which may never use it */
	SL_USE_AGAIN, /* nothing is used: the child waits for the answer to an earlier letter */
	SL_USE_END,
};

#define SL_LETTER_MAGIC 0x736c4c33u

/* The parent must not trust any field: the child writes them all. */
struct sl_letter {
	uint32_t magic;
	uint32_t use;    /* enum sl_letter_use */
	uint32_t sock;   /* sl_sock_ref(), which is the same in parent and child */
	uint32_t gen;    /* of the socket's object when the child was made */
	uint64_t cookie; /* SO_COOKIE of the child's descriptor */
	uint32_t ticket; /* by this the child knows its answer on the board */
	uint32_t unused;
};

/* Functions of rooms above, for letters. */
struct sl_mail_ops {
	/* In a child: the use (enum sl_letter_use) that a call on sk makes of it. */
	enum sl_letter_use (*use_of)(const struct sl_sock *sk);
	/* In the keeper: a child makes that use of sk. */
	void (*follow)(struct sl_sock *sk, enum sl_letter_use use);
	void (*left)(void); /* SL_USE_LEFT came, or a child has ended */
	/* The parent's answer to a letter about a connection, by `to`, and the child's end of it:
	 * `inode` is what the child's numbers stand for so far, `will` where a parent that has
	 * ended has left it; true: they stand for another file now. */
	void (*send)(struct sl_sock *sk, int to);
	bool (*receive)(struct sl_sock *sk, uint32_t inode, int from, int will);
	/* In the keeper: the file that children of sk's may still have, or sk's own. */
	int (*file_of_children)(const struct sl_sock *sk);
};
void sl_mail_set_ops(const struct sl_mail_ops *ops); /* before the first start */

/* The mailbox, which the keeper watches: after sl_keeper_open(). 0 or -errno. */
int sl_mail_open(void);
void sl_mail_close(void);
/* Reads the mailbox again after a rest. The keeper's job in each round. */
void sl_mail_wake(uint64_t now_ns);
uint64_t sl_mail_due_ns(uint64_t now_ns, bool quiet);
/* Does what a letter asks for, if the letter is credible. end: the descriptor that came with it, or
 * -1; from: the place of the mailbox that it lay in. True: end is in use; else the caller closes
 * it. */
bool sl_mail_on_letter(const void *letter, long bytes, int end, uint32_t from);

/* Around a fork, in the process that forks, with the lock of forks held: mailboxes for the child,
 * the one in this process and those in its ancestors. Asking an ancestor waits for its keeper, at
 * most a fifth of a second. */
void sl_mail_fork_begin(void);
void sl_mail_fork_end(void);
void sl_mail_child(void); /* after fork, in the child */
/* In a child that becomes another user: gets mailboxes of its own in place of those that it has in
 * common with other processes. True of sl_mail_is_shared(): it has such. */
bool sl_mail_is_shared(void);
void sl_mail_part(void);
/* A filter of system calls comes that may kill this process for what it does in a fork: its
 * children share its mailboxes from now on. */
void sl_mail_confine(void);
bool sl_mail_is_confined(void);

/* In a child: asks the parent to hand the socket back, and waits for the answer for a while. */
void sl_keeper_tell_parent(struct sl_sock *sk);
/* sl_keeper_tell_parent() for a child that has the socket by fd instead of sk->fd. */
void sl_keeper_tell_parent_of(struct sl_sock *sk, int fd);
/* For a datagram socket, by fd: another program gets it, which may never use it. */
void sl_keeper_lend(struct sl_sock *sk, int fd);
/* Puts a packet with descriptors where children find it: at the other end of each mailbox. Returns
 * how many of the descriptors each packet has: fewer where there are many children, since all that
 * lie in mailboxes count against RLIMIT_NOFILE of the user. */
uint32_t sl_keeper_leave(const void *what, size_t bytes, const int *fd, uint32_t nfds);
/* In a child: tells the parent that this child serves the listener, too. */
void sl_keeper_share(struct sl_sock *sk);
/* The number of this process's ancestors, by fork, that had a keeper. Children of a process with
 * SL_GENERATIONS such ancestors do without. */
#define SL_GENERATIONS 8
uint8_t sl_keeper_generation(void);
bool sl_keeper_may_have_children(void);
/* Has the parent hand the socket back first, if it is the parent's. */
static inline void sl_sock_part(struct sl_sock *sk)
{
	if (sl_unlikely(sk->passed))
		sl_keeper_tell_parent(sk);
}
/* A child changes what a UDP socket is (its peer, an option): the parent, which goes by what it has
 * set itself, leaves it to the kernel first. sk: may be NULL. */
static inline void sl_sock_change(struct sl_sock *sk)
{
	if (sk && sk->proto == IPPROTO_UDP)
		sl_sock_part(sk);
}
/* In a child: tells the parent of the fork, if no fork handler did. */
void sl_keeper_tell_fork(void);

#endif
