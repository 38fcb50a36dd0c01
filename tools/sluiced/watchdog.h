/* SPDX-License-Identifier: BSD-2-Clause */
/* Sees to it that the loop comes round; see watchdog.c. */
#ifndef SL_WATCHDOG_H
#define SL_WATCHDOG_H

#include "sluiced.h"

/* Starts the thread: a turn of the loop may take that many seconds. */
void sl_watchdog_start(unsigned seconds);
/* The loop begins a turn, or sleeps until something comes. */
void sl_watchdog_turn(void);
void sl_watchdog_rest(void);
/* Whose request of which kind is being served; 0: none. For the log. */
void sl_watchdog_serves(const struct sl_session *s, uint32_t op);

/* sd_notify(3): to the service manager that has started the daemon, if one has. */
void sl_notify(const char *text);

#endif
