/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds how much the log says of one user: each connection can make a line, and any user can make
 * thousands of connections a second. */
#include "base/clock.h"
#include "session.h"

#define USERS     64u /* by number; two of the same place count as one */
#define LINES     64u /* in a window */
#define WINDOW_NS 10000000000ull

static struct user {
	uint64_t since_ns; /* 0: no window has begun */
	uint32_t lines;
} users[USERS];

enum sl_log_level sl_line_level(const struct sl_session *s, enum sl_log_level level)
{
	struct user *u = &users[s->cred.uid % USERS];
	uint64_t now = sl_now_ns();

	if (!u->since_ns || now - u->since_ns > WINDOW_NS)
		*u = (struct user){.since_ns = now};
	if (u->lines < LINES)
		u->lines++;
	else if (u->lines++ == LINES)
		sl_warn("sluiced", "user %u makes more than %u lines in %llu s: left out",
			s->cred.uid, LINES, WINDOW_NS / 1000000000);
	return u->lines <= LINES ? level : SL_LOG_DEBUG;
}
