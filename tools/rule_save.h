/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rules as a configuration file. */
#ifndef SL_RULE_SAVE_H
#define SL_RULE_SAVE_H

#include "base/base.h"
#include "steer.h"

/* Writes the rules of the array that are in use, in its order, into the file, which the new one
 * replaces as a whole; "-": to standard output. from: where they come from, for a comment. Says on
 * standard error what the file cannot express. 0 or -errno. */
int sl_rule_save(const char *path, const struct sl_rule *rules, unsigned n, const char *from);

#endif
