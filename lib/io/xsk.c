/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP rings (kernel: Documentation/networking/af_xdp.rst).
 *
 * Theory of operation: the UMEM is in aligned mode, a descriptor's address is frame number times
 * frame size plus an offset. The receive and transmit rings are the lane's; fill and completion
 * are the queue's and are worked in batches under its lock, by all lanes of all processes of the
 * group. No lane caches these two rings' indices: ours are read under the lock, the kernel's at
 * each look. Any frame may be used for anything: a frame that completes here may have been posted
 * by another lane, or by another process, which finds it on its list (base/share/share.h, where
 * the order of the stores below is explained, too). */
#include "io/xsk.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>

#include "base/share/share_bounce.h"
#include "base/sys.h"

#define REFILL_BATCH 64
#define LOOK_MOST    256u      /* frames of a fill ring, when its order is looked at */
#define PKT_CONTD    (1u << 0) /* XDP_PKT_CONTD, Linux 6.6 */

/* A frame that one thread gives to the kernel by a ring may come back to another thread by another
 * ring; the kernel orders the two. ThreadSanitizer cannot see that, so these tell it. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define frame_given(frame) __tsan_release(&sl_pool.word[frame])
#define frame_taken(frame) __tsan_acquire(&sl_pool.word[frame])
#else
#define frame_given(frame)
#define frame_taken(frame)
#endif

/* *map: NULL on failure. EBUSY: the socket is bound, and the kernel older than Linux 6.4. */
static int map_ring(void **map, void *there, int fd, size_t len, off_t pgoff)
{
	int err;

	*map = there;
	if (there)
		return 0;
	err = sl_sys_mmap(map, NULL, len, MAP_SHARED | MAP_POPULATE, fd, pgoff);
	if (err)
		*map = NULL;
	else /* a mapping holds the socket: a forked child would keep it in the steering map */
		sl_sys(SYS_madvise, *map, len, MADV_DONTFORK);
	return err;
}

static void unmap_ring(void *map, size_t len)
{
	if (map)
		sl_sys(SYS_munmap, map, len);
}

#define RING_SET(r, map, o, n, entry_size)                                                         \
	do {                                                                                       \
		(r)->mask = (n)-1;                                                                 \
		(r)->size = (n);                                                                   \
		(r)->producer = (uint32_t *)((char *)(map) + (o)->producer);                       \
		(r)->consumer = (uint32_t *)((char *)(map) + (o)->consumer);                       \
		(r)->flags = (uint32_t *)((char *)(map) + (o)->flags);                             \
		(r)->ring = (char *)(map) + (o)->desc;                                             \
	} while (0)

static int queue_map(struct sl_xsk_queue *q, int fd, const struct xdp_mmap_offsets *off,
		     const struct sl_xsk_sizes *s, const struct sl_xsk_maps *m)
{
	int err;

	q->fill_len = off->fr.desc + s->fill * sizeof(uint64_t);
	err = map_ring(&q->fill_map, m->fill, fd, q->fill_len, (off_t)XDP_UMEM_PGOFF_FILL_RING);
	if (err)
		return err;
	q->comp_len = off->cr.desc + s->comp * sizeof(uint64_t);
	err = map_ring(&q->comp_map, m->comp, fd, q->comp_len,
		       (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	if (err) {
		unmap_ring(q->fill_map, q->fill_len);
		return err;
	}
	q->fill = sl_share_ring_at(q->fill_map, &off->fr, s->fill);
	q->comp = sl_share_ring_at(q->comp_map, &off->cr, s->comp);
	q->shared = &sl_pool.share.queue[s->share_queue];
	q->told = &sl_pool.share.told_queue[s->share_queue];
	if (m->fill) {
		q->fill_len = q->comp_len = 0;
		q->fill_map = q->comp_map = NULL;
	}
	return 0;
}

static int rings_map(struct sl_xsk *x, const struct xdp_mmap_offsets *off,
		     const struct sl_xsk_sizes *s, const struct sl_xsk_maps *m)
{
	int err;

	x->rx_len = off->rx.desc + s->rx * sizeof(struct xdp_desc);
	err = map_ring(&x->rx_map, m->rx, x->fd, x->rx_len, XDP_PGOFF_RX_RING);
	if (err)
		return err;
	x->tx_len = off->tx.desc + s->tx * sizeof(struct xdp_desc);
	err = map_ring(&x->tx_map, m->tx, x->fd, x->tx_len, XDP_PGOFF_TX_RING);
	if (err) {
		unmap_ring(x->rx_map, x->rx_len);
		return err;
	}
	RING_SET(&x->rx_ring, x->rx_map, &off->rx, s->rx, sizeof(struct xdp_desc));
	RING_SET(&x->tx_ring, x->tx_map, &off->tx, s->tx, sizeof(struct xdp_desc));
	/* libxdp's convention: a producer's cached consumer is one ring ahead. */
	x->rx_ring.cached_prod = *x->rx_ring.producer;
	x->rx_ring.cached_cons = *x->rx_ring.consumer;
	x->tx_ring.cached_prod = *x->tx_ring.producer;
	x->tx_ring.cached_cons = *x->tx_ring.consumer + s->tx;
	return 0;
}

void sl_xsk_start(struct sl_xsk *x, struct sl_xsk_queue *q, uint32_t share_xsk)
{
	x->q = q;
	q->users++;
	x->shared = &sl_pool.share.xsk[share_xsk];
	x->shared->tx_to = x->tx_ring.cached_prod;
	x->counted = x->rx_ring.cached_cons;
	x->tx.posted = x->tx.unreaped = 0;
	x->near = UINT32_MAX;
	x->fill_debt = REFILL_BATCH; /* look at once */
	x->rx.ops = &sl_xsk_rx_ops;
	x->tx.ops = &sl_xsk_tx_ops;
}

int sl_xsk_open(struct sl_xsk *x, int fd, struct sl_xsk_queue *q, const struct sl_xsk_sizes *sizes,
		const struct sl_xsk_maps *maps)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	int err = sl_sys_getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len);

	if (err < 0)
		return err;
	x->fd = fd;
	err = rings_map(x, &off, sizes, maps);
	if (err < 0)
		return err;
	if (q->users == 0) {
		err = queue_map(q, fd, &off, sizes, maps);
		if (err < 0) {
			unmap_ring(x->rx_map, x->rx_len);
			unmap_ring(x->tx_map, x->tx_len);
			return err;
		}
	}
	sl_xsk_start(x, q, sizes->share_xsk);
	return 0;
}

/* Counts what was received since the last call, for the pool's count of our frames. */
static void count_received(struct sl_xsk *x, struct sl_frames *cache)
{
	cache->gained += (int32_t)(x->rx_ring.cached_cons - x->counted);
	x->counted = x->rx_ring.cached_cons;
}

void sl_xsk_close(struct sl_xsk *x, struct sl_frames *cache)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	/* Packets that were received and not read yet are dropped. Frames in the fill ring of a
	 * queue without users stay lost until sl_share_reclaim(); closing is rare. */
	while ((n = sl_xsk_rx_ops.burst(&x->rx, d, 1)))
		while (n--)
			sl_frame_put(cache, d[n].frame);
	count_received(x, cache);
	if (x->far)
		sl_far_close(x->far);
	x->far = NULL;
	sl_sys_close(x->fd);
	unmap_ring(x->rx_map, x->rx_len);
	unmap_ring(x->tx_map, x->tx_len);
	if (--x->q->users == 0) {
		unmap_ring(x->q->fill_map, x->q->fill_len);
		unmap_ring(x->q->comp_map, x->q->comp_len);
	}
	x->fd = -1;
}

/* Takes frames off the end of the fill ring. If the process dies in between, frames may be without
 * an owner, but none are in two places. */
static void unfill(struct sl_xsk_queue *q, struct sl_frames *cache)
{
	const uint32_t name = sl_share_filled(&sl_pool.share, q->shared);
	uint32_t end = sl_load(q->fill.producer), n;

	n = sl_min(end - sl_load_acquire(q->fill.consumer), q->fill.size);
	while (n--) {
		uint64_t frame = q->fill.addr[--end & (q->fill.size - 1)] >> sl_pool.shift;

		sl_store(&q->shared->fill_to, end);
		sl_share_step();
		sl_store_release(q->fill.producer, end);
		sl_share_step();
		/* Skip frames that were received before the kernel published how far it read. */
		if (frame >= sl_pool.nframes || sl_load(&sl_pool.word[frame].all) != name)
			continue;
		frame_taken((uint32_t)frame);
		sl_frame_free(cache, (uint32_t)frame);
		cache->gained++;
	}
}

bool sl_xsk_device_gone(struct sl_xsk *x, struct sl_frames *cache)
{
	struct sl_xsk_queue *q = x->q;

	if (!sl_share_lock(&sl_pool.share, &q->shared->lock, sl_pool.me))
		return false;
	q->gone = true;
	unfill(q, cache);
	sl_runlock(&q->shared->lock);
	sl_frames_flush(cache, SL_FRAME_CACHE / 2);
	return true;
}

int sl_xsk_read_counts(const struct sl_xsk *x, struct sl_xsk_counts *c)
{
	struct xdp_statistics st = {0};
	socklen_t len = sizeof(st);
	int err = sl_sys_getsockopt(x->fd, SOL_XDP, XDP_STATISTICS, &st, &len);

	*c = (struct sl_xsk_counts){0};
	if (err < 0)
		return err;
	c->rx_dropped = st.rx_dropped + st.rx_invalid_descs;
	c->rx_ring_full = st.rx_ring_full;
	c->fill_empty = st.rx_fill_ring_empty_descs;
	c->tx_invalid = st.tx_invalid_descs;
	return 0;
}

void sl_xsk_read_posted(const struct sl_xsk *x, struct sl_xsk_posted *p)
{
	const struct sl_share_ring *f = &x->q->fill;
	uint32_t at = sl_load(f->consumer), n = sl_min(sl_load(f->producer) - at, f->size);
	uint64_t was = UINT64_MAX;

	p->frames += n;
	n = sl_min(n, LOOK_MOST);
	p->looked_at += n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr = sl_load(&f->addr[(at + i) & (f->size - 1)]);

		p->jumps += i && addr < was;
		was = addr;
	}
}

const uint8_t *sl_xsk_next_packet(const struct sl_xsk *x, size_t *room)
{
	const struct sl_share_ring *fill;
	uint64_t frame;

	if (!x->q || x->packet || x->verbs)
		return NULL;
	fill = &x->q->fill;
	frame = fill->addr[sl_load(fill->consumer) & (fill->size - 1)] >> sl_pool.shift;
	if (frame >= sl_pool.nframes)
		return NULL;
	*room = ((size_t)1 << sl_pool.shift) - XDP_PACKET_HEADROOM;
	return sl_frame_ptr((uint32_t)frame) + XDP_PACKET_HEADROOM;
}

/* Receive ------------------------------------------------------------------------------------ */

/* Reads one descriptor; returns its options. */
static inline uint32_t take_desc(struct sl_xsk *x, uint32_t idx, struct sl_rx_desc *out)
{
	const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx_ring, idx);

	out->frame = (uint32_t)(d->addr >> sl_pool.shift);
	frame_taken(out->frame);
	out->off = (uint16_t)(d->addr & ((1u << sl_pool.shift) - 1));
	out->len = (uint16_t)d->len;
	out->more = d->options & PKT_CONTD;
	out->csum_ok = false;
	sl_frame_own(out->frame, 1);
	return d->options;
}

/* Reads the further frames of the packet that begins in last[0]: the kernel publishes all frames of
 * a packet together. Returns how many. */
static unsigned take_rest(struct sl_xsk *x, struct sl_rx_desc *last)
{
	unsigned n = 0;
	uint32_t idx;

	while (n < SL_RX_BUFS - 1 && last[n].more && xsk_ring_cons__peek(&x->rx_ring, 1, &idx))
		take_desc(x, idx, &last[++n]);
	return n;
}

static unsigned xsk_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n)
{
	struct sl_xsk *x = sl_container_of(rx, struct sl_xsk, rx);
	uint32_t idx, options = 0;

	n = xsk_ring_cons__peek(&x->rx_ring, n, &idx);
	if (n == 0)
		return 0;
	for (unsigned i = 0; i < n; i++)
		options |= take_desc(x, idx + i, &descs[i]);
	rx->several = (options & PKT_CONTD) | rx->cut;
	if (sl_unlikely(descs[n - 1].more))
		n += take_rest(x, &descs[n - 1]);
	sl_share_step();
	xsk_ring_cons__release(&x->rx_ring, n);
	x->fill_debt += n;
	return n;
}

/* Takes a frame for the fill ring, spent ones first. The caller has made sure that the cache has
 * enough. */
static uint32_t frame_to_fill(struct sl_frames *cache)
{
	return sl_frames_spent(cache) ? sl_frame_take_spent(cache) : cache->idx[--cache->n];
}

/* Puts up to n frames of the cache on the fill ring, which has room. Returns how many. Queue
 * locked. */
static uint32_t fill_some(struct sl_xsk_queue *q, struct sl_frames *cache, uint32_t n)
{
	const uint32_t name = sl_share_filled(&sl_pool.share, q->shared);
	uint32_t at = sl_load(q->fill.producer), keep = cache->floor / 2, have;

	if (sl_frames_spent(cache) + cache->n < n + keep)
		sl_frames_fetch(cache);
	have = sl_frames_spent(cache) + (cache->n > keep ? cache->n - keep : 0);
	n = sl_min(n, have);
	for (uint32_t i = 0; i < n; i++, at++) {
		uint32_t frame = frame_to_fill(cache);

		frame_given(frame);
		q->fill.addr[at & (q->fill.size - 1)] = (uint64_t)frame << sl_pool.shift;
		sl_share_step();
		sl_store(&q->shared->fill_to, at + 1);
		sl_share_step();
		sl_store(&sl_pool.word[frame].all, name);
	}
	/* Pairs with the kernel's acquire of the producer index (xskq_cons_peek). */
	sl_store_release(q->fill.producer, at);
	cache->gained -= (int32_t)n;
	return n;
}

/* The lanes of a queue, in all processes, may owe its fill ring fill_owe frames together, each an
 * equal part. Otherwise many lanes that receive little each would let the ring run dry: then none
 * receives, and none looks at the ring. */
static bool is_due(const struct sl_xsk *x)
{
	return x->fill_debt >= REFILL_BATCH ||
	       x->fill_debt * sl_load(&x->q->told->xsks) > x->fill_owe;
}

/* Keeps the fill ring half full: the rest of it is room for frames of lanes that close. */
static bool xsk_refill(struct sl_rx *rx, struct sl_frames *cache)
{
	struct sl_xsk *x = sl_container_of(rx, struct sl_xsk, rx);
	struct sl_xsk_queue *q = x->q;
	uint32_t level, want, batch, got = 1;
	bool kick, low;

	if (sl_likely(!is_due(x)) || q->gone)
		return true;
	if (!sl_rtrylock(&q->shared->lock, sl_pool.me))
		return true; /* another lane fills it */
	x->fill_debt = 0;
	count_received(x, cache);
	/* Half of the frames at most wait in fill rings, in all of them together: the others are
	 * for what was received and for what is sent. */
	want = sl_min(q->fill.size / 2, sl_pool.nframes / 2 / sl_share_queues(&sl_pool.share));
	batch = sl_min(want / 4 + 1, (uint32_t)REFILL_BATCH);
	x->fill_owe = want / 2;
	level = sl_load(q->fill.producer) - sl_load_acquire(q->fill.consumer);
	low = level < want / 2;
	while (level + batch <= want && got) {
		if (!low && sl_frames_spent(cache) < batch)
			break; /* spent frames, which come soon, are still in the CPU's cache */
		got = fill_some(q, cache, batch);
		level += got;
	}
	sl_frames_count(cache);
	kick = sl_load(q->fill.flags) & XDP_RING_NEED_WAKEUP;
	sl_runlock(&q->shared->lock);
	if (kick) /* a zero-copy driver that ran dry waits to be told */
		sl_sys_recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	if (got == 0)
		x->fill_debt = REFILL_BATCH; /* try again at the next turn */
	return got != 0;
}

static int xsk_fd(struct sl_rx *rx)
{
	return sl_container_of(rx, struct sl_xsk, rx)->fd;
}

static void xsk_rx_close(struct sl_rx *rx, struct sl_frames *cache)
{
	sl_xsk_close(sl_container_of(rx, struct sl_xsk, rx), cache);
}

const struct sl_rx_ops sl_xsk_rx_ops = {
	.name = "xsk",
	.burst = xsk_burst,
	.refill = xsk_refill,
	.fd = xsk_fd,
	.close = xsk_rx_close,
};

/* Transmit ----------------------------------------------------------------------------------- */

/* True: some of the frames are not registered. */
static inline bool has_far(const struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	uint32_t last = descs[0].frame;

	for (unsigned i = 1; i < n; i++)
		last = sl_max(last, descs[i].frame);
	return last >= x->near;
}

static inline unsigned post_near(struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_tx *tx = &x->tx;
	uint32_t idx = x->tx_ring.cached_prod, room = xsk_prod_nb_free(&x->tx_ring, n);

	n = sl_min(n, room);
	if (sl_unlikely(n == 0))
		return 0;
	/* Like xsk_ring_prod__reserve(), which would look for the room once more. */
	x->tx_ring.cached_prod = idx + n;
	for (unsigned i = 0; i < n; i++) {
		struct xdp_desc *d = xsk_ring_prod__tx_desc(&x->tx_ring, idx + i);

		frame_given(descs[i].frame);
		d->addr = ((uint64_t)descs[i].frame << sl_pool.shift) + descs[i].off;
		d->len = descs[i].len;
		d->options = descs[i].flags & SL_TXD_MORE ? PKT_CONTD : 0;
		sl_share_step();
		sl_store(&x->shared->tx_to, idx + i + 1);
		sl_share_step();
		sl_frame_posted(descs[i].frame, SL_FLIGHT_XSK);
	}
	sl_share_step();
	xsk_ring_prod__submit(&x->tx_ring, n);
	tx->posted += n;
	tx->unreaped += n;
	return n;
}

static unsigned reap_ring(struct sl_xsk *x, struct sl_frames *cache);

/* Posts copies of the packet's frames, if there is room on the ring. (What comes back here has been
 * kicked, so its sender has noted all about it.) */
static bool bounce(struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_tx_desc copy[SL_TX_BUFS];

	if (xsk_prod_nb_free(&x->tx_ring, n) < n)
		return false;
	if (!sl_far_bounce(x->far, descs, copy, n) &&
	    (!reap_ring(x, sl_far_frames(x->far)) || !sl_far_bounce(x->far, descs, copy, n)))
		return false;
	return post_near(x, copy, n) == n;
}

/* Posts the first packet, of n frames. The ring is empty before the packet socket is used, so no
 * packet overtakes another. */
static bool post_packet(struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	if (!has_far(x, descs, n))
		return xsk_prod_nb_free(&x->tx_ring, n) >= n && post_near(x, descs, n) == n;
	if (sl_far_bounces(x->far))
		return bounce(x, descs, n);
	if (!sl_xsk_tx_empties(x) || !sl_far_send(x->far, descs, n))
		return false;
	x->tx.unreaped += n;
	return true;
}

static SL_APART unsigned post_far(struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	unsigned done = 0, k;

	while (done < n) {
		for (k = 1; done + k < n && descs[done + k - 1].flags & SL_TXD_MORE;)
			k++;
		if (!post_packet(x, descs + done, k))
			break;
		done += k;
	}
	return done;
}

static unsigned xsk_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);

	if (sl_unlikely(has_far(x, descs, n)))
		return post_far(x, descs, n);
	return post_near(x, descs, n);
}

#define KICK_FRAMES 32 /* that the kernel sends in a call, in copy mode (TX_BATCH_SIZE) */
#define KICK_CALLS  64

static inline long kick_once(const struct sl_xsk *x)
{
	return sl_sys_sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
}

/* The first call has said so (EAGAIN: more are waiting). */
static SL_APART int kick_on(struct sl_xsk *x, long ret)
{
	struct sl_tx *tx = &x->tx;

	for (int i = 1; ret == -EAGAIN && tx->posted > KICK_FRAMES && i < KICK_CALLS; i++) {
		tx->posted -= KICK_FRAMES;
		ret = kick_once(x);
	}
	tx->posted = 0;
	/* ENOBUFS and EBUSY: the queue is full, frames stay on the ring. */
	return ret == -EBUSY || ret == -ENOBUFS ? -EAGAIN : (int)sl_min(ret, 0l);
}

static int xsk_kick(struct sl_tx *tx)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);
	long ret = 0;

	if (xsk_ring_prod__needs_wakeup(&x->tx_ring))
		ret = kick_once(x);
	if (sl_unlikely(ret < 0))
		return kick_on(x, ret);
	tx->posted = 0;
	return 0;
}

bool sl_xsk_tx_is_empty(const struct sl_xsk *x)
{
	return sl_load_acquire(x->tx_ring.consumer) == sl_load(x->tx_ring.producer);
}

bool sl_xsk_tx_empties(struct sl_xsk *x)
{
	return sl_xsk_tx_is_empty(x) || (!xsk_kick(&x->tx) && sl_xsk_tx_is_empty(x));
}

void sl_xsk_set_far(struct sl_xsk *x, struct sl_far *far, uint32_t near)
{
	x->far = far;
	x->near = near;
}

/* The device is done with a frame of ours. */
static inline void frame_back(struct sl_frames *cache, uint32_t frame)
{
	if (sl_unlikely(sl_share_is_bounce(&sl_pool.share, frame)))
		sl_share_bounce_put(&sl_pool.share, frame);
	else
		sl_frame_sent(cache, frame);
}

/* Takes a frame that the device is done with. For our own frame comp_to is raised before its
 * reference is dropped, so that no lane of ours posts it again while its entry is in doubt. */
static void reap_one(struct sl_xsk_queue *q, struct sl_frames *cache, uint32_t frame, uint32_t next)
{
	uint8_t owner = sl_pool.word[frame].owner;

	if (sl_likely(owner == sl_pool.me)) {
		sl_frame_landed(frame);
		sl_share_step();
		sl_store(&q->shared->comp_to, next);
		sl_share_step();
		frame_back(cache, frame);
		return;
	}
	if (sl_share_return(&sl_pool.share, q->shared, sl_pool.me, frame)) {
		sl_frame_free(cache, frame);
		cache->gained++;
	}
	sl_share_step();
	sl_store(&q->shared->comp_to, next);
}

/* Takes back frames of ours that other processes have found completed. Returns how many. */
static unsigned take_returned(struct sl_xsk_queue *q, struct sl_frames *cache)
{
	uint32_t frame;
	unsigned n = 0;

	for (; (frame = sl_share_returned(&sl_pool.share, q->shared, sl_pool.me)) != SL_NO_FRAME;
	     n++) {
		frame_taken(frame);
		frame_back(cache, frame);
	}
	return n;
}

static unsigned reap_ring(struct sl_xsk *x, struct sl_frames *cache)
{
	struct sl_xsk_queue *q = x->q;
	uint32_t at, n;

	if (!sl_rtrylock(&q->shared->lock, sl_pool.me))
		return 0;
	x->tx.unreaped = 0;
	at = sl_load(q->comp.consumer);
	n = sl_min(sl_load_acquire(q->comp.producer) - at, (uint32_t)SL_FRAME_CACHE / 2);
	for (uint32_t i = 0; i < n; i++, at++) {
		uint64_t addr = q->comp.addr[at & (q->comp.size - 1)];
		uint32_t frame = (uint32_t)(addr >> sl_pool.shift);

		frame_taken(frame);
		reap_one(q, cache, frame, at + 1);
	}
	if (n) /* pairs with the kernel's acquire of the consumer index */
		sl_store_release(q->comp.consumer, at);
	if (sl_unlikely(q->shared->back[sl_pool.me]))
		n += take_returned(q, cache);
	sl_runlock(&q->shared->lock);
	return n;
}

static unsigned xsk_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);
	uint32_t far = x->far ? sl_far_release(x->far) : 0;

	return far + reap_ring(x, cache);
}

static uint32_t xsk_room(struct sl_tx *tx)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);

	return xsk_prod_nb_free(&x->tx_ring, x->tx_ring.size);
}

bool sl_xsk_tx_is_behind(const struct sl_xsk *x)
{
	return sl_load(x->tx_ring.producer) - sl_load(x->tx_ring.consumer) > x->tx_ring.size / 2;
}

static void xsk_tx_close(struct sl_tx *tx, struct sl_frames *cache)
{
	(void)tx;
	(void)cache; /* closed with the receive side: one descriptor */
}

const struct sl_tx_ops sl_xsk_tx_ops = {
	.name = "xsk",
	.post = xsk_post,
	.kick = xsk_kick,
	.reap = xsk_reap,
	.close = xsk_tx_close,
	.room = xsk_room,
};
