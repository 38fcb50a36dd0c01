/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that another process has sent and that are not what they should be. */
#ifndef SL_STRANGER_H
#define SL_STRANGER_H

#include <stdbool.h>

/* Takes a descriptor that came out of the way of the program's numbers, and returns the number that
 * it has now. A descriptor that is no socket stays where it is, marked as the library's. Never
 * waits. */
int sl_stranger_take(int fd);
/* Closes it, elsewhere: the caller never waits for what its maker has prepared (SO_LINGER, FUSE).
 * False: so many wait to be closed that no more may be taken from where this one came. Any thread.
 */
bool sl_stranger_close(int fd);
/* Waits until no thread closes any more: two seconds at most, for a hostile one. False: it is there
 * still. */
bool sl_stranger_wait(void);
/* Says once that such came. */
void sl_stranger_warn(void);
void sl_stranger_child(void); /* after fork, in the child */

#endif
