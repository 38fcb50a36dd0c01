/* SPDX-License-Identifier: BSD-2-Clause */
/* How much CPU time the process's control group allows. */
#ifndef SL_QUOTA_H
#define SL_QUOTA_H

#include "base/base.h"

/* Reads the files of the group and of those around it: two system calls and more, by descriptors
 * that stay open. Returns thousandths of a core, all threads of the group
 * together; 0: no quota, or not known. Any thread. */
uint32_t sl_quota_read(void);
/* Closes what sl_quota_read() keeps open. Any thread. */
void sl_quota_close(void);

#endif
