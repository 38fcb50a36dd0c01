/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the kernel's sockets of a port for a claim's proof.
 *
 * Theory of operation: for each question the kernel walks the whole table of sockets of that
 * protocol, all programs' and all namespaces', whatever port is asked for: 220 ns a TCP connection.
 * Any user can have tens of thousands. So as soon as a walk has taken SLOW_NS a thread asks, and
 * the loop serves others meanwhile: the claim is tried again until the answer is there. There is
 * one question at a time; the last answers are kept, since claims that wait come back for theirs.
 *
 * An answer has one socket of each kind: sockets of one user and binding differ in nothing that a
 * proof looks at. */
#include "census.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define SLOW_NS     500000ull /* of a walk in the loop */
#define PATIENCE_NS 300000ull /* of the loop, for an answer */
#define KINDS       256u      /* of a port, without those of the asking user */
#define ANSWERS     16

struct answer {
	struct sl_census_ask q;
	uint64_t asked_ns, took_ns;
	int err;
	bool found;
	uint32_t n;
	struct sl_diag_sock kind[KINDS];
};
static struct answer answers[ANSWERS], work;
static unsigned next;
static bool slow[3]; /* TCP, UDP, connections of both families: the last walk was */

/* The state of the question in `work`; a futex. The loop writes ASKED and IDLE, the thread DONE. */
static enum { IDLE, ASKED, DONE } state;

static bool is_alike(const struct sl_diag_sock *a, const struct sl_diag_sock *b)
{
	return a->uid == b->uid && a->ifindex == b->ifindex && a->family == b->family &&
	       a->state == b->state && a->v6only == b->v6only && !a->inode == !b->inode &&
	       !a->remote_port == !b->remote_port && sl_addr_eq(&a->local, &b->local);
}

static void note(const struct sl_diag_sock *o, void *arg)
{
	struct answer *a = arg;

	if (o->cookie == a->q.own)
		a->found = true;
	if (o->cookie == a->q.own || o->uid == a->q.uid)
		return;
	for (uint32_t i = 0; i < a->n && i < KINDS; i++)
		if (is_alike(&a->kind[i], o))
			return;
	if (a->n < KINDS)
		a->kind[a->n] = *o;
	a->n++;
}

/* The loop and the thread share it, since `state` lets only one of them read at a time. It is
 * closed when it has failed: it may hold a rest of an answer. */
static int netlink = -1;

void sl_census_open(void)
{
	if (netlink < 0)
		netlink = sl_netlink_open(NETLINK_SOCK_DIAG);
}

static void read_all(struct answer *a)
{
	uint64_t begun_ns = sl_now_ns();

	a->found = false;
	a->n = 0;
	sl_census_open();
	a->err = netlink < 0 ? netlink : sl_diag_dump(netlink, &a->q.ask, note, a);
	if (a->err && netlink >= 0) {
		sl_sys_close(netlink);
		netlink = -1;
	}
	if (!a->err && a->n > KINDS)
		a->err = -E2BIG;
	a->took_ns = sl_now_ns() - begun_ns;
}

static void *serve(void *arg)
{
	for (;;) {
		uint32_t now;

		while ((now = sl_load_acquire(&state)) != ASKED)
			sl_sys(SYS_futex, &state, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
		read_all(&work);
		sl_store_release(&state, DONE);
		sl_sys(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static bool has_thread(void)
{
	static enum { NOT_YET, BESIDE, HERE } how;
	pthread_t thread;
	sigset_t all, old;

	if (how != NOT_YET)
		return how == BESIDE;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	how = pthread_create(&thread, NULL, serve, NULL) ? HERE : BESIDE;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (how == BESIDE)
		pthread_detach(thread);
	else
		sl_warn("sluiced", "no thread reads the kernel's sockets: the loop does");
	return how == BESIDE;
}

static bool *slowness(const struct sl_census_ask *q)
{
	return &slow[q->ask.family == AF_UNSPEC ? 2 : q->ask.proto == IPPROTO_UDP];
}

/* Keeps the answer in `work`. */
static struct answer *keep(void)
{
	struct answer *a = &answers[next++ % ANSWERS];

	*slowness(&work.q) = work.took_ns > SLOW_NS;
	memcpy(a, &work, offsetof(struct answer, kind) + sl_min(work.n, KINDS) * sizeof(*a->kind));
	sl_store_release(&state, IDLE);
	return a;
}

static bool is_same(const struct sl_census_ask *a, const struct sl_census_ask *b)
{
	return a->ask.proto == b->ask.proto && a->ask.family == b->ask.family &&
	       a->ask.port == b->ask.port && a->ask.states == b->ask.states && a->own == b->own &&
	       a->uid == b->uid;
}

static struct answer *find(const struct sl_census_ask *q)
{
	for (struct answer *a = answers; a < answers + ANSWERS; a++)
		if (a->asked_ns && a->asked_ns >= q->since_ns && is_same(&a->q, q))
			return a;
	return NULL;
}

static void ask(const struct sl_census_ask *q)
{
	struct timespec rest = {.tv_nsec = PATIENCE_NS};

	work.q = *q;
	work.asked_ns = sl_now_ns();
	if (!*slowness(q) || !has_thread()) {
		read_all(&work);
		state = DONE;
		return;
	}
	sl_store_release(&state, ASKED);
	sl_sys(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sl_sys(SYS_futex, &state, FUTEX_WAIT_PRIVATE, ASKED, &rest, NULL, 0);
}

int sl_census(const struct sl_census_ask *q, bool *found, sl_diag_fn *fn, void *arg)
{
	struct answer *a;

	if (sl_load_acquire(&state) == DONE)
		(void)keep();
	a = find(q);
	if (!a && state == IDLE)
		ask(q);
	if (!a && sl_load_acquire(&state) == DONE) {
		(void)keep();
		a = find(q);
	}
	if (!a)
		return -EINPROGRESS;
	if (a->err)
		return a->err;
	*found |= a->found;
	for (uint32_t i = 0; i < a->n; i++)
		fn(&a->kind[i], arg);
	return 0;
}
