/* SPDX-License-Identifier: BSD-2-Clause */
/* The network namespace of this thread. */
#ifndef SL_NETNS_H
#define SL_NETNS_H

#include <stdbool.h>
#include <stdint.h>

/* Inode number of the calling thread's network namespace, 0 when unknown. */
uint32_t sl_netns_ino(void);

/* Threads of this process may be in several network namespaces from now on. Any thread. */
void sl_netns_part(void);
/* The calling thread's network namespace is the one in which the library works. */
void sl_netns_settle(void);
/* True: the calling thread is in another network namespace, so it must ask for nothing by the
 * number of a device there. Costs a system call after sl_netns_part(). */
bool sl_netns_is_foreign(void);

#endif
