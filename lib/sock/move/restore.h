/* SPDX-License-Identifier: BSD-2-Clause */
/* Hand-back by the daemon, which makes the kernel's socket. All may sleep: call with no lane held.
 */
#ifndef SL_RESTORE_H
#define SL_RESTORE_H

#include "sock/repair/repair.h"

struct sl_sock;

/* Like sl_repair_kernel(), _closed() and _syn(), but the daemon makes a new socket: its descriptor,
 * or -errno. It gets the family of `shadow`, and its options that need privileges. */
int sl_restore_kernel(int shadow, const struct sl_tcp_repair *r,
		      const struct sl_repair_source *src);
int sl_restore_closed(int shadow, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		      bool reset);
int sl_restore_syn(int shadow, const struct sl_tcp_key *key, uint32_t scope,
		   const struct sl_tcp_repair_syn *syn, const void *data);

/* Like sl_repair_queue(), of a connection. */
int sl_restore_queue(int listener, const struct sl_tcp_repair *r,
		     const struct sl_repair_source *src);

void sl_restore_child(void); /* after fork, in the child */

#endif
