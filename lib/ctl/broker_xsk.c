/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory and AF_XDP sockets.
 *
 * Theory of operation: the memory is one memfd. Each device registers it once (a registration
 * decides zero-copy or copy for all its queues, and devices differ). On each queue the broker
 * binds an XSK of its own, the anchor, with the smallest of receive rings; it is in no map and
 * receives nothing, but keeps the queue's fill and completion rings while lanes come and go.
 * The XSKs of the lanes share the anchor's registration and rings (Documentation/networking/
 * af_xdp.rst, XDP_SHARED_UMEM). */
#include "ctl/broker_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lock.h"
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
#define BUSY_TRIES   50  /* of 10 ms */
#define ETH_OVERHEAD 22  /* Ethernet header and two VLAN tags */
#define ANCHOR_RING  2
#define HUGE_PAGE    (2ul << 20)

static struct sl_umem_info umem = {.memfd = -1};
/* Frames below next_frame went into fill rings, those from split_frame on are the caller's. */
static struct sl_lock frames_lock; /* protects both; taken on the caller's packet path */
static uint32_t next_frame;
static uint32_t split_frame;

bool sl_umem_is_there(void)
{
	return umem.base != NULL;
}

void sl_umem_child(void)
{
	if (umem.memfd >= 0)
		sl_sys_close(umem.memfd);
	umem = (struct sl_umem_info){.memfd = -1};
	next_frame = split_frame = 0;
	frames_lock = (struct sl_lock){0};
}

/* Packet memory ---------------------------------------------------------------------------------
 */

static int umem_map(size_t bytes, bool huge, struct sl_umem_info *u)
{
	unsigned flags = MFD_CLOEXEC | (huge ? MFD_HUGETLB : 0);
	int err;

	u->memfd = (int)sl_sys(SYS_memfd_create, "sluice-umem", flags);
	if (u->memfd < 0)
		return u->memfd;
	if (huge)
		bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	err = (int)sl_sys(SYS_ftruncate, u->memfd, bytes);
	if (err)
		goto close;
	u->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->memfd, 0);
	if (u->base == MAP_FAILED) {
		err = -errno;
		goto close;
	}
	u->huge = huge;
	return 0;
close:
	sl_sys_close(u->memfd);
	u->base = NULL;
	return err;
}

static int umem_make(uint32_t nframes, uint32_t frame_size, const char **why)
{
	struct sl_umem_info u = {.memfd = -1,
				 .nframes = nframes,
				 .frame_size = frame_size,
				 .headroom = SL_UMEM_HEADROOM};
	size_t bytes = (size_t)nframes * frame_size;
	int err = -ENOMEM;

	if (!nframes || (frame_size != 2048 && frame_size != 4096)) {
		sl_why(why, "frames must be 2048 or 4096 bytes");
		return -EINVAL;
	}
	if (!sl_broker_opts()->no_huge)
		err = umem_map(bytes, true, &u);
	if (err) {
		if (!sl_broker_opts()->no_huge)
			sl_log(sl_broker_opts()->want_huge ? SL_LOG_WARN : SL_LOG_INFO, "mem",
			       "no huge pages for %zu MB of packet memory, using ordinary pages; "
			       "remedy: sysctl vm.nr_hugepages=%zu",
			       bytes >> 20, (bytes + HUGE_PAGE - 1) / HUGE_PAGE);
		err = umem_map(bytes, false, &u);
	}
	if (err) {
		sl_why(why, "no memory for %u frames of %u bytes: %s", nframes, frame_size,
		       sl_strerror(err));
		return err;
	}
	umem = u;
	return 0;
}

int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why)
{
	struct sl_broker_guard g;
	int err = 0;

	sl_broker_enter(&g);
	if (!sl_umem_is_there())
		err = umem_make(nframes, frame_size, why);
	if (!err && split_frame == 0)
		split_frame = umem.nframes;
	if (!err)
		*out = umem;
	sl_broker_leave(&g);
	return err;
}

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
	int fd = sl_sys_socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
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

/* The kernel gives a queue back some time after its last socket has been closed (a work item), so a
 * busy one is tried again for a while. */
static int xsk_bind(int fd, const struct sl_port *port, uint32_t queue, uint16_t flags, int share)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	struct sockaddr_xdp sxdp = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = flags,
		.sxdp_ifindex = port->info.ifindex,
		.sxdp_queue_id = queue,
		.sxdp_shared_umem_fd = (uint32_t)share,
	};
	int err;

	for (int i = 0; i < BUSY_TRIES; i++) {
		err = sl_sys_bind(fd, &sxdp, sizeof(sxdp));
		if (err != -EBUSY)
			break;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return err;
}

static int umem_register(int fd)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)umem.base,
		.len = (uint64_t)umem.nframes * umem.frame_size,
		.chunk_size = umem.frame_size,
		.headroom = umem.headroom,
	};
	struct rlimit old, high;
	int err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));

	if (err != -ENOBUFS)
		return err;
	/* Over the limit of locked memory. The soft limit is only a default: try with the hard. */
	if (sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &old))
		return err;
	high = (struct rlimit){.rlim_cur = old.rlim_max, .rlim_max = old.rlim_max};
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &high, NULL);
	err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));
	sl_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &old, NULL);
	return err;
}

/* The frames that a new queue starts with: [*first, *first + the result). */
static uint32_t take_for_fill(uint32_t fill_size, uint32_t *first)
{
	uint32_t n = sl_min(fill_size / 2, umem.nframes / 8);

	sl_lock(&frames_lock);
	n = sl_min(n, split_frame - next_frame);
	*first = next_frame;
	next_frame += n;
	sl_unlock(&frames_lock);
	return n;
}

/* They went nowhere. */
static void untake(uint32_t first, uint32_t n)
{
	sl_lock(&frames_lock);
	if (next_frame == first + n)
		next_frame = first;
	sl_unlock(&frames_lock);
}

uint32_t sl_broker_frames(uint32_t want, uint32_t *first)
{
	if (!sl_lock(&frames_lock))
		return 0;
	want = sl_min(want, split_frame - next_frame);
	split_frame -= want;
	*first = split_frame;
	sl_unlock(&frames_lock);
	return want;
}

/* Writes frames [first, first + n) into the empty fill ring of an XSK that is not bound yet. */
static int prefill(int fd, uint32_t fill_size, uint32_t first, uint32_t n)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	int err = sl_sys_getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len);
	uint64_t *desc;
	size_t bytes;
	char *ring;

	if (err)
		return err;
	bytes = off.fr.desc + fill_size * sizeof(uint64_t);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)XDP_UMEM_PGOFF_FILL_RING);
	if (ring == MAP_FAILED)
		return -errno;
	desc = (uint64_t *)(ring + off.fr.desc);
	for (uint32_t i = 0; i < n; i++)
		desc[i] = (uint64_t)(first + i) * umem.frame_size;
	/* Pairs with the kernel's acquire of the producer index (xskq_cons_peek). */
	sl_store_release((uint32_t *)(ring + off.fr.producer), n);
	munmap(ring, bytes);
	return 0;
}

/* An anchor, complete but for bind. first_fd < 0: the first of the device, with the memory. */
static int anchor_new(const struct sl_ring_sizes *rings, uint32_t first, uint32_t prefilled,
		      bool reg, const char **step)
{
	int fd = xsk_new(ANCHOR_RING, 0, rings);
	int err = 0;

	*step = "AF_XDP socket";
	if (fd < 0)
		return fd;
	if (reg) {
		*step = "packet memory";
		err = umem_register(fd);
	}
	if (!err) {
		*step = "fill ring";
		err = prefill(fd, rings->fill, first, prefilled);
	}
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

/* Zero-copy is asked for first; a refused socket is not used again. */
static int anchor_open(struct sl_port *port, uint32_t q, const char **step)
{
	static const uint16_t modes[] = {XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP,
					 XDP_COPY | XDP_USE_NEED_WAKEUP};
	enum sl_broker_zc zc = sl_broker_opts()->zerocopy;
	unsigned m = zc == SL_BROKER_ZC_OFF, end = zc == SL_BROKER_ZC_FORCE ? 1 : 2;
	uint32_t first, n = take_for_fill(port->rings.fill, &first);
	int err = -EINVAL, fd = -1;

	for (; err && m < end; m++) {
		fd = anchor_new(&port->rings, first, n, q == 0, step);
		err = fd;
		if (fd < 0)
			break;
		*step = "bind";
		if (q > 0)
			err = xsk_bind(fd, port, q, XDP_SHARED_UMEM, port->queue[0].anchor_fd);
		else
			err = xsk_bind(fd, port, q, modes[m], 0);
		if (err)
			sl_sys_close(fd);
		if (q > 0 || err == -EPERM || err == -EBUSY || err == -ENETDOWN)
			break;
	}
	if (err) {
		untake(first, n);
		return err;
	}
	port->queue[q] = (struct sl_queue){fd};
	return 0;
}

static int check_mtu(const struct sl_port *port, const char **why)
{
	uint32_t room = umem.frame_size - XDP_HEADROOM - umem.headroom;

	if (port->info.mtu + ETH_OVERHEAD <= room)
		return 0;
	sl_why(why,
	       "%s has MTU %u, the most for frames of %u bytes is %u; remedy: ip link set dev %s "
	       "mtu %u%s",
	       port->info.ifname, port->info.mtu, umem.frame_size, room - ETH_OVERHEAD,
	       port->info.ifname, room - ETH_OVERHEAD,
	       umem.frame_size < 4096 ? ", or SLUICE_FRAME_SIZE=4096" : "");
	return -EOPNOTSUPP;
}

static void why_anchor(const struct sl_port *port, uint32_t q, const char *step, int err,
		       const char **why)
{
	const char *dev = port->info.ifname;

	if (err == -ENOBUFS)
		sl_why(why,
		       "%s: locked memory is limited; remedy: ulimit -l unlimited "
		       "(LimitMEMLOCK=infinity), or CAP_IPC_LOCK",
		       dev);
	else if (err == -EPERM)
		sl_why(why, "%s: no permission for AF_XDP sockets (needs CAP_NET_RAW)", dev);
	else if (err == -EBUSY)
		sl_why(why, "%s: another program has an AF_XDP socket on queue %u", dev, q);
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

int sl_queues_bind(struct sl_port *port, const char **why)
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
			sl_queues_close(port);
			return err == -EPERM || err == -EBUSY ? err : -EOPNOTSUPP;
		}
	}
	port->queues_bound = true;
	port->zerocopy = xsk_is_zerocopy(port->queue[0].anchor_fd);
	if (port->zerocopy)
		port->info.flags |= SL_PORT_ZEROCOPY;
	sl_info("port", "%s: AF_XDP %s", port->info.ifname,
		port->zerocopy ? "zero-copy"
		: sl_broker_opts()->zerocopy == SL_BROKER_ZC_OFF
			? "copy mode (as configured)"
			: "copy mode (the driver has no zero-copy)");
	return 0;
}

void sl_queues_close(struct sl_port *port)
{
	for (uint32_t q = 0; q < SL_MAX_QUEUES; q++) {
		if (port->queue[q].anchor_fd >= 0)
			sl_sys_close(port->queue[q].anchor_fd);
		port->queue[q] = (struct sl_queue){.anchor_fd = -1};
	}
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

static int lease_open(struct sl_port *port, uint32_t q, uint32_t xsk, struct sl_xsk_lease *l)
{
	int err, fd = xsk_new(port->rings.rx, port->rings.tx, NULL);

	if (fd < 0)
		return fd;
	err = xsk_bind(fd, port, q, XDP_SHARED_UMEM, port->queue[q].anchor_fd);
	if (!err && bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &fd, 0))
		err = -errno;
	if (err) {
		sl_sys_close(fd);
		return err;
	}
	set_busy_poll(fd);
	*l = (struct sl_xsk_lease){
		.fd = fd,
		.queue = q,
		.rx_size = port->rings.rx,
		.tx_size = port->rings.tx,
		.fill_size = port->rings.fill,
		.comp_size = port->rings.comp,
		.zerocopy = port->zerocopy,
	};
	return 0;
}

static int lane_open(struct sl_port *port, uint32_t lane, struct sl_xsk_lease *leases,
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
		sl_sys_close(leases[q - 1].fd); /* leaves `lanes` by itself */
	return err;
}

static bool lane_mark(struct sl_port *port, uint32_t lane, bool open)
{
	uint64_t bit = 1ull << (lane % 64), *word = &port->lane_open[lane / 64];
	bool was = *word & bit;

	*word = open ? *word | bit : *word & ~bit;
	return was;
}

static int lane_checked_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			     uint32_t *first, const char **why)
{
	struct sl_port *port = sl_port_find(ifindex);
	int err = 0;

	if (!port || !sl_umem_is_there()) {
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

int sl_broker_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			uint32_t *first, const char **why)
{
	struct sl_broker_guard g;
	int err;

	sl_broker_enter(&g);
	err = lane_checked_open(ifindex, lane, leases, first, why);
	sl_broker_leave(&g);
	return err;
}

void sl_broker_lane_close(uint32_t ifindex, uint32_t lane)
{
	struct sl_broker_guard g;
	struct sl_port *port;

	sl_broker_enter(&g);
	port = sl_port_find(ifindex);
	if (port && lane < port->info.max_lanes && lane_mark(port, lane, false)) {
		for (uint32_t q = 0; q < port->info.nqueues; q++) {
			uint32_t xsk = lane * port->info.nqueues + q;

			bpf_map_delete_elem(port->attach.map_fd[SL_MAP_LANES], &xsk);
		}
	}
	sl_broker_leave(&g);
}
