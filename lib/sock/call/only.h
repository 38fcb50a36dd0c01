/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose sockets are all the kernel's. */
#ifndef SL_ONLY_H
#define SL_ONLY_H

#include <stdbool.h>

/* True: sl_kernel_only() was called, so new sockets stay with the kernel. */
bool sl_is_kernel_only(void);

#endif
