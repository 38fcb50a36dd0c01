/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of processors as settings write them. */
#ifndef SL_CPUS_H
#define SL_CPUS_H

#include <sched.h>

#include "base/base.h"

/* Reads "0x" and a mask of hexadecimal digits, or a list as 0,4,7-10, into *set. 0: there are some;
 * -ENOENT: "" or "-1", no choice; -EINVAL: neither, or a number that no set can hold. On failure
 * *set is empty. Any thread. */
int sl_cpus_parse(const char *text, cpu_set_t *set);

#endif
