/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP sockets.
 *
 * Theory of operation: each device registers one packet memory, once (a registration
 * decides zero-copy or copy for all its queues, and devices differ). On each queue the broker
 * binds an XSK of its own, the anchor, with the smallest of receive rings; it is in no map and
 * receives nothing, but keeps the queue's fill and completion rings while lanes come and go.
 * The XSKs of the lanes share the anchor's registration and rings (Documentation/networking/
 * af_xdp.rst, XDP_SHARED_UMEM). */
#include "ctl/broker_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker_lock.h"

#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
#define XDP_HEADROOM 256 /* XDP_PACKET_HEADROOM */
#define ETH_OVERHEAD 22  /* Ethernet header and two VLAN tags */
#define ANCHOR_RING  2

/* Sockets ---------------------------------------------------------------------------------------
 */

static int set_ring(int fd, int opt, uint32_t entries)
{
	return entries ? sl_sys_setsockopt(fd, SOL_XDP, opt, &entries, sizeof(entries)) : 0;
}

static uint32_t ring_entries(uint32_t wanted, uint32_t dflt)
{
	uint32_t n = 64;

	while (n < (wanted ? wanted : dflt) && n < SL_XSK_MAX)
		n *= 2;
	return n;
}

static void choose_rings(struct sl_ring_sizes *r)
{
	r->rx = ring_entries(sl_broker_opts()->rx_ring, SL_XSK_RX);
	r->tx = ring_entries(sl_broker_opts()->tx_ring, SL_XSK_TX);
	r->fill = 2 * r->rx;
	r->comp = 2 * r->tx;
}

/* queue: the sizes of the queue's rings, NULL: it shares those of another XSK. */
static int xsk_new(uint32_t rx, uint32_t tx, const struct sl_ring_sizes *queue)
{
	int fd = sl_fd_keep(sl_sys_socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
	int err;

	if (fd < 0)
		return fd;
	err = set_ring(fd, XDP_RX_RING, rx);
	if (!err)
		err = set_ring(fd, XDP_TX_RING, tx);
	if (!err && queue)
		err = set_ring(fd, XDP_UMEM_FILL_RING, queue->fill);
	if (!err && queue)
		err = set_ring(fd, XDP_UMEM_COMPLETION_RING, queue->comp);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

static int xsk_bind(int fd, const struct sl_device *port, uint32_t queue, uint16_t flags, int share)
{
	struct sockaddr_xdp sxdp = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = flags,
		.sxdp_ifindex = port->info.ifindex,
		.sxdp_queue_id = queue,
		.sxdp_shared_umem_fd = (uint32_t)share,
	};

	return sl_sys_bind(fd, &sxdp, sizeof(sxdp));
}

/* Kernels before 6.4 let rings be mapped only before bind. A mapping holds the socket, so forked
 * children must not have it. */
static void *map_ring(int fd, size_t bytes, off_t pgoff)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, pgoff);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}

static void unmap_ring(void *map, size_t bytes)
{
	if (map)
		munmap(map, bytes);
}

static int ring_offsets(int fd, struct xdp_mmap_offsets *off)
{
	socklen_t len = sizeof(*off);

	return sl_sys_getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, off, &len);
}

static void queue_unmap(struct sl_queue *q)
{
	unmap_ring(q->fill_map, q->fill_bytes);
	unmap_ring(q->comp_map, q->comp_bytes);
	q->fill_map = q->comp_map = NULL;
}

/* Maps the queue's rings from its anchor. */
static int queue_map(struct sl_queue *q, const struct sl_ring_sizes *rings,
		     struct xdp_mmap_offsets *off)
{
	int err = ring_offsets(q->anchor_fd, off);

	if (err)
		return err;
	q->fill_bytes = off->fr.desc + rings->fill * sizeof(uint64_t);
	q->comp_bytes = off->cr.desc + rings->comp * sizeof(uint64_t);
	q->fill_map = map_ring(q->anchor_fd, q->fill_bytes, (off_t)XDP_UMEM_PGOFF_FILL_RING);
	q->comp_map = map_ring(q->anchor_fd, q->comp_bytes, (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	if (q->fill_map && q->comp_map)
		return 0;
	queue_unmap(q);
	return -ENOMEM;
}

/* Writes the n frames into the empty fill ring of an anchor that is not bound yet. */
static int queue_fill(const struct sl_umem *u, struct sl_queue *q,
		      const struct sl_ring_sizes *rings, const uint32_t *frames, uint32_t n)
{
	struct xdp_mmap_offsets off;
	int err = queue_map(q, rings, &off);
	uint64_t *desc;

	if (err)
		return err;
	desc = (uint64_t *)((char *)q->fill_map + off.fr.desc);
	for (uint32_t i = 0; i < n; i++)
		desc[i] = (uint64_t)frames[n - 1 - i] * u->info.frame_size; /* fresh: ascending */
	u->info.share.queue[q->share_queue].fill_to = n;
	/* Pairs with the kernel's acquire of the producer index (xskq_cons_peek). */
	sl_store_release((uint32_t *)((char *)q->fill_map + off.fr.producer), n);
	return 0;
}

/* What never was bound. */
static void anchor_close(struct sl_queue *q)
{
	queue_unmap(q);
	sl_sys_close(q->anchor_fd);
	q->anchor_fd = -1;
}

static void queue_close(struct sl_umem *u, struct sl_queue *q, bool unmap)
{
	if (unmap)
		queue_unmap(q);
	if (q->anchor_fd >= 0)
		sl_sys_close(q->anchor_fd);
	if (q->anchor_fd >= 0 && unmap && u) /* else lanes go by it as long as they live */
		sl_share_queue_close(&u->info.share, q->share_queue);
	*q = (struct sl_queue){.anchor_fd = -1};
}

/* An anchor, complete but for bind. The first of the device registers the memory. */
static int anchor_new(struct sl_device *port, uint32_t nr, const uint32_t *frames, uint32_t n,
		      const char **step)
{
	struct sl_queue *q = &port->queue[nr];
	int err = 0;

	*step = "AF_XDP socket";
	q->anchor_fd = xsk_new(ANCHOR_RING, 0, &port->rings);
	if (q->anchor_fd < 0)
		return q->anchor_fd;
	if (nr == 0) {
		*step = "packet memory";
		err = sl_umem_register(port->umem, q->anchor_fd);
	}
	if (!err) {
		*step = "fill ring";
		err = queue_fill(port->umem, q, &port->rings, frames, n);
	}
	if (err)
		anchor_close(q);
	return err;
}

/* Bytes of a frame for a received packet. */
static uint32_t frame_room(const struct sl_umem_info *u)
{
	return u->frame_size - XDP_HEADROOM - u->headroom;
}

static int check_mtu(const struct sl_device *port, const char **why)
{
	const struct sl_umem_info *u = &port->umem->info;
	uint32_t room = frame_room(u);

	if (port->info.mtu + ETH_OVERHEAD <= room)
		return 0;
	sl_why(why,
	       "%s has MTU %u, the most for frames of %u bytes is %u; remedy: ip link set dev %s "
	       "mtu %u%s",
	       port->info.ifname, port->info.mtu, u->frame_size, room - ETH_OVERHEAD,
	       port->info.ifname, room - ETH_OVERHEAD,
	       u->frame_size < 4096 ? ", or SLUICE_FRAME_SIZE=4096" : "");
	return -EOPNOTSUPP;
}

/* These NICs count receive buffers in kilobytes (SRRCTL.BSIZEPKT), and in zero-copy mode the frame
 * is the buffer: what it has beyond the last whole one is not used, and a packet that is longer is
 * lost, though the driver took the frame for large enough. */
static bool holds_packet_zerocopy(const struct sl_device *port)
{
	static const char *const list[] = {"igb", "igc", "ixgbe"};
	uint32_t room = frame_room(&port->umem->info);

	for (size_t i = 0; i < sl_array_len(list); i++) {
		if (!strcmp(port->info.driver, list[i]))
			room &= ~1023u;
	}
	return port->info.mtu + ETH_OVERHEAD <= room;
}

/* Zero-copy is asked for first; a refused socket is not used again. */
static int anchor_bind(struct sl_device *port, uint32_t q, const uint32_t *frames, uint32_t n,
		       const char **step)
{
	static const uint16_t modes[] = {XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP,
					 XDP_COPY | XDP_USE_NEED_WAKEUP};
	enum sl_broker_zc zc = sl_broker_opts()->zerocopy;
	unsigned m = zc == SL_BROKER_ZC_OFF || !holds_packet_zerocopy(port);
	unsigned end = zc == SL_BROKER_ZC_FORCE ? 1 : 2;
	struct sl_queue *queue = &port->queue[q];
	int err = -EINVAL;

	for (; err && m < end; m++) {
		err = anchor_new(port, q, frames, n, step);
		if (err)
			break;
		*step = "bind";
		if (q > 0)
			err = xsk_bind(queue->anchor_fd, port, q, XDP_SHARED_UMEM,
				       port->queue[0].anchor_fd);
		else
			err = xsk_bind(queue->anchor_fd, port, q, modes[m], 0);
		if (err)
			anchor_close(queue);
		if (q > 0 || err == -EPERM || err == -EBUSY || err == -ENETDOWN)
			break;
	}
	return err;
}

/* The frames are the ring's from bind on. */
static int anchor_open(struct sl_device *port, uint32_t q, const char **step)
{
	uint32_t max = port->rings.fill / 2, *frames = malloc(max * sizeof(*frames)), n;
	struct sl_queue *queue = &port->queue[q];
	struct sl_umem *u = port->umem;
	int err;

	*step = "frames";
	if (!frames)
		return -ENOMEM;
	sl_queues_reclaim();
	err = sl_share_queue_open(&u->info.share, port->info.ifindex, q);
	if (err < 0)
		goto out;
	queue->share_queue = (uint32_t)err;
	n = sl_umem_take(u, frames, max);
	err = anchor_bind(port, q, frames, n, step);
	if (err) {
		sl_umem_untake(u, frames, n);
		sl_share_queue_close(&u->info.share, queue->share_queue);
		sl_share_reclaim(&u->info.share, queue->share_queue); /* it had none */
	} else {
		sl_umem_given(u, frames, n, queue->share_queue);
	}
out:
	free(frames);
	return err;
}

static void why_anchor(const struct sl_device *port, uint32_t q, const char *step, int err,
		       const char **why)
{
	const char *dev = port->info.ifname;

	if (err == -ENOBUFS)
		sl_why(why,
		       "%s: locked memory is limited; remedy: ulimit -l unlimited "
		       "(LimitMEMLOCK=infinity), or CAP_IPC_LOCK",
		       dev);
	else if (err == -EPERM)
		sl_why(why,
		       "%s: no permission for AF_XDP sockets (needs CAP_BPF, CAP_NET_ADMIN, "
		       "CAP_NET_RAW); remedy: run as root or give the program these capabilities",
		       dev);
	else if (err == -EBUSY)
		sl_why(why, "%s: another program has an AF_XDP socket on queue %u", dev, q);
	else if (q == 0 && sl_broker_opts()->zerocopy == SL_BROKER_ZC_FORCE &&
		 !holds_packet_zerocopy(port))
		sl_why(why,
		       "%s: zero-copy is demanded, and frames of %u bytes hold no packet of %u there; "
		       "remedy: SLUICE_FRAME_SIZE=4096",
		       dev, port->umem->info.frame_size, port->info.mtu);
	else if (q == 0 && sl_broker_opts()->zerocopy == SL_BROKER_ZC_FORCE)
		sl_why(why,
		       "%s: zero-copy is demanded and the driver has none (%s); remedy: "
		       "SLUICE_ZEROCOPY=auto",
		       dev, sl_strerror(err));
	else if (q > 0)
		sl_why(why,
		       "%s: queue %u of %u cannot be covered (%s); remedy: ethtool -L %s "
		       "combined %u",
		       dev, q, port->info.nqueues, sl_strerror(err), dev, q);
	else
		sl_why(why, "%s: %s: %s", dev, step, sl_strerror(err));
}

static bool xsk_is_zerocopy(int fd)
{
	struct xdp_options o = {0};
	socklen_t len = sizeof(o);

	return !sl_sys_getsockopt(fd, SOL_XDP, XDP_OPTIONS, &o, &len) &&
	       o.flags & XDP_OPTIONS_ZEROCOPY;
}

int sl_queues_bind(struct sl_device *port, const char **why)
{
	const char *step = "";
	int err = check_mtu(port, why);

	if (err)
		return err;
	choose_rings(&port->rings);
	for (uint32_t q = 0; q < port->info.nqueues; q++) {
		err = anchor_open(port, q, &step);
		if (err) {
			why_anchor(port, q, step, err, why);
			sl_queues_close(port, true);
			return err == -EPERM ? err : err == -EBUSY ? -EAGAIN : -EOPNOTSUPP;
		}
	}
	port->queues_bound = true;
	port->zerocopy = xsk_is_zerocopy(port->queue[0].anchor_fd);
	if (port->zerocopy)
		port->info.flags |= SL_PORT_ZEROCOPY;
	sl_info("port", "%s: AF_XDP %s", port->info.ifname,
		port->zerocopy                                   ? "zero-copy"
		: sl_broker_opts()->zerocopy == SL_BROKER_ZC_OFF ? "copy mode (as configured)"
		: holds_packet_zerocopy(port)
			? "copy mode (the driver has no zero-copy)"
			: "copy mode (for zero-copy this NIC needs larger frames; remedy: "
			  "SLUICE_FRAME_SIZE=4096)");
	return 0;
}

int sl_queues_map_again(struct sl_device *port)
{
	struct xdp_mmap_offsets off;
	int err = 0;

	for (uint32_t q = 0; port->queues_bound && q < port->info.nqueues && !err; q++)
		err = queue_map(&port->queue[q], &port->rings, &off);
	return err;
}

void sl_queues_close(struct sl_device *port, bool unmap)
{
	for (uint32_t q = 0; q < SL_MAX_QUEUES; q++)
		queue_close(port->umem, &port->queue[q], unmap);
	port->queues_bound = false;
}

/* Lanes -----------------------------------------------------------------------------------------
 */

/* Busy polling moves the driver's work into the thread that waits (kernel 5.11). */
static void set_busy_poll(int fd)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	int on = 1, us = o->busy_poll_us ? (int)o->busy_poll_us : 20;
	int budget = o->busy_poll_budget ? (int)o->busy_poll_budget : 64;
	int err;

	if (!o->busy_poll)
		return;
	err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof(on));
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us));
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget,
					sizeof(budget));
	if (err)
		sl_warn_once("port", "busy polling of the driver is not possible: %s",
			     sl_strerror(err));
}

static void lease_close(struct sl_device *port, struct sl_xsk_lease *l)
{
	unmap_ring(l->rx_map, l->rx_bytes);
	unmap_ring(l->tx_map, l->tx_bytes);
	sl_sys_close(l->fd); /* leaves `lanes` by itself */
	sl_share_xsk_close(&port->umem->info.share, l->share_xsk);
}

static int lease_map(struct sl_xsk_lease *l)
{
	struct xdp_mmap_offsets off;
	int err = ring_offsets(l->fd, &off);

	if (err)
		return err;
	l->rx_bytes = off.rx.desc + l->rx_size * sizeof(struct xdp_desc);
	l->tx_bytes = off.tx.desc + l->tx_size * sizeof(struct xdp_desc);
	l->rx_map = map_ring(l->fd, l->rx_bytes, XDP_PGOFF_RX_RING);
	l->tx_map = map_ring(l->fd, l->tx_bytes, XDP_PGOFF_TX_RING);
	return l->rx_map && l->tx_map ? 0 : -ENOMEM;
}

static int lease_open(struct sl_device *port, uint32_t q, uint32_t xsk, struct sl_xsk_lease *l)
{
	const struct sl_queue *queue = &port->queue[q];
	int err;

	*l = (struct sl_xsk_lease){
		.fd = xsk_new(port->rings.rx, port->rings.tx, NULL),
		.queue = q,
		.rx_size = port->rings.rx,
		.tx_size = port->rings.tx,
		.fill_size = port->rings.fill,
		.comp_size = port->rings.comp,
		.fill_map = queue->fill_map,
		.comp_map = queue->comp_map,
		.zerocopy = port->zerocopy,
		.share_queue = queue->share_queue,
	};
	if (l->fd < 0)
		return l->fd;
	err = sl_share_xsk_open(&port->umem->info.share);
	if (err < 0) {
		sl_sys_close(l->fd);
		return err;
	}
	l->share_xsk = port->xsk[xsk] = (uint16_t)err;
	err = lease_map(l);
	if (!err)
		err = xsk_bind(l->fd, port, q, XDP_SHARED_UMEM, queue->anchor_fd);
	if (!err && bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &l->fd, 0))
		err = -errno;
	if (err)
		lease_close(port, l);
	else
		set_busy_poll(l->fd);
	return err;
}

static int lane_open(struct sl_device *port, uint32_t lane, struct sl_xsk_lease *leases,
		     const char **why)
{
	uint32_t first = lane * port->info.nqueues, q;
	int err = 0;

	for (q = 0; q < port->info.nqueues && !err; q++)
		err = lease_open(port, q, first + q, &leases[q]);
	if (!err)
		return 0;
	sl_why(why, "%s: lane %u on queue %u: %s", port->info.ifname, lane, q - 1,
	       sl_strerror(err));
	while (q-- > 1)
		lease_close(port, &leases[q - 1]);
	return err;
}

static bool lane_mark(struct sl_device *port, uint32_t lane, bool open)
{
	uint64_t bit = 1ull << (lane % 64), *word = &port->lane_open[lane / 64];
	bool was = *word & bit;

	*word = open ? *word | bit : *word & ~bit;
	return was;
}

int sl_lane_map_again(struct sl_device *port, uint32_t lane, uint32_t q, struct sl_xsk_lease *l)
{
	uint32_t xsk = lane * port->info.nqueues + q;
	int err = lease_map(l);

	if (!err && bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &l->fd, 0))
		err = -errno;
	l->fill_map = port->queue[q].fill_map;
	l->comp_map = port->queue[q].comp_map;
	port->xsk[xsk] = (uint16_t)l->share_xsk;
	lane_mark(port, lane, true);
	return err;
}

static int lane_checked_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			     uint32_t *first, const char **why)
{
	struct sl_device *port = sl_device_find(ifindex);
	int err = 0;

	if (port && !port->umem)
		port->umem = sl_umem_find(port->umem_id);
	if (!port || !port->umem) {
		sl_why(why, "lane %u: the port or the packet memory is not there", lane);
		return -ENXIO;
	}
	if (lane >= port->info.max_lanes) {
		sl_why(why, "%s has room for %u lanes", port->info.ifname, port->info.max_lanes);
		return -EINVAL;
	}
	if (!port->queues_bound)
		err = sl_queues_bind(port, why);
	if (err)
		return err;
	if (lane_mark(port, lane, true)) {
		sl_why(why, "%s: lane %u is open already", port->info.ifname, lane);
		return -EBUSY;
	}
	err = lane_open(port, lane, leases, why);
	if (err) {
		lane_mark(port, lane, false);
		return err;
	}
	*first = lane * port->info.nqueues;
	return 0;
}

int sl_embedded_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			  uint32_t *first, const char **why)
{
	struct sl_broker_guard g;
	int err;

	sl_broker_enter(&g);
	err = lane_checked_open(ifindex, lane, leases, first, why);
	sl_broker_leave(&g);
	return err;
}

void sl_lane_mute(uint32_t ifindex, uint32_t lane)
{
	struct sl_device *port = sl_device_find(ifindex);

	for (uint32_t q = 0; port && q < port->info.nqueues; q++) {
		uint32_t xsk = lane * port->info.nqueues + q;

		bpf_map_delete_elem(port->attach.map_fd[SL_MAP_LANES], &xsk);
	}
}

void sl_lane_free(uint32_t ifindex, uint32_t lane)
{
	struct sl_device *port = sl_device_find(ifindex);

	if (!port || lane >= port->info.max_lanes || !lane_mark(port, lane, false))
		return;
	for (uint32_t q = 0; q < port->info.nqueues; q++)
		sl_share_xsk_close(&port->umem->info.share,
				   port->xsk[lane * port->info.nqueues + q]);
}

void sl_embedded_lane_close(uint32_t ifindex, uint32_t lane)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	sl_lane_mute(ifindex, lane);
	sl_lane_free(ifindex, lane);
	sl_broker_leave(&g);
}
