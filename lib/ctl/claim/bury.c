/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of the group that come, and that die: their lanes' XSKs and their frames.
 *
 * Theory of operation: a process that died may have had packets under way in three places.
 * - The steering program still sends to its receive rings: the broker takes the XSKs out of the
 *   map, and after a grace period (RCU; drivers redirect inside a read side) nothing comes any
 *   more. It reads the rings before and after that, since peers wait for what lies there.
 * - Packets that the process had posted and not kicked: the broker kicks them, as a datagram that a
 *   dead process has written to a socket goes out.
 * - Frames that the device has: base/share/share_bury.c. */
#include "ctl/claim/bury.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <linux/membarrier.h>
#include <sys/mman.h>

#include "base/heap.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/claim/lane.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/device/part.h"
#include "ctl/umem/packet.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"

#define KICKS 256 /* of 32 frames each (copy mode): more than a ring holds by default */

/* A kernel with isolated cores (nohz_full) refuses membarrier(2): wait a fixed time instead. */
void sl_broker_grace(void)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};

	if (sl_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		sl_sys(SYS_nanosleep, &pause, NULL);
}

/* (A daemon that took over has not mapped rings that are lent once: broker/adopt.c.) */
static const struct sl_part *mapped_part(struct sl_device *p, const struct sl_umem *u)
{
	const struct sl_part *part = sl_part_of(p, u->info.id);

	return part && part->bound && p->queue[part->first].fill_map ? part : NULL;
}

/* The rings of all queues of that packet memory; NULL: no memory, or none. To be freed. */
static struct sl_share_rings *all_queues(const struct sl_umem *u, unsigned *n)
{
	const struct sl_part *part;
	struct sl_share_rings *r;
	struct xdp_mmap_offsets off;
	unsigned max = 0;

	*n = 0;
	for (struct sl_device *p = sl_port_first(); p; p = p->next) {
		part = mapped_part(p, u);
		max += part ? part->n : 0;
	}
	r = max ? sl_calloc(max, sizeof(*r)) : NULL;
	for (struct sl_device *p = sl_port_first(); r && p; p = p->next) {
		part = mapped_part(p, u);
		for (uint32_t i = 0; part && i < part->n; i++) {
			const struct sl_queue *q = &p->queue[part->first + i];

			if (sl_ring_offsets(q->anchor_fd, &off))
				continue;
			r[(*n)++] = (struct sl_share_rings){
				.queue = q->share_queue,
				.fill = sl_share_ring_at(q->fill_map, &off.fr, p->rings.fill),
				.comp = sl_share_ring_at(q->comp_map, &off.cr, p->rings.comp),
			};
		}
	}
	return r;
}

int sl_broker_join(uint32_t umem, uint32_t quota, uint32_t spare)
{
	struct sl_broker_guard g;
	struct sl_umem *u;
	int id = -ENXIO;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	if (u)
		id = sl_share_join(&u->info.share, quota, spare);
	sl_broker_leave(&g);
	return id;
}

void sl_broker_died(uint32_t umem, uint8_t member)
{
	struct sl_broker_guard g;
	struct sl_share_rings *q;
	struct sl_umem *u;
	unsigned n;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	if (u && !u->broken) {
		q = all_queues(u, &n);
		sl_share_dead(&u->info.share, member, q, n);
		sl_free(q);
	}
	sl_broker_leave(&g);
}

/* Sends what was posted. */
static void flush(const struct sl_xsk_lease *l, struct sl_share_xsk_rings *x)
{
	for (int i = 0; i < KICKS; i++) {
		if (sl_load_acquire(x->tx.consumer) == sl_load(x->tx.producer))
			return;
		sl_sys_sendto(l->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
	}
	x->stuck = true;
}

static int rings_of(const struct sl_xsk_lease *l, struct sl_share_xsk_rings *x)
{
	struct xdp_mmap_offsets off;
	int err = l->rx_map ? sl_ring_offsets(l->fd, &off) : -ENXIO;

	if (err)
		return err;
	*x = (struct sl_share_xsk_rings){
		.xsk = l->share_xsk,
		.rx = sl_share_ring_at(l->rx_map, &off.rx, l->rx_size),
		.tx = sl_share_ring_at(l->tx_map, &off.tx, l->tx_size),
	};
	return 0;
}

static int look_at_rings(const struct sl_xsk_lease *l, struct sl_share_xsk_rings *x)
{
	int err = rings_of(l, x);

	if (!err)
		flush(l, x);
	return err;
}

static void close_lane(const struct sl_broker_lane *l)
{
	for (uint32_t i = 0; i < l->nleases; i++)
		sl_lease_close(&l->leases[i]);
	sl_lane_free(l->ifindex, l->lane);
}

/* A broken group's memory is not mended: it ends with the group. */
static int bury(struct sl_umem *u, uint8_t member, const struct sl_broker_lane *lanes, unsigned n,
		struct sl_share_left *left)
{
	struct sl_share_xsk_rings *x;
	struct sl_share_rings *q;
	unsigned nx = 0, nq;
	int err = 0;

	*left = (struct sl_share_left){0};
	if (u->broken)
		return 0;
	for (unsigned i = 0; i < n; i++)
		nx += lanes[i].nleases;
	x = sl_calloc(nx + 1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	nx = 0;
	for (unsigned i = 0; i < n && !err; i++)
		for (uint32_t j = 0; j < lanes[i].nleases && !err; j++)
			if (lanes[i].leases[j].rx_map)
				err = look_at_rings(&lanes[i].leases[j], &x[nx++]);
	q = all_queues(u, &nq);
	if (!err)
		err = sl_share_bury(&u->info.share, &(struct sl_share_grave){member, q, nq, x, nx},
				    left);
	sl_free(q);
	sl_free(x);
	return err;
}

struct late {
	const struct sl_umem_info *umem;
	uint32_t ifindex;
	sl_broker_late_fn *fn;
	void *arg;
};

static void show_late(void *arg, uint64_t addr, uint32_t bytes)
{
	static _Alignas(8) uint8_t frame[SL_FRAME_SIZE_LARGE]; /* (the broker's lock is held) */
	const struct late *l = arg;
	uint64_t off = addr & (l->umem->frame_size - 1);

	if (l->umem->frame_size <= sizeof(frame) && bytes <= l->umem->frame_size - off &&
	    sl_umem_read(l->umem, addr - off, frame, (uint32_t)off + bytes))
		l->fn(l->arg, l->ifindex, frame, (uint32_t)off, bytes);
}

static void show_packet(void *arg, const uint8_t *packet, uint32_t bytes)
{
	const struct late *l = arg;

	l->fn(l->arg, l->ifindex, packet - sizeof(struct sl_meta), sizeof(struct sl_meta), bytes);
}

void sl_broker_late(uint32_t umem, uint8_t member, const struct sl_broker_lane *lane,
		    sl_broker_late_fn *late, void *arg)
{
	struct sl_broker_guard g;
	struct sl_umem *u;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	for (uint32_t i = 0; u && i < lane->nleases; i++) {
		struct late l = {&u->info, lane->ifindex, late, arg};
		struct sl_share_xsk_rings x;

		if (!rings_of(&lane->leases[i], &x))
			sl_share_take_rx(&u->info.share, member, &x, show_late, &l);
		sl_packet_ring_take(&lane->leases[i], show_packet, &l);
	}
	sl_broker_leave(&g);
}

bool sl_broker_is_posted(uint32_t umem, uint8_t member)
{
	struct sl_broker_guard g;
	struct sl_umem *u;
	bool any;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	any = u && sl_share_posted(&u->info.share, member, SL_FLIGHT_QP) > 0;
	sl_broker_leave(&g);
	return any;
}

bool sl_broker_is_broken(uint32_t umem, uint32_t looks, sl_share_stopped_fn *stopped, void *arg,
			 struct sl_share_fault *f)
{
	struct sl_broker_guard g;
	struct sl_umem *u;
	bool found;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	found = u && u->watch && !u->broken &&
		sl_share_look(&u->info.share, u->watch, looks, stopped, arg, f);
	if (found)
		u->broken = true;
	sl_broker_leave(&g);
	return found;
}

void sl_broker_mute(const struct sl_broker_lane *lanes, unsigned n)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	for (unsigned i = 0; i < n; i++)
		sl_lane_mute(lanes[i].ifindex, lanes[i].lane);
	sl_broker_leave(&g);
}

int sl_broker_bury(uint32_t umem, uint8_t member, const struct sl_broker_lane *lanes, unsigned n,
		   struct sl_share_left *left)
{
	struct sl_broker_guard g;
	struct sl_umem *u;
	int err = -ENXIO;

	sl_broker_enter(&g);
	u = sl_umem_find(umem);
	if (u)
		err = bury(u, member, lanes, n, left);
	for (unsigned i = 0; i < n && !err; i++)
		close_lane(&lanes[i]);
	sl_broker_leave(&g);
	return err;
}

static int reap(struct sl_umem *u)
{
	struct sl_share_rings *q;
	unsigned n;
	int sum = 0;

	q = all_queues(u, &n);
	for (unsigned i = 0; i < n && sum >= 0; i++) {
		int got = sl_share_reap(&u->info.share, &q[i]);

		sum = got < 0 ? got : sum + got;
	}
	sl_free(q);
	if (sum < 0) /* frames may bear our name yet */
		u->unburied[SL_SHARE_BROKER] = true;
	return sum;
}

void sl_umems_bury_left(void)
{
	struct sl_share_left left;

	for (struct sl_umem *u = sl_umem_first(); u; u = u->next)
		for (unsigned i = 0; i < SL_SHARE_MEMBERS; i++)
			if (u->unburied[i])
				u->unburied[i] = bury(u, (uint8_t)i, NULL, 0, &left) != 0;
}

int sl_queues_reap(void)
{
	int sum = 0, busy = 0;

	for (struct sl_umem *u = sl_umem_first(); u; u = u->next) {
		int got = u->broken ? 0 : reap(u);

		if (got < 0)
			busy = got;
		else
			sum += got;
	}
	return sum ? sum : busy;
}

int sl_broker_reap(void)
{
	struct sl_broker_guard g;
	int sum;

	sl_broker_enter(&g);
	/* (Not where rings are lent once: a dead process's rings are closed there; and if we died
	 * with a lock of them, no daemon after us could mend what it protects.) */
	sum = sl_rings_lent_once() ? 0 : sl_queues_reap();
	sl_queues_reclaim(0);
	sl_umems_bury_left();
	sl_broker_leave(&g);
	return sum;
}
