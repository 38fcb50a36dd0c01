/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the sender of each request: a lease belongs to one process, under the user that it had
 * when it asked for the lease.
 *
 * Theory of operation: a connection is a descriptor, which a forked child may have, or a process
 * that it was passed to. So with each request the kernel says which process sent it
 * (SCM_CREDENTIALS), and under which real user and group. The daemon refuses a request of any other
 * process, and ends a lease when its process has become another user. It lends things for long
 * (packet memory, a device, a lane) only after a look at the saved IDs, the groups and the
 * capabilities, too: a process that has lost some since its greeting gets no more. Effective IDs do
 * not count: a process that has its former ones saved may take them again at any moment. Groups do
 * not count while the real and the saved user are root. The user and group of a connection are the
 * effective ones of the moment when it was made; with its first request the process must still have
 * them, as one of its IDs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "ctl/lease/proto.h"
#include "session.h"

void sl_sender_tell(int fd)
{
	int one = 1;

	(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
}

static uint64_t mix_text(uint64_t h, const char *text)
{
	for (; *text && *text != '\n'; text++)
		h = sl_mix(h, (uint8_t)*text);
	return h;
}

/* Mixes in the relevant ids of a "Uid:" or "Gid:" line (real, effective, saved, file system).
 * is_zero: both are 0. */
static uint64_t mix_ids(uint64_t h, const char *line, bool *is_zero)
{
	unsigned real, saved;

	*is_zero = false;
	if (sscanf(line, "%*s %u %*u %u", &real, &saved) != 2)
		return h;
	*is_zero = !real && !saved;
	return sl_mix(sl_mix(h, real), saved);
}

/* True: the real, effective or saved id of a "Uid:" or "Gid:" line is that one. */
static bool has_id(const char *line, uint32_t id)
{
	unsigned real, effective, saved;

	return sscanf(line, "%*s %u %u %u", &real, &effective, &saved) == 3 &&
	       (real == id || effective == id || saved == id);
}

/* The real or saved user id of a "Uid:" line, if one is not that one. */
static uint32_t other_id(const char *line, uint32_t uid)
{
	unsigned real, saved;

	if (sscanf(line, "%*s %u %*u %u", &real, &saved) != 2)
		return uid;
	return real != uid ? real : saved;
}

/* proc_pid_status(5). 0: not known (another pid namespace, or a /proc that hides it).
 * *has_ids: the user and group of the connection are still the process's. *other: a user id of the
 * process that is not the connection's, if it has one. */
static uint64_t identity(const struct ucred *peer, bool *has_ids, uint32_t *other)
{
	pid_t pid = peer->pid;
	static char text[8192];
	bool root = false, zero;
	uint64_t h = 1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (pid <= 0 || sl_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	*has_ids = true;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "Uid:", 4)) { /* stands before the groups */
			*has_ids &= has_id(line, peer->uid);
			*other = other_id(line, peer->uid);
			h = mix_ids(h, line, &root);
		} else if (!strncmp(line, "Gid:", 4)) {
			*has_ids &= has_id(line, peer->gid);
			if (!root)
				h = mix_ids(h, line, &zero);
		} else if (!strncmp(line, "Groups:", 7) && !root) {
			h = mix_text(h, line);
		} else if (!strncmp(line, "CapPrm:", 7)) {
			h = mix_text(h, line);
		}
	}
	return h ? h : 1;
}

static int changed(struct sl_session *s, const char **why)
{
	sl_why(why,
	       "process %d has changed its user, groups or capabilities since it connected: "
	       "its lease has ended",
	       s->cred.pid);
	return -EPROTO; /* the daemon hangs up */
}

/* True: the answer brings descriptors. */
static bool gives(uint32_t op)
{
	return sl_lease_flags(op) & SL_LEASE_LENDS || op == SL_LEASE_RESTORED ||
	       op == SL_LEASE_TAKE;
}

/* The last requests of a process that has died are served, since its peers may depend on them. But
 * another process can have its connection and, by now, its number. */
int sl_sender_check(struct sl_session *s, const struct sl_lease_msg *m, const char **why)
{
	bool first = !s->sent;
	bool has_ids = m->from.uid == s->cred.uid && m->from.gid == s->cred.gid;
	uint64_t id;

	if (m->from.pid != s->cred.pid) {
		sl_why(why, "the lease is process %d's, not its child's or another's (%d)",
		       s->cred.pid, m->from.pid);
		return s->pidfd >= 0 && sl_is_dead(s->pidfd) ? -EPROTO : -EPERM;
	}
	if (gives(m->hdr.op) && s->pidfd >= 0 && sl_is_dead(s->pidfd)) {
		sl_why(why, "process %d has ended: the sender is another one of that number",
		       s->cred.pid);
		return -EPROTO;
	}
	if (s->sent && (m->from.uid != s->real_uid || (m->from.gid != s->real_gid && m->from.uid)))
		return changed(s, why);
	s->sent = true;
	s->real_uid = m->from.uid;
	s->real_gid = m->from.gid;
	if (s->identity && !(sl_lease_flags(m->hdr.op) & SL_LEASE_LENDS))
		return 0;
	s->other_uid = m->from.uid;
	id = identity(&s->cred, &has_ids, &s->other_uid);
	if ((first && !has_ids) || (s->identity && id && id != s->identity))
		return changed(s, why);
	s->identity = id;
	return 0;
}
