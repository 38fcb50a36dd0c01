/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP transmit with segmentation.
 *
 * Theory of operation: AF_XDP has none, and in copy mode each frame costs the kernel an skb, a copy
 * and, on a veth, a softirq of its own. So what TCP posts as one large segment (stack/train.c) goes
 * whole by a packet socket with a virtio-net header (packet(7), PACKET_VNET_HDR): the device takes
 * it as it is, or the kernel segments it. All else goes by the ring. Nothing overtakes: the ring is
 * started, and found empty, before the packet socket is used, which is done with the bytes when the
 * call returns; and only devices with one transmit queue are used so, whose qdisc both ways bypass.
 * Without a qdisc (veth) there is nothing to bypass, and the way around it would not segment in
 * software. What the packet socket does not take is cut here (io/offload.c) and goes by the ring,
 * and so does all for a moment: its queue is full, or the device does not segment any more. */
#include "io/gso.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/sys.h"
#include "io/offload.h"
#include "wire/finish.h"
#include "wire/tcp_seg.h"

#define REST_NS 10000000ull /* what is refused has been copied: 0.1 % of the time, at most */
#define SNDBUF  (4 << 20)

struct gso {
	struct sl_tx tx;
	struct sl_xsk *x;
	struct sl_frames *frames;
	int fd;
	uint32_t serial;  /* of the last post */
	uint32_t n;       /* descriptors of the run that may be carried on */
	uint64_t rest_ns; /* nothing by the packet socket until then; 0: it may */
	struct sl_tx_desc run[SL_TSO_SEGS];
};

static const struct sl_tx_ops gso_ops;

static struct sl_tx *ring(struct gso *g)
{
	return &g->x->tx;
}

/* As packets of their own, by the ring, which has room. */
static void run_by_ring(struct gso *g)
{
	struct sl_offload_undo undo = {.nr = 0};

	if (g->n > 1)
		g->run[0].flags |= SL_TXD_CSUM; /* it has flags of the last one's */
	for (uint32_t i = 0; i < g->n; i++)
		if (g->n > 1)
			sl_offload_undo(&undo, &g->run[i], i + 1 < g->n);
	ring(g)->ops->post(ring(g), g->run, g->n);
	g->n = 0;
}

/* True: it has gone. */
static bool run_by_packet(struct gso *g)
{
	const struct sl_tx_desc *first = &g->run[0];
	uint8_t *frame = sl_frame_ptr(first->frame) + first->off;
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.hdr_len = first->hdr,
		.gso_size = (uint16_t)(first->len - first->hdr),
		.csum_offset = 16,
	};
	struct iovec iov[1 + SL_TSO_SEGS] = {{&vnet, sizeof(vnet)}, {frame, first->len}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 1 + g->n};
	size_t len = first->len;
	long err;
	int l4;

	for (uint32_t i = 1; i < g->n; i++) {
		const struct sl_tx_desc *d = &g->run[i];

		iov[1 + i] = (struct iovec){sl_frame_ptr(d->frame) + d->off, d->len};
		len += d->len;
	}
	l4 = sl_finish_large(frame, len);
	if (l4 < 0)
		return false;
	vnet.gso_type = l4 == 14 + 40 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
	vnet.csum_start = (uint16_t)l4;
	err = sl_sys_sendmsg(g->fd, &m, MSG_DONTWAIT);
	if (sl_unlikely(err < 0)) {
		if (err != -EAGAIN) /* its buffer is full: only this one */
			g->rest_ns = sl_now_ns() + REST_NS;
		return false;
	}
	for (uint32_t i = 0; i < g->n; i++)
		sl_frame_sent(g->frames, g->run[i].frame);
	g->n = 0;
	return true;
}

static int start_ring(struct gso *g)
{
	if (!ring(g)->posted && sl_xsk_tx_is_empty(g->x))
		return 0;
	return ring(g)->ops->kick(ring(g));
}

/* What was posted last can be carried on no more. */
static void end_run(struct gso *g)
{
	if (!g->n)
		return;
	if (g->n == 1 || g->rest_ns || start_ring(g) || !sl_xsk_tx_is_empty(g->x) ||
	    !run_by_packet(g))
		run_by_ring(g);
}

/* Of a packet that may be carried on: not in a VLAN, whose tags few devices segment behind. */
static uint32_t next_open(struct gso *g)
{
	const uint8_t *type = sl_frame_ptr(g->run[0].frame) + g->run[0].off + 12;

	if (!g->n || g->rest_ns ||
	    (sl_get_be16(type) != ETH_P_IP && sl_get_be16(type) != ETH_P_IPV6))
		return 0;
	if (!++g->serial)
		g->serial = 1;
	return g->serial;
}

static unsigned gso_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct gso *g = sl_container_of(tx, struct gso, tx);
	unsigned i;

	for (i = 0; i < n; i++) {
		const struct sl_tx_desc *d = &descs[i];

		if (xsk_prod_nb_free(&g->x->tx_ring, g->n + 1) < g->n + 1)
			break;
		if (!(d->flags & SL_TXD_CONT))
			end_run(g);
		g->run[g->n++] = *d;
		if (!d->hdr)
			end_run(g);
		tx->posted++;
		tx->unreaped++;
	}
	if (i)
		tx->open = next_open(g);
	return i;
}

static int gso_kick(struct sl_tx *tx)
{
	struct gso *g = sl_container_of(tx, struct gso, tx);

	end_run(g);
	tx->open = 0;
	tx->posted = 0;
	if (sl_unlikely(g->rest_ns) && sl_now_ns() > g->rest_ns)
		g->rest_ns = 0;
	return start_ring(g);
}

static unsigned gso_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct gso *g = sl_container_of(tx, struct gso, tx);

	tx->unreaped = 0;
	return ring(g)->ops->reap(ring(g), cache);
}

static uint32_t gso_room(struct sl_tx *tx)
{
	struct gso *g = sl_container_of(tx, struct gso, tx);

	return ring(g)->ops->room(ring(g)) - g->n;
}

static void gso_close(struct sl_tx *tx, struct sl_frames *cache)
{
	struct gso *g = sl_container_of(tx, struct gso, tx);

	for (uint32_t i = 0; i < g->n; i++)
		sl_frame_sent(cache, g->run[i].frame);
	ring(g)->ops->reap(ring(g), cache);
	sl_sys_close(g->fd);
	free(g);
}

static const struct sl_tx_ops gso_ops = {
	.name = "xsk and packet",
	.post = gso_post,
	.kick = gso_kick,
	.reap = gso_reap,
	.close = gso_close,
	.room = gso_room,
};

static bool ask(int fd, const char *ifname, void *data)
{
	struct ifreq ifr = {.ifr_data = data};

	memcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	return sl_sys_ioctl(fd, SIOCETHTOOL, &ifr) >= 0;
}

static bool segments(int fd, const char *ifname)
{
	struct ethtool_value tso = {.cmd = ETHTOOL_GTSO};

	return ask(fd, ifname, &tso) && tso.data;
}

static bool has_one_queue(int fd, const char *ifname)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	return !ask(fd, ifname, &c) || c.tx_count + c.combined_count <= 1;
}

struct sl_tx *sl_gso_open(struct sl_xsk *x, uint32_t ifindex, const char *ifname, bool qdisc,
			  struct sl_frames *frames)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	int fd = sl_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1, room = SNDBUF;
	struct gso *g;

	if (fd < 0)
		return NULL;
	if (!has_one_queue(fd, ifname) || sl_sys_bind(fd, &at, sizeof(at)) < 0 ||
	    sl_sys_setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) < 0)
		goto close;
	if (qdisc &&
	    (!segments(fd, ifname) ||
	     sl_sys_setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) < 0))
		goto close;
	if (sl_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		sl_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	g = calloc(1, sizeof(*g));
	if (!g)
		goto close;
	g->tx.ops = &gso_ops;
	g->tx.caps = x->tx.caps | SL_TX_TSO;
	g->x = x;
	g->fd = sl_fd_keep(fd);
	g->frames = frames;
	return &g->tx;
close:
	sl_sys_close(fd);
	return NULL;
}

void sl_gso_child(struct sl_tx *tx)
{
	sl_sys_close(sl_container_of(tx, struct gso, tx)->fd);
}
