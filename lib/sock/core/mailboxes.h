/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailboxes of a process: one for each of its children. */
#ifndef SL_MAILBOXES_H
#define SL_MAILBOXES_H

#include "base/base.h"

/* Reads at most a few letters from fd, without waiting, and follows them. `from` is the place of
 * the mailbox, for sl_board_post() and sl_mailbox_adopt(). */
enum sl_mail {
	SL_MAIL_EMPTY,
	SL_MAIL_MORE,   /* there may be more, and it has been enough for now */
	SL_MAIL_ENDED,  /* all that has the other end has closed it or shut it down */
	SL_MAIL_BROKEN, /* a child has sent what no honest child sends, and too much of it */
};
typedef enum sl_mail (*sl_mail_read)(int fd, uint32_t from);

/* After sl_keeper_open(). 0 or -errno; without it children have the common mailbox alone. */
int sl_mailboxes_open(sl_mail_read read);
void sl_mailboxes_close(void);

/* Makes a mailbox for the child that the calling thread is about to fork, which holds the lock of
 * forks. Returns the child's end and sets *place; or -errno: the child gets the common
 * mailbox. The keeper closes the end in the parent soon, and the mailbox when no process has the
 * end any more. */
int sl_mailbox_make(uint32_t *place);
/* Adds the other end of a pair that a descendant has made, takes the descriptor, and sets *place.
 * from: the place of the mailbox by which it came, whose family has a bound. False: it is not
 * taken. Only the keeper calls it. */
bool sl_mailbox_adopt(int end, uint32_t from, uint32_t *place);
/* Calls fn with the descriptor of each mailbox; no fork may happen meanwhile. */
void sl_mailboxes_each(void (*fn)(int fd, void *arg), void *arg);

/* Reads on after a rest; when that is due (0: none rests). The keeper calls them. */
void sl_mailboxes_wake(uint64_t now_ns);
uint64_t sl_mailboxes_due_ns(void);

/* After fork, in the child: closes all mailboxes; own: the child's end of its own, or -1. */
void sl_mailboxes_child(int own);

#endif
