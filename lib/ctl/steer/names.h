/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket's names, without its lock. */
#ifndef SL_CTL_NAMES_H
#define SL_CTL_NAMES_H

#include "names_abi.h"

/* Loads the program: takes some milliseconds, so a daemon does it before it serves. */
void sl_names_open(void);
/* Reads the names of a socket of IP, which is a descriptor of the calling thread. 0; -ENOSYS: this
 * kernel has no such program. */
int sl_names_of(int fd, struct sl_names *out);

#endif
