/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls a lane for packets, connections and events of its sockets, without a descriptor for each.
 *
 * Theory of operation: each socket that takes part has a watch. Its on_event(), with the lane held,
 * lists the socket as ready in the queue of that lane; a poll turns the lane, takes ready sockets
 * off the queue, and gets what they have by the calls that any program uses (sl_recv_zcopy(),
 * sl_accept4()). A socket from which a poll may not have taken everything is listed again. Members
 * are type-stable: one that ends while a poll looks at it gives that poll nothing. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/guard.h"
#include "base/heap.h"
#include "base/settings.h"
#include "sluice.h"
#include "sluice_extra.h"
#include "sock/call/start.h"
#include "sock/core/life.h"
#include "sock/core/ready.h"
#include "sock/core/sock.h"
#include "sock/extra/buffs.h"
#include "sock/extra/kept.h"
#include "sock/poll/wait.h"
#include "sock/proc/up.h"
#include "stack/lane.h"

struct queue {
	struct sl_lock lock;
	uint32_t n; /* atomic */
	struct sl_list ready;
	struct sl_buff_list buffs;
} SL_ALIGNED;

struct member {
	struct sl_watch watch;
	struct sl_list node; /* in a queue */
	struct queue *on;    /* that queue, changed under its lock; NULL: in none */
	struct member *next_free;
	struct sl_sock *sk;
	int fd;
	uint32_t told; /* events that go with the next report; atomic */
	uint64_t ends; /* reported once: EPOLLOUT of the connect, the end of the stream */
	bool dead;     /* atomic */
};

static struct queue queues[SL_MAX_LANES];
static struct {
	struct sl_lock lock;
	struct member *free;
	bool made; /* the queues' lists; atomic */
} all;

static struct queue *queue_of(const struct sl_lane *lane)
{
	return lane == &sl_limbo || lane->id >= SL_MAX_LANES ? NULL : &queues[lane->id];
}

static void leave_queue(struct member *m)
{
	struct queue *q;

	while ((q = sl_load(&m->on))) {
		if (!sl_lock(&q->lock))
			return;
		if (m->on == q) {
			sl_list_del(&m->node);
			sl_store(&q->n, q->n - 1);
			sl_store(&m->on, NULL);
		}
		sl_unlock(&q->lock);
	}
}

static void enter_queue(struct member *m, struct queue *q)
{
	if (!q || sl_load(&m->on) == q)
		return;
	leave_queue(m);
	if (!sl_lock(&q->lock))
		return;
	if (!m->on && !sl_load(&m->dead)) {
		sl_list_add_tail(&q->ready, &m->node);
		sl_store(&q->n, q->n + 1);
		sl_store(&m->on, q);
	}
	sl_unlock(&q->lock);
}

static void on_event(struct sl_watch *w, uint32_t events)
{
	struct member *m = sl_container_of(w, struct member, watch);

	if (sl_unlikely(events & SL_READY_GONE)) {
		__atomic_store_n(&m->dead, true, __ATOMIC_SEQ_CST);
		leave_queue(m);
		if (sl_lock(&all.lock)) {
			m->next_free = all.free;
			all.free = m;
			sl_unlock(&all.lock);
		}
		return;
	}
	if (sl_unlikely(events & (EPOLLOUT | SL_READY_DEMOTED)))
		__atomic_or_fetch(&m->told, events & (EPOLLOUT | SL_READY_DEMOTED),
				  __ATOMIC_RELAXED);
	enter_queue(m, queue_of(sl_sock_lane(m->sk)));
}

static void forget(void)
{
	for (unsigned i = 0; i < SL_MAX_LANES; i++) {
		queues[i] = (struct queue){.n = 0};
		sl_list_init(&queues[i].ready);
	}
	all.lock = (struct sl_lock){0};
	all.free = NULL;
	sl_buffs_child();
}

static struct member *new_member(void)
{
	struct member *m = NULL;

	if (!sl_lock(&all.lock))
		return NULL;
	if (!all.made) {
		for (unsigned i = 0; i < SL_MAX_LANES; i++)
			sl_list_init(&queues[i].ready);
		sl_store_release(&sl_extra_polls_child, forget);
		sl_store_release(&all.made, true);
	}
	if (all.free) {
		m = all.free;
		all.free = m->next_free;
	}
	sl_unlock(&all.lock);
	return m ?: sl_calloc(1, sizeof(*m));
}

static struct member *member_of(struct sl_sock *sk)
{
	struct member *found = NULL;

	sl_list_for_each (it, &sk->watches) {
		struct sl_watch *w = sl_container_of(it, struct sl_watch, node);

		if (w->on_event == on_event)
			found = sl_container_of(w, struct member, watch);
	}
	return found;
}

SL_API
int sl_lane_join(int fd, uint64_t user_data)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_extra *x;
	struct sl_lane *lane;
	struct member *m;

	if (!sk)
		return -EINVAL;
	x = sl_extra_get(sk);
	if (!x)
		return -ENOMEM;
	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	x->user_data = user_data;
	x->has_user_data = true;
	m = member_of(sk);
	sl_lane_unlock(lane);
	if (m)
		return 0;
	m = new_member();
	if (!m)
		return -ENOMEM;
	m->sk = sk;
	m->fd = fd;
	m->told = 0;
	m->ends = 0;
	m->watch.on_event = on_event;
	sl_store_release(&m->dead, false);
	sl_watch_add(sk, &m->watch);
	/* For what came before the watch. */
	if (sl_sock_lock(sk, &lane)) {
		enter_queue(m, queue_of(lane));
		sl_lane_unlock(lane);
	}
	return 0;
}

SL_API
int sl_lane_user_data(int fd, uint64_t *user_data)
{
	const struct sl_sock *sk = sl_fd_sock(fd);
	const struct sl_extra *x = sk ? sl_extra_of(sk) : NULL;
	uint64_t have = x && x->has_user_data ? x->user_data : 0;

	return sk ? sl_guard_copy(user_data, &have, sizeof(have)) : -EINVAL;
}

/* The setting, before the library has read them all. */
static bool is_asked_for(void)
{
	const char *text = getenv("SLUICE_SOCKETXTREME");
	struct sl_settings s;
	char why[64];

	if (!text)
		text = getenv("VMA_SOCKETXTREME");
	return text &&
	       !sl_setting_parse(&sl_setting_table[SL_SETTING_socketxtreme], text, &s, why,
				 sizeof(why)) &&
	       s.socketxtreme;
}

/* Without a socket the library does not start, since the program may yet give it its packet memory
 * (sl_memory_from()). */
SL_API
int sl_lane_join_new(int fd)
{
	if (fd < 0 && !sl_load_acquire(&sl_up_state))
		return is_asked_for() ? 0 : -EOPNOTSUPP;
	if (sl_start() || !sl_settings.socketxtreme)
		return -EOPNOTSUPP;
	return fd < 0 || !sl_fd_sock(fd) ? 0 : sl_lane_join(fd, (uint64_t)fd);
}

/* A poll -----------------------------------------------------------------------------------------
 */

struct poll {
	struct queue *q;
	struct sl_completion *c;
	unsigned n, room;
};

static uint64_t data_of(const struct member *m)
{
	const struct sl_extra *x = sl_extra_of(m->sk);

	return x && x->has_user_data ? x->user_data : (uint64_t)m->fd;
}

static struct sl_completion *report(struct poll *p, const struct member *m, uint64_t events)
{
	struct sl_completion *c = &p->c[p->n++];

	*c = (struct sl_completion){.events = events, .user_data = data_of(m), .listen_fd = -1};
	return c;
}

static void report_once(struct poll *p, struct member *m, uint64_t events)
{
	if (m->ends & events)
		return;
	m->ends |= events;
	report(p, m, events);
}

static void put_src(struct sl_completion *c, struct sockaddr_storage *src)
{
	memcpy(&c->src, src, sizeof(c->src));
}

/* Reports a packet. True: there may be more. */
static bool serve_packet(struct poll *p, struct member *m)
{
	bool udp = sl_sock_is_udp(m->sk);
	struct sockaddr_storage src = {0};
	socklen_t len = sizeof(src);
	int flags = SL_ZCOPY_FORCE | MSG_DONTWAIT;
	struct sl_completion *c;
	struct sl_list_of_one l;
	ssize_t n;

	sl_zcopy_hw_ns = 0;
	n = sl_recv_zcopy(m->fd, &l, udp ? sizeof(l) : SL_LIST_BYTES(1), &flags,
			  udp ? (struct sockaddr *)&src : NULL, udp ? &len : NULL);
	if (sl_likely(flags & SL_ZCOPY)) {
		struct iovec iov[SL_RX_BUFS];
		size_t niov = sl_min(l.niov, (size_t)SL_RX_BUFS);

		memcpy(iov, l.iov, niov * sizeof(*iov));
		c = report(p, m, SL_LANE_PACKET);
		if (!sl_buffs_make(&p->q->buffs, m->fd, l.id, iov, niov, &c->packet)) {
			struct sl_packet gone = {.id = l.id};

			sl_free_packets(m->fd, &gone, 1);
			p->n--;
			return false;
		}
		if (!udp)
			sl_getpeername(m->fd, (struct sockaddr *)&src, &len);
		put_src(c, &src);
		c->packet.hw_stamp.tv_sec = (time_t)(sl_zcopy_hw_ns / 1000000000);
		c->packet.hw_stamp.tv_nsec = (long)(sl_zcopy_hw_ns % 1000000000);
		return true;
	}
	if (n == -ENOBUFS) /* the program holds as much as it may */
		return true;
	if (n == -EIO)
		report(p, m, EPOLLIN);
	else if (n == 0)
		report_once(p, m, EPOLLIN | EPOLLRDHUP);
	else if (n < 0 && n != -EAGAIN && n != -ENOTCONN)
		report_once(p, m, EPOLLERR | (udp ? 0 : EPOLLHUP));
	return false;
}

/* Accepts a connection. True: there may be more. */
static bool serve_listener(struct poll *p, struct member *m)
{
	struct sockaddr_storage src = {0};
	socklen_t len = sizeof(src);
	struct sl_completion *c;
	int fd;

	if (!(sl_wait_sock_ready(m->sk) & EPOLLIN))
		return false;
	fd = sl_accept4(m->fd, (struct sockaddr *)&src, &len, 0);
	if (fd < 0)
		return false;
	c = report(p, m, SL_LANE_ACCEPTED);
	c->user_data = (uint64_t)fd;
	c->listen_fd = m->fd;
	put_src(c, &src);
	sl_lane_join(fd, (uint64_t)fd);
	return true;
}

static void serve(struct poll *p, struct member *m)
{
	uint32_t told = sl_load(&m->told) ? __atomic_exchange_n(&m->told, 0, __ATOMIC_RELAXED) : 0;
	bool more = true;

	if (sl_unlikely(!sl_sock_is(m->sk, m->fd)))
		return;
	if (sl_unlikely(told & SL_READY_DEMOTED)) {
		report(p, m, SL_LANE_LEFT);
		return;
	}
	if (sl_load(&m->sk->lsn)) {
		while (more && p->n < p->room)
			more = serve_listener(p, m);
	} else {
		if (sl_unlikely(told & EPOLLOUT) && !sl_sock_is_udp(m->sk))
			report_once(p, m, EPOLLOUT);
		for (unsigned before = p->n; more && p->n < p->room; before = p->n) {
			more = serve_packet(p, m);
			if (more && p->n == before)
				break;
		}
	}
	if (more)
		enter_queue(m, p->q);
}

static struct member *next(struct queue *q)
{
	struct member *m = NULL;

	if (!sl_lock(&q->lock))
		return NULL;
	if (!sl_list_empty(&q->ready)) {
		m = sl_container_of(q->ready.next, struct member, node);
		sl_list_del(&m->node);
		sl_store(&q->n, q->n - 1);
		sl_store(&m->on, NULL);
	}
	sl_unlock(&q->lock);
	return m;
}

struct search {
	int ring;
	struct sl_lane *lane;
};

static bool has_ring(struct sl_lane *lane, int ring)
{
	struct pollfd fds[SL_LANE_MAX_FDS];
	unsigned n = sl_lane_fds(lane, fds, SL_LANE_MAX_FDS);

	for (unsigned i = 0; i < n && i < SL_LANE_MAX_FDS; i++)
		if (fds[i].fd == ring)
			return true;
	return false;
}

static void search(struct sl_lane *lane, void *arg)
{
	struct search *s = arg;

	if (!s->lane && has_ring(lane, s->ring))
		s->lane = lane;
}

/* Threads poll the same ring again and again. */
static struct sl_lane *find_lane(int ring)
{
	static __thread struct sl_lane *last;
	struct search s = {.ring = ring};

	if (sl_likely(last && has_ring(last, ring)))
		return last;
	sl_lane_for_each(search, &s);
	last = s.lane;
	return last;
}

SL_API
int sl_lane_poll(int ring, struct sl_completion *c, unsigned n)
{
	struct sl_lane *lane = find_lane(ring);
	struct poll p = {.c = c, .room = sl_min(n, 1u << 20)};
	unsigned members;

	if (!lane || !c || !n)
		return -EINVAL;
	p.q = queue_of(lane);
	if (!p.q || !sl_load_acquire(&all.made))
		return 0;
	if (!sl_lane_lock(lane))
		return 0;
	sl_lane_turn_locked(lane);
	sl_lane_unlock(lane);
	sl_extra_filter_all();
	for (members = sl_load(&p.q->n); members && p.n < p.room; members--) {
		struct member *m = next(p.q);

		if (!m)
			break;
		serve(&p, m);
	}
	return (int)p.n;
}
