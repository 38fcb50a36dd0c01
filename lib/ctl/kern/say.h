/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences for the log: why something failed. Any thread, no lock. */
#ifndef SL_SAY_H
#define SL_SAY_H

#include "base/base.h"

/* Writes the sentence that *why points to (thread-local); why may be NULL. */
void sl_why(const char **why, const char *fmt, ...) SL_PRINTF(2, 3);
/* The sentence behind the name that it begins with ("eth0: no permission"), or all of it. */
const char *sl_why_of(const char *why, const char *name);
/* Puts the errno of a failed library call into words (err: positive or negative);
 * NULL-terminated, static or thread-local. */
const char *sl_strerror(int err);

#endif
