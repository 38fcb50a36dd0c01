/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's callback, which sees each datagram before the receive calls do. Streams are in
 * filter_stream.c.
 *
 * Theory of operation: a callback may make any call, so it runs with no lock held, and never in
 * sl_udp_deliver(). Packets of such a socket go into its queue as those of any other; the receive
 * calls and poll look at a second queue, sl_extra.accepted. A thread of the program that is in such
 * a call moves packets from the one to the other (sl_filter_run()): it takes some under the lane's
 * lock, enters them into the table of held packets, releases the lock, asks the callback, and does
 * what that has said. The keeper never calls this, so its packets wait for the next call. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "sluice_extra.h"
#include "sock/core/ready.h"
#include "sock/extra/kept.h"
#include "stack/hwclock.h"

struct item {
	struct sl_dgram d;
	uint64_t id;
	int verdict;
};

/* Sockets with a callback. An entry may be stale: sockets are type-stable. */
static struct {
	struct sl_lock lock;
	struct sl_sock **sk; /* old arrays stay, since a reader may be in one */
	uint32_t n, size;    /* n: atomic */
} list;

bool sl_filter_list(struct sl_sock *sk, struct sl_extra *x)
{
	struct sl_sock **more;
	uint32_t i;

	if (x->listed)
		return true;
	if (!sl_lock(&list.lock))
		return false;
	for (i = 0; i < list.n && list.sk[i]; i++)
		;
	if (i == list.size) {
		more = sl_calloc(list.size ? list.size * 2 : 16, sizeof(*more));
		if (!more) {
			sl_unlock(&list.lock);
			return false;
		}
		if (list.n)
			memcpy(more, list.sk, list.n * sizeof(*more));
		list.size = list.size ? list.size * 2 : 16;
		sl_store_release(&list.sk, more);
	}
	sl_store(&list.sk[i], sk);
	if (i == list.n)
		sl_store_release(&list.n, i + 1);
	x->listed = i + 1;
	sl_unlock(&list.lock);
	__atomic_fetch_add(&sl_extra_filters, 1, __ATOMIC_RELEASE);
	return true;
}

void sl_filter_end(struct sl_extra *x)
{
	x->callback = NULL;
	if (!x->listed || !sl_lock(&list.lock))
		return;
	sl_store(&list.sk[x->listed - 1], NULL);
	x->listed = 0;
	sl_unlock(&list.lock);
	__atomic_fetch_sub(&sl_extra_filters, 1, __ATOMIC_RELEASE);
}

void sl_filter_child(void)
{
	memset(&list.lock, 0, sizeof(list.lock));
}

/* Takes packets that the callback has not seen; returns how many. -EDEADLK: the caller is a signal
 * handler that has interrupted a turn of the lane. */
static int collect(struct sl_sock *sk, struct sl_extra *x, struct item *item,
		   struct sl_filter_run *as)
{
	struct sl_udp *u = &sl_udp_sk(sk)->udp;
	struct sl_lane *lane;
	int n = 0;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	if (!sl_udp_queued(u))
		sl_lane_turn_locked(lane);
	while (n < SL_FILTER_BATCH && sl_udp_queued(u)) {
		const struct sl_dgram *d = sl_udp_peek(u);

		item[n].id = sl_kept_add(x, d->frame, d->nmore, d->truesize);
		if (sl_unlikely(!item[n].id)) { /* no memory for the table */
			sk->stats->rx_mem_drops++;
			sl_udp_pop(u, &lane->frames);
			continue;
		}
		item[n].d = *d;
		item[n++].verdict = SL_PACKET_RECV;
		sl_udp_detach(u, d);
	}
	as->callback = x->callback;
	as->arg = x->arg;
	as->fd = x->fd;
	as->flow_tag = sl_load(&x->flow_tag);
	as->pkts = sl_udp_queued(&x->accepted);
	as->bytes = x->accepted.charged;
	sl_lane_unlock(lane);
	return n;
}

static void put_stamps(const struct sl_dgram *d, struct sl_packet_info *info)
{
	info->sw_stamp = sl_filter_time(sl_mono_to_real_ns(d->stamp_ns));
	if (d->stamp & SL_META_HW)
		info->hw_stamp =
			sl_filter_time(sl_hw_time(d->ifindex, sl_hw_stamp(d->frame, d->off)));
}

/* Addresses as they stand in the packet's headers. */
static void put_names(const struct sl_dgram *d, struct sockaddr_in6 *src, struct sockaddr_in6 *dst)
{
	const uint8_t *p = sl_frame_ptr(d->frame) + d->off, *ip = p + d->l3, *udp = p + d->l4;
	struct sockaddr_in *from = (struct sockaddr_in *)src, *to = (struct sockaddr_in *)dst;

	if (sl_likely(!d->v6)) {
		*from = (struct sockaddr_in){.sin_family = AF_INET};
		*to = (struct sockaddr_in){.sin_family = AF_INET};
		memcpy(&from->sin_addr, ip + 12, 4);
		memcpy(&to->sin_addr, ip + 16, 4);
	} else {
		*src = (struct sockaddr_in6){.sin6_family = AF_INET6};
		*dst = (struct sockaddr_in6){.sin6_family = AF_INET6};
		memcpy(&src->sin6_addr, ip + 8, 16);
		memcpy(&dst->sin6_addr, ip + 24, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&src->sin6_addr))
			src->sin6_scope_id = d->ifindex;
		if (IN6_IS_ADDR_LINKLOCAL(&dst->sin6_addr))
			dst->sin6_scope_id = d->ifindex;
	}
	memcpy(&from->sin_port, udp, 2); /* sin6_port is at the same place */
	memcpy(&to->sin_port, udp + 2, 2);
}

static SL_APART size_t list_pieces(const struct sl_dgram *d, struct iovec *iov)
{
	struct sl_piece piece[SL_RX_BUFS];
	size_t n = sl_dgram_pieces(d, piece);

	for (size_t i = 0; i < n; i++)
		iov[i] = (struct iovec){sl_unconst(piece[i].data), piece[i].len};
	return n;
}

static int ask(const struct sl_filter_run *as, const struct item *it)
{
	struct iovec iov[SL_RX_BUFS];
	struct sockaddr_in6 src, dst;
	uint32_t over = as->pkts * SL_DGRAM_OVERHEAD;
	struct sl_packet_info info = {
		.size = sl_filter_info_bytes(as->flow_tag),
		.id = (void *)(uintptr_t)it->id,
		.src = (struct sockaddr *)&src,
		.dst = (struct sockaddr *)&dst,
		.payload_bytes = it->d.len,
		.queue_pkts = as->pkts,
		.queue_bytes = as->bytes > over ? as->bytes - over : 0,
		.flow_tag = as->flow_tag,
	};
	size_t n = 1;

	iov[0] = (struct iovec){sl_unconst(sl_dgram_data(&it->d)), it->d.len};
	if (sl_unlikely(it->d.nmore))
		n = list_pieces(&it->d, iov);
	put_names(&it->d, &src, &dst);
	if (it->d.stamp)
		put_stamps(&it->d, &info);
	return as->callback(as->fd, n, iov, &info, as->arg);
}

/* Does what the callback has said. A packet that is not in the table any more was freed in the
 * callback, or ended with the socket. */
static void sort(struct sl_sock *sk, struct sl_extra *x, const struct item *item, int n)
{
	struct sl_lane *lane;
	bool any = false;

	if (!sl_sock_lock(sk, &lane))
		return;
	for (int i = 0; i < n; i++) {
		struct sl_kept *h = sl_kept_find(x, item[i].id);

		if (!h || item[i].verdict == SL_PACKET_HOLD)
			continue;
		x->accepted.stats = sk->stats;
		if (item[i].verdict == SL_PACKET_DROP || !sl_udp_append(&x->accepted, &item[i].d)) {
			sl_kept_put(sk, x, lane, h);
			continue;
		}
		sl_kept_del(x, h);
		any = true;
	}
	if (any)
		sl_sock_notify(sk, EPOLLIN | EPOLLRDNORM);
	sl_lane_unlock(lane);
}

static void run_over(struct sl_extra **x)
{
	__atomic_store_n(&(*x)->runs, 0, __ATOMIC_SEQ_CST);
}

/* The packets of a thread that is cancelled in its callback are sorted as those that it has not
 * seen. */
struct batch {
	struct sl_sock *sk;
	struct sl_extra *x;
	int n;
	struct item item[SL_FILTER_BATCH];
};

static void sort_batch(struct batch *b)
{
	if (b->n > 0)
		sort(b->sk, b->x, b->item, b->n);
}

static int run_batch(struct sl_sock *sk, struct sl_extra *x)
{
	struct batch b __attribute__((cleanup(sort_batch)));
	struct sl_filter_run as = {.callback = NULL};

	b.sk = sk;
	b.x = x;
	b.n = 0;
	b.n = collect(sk, x, b.item, &as);
	if (as.callback)
		for (int i = 0; i < b.n; i++)
			b.item[i].verdict = ask(&as, &b.item[i]);
	return b.n;
}

/* False: the lane cannot be had. */
static bool run(struct sl_sock *sk, struct sl_extra *x)
{
	struct sl_extra *guard __attribute__((cleanup(run_over))) = x;
	int n;

	do
		n = sl_sock_is_udp(sk) ? run_batch(sk, guard) : sl_filter_stream(sk, guard);
	while (n == SL_FILTER_BATCH);
	return n >= 0;
}

static bool has_unseen(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) ? sl_udp_queued(&sl_udp_sk_const(sk)->udp)
				  : sl_filter_stream_unseen(sk);
}

/* A socket's callback runs in one thread at a time. Meanwhile another thread, and the callback
 * itself, receives the packets that were accepted before. Pairs with the exchange: a packet that
 * comes after our last look is seen by the thread whose exchange fails, or by our look after the
 * store in run_over(). */
void sl_filter_run(struct sl_sock *sk)
{
	struct sl_extra *x = sl_extra_of(sk);
	uint32_t none;

	do {
		none = 0;
		if (!__atomic_compare_exchange_n(&x->runs, &none, sl_tid(), false, __ATOMIC_SEQ_CST,
						 __ATOMIC_RELAXED))
			return;
		if (!run(sk, x))
			return;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (has_unseen(sk));
}

void sl_filter_all(void)
{
	uint32_t n = sl_load_acquire(&list.n);
	struct sl_sock **sk = sl_load_acquire(&list.sk);

	for (uint32_t i = 0; i < n; i++) {
		struct sl_sock *s = sl_load(&sk[i]);

		if (s && has_unseen(s))
			sl_filter_run(s);
	}
}
