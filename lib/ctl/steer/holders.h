/* SPDX-License-Identifier: BSD-2-Clause */
/* How many references a socket has. */
#ifndef SL_CTL_HOLDERS_H
#define SL_CTL_HOLDERS_H

/* Number of references to the file behind a descriptor of this process, or -errno. */
int sl_embedded_holders(int fd);
/* In a forked child. Async-signal-safe. */
void sl_holders_child(void);

#endif
