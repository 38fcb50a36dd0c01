/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP sockets.
 *
 * Theory of operation: each device registers one packet memory, once (a registration decides
 * zero-copy or copy for all its queues, and devices differ); a device that is divided
 * (device/part.c) registers one for each part. On each queue the broker binds an XSK of its own,
 * the anchor, with the smallest of receive rings; it is in no map and receives nothing, but keeps
 * the queue's fill and completion rings while lanes come and go. The XSKs of the lanes share the
 * anchor's registration and rings (Documentation/networking/af_xdp.rst, XDP_SHARED_UMEM). */
#include "ctl/umem/xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <string.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/device/dev.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"
#include "ctl/kern/say.h"
#include "ctl/umem/memory.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"

static const uint16_t modes[] = {XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP,
				 XDP_COPY | XDP_USE_NEED_WAKEUP};

#define USE_SG      (1u << 4) /* XDP_USE_SG, Linux 6.6 */
#define ANCHOR_RING 2

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

void sl_queues_choose_rings(struct sl_ring_sizes *r)
{
	r->rx = ring_entries(sl_broker_opts()->rx_ring, SL_XSK_RX);
	r->tx = ring_entries(sl_broker_opts()->tx_ring, SL_XSK_TX);
	r->fill = 2 * r->rx;
	r->comp = 2 * r->tx;
}

int sl_xsk_new(uint32_t rx, uint32_t tx, const struct sl_ring_sizes *queue)
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

int sl_xsk_confine(int fd, const struct sl_device *port)
{
	const char *name = port->info.ifname;

	if (!port->lent_once)
		return 0;
	return sl_sys_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name));
}

int sl_xsk_bind(int fd, const struct sl_device *port, uint32_t queue, uint16_t flags, int share)
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

/* Since Linux 6.6 an XSK in copy mode gets a packet that fits a frame, in however many buffers the
 * driver has it. (The kernel checks the flags before the device, and device 0 does not exist:
 * ENODEV means that it knows the flag.) */
static bool xsk_gathers(void)
{
	struct sockaddr_xdp sxdp = {.sxdp_family = AF_XDP, .sxdp_flags = USE_SG};
	int fd = sl_sys_socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return false;
	err = sl_sys_bind(fd, &sxdp, sizeof(sxdp));
	sl_sys_close(fd);
	return err == -ENODEV;
}

/* virtio_net loses some of the packets that a program for several buffers passes, and soon all of
 * them (Linux 6.18: once it has made its own buffers larger they are too long for that). */
bool sl_broker_gathers(const char *driver)
{
	return strcmp(driver, "virtio_net") != 0 && xsk_gathers();
}

/* Packets of the device may need several buffers of the driver, since one holds as much as the
 * smallest frame. Many drivers refuse, for such an MTU, a program that does not take several. Where
 * an XSK would get only the first buffer such a program is not tried: some drivers put 256 bytes
 * there, and most of a connection would be the kernel's. */
bool sl_xsk_may_have_frags(const struct sl_port_info *info)
{
	return info->mtu > sl_frame_mtu(2048) && sl_broker_gathers(info->driver);
}

/* Writes the n frames into the empty fill ring of an anchor that is not bound yet. */
static int queue_fill(const struct sl_umem *u, struct sl_queue *q, const uint32_t *frames,
		      uint32_t n)
{
	struct xdp_mmap_offsets off;
	int err = sl_ring_offsets(q->anchor_fd, &off);
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

/* Closes an anchor that never was bound. */
static void anchor_close(struct sl_queue *q)
{
	sl_queue_unmap(q);
	sl_sys_close(q->anchor_fd);
	q->anchor_fd = -1;
}

static void queue_close(struct sl_umem *u, struct sl_queue *q, bool unmap)
{
	if (unmap)
		sl_queue_unmap(q);
	if (q->anchor_fd >= 0)
		sl_sys_close(q->anchor_fd);
	if (q->anchor_fd >= 0 && unmap && u) /* else lanes go by it as long as they live */
		sl_share_queue_close(&u->info.share, q->share_queue);
	*q = (struct sl_queue){.anchor_fd = -1};
}

/* On a device that receives by packet sockets, and has one queue, XSKs only send. (With more queues
 * the other ones have fill rings.) */
uint32_t sl_queues_near(const struct sl_part *part)
{
	bool sends = part->port->info.flags & SL_PORT_PACKET && part->port->info.nqueues == 1;

	return sends ? sl_umem_near(part->umem) : 0;
}

/* An anchor, complete but for frames and bind. The first of the part registers the memory. */
static int anchor_new(struct sl_part *part, uint32_t nr, const char **step)
{
	struct sl_device *port = part->port;
	struct sl_queue *q = &port->queue[nr];
	int err = 0;

	*step = "AF_XDP socket";
	q->anchor_fd = sl_xsk_new(ANCHOR_RING, 0, &port->rings);
	if (q->anchor_fd < 0)
		return q->anchor_fd;
	sl_broker_fd_last(q->anchor_fd, false);
	err = sl_xsk_confine(q->anchor_fd, port);
	if (!err && nr == part->first) {
		*step = "packet memory";
		err = sl_umem_register(part->umem, q->anchor_fd, sl_queues_near(part));
	}
	if (!err) {
		*step = "fill ring";
		err = sl_queue_map(q, port->rings.fill, port->rings.comp);
	}
	if (err)
		anchor_close(q);
	return err;
}

static bool holds(const struct sl_part *part, uint32_t mtu)
{
	return mtu <= sl_umem_mtu(&part->umem->info);
}

/* The device's longest packets fit a frame. */
static bool holds_packet(const struct sl_part *part)
{
	return holds(part, part->port->info.mtu);
}

/* In zero-copy mode the frames are the driver's buffers, and nobody has asked the driver whether it
 * takes several for a packet. (Some drivers refuse the MTU; virtio_net does not.) */
void sl_queues_check_mtu(const struct sl_part *part, uint32_t mtu)
{
	if (part->zerocopy && part->umem && holds_packet(part) && !holds(part, mtu))
		sl_warn_once("port",
			     "%s: its MTU is %u now, and zero-copy mode loses packets of more than "
			     "%u bytes, the kernel's, too; remedy: an MTU of that, or start this "
			     "program anew",
			     part->port->info.ifname, mtu, sl_umem_mtu(&part->umem->info));
}

/* In zero-copy mode the frame is the buffer, and such a NIC uses only its whole kilobytes: it loses
 * a longer packet, though the driver took the frame for large enough. */
static bool holds_packet_zerocopy(const struct sl_part *part)
{
	const struct sl_port_info *info = &part->port->info;

	return !sl_dev_counts_kilobytes(info->driver) ||
	       info->mtu + SL_ETH_MOST <= (sl_umem_room(&part->umem->info) & ~1023u);
}

/* Packets may need several frames. In zero-copy mode these are the driver's buffers, so only a
 * driver will do that supports it (it has xdp_zc_max_segs). */
static uint16_t mode_flags(const struct sl_part *part, unsigned mode)
{
	bool sg = !holds_packet(part) && (mode == 0 || sl_xsk_may_have_frags(&part->port->info));

	return modes[mode] | (sg ? USE_SG : 0);
}

uint32_t sl_queues_room(const struct sl_part *part)
{
	return part->port->info.flags & SL_PORT_FRAGS && !holds_packet(part)
		       ? SL_PACKET_MOST + SL_ETH_MOST
		       : sl_umem_room(&part->umem->info);
}

static int anchor_bind_as(struct sl_part *part, uint32_t q, uint16_t mode, const uint32_t *frames,
			  uint32_t n)
{
	struct sl_queue *queue = &part->port->queue[q];
	int err = queue_fill(part->umem, queue, frames, n);

	if (!err && q > part->first)
		err = sl_xsk_bind(queue->anchor_fd, part->port, q, XDP_SHARED_UMEM,
				  part->port->queue[part->first].anchor_fd);
	else if (!err)
		err = sl_xsk_bind(queue->anchor_fd, part->port, q, mode, 0);
	if (err)
		anchor_close(queue);
	return err;
}

/* Zero-copy is asked for first; a refused socket is not used again. */
static int anchor_bind(struct sl_part *part, uint32_t q, const uint32_t *frames, uint32_t n,
		       const char **step)
{
	enum sl_broker_zc zc = sl_broker_opts()->zerocopy;
	unsigned m = zc == SL_BROKER_ZC_OFF || !holds_packet_zerocopy(part) ||
		     part->port->info.flags & SL_PORT_PACKET;
	unsigned end = zc == SL_BROKER_ZC_FORCE ? 1 : 2;
	int err = -EINVAL;

	for (; err && m < end; m++) {
		err = anchor_new(part, q, step);
		if (err)
			break;
		*step = "bind";
		err = anchor_bind_as(part, q, mode_flags(part, m), frames, n);
		if (q > part->first || err == -EPERM || err == -EBUSY || err == -ENETDOWN)
			break;
	}
	return err;
}

static int share_open(struct sl_part *part, uint32_t q)
{
	struct sl_device *port = part->port;
	int nr = sl_share_queue_open(&part->umem->info.share, port->info.ifindex, q);

	if (nr < 0)
		return nr;
	port->queue[q].share_queue = (uint32_t)nr;
	return 0;
}

/* Closes a queue's record; the queue had no frames. */
static void share_close(struct sl_part *part, uint32_t q)
{
	struct sl_share *share = &part->umem->info.share;
	uint32_t nr = part->port->queue[q].share_queue;

	sl_share_queue_close(share, nr);
	sl_share_reclaim(share, nr);
}

/* Fills half of the queue's fill ring and binds its anchor. made: the anchor exists, unbound. The
 * frames belong to the ring from bind on. */
static int anchor_give(struct sl_part *part, uint32_t q, bool made, const char **step)
{
	struct sl_device *port = part->port;
	uint32_t max = port->rings.fill / 2, *frames = sl_malloc(max * sizeof(*frames)), n;
	struct sl_umem *u = part->umem;
	int err;

	*step = "frames";
	if (!frames)
		return -ENOMEM;
	/* (Nothing is received by an XSK where packets come by packet sockets.) */
	n = port->info.flags & SL_PORT_PACKET ? 0 : sl_umem_take(u, frames, max);
	if (made)
		err = anchor_bind_as(part, q, mode_flags(part, !part->zerocopy), frames, n);
	else
		err = anchor_bind(part, q, frames, n, step);
	if (err)
		sl_umem_untake(u, frames, n);
	else
		sl_umem_given(u, frames, n, port->queue[q].share_queue);
	sl_free(frames);
	return err;
}

static int anchor_open(struct sl_part *part, uint32_t q, const char **step)
{
	int err;

	*step = "frames";
	sl_queues_reclaim(part->port->info.ifindex);
	err = share_open(part, q);
	if (err)
		return err;
	err = anchor_give(part, q, false, step);
	if (err)
		share_close(part, q);
	return err;
}

static void why_anchor(const struct sl_part *part, uint32_t q, const char *step, int err,
		       const char **why)
{
	const struct sl_port_info *info = &part->port->info;
	const char *dev = info->ifname;
	bool first = q == part->first;

	if (err == -ENOBUFS)
		sl_why(why,
		       "%s: locked memory is limited; remedy: ulimit -l unlimited "
		       "(LimitMEMLOCK=infinity), or CAP_IPC_LOCK",
		       dev);
	else if (err == -EPERM)
		sl_why(why,
		       "%s: no permission for AF_XDP sockets (needs CAP_BPF, CAP_NET_ADMIN, "
		       "CAP_NET_RAW); remedy: start sluiced(8), which serves programs without "
		       "privileges, run as root, or give the program these capabilities",
		       dev);
	else if (err == -EBUSY)
		sl_why(why, "%s: another program has an AF_XDP socket on queue %u", dev, q);
	else if (first && sl_broker_opts()->zerocopy == SL_BROKER_ZC_FORCE &&
		 !holds_packet_zerocopy(part))
		sl_why(why,
		       "%s: zero-copy is demanded, and frames of %u bytes hold no packet of %u there; "
		       "remedy: SLUICE_FRAME_SIZE=4096",
		       dev, part->umem->info.frame_size, info->mtu);
	else if (first && sl_broker_opts()->zerocopy == SL_BROKER_ZC_FORCE)
		sl_why(why,
		       "%s: zero-copy is demanded and the driver has none (%s); remedy: "
		       "SLUICE_ZEROCOPY=auto",
		       dev, sl_strerror(err));
	else if (!first)
		sl_why(why,
		       "%s: queue %u of %u cannot be covered (%s); remedy: ethtool -L %s "
		       "combined %u",
		       dev, q, info->nqueues, sl_strerror(err), dev, q);
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

static void say_bound(const struct sl_part *part)
{
	const struct sl_device *port = part->port;

	sl_info("port", "%s: %sAF_XDP %s", port->info.ifname,
		port->info.flags & SL_PORT_PACKET ? "sends by " : "",
		part->zerocopy                                   ? "zero-copy"
		: sl_broker_opts()->zerocopy == SL_BROKER_ZC_OFF ? "copy mode (as configured)"
		: holds_packet_zerocopy(part)
			? "copy mode (the driver has no zero-copy)"
			: "copy mode (for zero-copy this NIC needs larger frames; remedy: "
			  "SLUICE_FRAME_SIZE=4096)");
	if (port->attach.prog_id)
		sl_queues_say_room(part);
}

void sl_queues_say_room(const struct sl_part *part)
{
	const struct sl_port_info *info = &part->port->info;
	uint32_t most;

	if (!part->umem || holds_packet(part))
		return;
	most = sl_queues_room(part) - SL_ETH_MOST;
	if (info->mtu > most)
		sl_info("port",
			"%s: MTU %u is more than frames of %u bytes hold: packets of more than %u "
			"bytes are the kernel's%s",
			info->ifname, info->mtu, part->umem->info.frame_size, most,
			!(info->flags & SL_PORT_FRAGS) && part->umem->info.frame_size < 4096
				? "; remedy: SLUICE_FRAME_SIZE=4096"
				: "");
	else
		sl_info("port", "%s: packets of more than %u bytes come in several frames",
			info->ifname, sl_umem_mtu(&part->umem->info));
}

static int why_failed(struct sl_part *part, uint32_t q, const char *step, int err, const char **why)
{
	why_anchor(part, q, step, err, why);
	sl_queues_close(part, true);
	return err == -EPERM ? err : err == -EBUSY ? -EAGAIN : -EOPNOTSUPP;
}

int sl_queues_bind(struct sl_part *part, const char **why)
{
	struct sl_device *port = part->port;
	const char *step = "";
	int err;

	sl_queues_choose_rings(&port->rings);
	for (uint32_t i = 0; i < part->n; i++) {
		err = anchor_open(part, part->first + i, &step);
		if (err)
			return why_failed(part, part->first + i, step, err, why);
	}
	part->bound = true;
	sl_queues_reclaim(0);
	part->zerocopy = xsk_is_zerocopy(port->queue[part->first].anchor_fd);
	say_bound(part);
	if (sl_broker_opts()->serve)
		sl_rings_try(&port->queue[part->first]);
	port->lent_once = sl_rings_lent_once();
	if (port->lent_once) /* the trial has succeeded; a process maps the rings first */
		sl_queues_close(part, true);
	return 0;
}

/* Lent once -------------------------------------------------------------------------------------
 *
 * (Frames of closed queues are not looked for here: it would keep the queue from being bound.) */

bool sl_queues_are_made(const struct sl_part *part)
{
	return !part->bound && part->port->queue[part->first].anchor_fd >= 0;
}

int sl_queues_make(struct sl_part *part, const char **why)
{
	const char *step = "frames";

	if (part->bound || sl_queues_are_made(part))
		return 0;
	for (uint32_t q = part->first; q < part->first + part->n; q++) {
		int err = share_open(part, q);

		if (!err) {
			err = anchor_new(part, q, &step);
			if (err)
				share_close(part, q);
		}
		if (err)
			return why_failed(part, q, step, err, why);
	}
	return 0;
}

int sl_queues_bind_made(struct sl_part *part, const char **why)
{
	const char *step = "bind";

	if (part->bound)
		return 0;
	for (uint32_t q = part->first; q < part->first + part->n; q++) {
		int err = anchor_give(part, q, true, &step);

		if (!err)
			continue;
		if (part->port->queue[q].anchor_fd < 0) /* it was refused */
			share_close(part, q);
		return why_failed(part, q, step, err, why);
	}
	part->bound = true;
	return 0;
}

/* All ------------------------------------------------------------------------------------------
 */

/* Skips rings that can be lent only once: the device's only process has them, and no other needs
 * them after its death. */
int sl_queues_map_again(struct sl_part *part)
{
	struct sl_device *port = part->port;
	int err = 0;

	if (port->lent_once)
		return 0;
	for (uint32_t i = 0; part->bound && i < part->n && !err; i++)
		err = sl_queue_map(&port->queue[part->first + i], port->rings.fill,
				   port->rings.comp);
	return err;
}

void sl_queues_close(struct sl_part *part, bool unmap)
{
	for (uint32_t i = 0; i < part->n; i++)
		queue_close(part->umem, &part->port->queue[part->first + i], unmap);
	part->bound = false;
}
