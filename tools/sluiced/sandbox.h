/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives up the rights that the daemon does not need. */
#ifndef SL_SANDBOX_H
#define SL_SANDBOX_H

/* Drops capabilities, and confines files and system calls; logs what the kernel cannot do. The
 * daemon must have opened everything that needs more. socket_path: in the daemon's directory. */
void sl_sandbox_enter(const char *socket_path);

#endif
