/* SPDX-License-Identifier: BSD-2-Clause */
/* The door: any user may connect, but few connections may stay.
 *
 * A connection without a lease has HELLO_NS to ask for one, or for a request of `sluice daemon`; a
 * user has SL_STRANGERS of them, and as many leases as the policy says (`clients`). Where all users
 * together have STRANGERS_USED of them, as one person with subordinate users (subuid(5)) can, the
 * one that has been silent longest goes: an honest program asks at once. SL_ROOT_PLACES
 * of all places, and the last of the descriptors, are kept for root, which must be able to look and
 * to end the daemon. Without descriptors the listening socket stays readable: the loop then does
 * not watch it for REST_NS. */
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "foreign.h"
#include "session.h"
#include "sluiced.h"

#define HELLO_NS       2000000000ull
#define REST_NS        100000000ull
#define SPARE_FDS      64u  /* for root, or an eighth of the limit */
#define STRANGERS_USED 512u /* of all users but root */

static uint64_t rest_ns; /* no connection is accepted before that time; 0: no pause */

struct counts {
	uint32_t of_user, strangers_of_user, strangers;
};

static struct counts count(const struct sl_session *of)
{
	struct counts c = {0};

	for (const struct sl_session *s = sluiced.sessions; s; s = s->next) {
		bool own = s->cred.uid == of->cred.uid;

		c.of_user += own;
		c.strangers_of_user += own && !s->greeted;
		c.strangers += s->cred.uid && !s->greeted;
	}
	return c;
}

/* True: few descriptors are left. The kernel gives out numbers from the lowest on, so those that
 * are free lie above the newest one. The daemon's own are among them, where the limit is low at its
 * very end (base/fds.c). */
static bool are_short(int fd)
{
	struct rlimit64 files;
	uint64_t spare, free = 0;

	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files))
		return false;
	spare = sl_min((uint64_t)SPARE_FDS, files.rlim_cur / 8);
	if ((uint64_t)fd + spare >= files.rlim_cur)
		return true;
	for (uint64_t n = files.rlim_cur; free < spare && --n > (uint64_t)fd;)
		free += sl_sys_fcntl((int)n, F_GETFD, 0) == -EBADF;
	return free < spare;
}

/* Hangs up on the connection that has been silent longest; false: all have asked for something. */
static bool make_place(void)
{
	struct sl_session *oldest = NULL;

	for (struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->cred.uid && !s->greeted && !s->leaving &&
		    (!oldest || s->asked_ns < oldest->asked_ns) && !sl_is_readable(s->fd))
			oldest = s;
	if (oldest)
		sl_session_hang_up(oldest);
	return oldest;
}

int sl_door_admit(const struct sl_session *s)
{
	struct counts c = count(s);
	const char *what = NULL;

	if (sluiced.nsessions >= SL_SESSIONS_MAX)
		what = "there are too many connections";
	else if (s->cred.uid && sluiced.nsessions >= SL_SESSIONS_MAX - SL_ROOT_PLACES)
		what = "the last places are root's";
	else if (s->cred.uid && c.strangers_of_user >= SL_STRANGERS)
		what = "that user has too many without a lease";
	else if (s->cred.uid && c.strangers >= STRANGERS_USED && !make_place())
		what = "there are too many without a lease";
	else if (s->cred.uid && are_short(s->fd))
		what = "descriptors are short";
	if (!what)
		return 0;
	sl_warn_once("sluiced", "a connection of user %u is refused: %s", s->cred.uid, what);
	return -EUSERS;
}

int sl_door_lease(const struct sl_session *s, const struct sl_limits *l, const char **why)
{
	struct counts c = count(s);

	/* (An adopted session asks again, and is counted already.) */
	if (c.of_user - c.strangers_of_user < l->clients || s->greeted)
		return 0;
	sl_why(why,
	       "user %u has %u programs with a lease already; remedy: `clients` in its line of "
	       "sluiced.conf(5)",
	       s->cred.uid, l->clients);
	return -EUSERS;
}

static int watch_door(int op)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SL_TAG_LISTEN};

	return sl_sys_epoll_ctl(sluiced.epfd, op, sluiced.listen_fd, &ev);
}

void sl_door_failed(int err)
{
	if (err != -EMFILE && err != -ENFILE && err != -ENOMEM && err != -ENOBUFS)
		return;
	sl_warn_once("sluiced", "nobody can be accepted: %s; it is tried again 10 times a second",
		     sl_strerror(err));
	if (!watch_door(EPOLL_CTL_DEL))
		rest_ns = sl_now_ns() + REST_NS;
}

static uint64_t open_again(uint64_t now)
{
	if (!rest_ns)
		return UINT64_MAX;
	if (now < rest_ns)
		return rest_ns - now;
	rest_ns = watch_door(EPOLL_CTL_ADD) ? now + REST_NS : 0;
	return rest_ns ? REST_NS : UINT64_MAX;
}

uint64_t sl_door_look(uint64_t now)
{
	uint64_t next = open_again(now);

	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		uint64_t age = now > s->asked_ns ? now - s->asked_ns : 0;

		if (s->greeted || s->leaving)
			continue;
		if (age < HELLO_NS) {
			next = sl_min(next, HELLO_NS - age);
			continue;
		}
		if (sl_is_readable(s->fd)) /* its request waits, since the loop was busy */
			continue;
		sl_debug("sluiced", "process %d of user %u has asked for nothing: hung up on",
			 s->cred.pid, s->cred.uid);
		sl_session_hang_up(s);
	}
	return next;
}
