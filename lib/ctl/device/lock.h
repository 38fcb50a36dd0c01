/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry and exit of each broker call: the lock, and what protects the caller's thread state. */
#ifndef SL_BROKER_LOCK_H
#define SL_BROKER_LOCK_H

#include <signal.h>
#include <stdbool.h>

/* While the broker works its thread takes no signals (a handler could call back into it) and is
 * not cancelled (libbpf calls are cancellation points); errno is the caller's. */
struct sl_broker_guard {
	sigset_t mask;
	int cancel;
	int saved_errno;
};

void sl_broker_enter(struct sl_broker_guard *g);
/* False: another thread has the lock. */
bool sl_broker_try_enter(struct sl_broker_guard *g);
void sl_broker_leave(struct sl_broker_guard *g);

/* Around fork, in the parent: no child may be made in the middle of an attachment, since it would
 * keep the attachment's descriptors and file locks (which hold up every process of the host) as
 * long as it lives. The child calls sl_broker_child() instead of sl_broker_fork_end(), and that
 * sl_broker_fork_child(). */
void sl_broker_fork_begin(void);
void sl_broker_fork_end(void);
void sl_broker_fork_child(void);

#endif
