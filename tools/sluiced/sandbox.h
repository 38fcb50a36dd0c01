/* SPDX-License-Identifier: BSD-2-Clause */
/* Giving up what the daemon does not need. */
#ifndef SL_SANDBOX_H
#define SL_SANDBOX_H

/* Drops capabilities, and confines files and system calls; what the kernel cannot do is said in the
 * log. Everything that needs more must be open already. socket_path: in the daemon's directory. */
void sl_sandbox_enter(const char *socket_path);

#endif
