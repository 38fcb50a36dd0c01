/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters of children to the keeper of the process that forked them. */
#ifndef SL_MAIL_H
#define SL_MAIL_H

#include <stdbool.h>
#include <stdint.h>

/* The use that a child makes of an inherited socket. */
enum sl_letter_use {
	SL_USE_ANY,
	SL_USE_ACCEPT, /* a listener: it accepts what the kernel has, and what was there before */
	SL_USE_SHARE,  /* a listener: each process that accepts has a part of it */
	SL_USE_NONE,   /* nothing is used yet: the child itself reports that it exists */
	SL_USE_LEFT, /* the child has no number for the file of a connection that it was forked with
		      */
	SL_USE_POKE, /* there is something new for the keeper, from its own process */
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
	uint32_t ticket; /* by this it knows the answer on the board */
	uint32_t unused;
};

enum sl_mail {
	SL_MAIL_EMPTY,
	SL_MAIL_MORE,   /* there may be more, and it has been enough for now */
	SL_MAIL_BROKEN, /* a child has shut it down: sl_mail_renew() */
};

/* 0 or -errno. */
int sl_mail_open(void);
void sl_mail_close(void);
int sl_mail_fd(void); /* readable when there are letters */
/* Reads some letters and does what they ask for. The keeper's; never blocks. */
enum sl_mail sl_mail_read(void);
/* A new mailbox for children that come; those that are there have none any more. sl_mail_fd() is
 * another file, and nowhere watched. 0 or -errno: it is as it was. */
int sl_mail_renew(void);
/* Does what a letter asks for, if the letter is credible. end: the descriptor that came with it, or
 * -1; the caller closes it. For sl_mail_read(). */
void sl_mail_on_letter(const void *letter, long bytes, int end);
void sl_mail_child(void); /* after fork, in the child */

#endif
