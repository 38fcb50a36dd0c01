/* SPDX-License-Identifier: BSD-2-Clause */
/* The network namespace of this thread. */
#ifndef SL_NETNS_H
#define SL_NETNS_H

#include <stdint.h>

/* Inode number of the calling thread's network namespace, 0 when unknown. */
uint32_t sl_netns_ino(void);

#endif
