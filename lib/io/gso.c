/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP transmit with segmentation.
 *
 * Theory of operation: AF_XDP cannot segment, and in copy mode each frame costs the kernel an skb,
 * a copy and, on a veth, a softirq. So a large segment of TCP's (stack/train.c) goes whole through
 * a packet socket with a virtio-net header (packet(7), PACKET_VNET_HDR): the device takes it as it
 * is, or the kernel segments it. All other packets go by the ring. No packet overtakes another: the
 * ring is started, and found empty, before the packet socket is used, and a call on the packet
 * socket returns when it is done with the bytes. Only devices with one transmit queue are used this
 * way, and both ways bypass its qdisc. Without a qdisc (veth) there is nothing to bypass, and
 * PACKET_QDISC_BYPASS would keep the kernel from segmenting in software. A segment that the packet
 * socket refuses is cut here (io/offload.c) and goes by the ring. Unless its buffer was full, all
 * other packets go by the ring, too, for REST_NS: the device may not segment any more. */
#include "io/gso.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/heap.h"
#include "base/sys.h"
#include "io/offload.h"
#include "wire/finish.h"
#include "wire/tcp_seg.h"

#define REST_NS 10000000ull /* pause after a refusal: a refused packet was copied for nothing */
#define SNDBUF  (4 << 20)

struct sl_gso {
	int fd;
	uint32_t serial;  /* number of the last post that more may be added to */
	uint32_t n;       /* descriptors of the run that may be carried on */
	uint64_t rest_ns; /* the packet socket is not used until then; 0: it may be used */
	struct sl_frames *frames;
	struct sl_tx_desc run[SL_TSO_SEGS];
};

struct sl_tx_desc *sl_gso_single(struct sl_gso *g, uint32_t *n)
{
	struct sl_offload_undo undo = {.nr = 0};

	if (g->n > 1)
		g->run[0].flags |= SL_TXD_CSUM; /* it has TCP flags of the last one */
	for (uint32_t i = 0; i < g->n; i++)
		if (g->n > 1)
			sl_offload_undo(&undo, &g->run[i], i + 1 < g->n);
	*n = g->n;
	g->n = 0;
	return g->run;
}

/* Posts the run as single packets on the ring, which has room. Packets of far frames (io/far.h) may
 * find none: these are lost, and the peer asks for them again. */
static void run_by_ring(struct sl_xsk *x)
{
	struct sl_gso *g = x->gso;
	uint32_t n;
	struct sl_tx_desc *run = sl_gso_single(g, &n);

	for (uint32_t i = sl_xsk_tx_ops.post(&x->tx, run, n); i < n; i++)
		sl_frame_sent(g->frames, run[i].frame);
}

/* Sends the run by the packet socket. True: it has gone. */
static bool run_by_packet(struct sl_gso *g)
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
		if (err != -EAGAIN) /* no pause when its buffer is full */
			g->rest_ns = sl_now_ns() + REST_NS;
		return false;
	}
	for (uint32_t i = 0; i < g->n; i++)
		sl_frame_sent(g->frames, g->run[i].frame);
	g->n = 0;
	return true;
}

bool sl_gso_send(struct sl_gso *g)
{
	return g->n > 1 && !g->rest_ns && run_by_packet(g);
}

/* Ends the run: sends it by the packet socket, or by the ring. */
static void end_run(struct sl_xsk *x)
{
	struct sl_gso *g = x->gso;

	/* run_by_ring() counts them again. */
	x->tx.posted -= g->n;
	if (g->n == 1 || g->rest_ns || !sl_xsk_tx_empties(x) || !run_by_packet(g))
		run_by_ring(x);
	x->tx.open = 0;
}

/* The packet socket may be used again after a while. */
static void end_rest(struct sl_gso *g)
{
	if (g->rest_ns && sl_now_ns() > g->rest_ns)
		g->rest_ns = 0;
}

/* Returns the number for tx.open; 0: the run ends here (few devices segment behind a VLAN tag). */
static uint32_t next_open(struct sl_gso *g)
{
	const uint8_t *type = sl_frame_ptr(g->run[0].frame) + g->run[0].off + 12;

	if (g->rest_ns || (sl_get_be16(type) != ETH_P_IP && sl_get_be16(type) != ETH_P_IPV6))
		return 0;
	if (!++g->serial)
		g->serial = 1;
	return g->serial;
}

uint32_t sl_gso_add(struct sl_gso *g, const struct sl_tx_desc *d)
{
	if (!g->n)
		end_rest(g);
	g->run[g->n++] = *d;
	return next_open(g);
}

uint32_t sl_gso_holds(const struct sl_gso *g)
{
	return g->n;
}

static unsigned post_one(struct sl_xsk *x, const struct sl_tx_desc *d)
{
	struct sl_gso *g = x->gso;

	if (xsk_prod_nb_free(&x->tx_ring, g->n + 1) < g->n + 1)
		return 0;
	if (g->n && !(d->flags & SL_TXD_CONT))
		end_run(x);
	if (!d->hdr)
		return sl_xsk_tx_ops.post(&x->tx, d, 1);
	g->run[g->n++] = *d;
	x->tx.posted++;
	x->tx.open = next_open(g);
	return 1;
}

static SL_APART unsigned post_many(struct sl_xsk *x, const struct sl_tx_desc *descs, unsigned n)
{
	unsigned done = 0;

	while (done < n && post_one(x, &descs[done]))
		done++;
	return done;
}

/* Most packets are not part of a run: they go to the ring without further cost, by a jump. */
static unsigned gso_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);

	if (sl_likely(n == 1 && !descs->hdr && !x->gso->n))
		return sl_xsk_tx_ops.post(tx, descs, 1);
	return post_many(x, descs, n);
}

static SL_APART int kick_run(struct sl_xsk *x)
{
	struct sl_tx *tx = &x->tx;
	struct sl_gso *g = x->gso;

	if (g->n)
		end_run(x);
	end_rest(g);
	tx->posted = 0;
	return sl_xsk_tx_is_empty(x) ? 0 : sl_xsk_tx_ops.kick(tx);
}

static int gso_kick(struct sl_tx *tx)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);
	const struct sl_gso *g = x->gso;

	if (sl_likely(!g->n && !g->rest_ns))
		return sl_xsk_tx_ops.kick(tx);
	return kick_run(x);
}

static unsigned gso_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	return sl_xsk_tx_ops.reap(tx, cache);
}

static uint32_t gso_room(struct sl_tx *tx)
{
	return sl_xsk_tx_ops.room(tx) - sl_container_of(tx, struct sl_xsk, tx)->gso->n;
}

void sl_gso_free(struct sl_gso *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		sl_frame_sent(g->frames, g->run[i].frame);
	sl_sys_close(g->fd);
	sl_free(g);
}

static void gso_close(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);

	x->gso->frames = cache;
	sl_gso_free(x->gso);
	x->gso = NULL;
	tx->ops = &sl_xsk_tx_ops;
	tx->caps &= ~SL_TX_TSO;
	tx->open = 0;
}

static const struct sl_tx_ops gso_ops = {
	.name = "xsk and packet",
	.post = gso_post,
	.kick = gso_kick,
	.reap = gso_reap,
	.close = gso_close,
	.room = gso_room,
};

static bool segments(int fd, const char *ifname)
{
	struct ethtool_value tso = {.cmd = ETHTOOL_GTSO};

	return !sl_sys_ethtool(fd, ifname, &tso) && tso.data;
}

static bool has_one_queue(int fd, const char *ifname)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	return sl_sys_ethtool(fd, ifname, &c) || c.tx_count + c.combined_count <= 1;
}

bool sl_gso_empties(struct sl_tx *tx)
{
	struct sl_xsk *x = sl_container_of(tx, struct sl_xsk, tx);

	if (tx->ops != &gso_ops)
		return false;
	if (x->gso->n)
		end_run(x);
	return sl_xsk_tx_empties(x);
}

bool sl_gso_is_before(const struct sl_tx *tx)
{
	return tx->ops == &gso_ops;
}

/* tso: only if the device segments. */
static struct sl_gso *make(uint32_t ifindex, const char *ifname, bool qdisc, bool tso,
			   struct sl_frames *frames)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	int fd = sl_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1, room = SNDBUF;
	struct sl_gso *g;

	if (fd < 0)
		return NULL;
	if (!has_one_queue(fd, ifname) || sl_sys_bind(fd, &at, sizeof(at)) < 0 ||
	    sl_sys_setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) < 0)
		goto close;
	if ((qdisc || tso) && !segments(fd, ifname))
		goto close;
	if (qdisc && sl_sys_setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) < 0)
		goto close;
	if (sl_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		sl_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	g = sl_calloc(1, sizeof(*g));
	if (!g)
		goto close;
	g->fd = sl_fd_keep(fd);
	sl_fd_last(g->fd, false);
	g->frames = frames;
	return g;
close:
	sl_sys_close(fd);
	return NULL;
}

struct sl_gso *sl_gso_make(uint32_t ifindex, const char *ifname, bool qdisc,
			   struct sl_frames *frames)
{
	return make(ifindex, ifname, qdisc, true, frames);
}

void sl_gso_open(struct sl_xsk *x, uint32_t ifindex, const char *ifname, bool qdisc,
		 struct sl_frames *frames)
{
	x->gso = make(ifindex, ifname, qdisc, false, frames);
	if (!x->gso)
		return;
	x->tx.ops = &gso_ops;
	x->tx.caps |= SL_TX_TSO;
	x->tx.segs = SL_TSO_SEGS;
}

void sl_gso_leave(const struct sl_gso *g)
{
	sl_sys_close(g->fd);
}

void sl_gso_child(const struct sl_xsk *x)
{
	if (x->gso)
		sl_gso_leave(x->gso);
}
