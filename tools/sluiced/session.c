/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection to the daemon: greeting, one request after the other, the end. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/closer.h"
#include "base/compat.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/claim/bury.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"
#include "claims.h"
#include "conns.h"
#include "door.h"
#include "facts.h"
#include "foreign.h"
#include "grant.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "sluiced.h"
#include "vlan.h"
#include "watchdog.h"

#define REAP_CLAIMS 256           /* at a time: below a millisecond */
#define BURY_NS     10000000ull   /* how often the loop looks whether the dead can be buried */
#define REAP_NS     5000000ull    /* of a turn of the loop */
#define ACCEPTS     8             /* connections in a turn of the loop */
#define TRIES       3             /* daemons that may die of one request */
#define ENDING_NS   1000000000ull /* from the end of its files to a process's death, at most */
#define LATER_NS    50000000ull   /* a request that has to wait is tried again after this, */
#define WAITS_NS    3000000000ull /* for at most this long */
#define GOES_ON_NS  8000000000ull /* likewise, for one that is done in pieces; clients wait 10 s */

/* Coming ----------------------------------------------------------------------------------------
 */

/* Asks the kernel for the peer's process, user and groups. */
static int identify(struct sl_session *s)
{
	socklen_t len = sizeof(s->cred);
	int err = sl_sys_getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &s->cred, &len);

	if (err)
		return err;
	len = sizeof(s->gid) - sizeof(s->gid[0]);
	s->gid[0] = s->cred.gid;
	/* The peer has more groups than fit: ignore them all. */
	err = sl_sys_getsockopt(s->fd, SOL_SOCKET, SO_PEERGROUPS, s->gid + 1, &len);
	s->ngids = 1 + (err ? 0 : len / sizeof(s->gid[0]));
	return 0;
}

static void watch_death(const struct sl_session *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SL_TAG_DEATH};

	if (s->pidfd >= 0)
		sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, s->pidfd, &ev);
}

/* Before Linux 6.5: the number may be another process's by now, if the one that connected has died.
 * While its end of the connection is open it most likely lives; and the daemon would believe the
 * next process of that number only if it were of the same user. */
static int open_by_number(const struct sl_session *s)
{
	struct pollfd p = {.fd = s->fd};
	const struct timespec now = {0};
	char path[32];
	struct stat st;
	int fd = s->cred.pid ? (int)sl_sys(SYS_pidfd_open, s->cred.pid, 0) : -ESRCH;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d", s->cred.pid);
	if (!stat(path, &st) && (st.st_uid == s->cred.uid || !st.st_uid) && !sl_is_dead(fd) &&
	    !sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8))
		return fd;
	sl_sys_close(fd);
	return -ESRCH;
}

/* Opens the pidfd, whose end is the certain sign that the process is dead. */
static int watch_process(struct sl_session *s)
{
	socklen_t len = sizeof(s->pidfd);

	if (s->pidfd >= 0)
		return 0;
	if (sl_sys_getsockopt(s->fd, SOL_SOCKET, SO_PEERPIDFD, &s->pidfd, &len))
		s->pidfd = open_by_number(s);
	if (s->pidfd < 0)
		return s->pidfd;
	watch_death(s);
	return 0;
}

static bool has_died(const struct sl_session *s)
{
	return s->pidfd >= 0 && sl_is_dead(s->pidfd);
}

/* True: no process uses the loan any more. The library never closes its end, so when it is closed
 * the process has ended, or is another program (ctl/lease/conn.c, hang_up()). If the daemon hung
 * up, only the process's death is certain. */
static bool is_dead(const struct sl_session *s)
{
	return s->eof || s->pidfd < 0 || sl_is_dead(s->pidfd);
}

static int admit(struct sl_session *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	int err = identify(s);

	if (!err)
		err = sl_door_admit(s);
	if (err)
		return err;
	sl_sender_tell(s->fd);
	return sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, s->fd, &ev);
}

static void link_in(struct sl_session *s)
{
	s->next = sluiced.sessions;
	sluiced.sessions = s;
	sluiced.nsessions++;
}

static void accept_one(int fd)
{
	struct sl_session *s = calloc(1, sizeof(*s));

	if (s) {
		s->fd = fd;
		s->conns.gone.fd = s->pidfd = -1;
		s->since_ns = s->asked_ns = sl_now_ns();
	}
	if (!s || admit(s)) {
		sluiced.refused++;
		sl_sys(SYS_shutdown, fd, SHUT_RDWR);
		sl_closer_add(fd, s ? s->cred.uid : SL_CLOSER_NOBODY, true);
		free(s);
		return;
	}
	s->id = ++sluiced.last_id;
	link_in(s);
	sl_keep_session(s);
}

void sl_session_accept(void)
{
	for (unsigned i = 0; i < ACCEPTS; i++) {
		int fd = (int)sl_sys(SYS_accept4, sluiced.listen_fd, NULL, NULL,
				     SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			sl_door_failed(fd);
			return;
		}
		accept_one(fd);
	}
}

void sl_session_add(struct sl_session *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};

	s->asked_ns = sl_now_ns();
	link_in(s);
	if (s->fd >= 0)
		sl_sender_tell(s->fd);
	if (s->fd >= 0)
		sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, s->fd, &ev);
	watch_death(s);
}

/* Greeting --------------------------------------------------------------------------------------
 */

static int check_netns(int fd, const char **why)
{
	uint32_t ino = sl_foreign_netns(fd);

	if (!ino) {
		sl_why(why, "no network namespace was shown");
		return -EPROTO;
	}
	if (ino != sluiced.netns) {
		sl_why(why, "this daemon serves another network namespace; remedy: one for each, "
			    "SLUICE_DAEMON=<its socket>");
		return -EXDEV;
	}
	return 0;
}

/* The daemon's own names of groups contain a colon, so no client can ask for one. */
static bool is_name(const char *group)
{
	static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789._-";

	return group[0] && !group[strspn(group, may)];
}

/* Members of a group can read each other's packets, so only the policy lets different users share
 * one. A process that has taken a user's effective ID for a while, and has another user's as its
 * real or saved one, is not that user's: the user's processes may not trace it. */
static int choose_group(struct sl_session *s, const struct sl_limits *l, const char *wanted,
			const char **why)
{
	if (!wanted[0] || !strcmp(wanted, "user")) {
		if (s->other_uid == s->cred.uid)
			snprintf(s->group, sizeof(s->group), "uid:%u", s->cred.uid);
		else
			snprintf(s->group, sizeof(s->group), "uid:%u:%u", s->cred.uid,
				 s->other_uid);
		return 0;
	}
	if (!strcmp(wanted, "none")) {
		snprintf(s->group, sizeof(s->group), "lease:%u", s->member);
		return 0;
	}
	if (!is_name(wanted)) {
		sl_why(why, "a group's name has letters, digits and . _ - only");
		return -EINVAL;
	}
	if (!sl_limits_allow_group(l, wanted)) {
		sl_why(why,
		       "the policy does not let user %u join group %s; remedy: 'join %s' in its "
		       "line of sluiced.conf(5)",
		       s->cred.uid, wanted, wanted);
		return -EPERM;
	}
	snprintf(s->group, sizeof(s->group), "%s", wanted);
	return 0;
}

int sl_on_hello(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_lease_hello h = m->body.hello;
	const struct sl_policy_rule *r;
	int err;

	h.group[sizeof(h.group) - 1] = h.program[sizeof(h.program) - 1] = 0;
	if (s->greeted && !s->again)
		return -EALREADY;
	if (sluiced.draining) {
		sl_why(why, "no more leases are given: the daemon is about to end");
		return -ESHUTDOWN;
	}
	r = sl_policy_find(&sluiced.policy, s->cred.uid, s->gid, s->ngids);
	if (!r) {
		sl_why(why, "user %u may not have a lease (sluiced.conf)", s->cred.uid);
		return -EACCES;
	}
	err = sl_door_lease(s, &r->limits, why);
	if (!err)
		err = check_netns(m->fd[0], why);
	if (err)
		return err;
	err = watch_process(s);
	if (err) {
		sl_why(why,
		       "no descriptor of process %d can be had, by which its death is seen; "
		       "remedy: Linux 6.5, or a daemon in a process namespace that shows it",
		       s->cred.pid);
		return err;
	}
	if (!s->member)
		s->member = ++sluiced.last_member;
	err = choose_group(s, &r->limits, h.group, why);
	if (err)
		return err;
	for (char *c = h.program; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	memcpy(s->program, h.program, sizeof(s->program));
	s->limits = r->limits;
	s->greeted = true;
	sl_keep_session(s);
	m->body.hello_ok = (struct sl_lease_hello_ok){
		.member = s->member,
		.max_flows = s->limits.flows,
		.max_lanes = s->limits.lanes,
		.repair = s->limits.repair,
	};
	sl_log(sl_line_level(s, SL_LOG_INFO), "sluiced",
	       "lease %u: process %d (%s) of user %u, group %s", s->member, s->cred.pid, s->program,
	       s->cred.uid, s->group);
	return 0;
}

/* A child may have the connection of a process that has ended. What the process asked for last, and
 * the end of the connection, are read before; nothing can be added to that (SHUT_RD), so that no
 * process with the dead one's number keeps the lease by asking without a pause. A pidfd that has
 * told its news is not watched any more: the loop would not sleep until the dead are buried. */
void sl_sessions_died(void)
{
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		if (!has_died(s))
			continue;
		if (!s->leaving && sl_is_readable(s->fd)) {
			sl_sys(SYS_shutdown, s->fd, SHUT_RD);
			continue;
		}
		sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_DEL, s->pidfd, NULL);
		if (!s->leaving)
			sl_session_hang_up(s);
	}
}

/* Requests --------------------------------------------------------------------------------------
 */

static sl_request_fn *const handlers[SL_LEASE_OPS] = {
#define SL_LEASE(op, name, ...) [SL_LEASE_##op] = sl_on_##name,
#include "ctl/lease/lease.def"
#undef SL_LEASE
};

static void close_received(int *fd, uint32_t n)
{
	while (n)
		sl_sys_close(fd[--n]);
}

static int handle(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	uint32_t n = m->nfds;
	int err;

	m->nfds = 0; /* from here on it counts the answer's descriptors */
	if (m->hdr.version != SL_LEASE_VERSION) {
		sl_why(why, "the library speaks version %u of the protocol, the daemon %u",
		       m->hdr.version, SL_LEASE_VERSION);
		return -EPROTO;
	}
	if (!s->greeted && !(sl_lease_flags(m->hdr.op) & SL_LEASE_BEFORE))
		return -EPROTO;
	err = sl_sender_check(s, m, why);
	if (!err)
		err = sl_foreign_check(s, m, n, why);
	if (!err)
		err = sl_room_check(s, m->hdr.op, why);
	if (!err && sl_lease_flags(m->hdr.op) & SL_LEASE_LENDS && !sl_turn_may_be_heavy(s))
		err = -EINPROGRESS;
	if (!err && m->hdr.op == SL_LEASE_CLAIM)
		err = sl_facts_peek(s, m->fd[0], why);
	else if (!err && m->hdr.op != SL_LEASE_HOLDERS) /* (asks nothing that needs the lock) */
		err = sl_facts_begin(s, m->fd, n, why);
	return err ? err : handlers[m->hdr.op](s, m, why);
}

/* Refusals are logged once a session, since clients can provoke any number of them. */
static void say_refused(struct sl_session *s, uint32_t op, int err, const char *why)
{
	sluiced.refused++;
	sl_log(s->said ? SL_LOG_DEBUG : sl_line_level(s, SL_LOG_WARN), "sluiced",
	       "process %d of user %u: request %u refused: %s (%s)", s->cred.pid, s->cred.uid, op,
	       why, sl_strerror(err));
	s->said = true;
}

/* The request waits for another process: it stays unanswered, and is tried again after a moment. */
static bool postpone(struct sl_session *s)
{
	uint64_t now = sl_now_ns();

	if (!s->waits_ns)
		s->waits_ns = now;
	if (now - s->waits_ns > (s->goes_on ? GOES_ON_NS : WAITS_NS))
		return false;
	s->later_ns = now + (s->goes_on ? 0 : s->rest_ns ? s->rest_ns : LATER_NS);
	s->rest_ns = 0;
	s->unread = true;
	sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_DEL, s->fd, NULL);
	return true;
}

/* Descriptors in answers that a client does not read count as the daemon's user's until it ends:
 * beyond RLIMIT_NOFILE other programs of root's without privileges could send none (unix(7),
 * ETOOMANYREFS). A client of ours reads each answer before it asks again. (After a restart of the
 * daemon one may come twice.) */
#define UNREAD_FDS 8u

static bool reads_fds(struct sl_session *s, const struct sl_lease_msg *m)
{
	int bytes = 0;

	if (!m->nfds)
		return true;
	(void)sl_sys(SYS_ioctl, s->fd, SIOCOUTQ, &bytes);
	if (!bytes)
		s->unread_answers = s->unread_fds = 0;
	if (s->unread_answers > 1 && s->unread_fds + m->nfds > UNREAD_FDS)
		return false;
	s->unread_answers++;
	s->unread_fds += m->nfds;
	return true;
}

/* False: the session must end. */
static bool serve_request(struct sl_session *s, struct sl_lease_msg *m)
{
	const char *why = NULL;
	int err;

	sl_watchdog_serves(s, m->hdr.op);
	err = handle(s, m, &why);
	sl_watchdog_serves(s, 0);

	if (err == -EINPROGRESS && postpone(s))
		return true;
	if (err == -EINPROGRESS)
		err = -EBUSY;
	s->goes_on = false;
	s->waits_ns = 0;
	if (m->hdr.op >= SL_LEASE_STATUS)
		s->asked_ns = sl_now_ns();
	m->hdr.version = SL_LEASE_VERSION;
	m->hdr.err = err;
	if (err) {
		close_received(m->fd, m->nfds);
		m->nfds = 0;
		if (err != -ENOENT && err != -EAGAIN) /* (the client asks again) */
			say_refused(s, m->hdr.op, err, why ? why : "it makes no sense");
		memset(m->body.why, 0, sizeof(m->body.why)); /* (others' requests and answers) */
		snprintf(m->body.why, sizeof(m->body.why), "%s", why ? why : sl_strerror(err));
	}
	err = reads_fds(s, m) ? sl_lease_send(s->fd, m, true, MSG_DONTWAIT) : -EAGAIN;
	close_received(m->fd, m->nfds);
	/* A client whose socket buffer is full loses its session: the daemon never waits. */
	return !err && m->hdr.err != -EPROTO &&
	       (s->greeted || sl_lease_flags(m->hdr.op) & SL_LEASE_BEFORE);
}

/* The vault has a copy of the watched descriptor, so that closing does not end the watching. */
static void unwatch(int *fd)
{
	if (*fd < 0)
		return;
	sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_DEL, *fd, NULL);
	sl_sys_close(*fd);
	*fd = -1;
}

/* False: several daemons died of this request, so we do not try it. */
static bool may_try(struct sl_session *s)
{
	s->tries++;
	sl_keep_session(s);
	if (s->tries <= TRIES)
		return true;
	sl_warn("sluiced",
		"process %d of user %u: %u daemons did not survive its request: it is "
		"hung up on",
		s->cred.pid, s->cred.uid, TRIES);
	return false;
}

/* A packet without a byte looks like the end of the connection. */
static bool has_hung_up(const struct sl_session *s)
{
	struct pollfd p = {.fd = s->fd};
	const struct timespec now = {0};

	return sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8) == 1;
}

/* Makes sessions that have waited readable again. Returns in how many ns to look next; UINT64_MAX:
 * never. */
uint64_t sl_sessions_later(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};

		if (s->leaving && (s->mended || s->ending_ns > now))
			next = sl_min(next, (uint64_t)BURY_NS);
		if (!s->later_ns || s->leaving)
			continue;
		if (s->later_ns > now) {
			next = sl_min(next, s->later_ns - now);
			continue;
		}
		s->later_ns = 0;
		sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, s->fd, &ev);
	}
	return next;
}

/* The request is answered before it is taken out of the socket: should the daemon die in between,
 * the next one finds it there. The client knows a second answer by its number. */
void sl_session_readable(struct sl_session *s)
{
	static struct sl_lease_msg m;
	int passed[SL_LEASE_FDS], n = sl_foreign_receive(s, &m);
	uint32_t npassed = m.nfds;
	bool good;

	if (n == -EAGAIN || n == -EINTR || (n == -EINPROGRESS && postpone(s)))
		return;
	if (n == -EINPROGRESS) {
		sl_warn_once("sluiced", "user %u passes descriptors that cannot be closed: refused",
			     s->cred.uid);
		s->unread = true;
		n = -EPROTO;
	}
	memcpy(passed, m.fd, npassed * sizeof(int));
	s->eof = n == -ECONNRESET || (!n && (has_hung_up(s) || has_died(s)));
	if (n == -EPROTO || (!n && !s->eof))
		sluiced.broken++;
	if (n > 0)
		sluiced.requests++;
	s->seq = m.hdr.seq;
	good = n > 0 && (!s->again || s->goes_on || may_try(s)) && serve_request(s, &m);
	/* The connection that was read is in repair mode, where close() does not wait. The request
	 * holds the last reference (take.c): drop it now, so that the connection is gone when the
	 * client asks for more. */
	if (n > 0 && m.hdr.op == SL_LEASE_TAKE && !m.hdr.err && !m.body.take_ok.err)
		while (npassed)
			sl_sys_close(passed[--npassed]);
	/* Also from a client that is hung up on: a request left there would be a reset, which
	 * overtakes the answer. */
	if (!s->unread)
		sl_sys_recvfrom(s->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	while (npassed)
		sl_foreign_close(s, passed[--npassed]);
	if (!good) {
		sl_session_hang_up(s);
		return;
	}
	if (s->later_ns)
		return;
	if (s->again) {
		s->again = false;
		s->tries = 0;
		sl_keep_session(s);
	}
}

/* Going -----------------------------------------------------------------------------------------
 */

enum taken { TAKEN, MORE, LATER };

/* The kernel closes the files of a process that ends before it tells of the death (exit_files(),
 * exit_notify()). What waits in its queues is saved from a dead process only, so the daemon waits
 * for that moment. */
static bool is_ending(struct sl_session *s)
{
	uint64_t now = sl_now_ns();

	if (!s->ending_ns)
		s->ending_ns = now + ENDING_NS;
	return now < s->ending_ns && sl_session_is_ending(s);
}

/* Order: waiting connections that can be saved become the kernel's before others can reset them,
 * since the claims are gone next; claims go before lanes, so that nothing is steered to a closed
 * lane; peers are told when the kernel answers for the process; frames are taken from a dead
 * process only. A process that lives after a hang-up keeps its frames until it dies. */
static enum taken take_back(struct sl_session *s)
{
	bool dead = is_dead(s);

	if (!dead && s->share) {
		if (is_ending(s))
			return LATER;
		dead = is_dead(s);
	}
	if (dead && s->share && !s->mended) {
		sl_broker_died(s->memory->umem, s->share);
		s->mended = true;
		s->mended_ns = sl_now_ns();
	}
	if (sl_conns_read(s) || sl_conns_rescue(s, dead) || sl_heirs_begin(s, dead) ||
	    sl_claims_drop(s, REAP_CLAIMS) || sl_conns_tell(s, dead) || sl_heirs_live(s))
		return MORE;
	sl_restore_drop(s);
	sl_boxes_free(s);
	if (!dead || !sl_umem_bury(s))
		return LATER;
	sl_held_free(&s->held);
	sl_vlans_drop(s, 0);
	sl_linger_begin(s);
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++)
		if (s->port[i].ifindex)
			sl_port_put(s, &s->port[i]);
	sl_umem_put(s);
	sl_keep_no_session(s);
	unwatch(&s->pidfd);
	if (s->greeted)
		sl_log(sl_line_level(s, SL_LOG_INFO), "sluiced", "lease %u has ended", s->member);
	return TAKEN;
}

/* Set by what take_back() returned for one of them. */
static bool reap_more;

static void reap_one(struct sl_session *s)
{
	struct sl_session **at = &sluiced.sessions;
	enum taken taken = take_back(s);

	reap_more |= taken == MORE;
	if (taken != TAKEN)
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	sluiced.nsessions--;
	free(s);
}

bool sl_sessions_reap(void)
{
	static struct sl_session *leaving[SL_SESSIONS_MAX];
	unsigned n = 0;

	for (struct sl_session *s = sluiced.sessions; s && n < SL_SESSIONS_MAX; s = s->next)
		if (s->leaving)
			leaving[n++] = s;
	reap_more = false;
	return !sl_turn(leaving, n, REAP_NS, reap_one) || reap_more;
}
