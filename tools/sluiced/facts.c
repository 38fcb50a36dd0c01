/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks about foreign sockets, aside from the loop.
 *
 * Theory of operation: a thread of its own makes the calls, one question at a time, with memory of
 * its own for question and answer. The loop waits for it, as the answer usually comes in
 * microseconds. If it does not come in PATIENCE_NS the loop leaves thread and question alone,
 * refuses the request, and has another thread for the next one; the thread ends when the kernel
 * lets it. A user whose sockets hold MOST_OF_USER threads has none looked at until one of these has
 * ended, so that one user costs the loop that time twice.
 *
 * A thread that waits for a lock cannot be killed, so the daemon's end would keep all descriptors
 * open, and with them the devices. So the thread has a table of descriptors of its own, with its
 * end of a pair alone, by which the sockets come.
 *
 * Two changes of the thread take longer than all else of a claim, so a claim's socket is looked at
 * by a program in the kernel, without the lock, where the kernel has such programs. */
#include "facts.h"

#include <errno.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "ctl/broker/inject.h"
#include "ctl/kern/say.h"
#include "ctl/steer/names.h"
#include "session.h"

#define PATIENCE_NS  500000000ull
#define MOST_OF_USER 2u
#define MOST         256u
#define STACK_BYTES  65536
#define FDS          SL_LEASE_FDS

enum state { BORN, IDLE, ASKED, DONE, LEFT, OVER };

struct question {
	enum { READ, GET, SET, DROP } what;
	int level, name;
	socklen_t len;
	bool on;
};

struct ask {
	uint32_t state; /* enum state; a futex. The loop writes ASKED and LEFT, the thread DONE and
			   OVER */
	uint32_t uid;
	int loops, threads; /* ends of the pair, each a number of its own table */
	struct question q;
	char value[SL_FACTS_BYTES];
	struct sl_facts facts;
	int result;
};

static struct ask *current; /* NULL: there is no thread */
static struct ask *left[MOST];
static struct known {
	int fd;
	struct sl_facts facts;
} known[FDS];
static uint32_t nknown, user;

/* The thread's ------------------------------------------------------------------------------------
 */

static bool name_of(int fd, bool peer, struct sl_addr *addr, uint16_t *port)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint32_t scope;
	int err = peer ? sl_sys_getpeername(fd, &ss, &len) : sl_sys_getsockname(fd, &ss, &len);

	return !err && !sl_addr_from_sockaddr((struct sockaddr *)&ss, len, addr, port, &scope);
}

static bool is_set(int fd, int level, int name)
{
	int v = 0;

	return !sl_sys_get_int(fd, level, name, &v) && v;
}

static int domain_of(int fd)
{
	int v = 0;

	return sl_sys_get_int(fd, SOL_SOCKET, SO_DOMAIN, &v) ? AF_UNSPEC : v;
}

static void read_facts(int fd, struct sl_facts *f)
{
	*f = (struct sl_facts){0};
	f->has_own = name_of(fd, false, &f->own, &f->own_port);
	f->has_peer = name_of(fd, true, &f->peer, &f->peer_port);
	f->v6only = domain_of(fd) == AF_INET6 && is_set(fd, IPPROTO_IPV6, IPV6_V6ONLY);
	f->transparent = is_set(fd, IPPROTO_IP, IP_TRANSPARENT);
}

static void answer(struct ask *a)
{
	int fd = -1;
	struct sl_rights r = {.fd = &fd, .max = 1};
	struct question *q = &a->q;
	char c;

	a->result = -EBADF;
	if (sl_rights_recv(a->threads, &c, sizeof(c), 0, &r) != 1 || r.n != 1)
		return;
	a->result = 0;
	switch (q->what) {
	case READ:
		read_facts(fd, &a->facts);
		break;
	case GET:
		a->result = sl_sys_getsockopt(fd, q->level, q->name, a->value, &q->len);
		break;
	case SET:
		a->result = sl_sys_setsockopt(fd, q->level, q->name, a->value, q->len);
		break;
	case DROP:
		a->result = sl_embedded_drop_packets(fd, q->on);
		break;
	}
	sl_sys_close(fd);
}

/* Its own table of descriptors, with the end of the pair alone. */
static void part(int end)
{
	(void)sl_sys(SYS_close_range, (unsigned)end + 1, ~0u, CLOSE_RANGE_UNSHARE);
	if (end)
		(void)sl_sys(SYS_close_range, 0, end - 1, 0);
}

static bool change(struct ask *a, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&a->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void *serve(void *arg)
{
	struct ask *a = arg;
	uint32_t state;

	part(a->threads);
	if (!change(a, BORN, IDLE)) {
		free(a);
		return NULL;
	}
	sl_sys(SYS_futex, &a->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (;;) {
		while ((state = sl_load_acquire(&a->state)) != ASKED)
			sl_sys(SYS_futex, &a->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
		answer(a);
		if (!change(a, ASKED, DONE))
			break;
		sl_sys(SYS_futex, &a->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	sl_sys_close(a->threads);
	sl_store_release(&a->state, OVER);
	return NULL;
}

/* The loop's --------------------------------------------------------------------------------------
 */

static int start_thread(struct ask *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, serve, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

/* Waits until the thread has left that state, at most PATIENCE_NS. */
static void wait_for(struct ask *a, uint32_t state)
{
	uint64_t end = sl_now_ns() + PATIENCE_NS, now;
	struct timespec rest;

	while (sl_load_acquire(&a->state) == state && (now = sl_now_ns()) < end) {
		rest = (struct timespec){.tv_nsec = (long)(end - now)};
		sl_sys(SYS_futex, &a->state, FUTEX_WAIT_PRIVATE, state, &rest, NULL, 0);
	}
}

/* NULL: there is none. (What the thread closes in its table may be slow to close, too.) */
static struct ask *start(void)
{
	struct ask *a = calloc(1, sizeof(*a));
	int pair[2];

	if (!a || sl_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(a);
		return NULL;
	}
	a->loops = pair[0];
	a->threads = pair[1];
	if (start_thread(a)) {
		free(a);
		a = NULL;
	} else {
		wait_for(a, BORN);
		if (change(a, BORN, LEFT)) /* the thread frees it */
			a = NULL;
	}
	sl_sys_close(pair[1]);
	if (!a)
		sl_sys_close(pair[0]);
	return a;
}

/* Frees what has ended. Returns a place for one more, or NULL: the user has none. */
static struct ask **place_for(uint32_t uid)
{
	struct ask **place = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < MOST; i++) {
		if (left[i] && sl_load_acquire(&left[i]->state) == OVER) {
			free(left[i]);
			left[i] = NULL;
		}
		if (!left[i])
			place = &left[i];
		else
			n += left[i]->uid == uid;
	}
	return n < MOST_OF_USER ? place : NULL;
}

static void leave(struct ask **place)
{
	*place = current;
	current = NULL;
	sl_warn_once("sluiced",
		     "user %u passes a socket that another thread has locked for long: such "
		     "requests are refused",
		     user);
}

/* The question that the caller fills in; NULL: none can be asked, *err says why. */
static struct ask *prepare(int fd, int *err)
{
	*err = place_for(user) ? 0 : -EBUSY;
	if (!*err && !current && !(current = start()))
		*err = -EAGAIN;
	if (!*err)
		*err = (int)sl_min(sl_rights_send(current->loops, "", 1, &fd, 1, MSG_DONTWAIT), 0l);
	if (*err)
		return NULL;
	current->uid = user;
	return current;
}

/* True: the answer is in *current; else nothing of it may be used any more. */
static bool is_answered_soon(void)
{
	struct ask *a = current;

	sl_store_release(&a->state, ASKED);
	sl_sys(SYS_futex, &a->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	wait_for(a, ASKED);
	if (change(a, ASKED, LEFT)) {
		sl_sys_close(a->loops);
		leave(place_for(user));
		return false;
	}
	sl_store(&a->state, IDLE);
	return true;
}

/* Has the thread do it and waits. 0: the answer is in *current. value: of len bytes. */
static int ask(int fd, const struct question *q, const void *value)
{
	int err;
	struct ask *a = prepare(fd, &err);

	if (!a)
		return err;
	a->q = *q;
	if (q->len)
		memcpy(a->value, value, q->len);
	return is_answered_soon() ? current->result : -EBUSY;
}

static int read_one(int fd)
{
	int err = ask(fd, &(struct question){READ}, NULL);

	if (err)
		return err;
	known[nknown++] = (struct known){fd, current->facts};
	return 0;
}

static struct sl_addr addr_of(uint16_t family, uint32_t v4, const uint32_t v6[4])
{
	return family == AF_INET ? sl_addr_v4(v4) : sl_addr_of((const uint8_t *)v6);
}

/* Reads what getsockname(2) and getpeername(2) would say. -ENOSYS: the other thread must ask. */
static int peek(int fd, struct sl_facts *f)
{
	struct sl_names n;
	int err = sl_names_of(fd, &n);

	if (err)
		return err;
	*f = (struct sl_facts){
		.own = addr_of(n.family, n.saddr, n.saddr6),
		.own_port = ntohs(n.sport),
		.has_own = true,
		.has_peer = n.dport && n.state != TCP_CLOSE && n.state != TCP_SYN_SENT,
		.v6only = n.family == AF_INET6 && n.v6only,
	};
	if (f->has_peer) {
		f->peer = addr_of(n.family, n.daddr, n.daddr6);
		f->peer_port = ntohs(n.dport);
	}
	/* (The address that such a socket sends from stands elsewhere.) */
	return n.dport && sl_addr_is_any(&f->own) ? -ENOSYS : 0;
}

int sl_facts_peek(const struct sl_session *s, int fd, const char **why)
{
	int domain = domain_of(fd);

	nknown = 0;
	user = s->cred.uid;
	if ((domain != AF_INET && domain != AF_INET6) || peek(fd, &known[0].facts))
		return sl_facts_begin(s, &fd, 1, why);
	known[0].fd = fd;
	nknown = 1;
	return 0;
}

int sl_facts_begin(const struct sl_session *s, const int *fd, uint32_t n, const char **why)
{
	int err = 0, domain;

	nknown = 0;
	user = s->cred.uid;
	for (uint32_t i = 0; i < n && nknown < FDS && !err; i++) {
		domain = domain_of(fd[i]);
		if (domain == AF_INET || domain == AF_INET6)
			err = read_one(fd[i]);
	}
	if (err == -EBUSY)
		sl_why(why, "another thread has locked the socket for long");
	return err;
}

const struct sl_facts *sl_facts_of(int fd)
{
	static const struct sl_facts none;

	for (uint32_t i = 0; i < nknown; i++)
		if (known[i].fd == fd)
			return &known[i].facts;
	return &none;
}

int sl_facts_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int err = ask(fd, &(struct question){GET, level, name, *len, false}, value);

	if (err)
		return err;
	*len = sl_min(*len, current->q.len);
	memcpy(value, current->value, *len);
	return 0;
}

int sl_facts_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return ask(fd, &(struct question){SET, level, name, len, false}, value);
}

int sl_facts_drop_packets(int fd, bool on)
{
	return ask(fd, &(struct question){DROP, .on = on}, NULL);
}
