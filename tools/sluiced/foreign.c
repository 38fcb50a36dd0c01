/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that programs pass: the loop does nothing with them that could make it wait.
 *
 * Theory of operation: the daemon looks at a request in its socket's queue (MSG_PEEK), which gives
 * it descriptors of its own, so taking the request out of the queue afterwards never closes a file
 * for the last time. Other threads close the daemon's descriptors (base/closer.h). A request whose
 * descriptors did not all come along stays in the queue: the daemon hangs up on the connection, and
 * these threads take the request out. The daemon finds a descriptor's kind in ways that do not
 * reach the file system behind it: getsockopt() knows a socket and F_GET_SEALS a file in memory,
 * without stat(), and the link in /proc/self/fd says "net:[number]" of a network namespace alone,
 * as names of files begin with a slash. */
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/closer.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"
#include "keep.h"
#include "policy.h"
#include "session.h"
#include "sluiced.h"

/* Descriptors of one user that are not closed yet: the threads get time, */
#define PENDING_FEW 256u
#define REST_NS     1000000ull  /* which the user's requests wait, and not the loop, */
#define RESTS_NS    10000000ull /* but no longer than this; */
#define PENDING_MAX 512u        /* beyond this many they wait on */
#define HOLDERS_MS  2

/* Takes no descriptors of a user without a lease: they stay in the queue. The policy refuses HELLO,
 * and says why; without its descriptor it would be no HELLO. */
static int receive_bare(struct sl_session *s, struct sl_lease_msg *m)
{
	struct sl_rights r = {.fd = m->fd, .max = 0, .from = &m->from};
	/* (The kernel always adds the sender, so no space is left for a further descriptor.) */
	long n = sl_rights_recv(s->fd, m, offsetof(struct sl_lease_msg, nfds),
				MSG_DONTWAIT | MSG_PEEK, &r);
	int err;

	m->nfds = r.n;
	s->unread = true;
	if (n <= 0)
		return (int)n;
	s->unread = r.truncated & MSG_CTRUNC;
	if (r.truncated & MSG_TRUNC)
		return -EPROTO;
	m->nfds = s->unread && m->hdr.op == SL_LEASE_HELLO;
	err = sl_lease_check(m, (size_t)n, false);
	if (!err && s->unread && m->hdr.op != SL_LEASE_HELLO)
		err = -EPROTO;
	m->nfds = 0;
	return err ? err : 1;
}

static bool may_rest(const struct sl_session *s)
{
	return !s->waits_ns || sl_now_ns() - s->waits_ns < RESTS_NS;
}

int sl_foreign_receive(struct sl_session *s, struct sl_lease_msg *m)
{
	int n;

	s->unread = false;
	m->nfds = 0;
	if (!s->greeted && !sl_policy_find(&sluiced.policy, s->cred.uid, s->gid, s->ngids))
		return receive_bare(s, m);
	/* (On a busy machine the threads may lag behind though the user behaves well.) */
	n = (int)sl_closer_pending(s->cred.uid);
	if (n > (int)PENDING_FEW && may_rest(s)) {
		s->rest_ns = REST_NS;
		return -EINPROGRESS;
	}
	if (n > (int)PENDING_MAX)
		return -EINPROGRESS;
	n = sl_lease_take(s->fd, m, false, MSG_DONTWAIT | MSG_PEEK);
	s->unread = n == -EPROTO || n == 0; /* (a packet without a byte may have some, too) */
	return n;
}

/* Kinds of descriptors, without asking their file systems ---------------------------------------
 */

static bool is_socket(int fd)
{
	int type;

	return !sl_sys_get_int(fd, SOL_SOCKET, SO_TYPE, &type);
}

static bool is_memory(int fd)
{
	return sl_sys_fcntl(fd, F_GET_SEALS, 0) >= 0;
}

uint32_t sl_foreign_netns(int fd)
{
	char path[32], text[64], *end;
	unsigned long ino;
	long n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = sl_sys(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	if (strncmp(text, "net:[", 5))
		return 0;
	ino = strtoul(text + 5, &end, 10);
	return strcmp(end, "]") || ino > UINT32_MAX ? 0 : (uint32_t)ino;
}

int sl_foreign_check(struct sl_session *s, const struct sl_lease_msg *m, uint32_t n,
		     const char **why)
{
	for (uint32_t i = 0; i < n; i++) {
		/* (RESTORE without bytes has the socket twice; restore.c looks at the memory.) */
		bool memory = m->hdr.op == SL_LEASE_CONNS || (m->hdr.op == SL_LEASE_RESTORE && i);
		bool good = m->hdr.op == SL_LEASE_HELLO || /* (HELLO checks it itself) */
			    (memory && is_memory(m->fd[i])) ||
			    (m->hdr.op != SL_LEASE_CONNS && is_socket(m->fd[i]));

		if (good)
			continue;
		sl_why(why, "descriptor %u is not of the kind that the request takes", i);
		return -EPERM;
	}
	/* Descriptors of earlier requests must not be counted. */
	if (m->hdr.op == SL_LEASE_HOLDERS)
		(void)sl_closer_wait(s->cred.uid, HOLDERS_MS);
	return 0;
}

/* Closing ---------------------------------------------------------------------------------------
 */

void sl_foreign_close(const struct sl_session *s, int fd)
{
	sl_closer_add(fd, s->cred.uid, false);
}

void sl_session_hang_up(struct sl_session *s)
{
	sl_sys(SYS_shutdown, s->fd, SHUT_RDWR);
	sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_DEL, s->fd, NULL);
	sl_closer_add(s->fd, s->cred.uid, true);
	s->fd = -1;
	s->leaving = true;
	sl_keep_session(s);
}
