/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables by which lower rooms call upper ones: the keeper's jobs, letters, the kinds of sockets. */
#ifndef SL_JOBS_H
#define SL_JOBS_H

/* Gives the tables to the rooms that use them. Once, before the first start. */
void sl_jobs_set(void);

#endif
