/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares the loop's time among users.
 *
 * Theory of operation: a user may have hundreds of sessions, and some requests take milliseconds.
 * So the loop notes how much of its time each user took of late, and serves the user that took
 * least first; among sessions of one user the one that was served longest ago comes first. When the
 * time of a turn is over the loop looks anew, so that a user with few requests waits for one turn
 * at most, however much others ask for. While nobody else asks, a user has all the time. */
#include <stdlib.h>

#include "base/clock.h"
#include "session.h"
#include "sluiced.h"

#define USERS   128u         /* of late; beyond these the ones that took least are forgotten */
#define HALF_NS 100000000ull /* the time that a user took counts half after this time */

static struct user {
	uint32_t uid;
	uint64_t took_ns;
} users[USERS];
static unsigned nusers;
static uint64_t halved_ns, nserved;

static struct user *new_user(uint32_t uid)
{
	struct user *u = users;

	if (nusers < USERS)
		u = &users[nusers++];
	else
		for (unsigned i = 1; i < USERS; i++)
			if (users[i].took_ns < u->took_ns)
				u = &users[i];
	*u = (struct user){.uid = uid};
	return u;
}

/* Finds the session's user. The session keeps the place, which another user may have by now. */
static struct user *user_of(struct sl_session *s)
{
	struct user *u = &users[s->user];

	if (s->user < nusers && u->uid == s->cred.uid)
		return u;
	for (u = users; u < users + nusers && u->uid != s->cred.uid; u++)
		;
	if (u == users + nusers)
		u = new_user(s->cred.uid);
	s->user = (uint16_t)(u - users);
	return u;
}

static void halve(uint64_t now)
{
	if (now - halved_ns < HALF_NS)
		return;
	for (unsigned i = 0; i < nusers; i++)
		users[i].took_ns = now - halved_ns < 64 * HALF_NS
					   ? users[i].took_ns >> (now - halved_ns) / HALF_NS
					   : 0;
	halved_ns = now;
}

struct waiting {
	struct sl_session *session;
	uint64_t took_ns, served;
};

static int by_turn(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->took_ns != y->took_ns)
		return x->took_ns < y->took_ns ? -1 : 1;
	return x->served < y->served ? -1 : x->served > y->served;
}

bool sl_turn(struct sl_session **ready, unsigned n, uint64_t ns, sl_turn_fn *serve)
{
	static struct waiting w[SL_SESSIONS_MAX];
	uint64_t begin = sl_now_ns(), now = begin;

	halve(now);
	for (unsigned i = 0; i < n; i++)
		w[i] = (struct waiting){ready[i], user_of(ready[i])->took_ns, ready[i]->served};
	qsort(w, n, sizeof(*w), by_turn);
	for (unsigned i = 0; i < n; i++) {
		struct user *u = user_of(w[i].session);
		uint64_t before = now;

		if (now - begin > ns)
			return false;
		w[i].session->served = ++nserved;
		serve(w[i].session);
		now = sl_now_ns();
		u->took_ns += now - before;
	}
	return true;
}
