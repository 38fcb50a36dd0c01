/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares the loop's time among users.
 *
 * Theory of operation: a user may have hundreds of sessions, and some requests take milliseconds.
 * So the loop notes how much of its time each user took of late, and serves the user that took
 * least first; among sessions of one user the one that was served longest ago comes first. When the
 * time of a turn is over the loop looks anew, so that a user with few requests waits for one turn
 * at most, however much others ask for. While nobody else asks, a user has all the time.
 *
 * A request that opens a device or a lane cannot be divided, and takes tens of milliseconds of the
 * kernel's time, in which nobody else is served. So requests of more than HEAVY_NS are rationed
 * while other users have leases: a user who has used up BURST_NS of them gets 1/SHARE of the time
 * for more. (The wait for one of them is bounded, so that its client does not give up.) */
#include <stdlib.h>

#include "base/clock.h"
#include "session.h"
#include "sluiced.h"

#define USERS    128u         /* of late; beyond these the ones that took least are forgotten */
#define HALF_NS  100000000ull /* the time that a user took counts half after this time */
#define HEAVY_NS 2000000ull
#define BURST_NS 500000000ull
#define SHARE    4
#define WAIT_NS  1500000000ull

static struct user {
	uint32_t uid;
	uint64_t took_ns;
	uint64_t heavy_ns, until_ns; /* of that, by heavy requests; and counted until then */
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

/* Adds that much to the user's heavy requests; returns what counts now. */
static uint64_t heavy(struct user *u, uint64_t took_ns, uint64_t now)
{
	uint64_t over = (now - u->until_ns) / SHARE;

	u->heavy_ns = (u->heavy_ns > over ? u->heavy_ns - over : 0) + took_ns;
	u->heavy_ns = sl_min(u->heavy_ns, BURST_NS + WAIT_NS / SHARE);
	u->until_ns = now;
	return u->heavy_ns;
}

static bool others_have_leases(const struct sl_session *than)
{
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->greeted && !s->leaving && s->cred.uid != than->cred.uid)
			return true;
	return false;
}

bool sl_turn_may_be_heavy(struct sl_session *s)
{
	return !s->cred.uid || heavy(user_of(s), 0, sl_now_ns()) < BURST_NS ||
	       !others_have_leases(s);
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
		if (now - before > HEAVY_NS)
			(void)heavy(u, now - before, now);
	}
	return true;
}
