/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose sockets are all the kernel's. */
#ifndef SL_ONLY_H
#define SL_ONLY_H

#include <stdbool.h>

/* True: sl_kernel_only() was called, so new sockets stay with the kernel. */
bool sl_is_kernel_only(void);
/* True: a seccomp filter would kill the process for a call of the library, which makes none that it
 * can do without. */
bool sl_is_confined(void);
/* Looks, once a second at most, whether BPF programs of the control group decide by now where the
 * process's sockets go; then they are all the kernel's. No lock held. */
void sl_only_look(void);

#endif
