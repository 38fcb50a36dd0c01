/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that the loop keeps turning; see watchdog.c. */
#ifndef SL_WATCHDOG_H
#define SL_WATCHDOG_H

#include "session.h"

/* Starts the thread. seconds: the longest time that a turn of the loop may take. */
void sl_watchdog_start(unsigned seconds);
/* The loop begins a turn, or sleeps until something comes. */
void sl_watchdog_turn(void);
void sl_watchdog_rest(void);
/* For the log: the session and kind of the request being served; 0: none. */
void sl_watchdog_serves(const struct sl_session *s, uint32_t op);

/* sd_notify(3): a message to the service manager that has started the daemon, if one has. */
void sl_notify(const char *text);

#endif
