/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves `sluice stat`, which asks a running program for its counters. */
#ifndef SL_DUMP_H
#define SL_DUMP_H

/* The keeper calls it at each of its wake-ups and once a second: writes counters to the log for
 * `sluice stat -S`, and starts the queues' maxima anew after `sluice stat -z`. */
void sl_dump_serve(void);

#endif
