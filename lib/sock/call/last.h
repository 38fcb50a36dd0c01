/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that ends with its last thread, and not by exit(2). */
#ifndef SL_LAST_H
#define SL_LAST_H

#include "base/base.h"

/* Jobs of the keeper. */
void sl_last_look(uint64_t now_ns);
uint64_t sl_last_due_ns(uint64_t now_ns, bool quiet);
void sl_last_child(void); /* after fork, in the child */

/* The calling thread is confined from now on. by_filter: perhaps all threads are. */
void sl_last_confine(bool by_filter);

#endif
