/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors from another process that are not of the expected kind. */
#ifndef SL_STRANGER_H
#define SL_STRANGER_H

#include <stdbool.h>

/* Moves a descriptor that came away from the program's numbers and returns its new number. A
 * descriptor that is no socket keeps its number, which is marked as the library's. Never waits. */
int sl_stranger_take(int fd);
/* Closes fd in another thread, so that the caller never waits for a trap that the sender has set
 * (SO_LINGER, FUSE). False: so many wait to be closed that the caller must take no more from this
 * sender. Any thread. */
bool sl_stranger_close(int fd);
/* Waits until no thread closes any more, two seconds at most. False: one still does. */
bool sl_stranger_wait(void);
/* Logs once that such descriptors came. */
void sl_stranger_warn(void);
void sl_stranger_child(void); /* after fork, in the child */

#endif
