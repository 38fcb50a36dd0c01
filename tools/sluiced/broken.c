/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that have broken the memory which they share.
 *
 * Theory of operation: each member can write the locks of its group, so the daemon never waits for
 * one: it tries, and tries again later. A lock that names no member, that a process has not let go
 * for HELD_S seconds, or that a stopped process has at two looks, stays as it is: the daemon could
 * neither mend what that lock protects nor give frames back. Then the group ends, and nothing else:
 * the daemon lends it nothing more, its programs learn within a second that their devices are not
 * steered and move their sockets to the kernel, and the daemon hangs up on those that have not done
 * so in LEAVE_NS. The memory goes with the last of them; the next program of that group gets new
 * memory.
 *
 * A process that is stopped (SIGSTOP, a debugger) in the microsecond in which it has a lock would
 * have its whole group stand still, for as long as it pleases its user. It cannot move its sockets,
 * so it keeps its lease until it goes on, and LEAVE_NS longer. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "ctl/claim/bury.h"
#include "ctl/kern/say.h"
#include "claims.h"
#include "foreign.h"
#include "memory.h"
#include "session.h"
#include "sluiced.h"

#define LOOK_MS    250
#define HELD_S     30 /* holders keep a lock for a microsecond */
#define HELD_LOOKS (HELD_S * 1000 / LOOK_MS)
#define LEAVE_NS   5000000000ull /* for programs to move to the kernel what they have */

static struct sl_session *session_of(const struct sl_memory *m, uint32_t member)
{
	struct sl_session *s = sluiced.sessions;

	while (s && (s->memory != m || s->share != member))
		s = s->next;
	return s;
}

static bool is_stopped(void *arg, uint32_t thread)
{
	const struct sl_session *s = session_of(arg, sl_rlock_named(thread));

	return s && sl_thread_is_halted(s, thread & ((1u << SL_RLOCK_SHIFT) - 1));
}

static void say_fault(const struct sl_memory *m, const struct sl_share_fault *f)
{
	const struct sl_session *s = session_of(m, sl_rlock_named(f->word));
	char lock[32] = "the pool", by[64] = "nobody of the group", how[24];

	if (f->queue >= 0)
		snprintf(lock, sizeof(lock), "queue record %d", f->queue);
	if (f->stopped)
		snprintf(how, sizeof(how), "which is stopped");
	else
		snprintf(how, sizeof(how), "for %u seconds", HELD_S);
	if (!f->impossible && s)
		snprintf(by, sizeof(by), "process %d (%s), %s", s->cred.pid, s->program, how);
	sl_warn("sluiced",
		"group %s has broken the memory that it shares: the lock of %s is held by %s (%#x). "
		"Its programs go on by the kernel; others are not concerned. Remedy: end all programs "
		"of the group, then start them anew",
		m->group, lock, by, f->word);
}

/* Gives up the claims of UDP. The programs move their TCP connections themselves. */
static void drop_claims(const struct sl_memory *m)
{
	for (struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->memory == m)
			sl_claims_drop_udp(s);
}

static bool has_device(const struct sl_session *s)
{
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++)
		if (s->port[i].ifindex)
			return true;
	return false;
}

/* True: the process had LEAVE_NS to move its sockets. */
static bool is_late(struct sl_session *s, uint64_t now)
{
	if (sl_session_is_halted(s))
		s->halted_ns = now;
	return now - sl_max(s->memory->broken_ns, s->halted_ns) > LEAVE_NS;
}

static void end_others(const struct sl_memory *m, uint64_t now)
{
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		if (s->memory != m || s->leaving || !has_device(s) || !is_late(s, now))
			continue;
		sl_warn("sluiced",
			"process %d (%s) keeps devices of a broken group: it is hung up on",
			s->cred.pid, s->program);
		sl_session_hang_up(s);
	}
}

void sl_broken_look(void)
{
	static uint64_t looked_ns;
	uint64_t now = sl_now_ns();
	struct sl_share_fault f;

	if (now - looked_ns < LOOK_MS * 1000000ull)
		return;
	looked_ns = now;
	for (struct sl_memory *m = sluiced.memory; m < sluiced.memory + SL_MEMORIES_MAX; m++) {
		if (!m->users)
			continue;
		if (m->broken_ns) {
			end_others(m, now);
		} else if (sl_broker_is_broken(m->umem, HELD_LOOKS, is_stopped, m, &f)) {
			m->broken_ns = now;
			say_fault(m, &f);
			drop_claims(m);
		}
	}
}

int sl_broken_check(const struct sl_memory *m, const char **why)
{
	if (!m->broken_ns)
		return 0;
	sl_why(why,
	       "group %s has broken the memory that it shares; remedy: end all its programs, then "
	       "start them anew",
	       m->group);
	return -ESHUTDOWN;
}
