/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that is stopped (SIGSTOP) answers no SYN. With kernel sockets the kernel would answer,
 * and other processes with the same listener accept. So of several that share a TCP endpoint the
 * stopped ones get no new connection, until they go on; they keep those they have. The kernel does
 * not report a stop, so the daemon looks for it; a SYN that comes before that is answered when the
 * peer repeats it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/claim/claim.h"
#include "claims.h"
#include "session.h"
#include "sluiced.h"

/* proc_pid_stat(5): the state is behind the last parenthesis. */
static char state_at(const char *path)
{
	char text[128];
	const char *p = sl_read_text(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;

	return (char)(p && p[1] == ' ' ? p[2] : 0);
}

static char state_of(pid_t pid)
{
	char path[32];

	if (pid <= 0) /* of another pid namespace */
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return state_at(path);
}

bool sl_process_is_stopped(pid_t pid)
{
	return state_of(pid) == 'T';
}

/* While its pidfd says that it lives the number is its own. */
static bool is_its_number(const struct sl_session *s)
{
	return s->pidfd >= 0 && !sl_is_dead(s->pidfd);
}

static bool is_stopped(const struct sl_session *s)
{
	return sl_process_is_stopped(s->cred.pid) && is_its_number(s);
}

/* (The flags are those of the first thread, which may have ended before the others.) */
bool sl_session_is_ending(const struct sl_session *s)
{
	const unsigned exiting = 0x4; /* PF_EXITING of linux/sched.h */
	char path[32], text[256];
	const char *p;
	unsigned flags;

	if (s->cred.pid <= 0) /* of another pid namespace */
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", s->cred.pid);
	p = sl_read_text(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return p && sscanf(p, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & exiting &&
	       is_its_number(s);
}

/* True: the file, below one of the places where control groups are mounted, has that word. */
static bool has_word(const char *where, const char *group, const char *file, const char *word)
{
	char path[512], text[256];

	return snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", where, group, file) <
		       (int)sizeof(path) &&
	       sl_read_text(path, text, sizeof(text)) > 0 && strstr(text, word);
}

/* cgroups(7): a line is "0::GROUP" of version 2, or "NUMBER:CONTROLLERS:GROUP". */
static bool is_frozen_there(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return false;
	*group++ = 0;
	if (!strcmp(controllers, ":freezer"))
		return has_word("/freezer", group, "freezer.state", "FROZEN");
	return !controllers[1] && (has_word("", group, "cgroup.events", "frozen 1") ||
				   has_word("/unified", group, "cgroup.events", "frozen 1"));
}

/* True: its control group is frozen, as `docker pause` does it. The process's state does not show
 * that. */
static bool is_frozen(pid_t pid)
{
	char path[32], text[4096], *at = text, *line;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (pid <= 0 || sl_read_text(path, text, sizeof(text)) <= 0)
		return false;
	while ((line = strsep(&at, "\n")))
		if (is_frozen_there(line))
			return true;
	return false;
}

static bool is_halt(char state)
{
	return state == 'T' || state == 't';
}

bool sl_session_is_halted(const struct sl_session *s)
{
	return (is_halt(state_of(s->cred.pid)) || is_frozen(s->cred.pid)) && is_its_number(s);
}

bool sl_thread_is_halted(const struct sl_session *s, uint32_t tid)
{
	char path[48], state = 0;

	if (s->cred.pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", s->cred.pid, tid);
		state = state_at(path);
	}
	if (!state)
		return sl_session_is_halted(s);
	return (is_halt(state) || is_frozen(s->cred.pid)) && is_its_number(s);
}

static void set_away(struct sl_session *s)
{
	for (uint32_t i = 0; i < s->held.max; i++) {
		struct sl_held *h = &s->held.slot[i];
		bool away = h->req.claim.flags & SL_CLAIM_AWAY;

		if (!h->used || !sl_is_shared(&h->req) || away == s->stopped ||
		    sl_embedded_claim_away(&h->req, s->stopped))
			continue;
		h->req.claim.flags ^= SL_CLAIM_AWAY;
		sl_debug("sluiced", "lease %u: TCP port %u: %s", s->member, h->req.key.local_port,
			 s->stopped ? "stopped: new connections go to others" : "goes on");
	}
}

void sl_stopped_look(void)
{
	static uint64_t looked_ns;
	uint64_t now = sl_now_ns();

	if (now - looked_ns < SL_VIEW_MS * 1000000ull)
		return;
	looked_ns = now;
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		bool was = s->stopped;

		if (s->leaving || (!s->held.nshared && !was))
			continue;
		s->stopped = is_stopped(s);
		/* (Something may have been claimed just before.) */
		if (was || s->stopped)
			set_away(s);
	}
}
