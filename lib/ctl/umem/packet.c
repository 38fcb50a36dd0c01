/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the receive ring of a lane's packet socket (kernel:
 * Documentation/networking/packet_mmap.rst). */
#include "ctl/umem/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "ctl/umem/ring.h"

#define BLOCK  65536u
#define RCVBUF (12 << 20) /* windows of a lane's connections are bounded by it (tcp_window.c) */

static int set_options(int fd, uint32_t places)
{
	struct tpacket_req req = {
		.tp_block_size = BLOCK,
		.tp_block_nr = places * SL_PACKET_PLACE / BLOCK,
		.tp_frame_size = SL_PACKET_PLACE,
		.tp_frame_nr = places,
	};
	int err = sl_sys_set_int(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);

	if (!err)
		err = sl_sys_set_int(fd, SOL_PACKET, PACKET_VNET_HDR, 1);
	if (!err)
		err = sl_sys_set_int(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	if (!err)
		err = sl_sys_set_int(fd, SOL_PACKET, PACKET_COPY_THRESH, 1);
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req));
	if (sl_sys_set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF))
		(void)sl_sys_set_int(fd, SOL_SOCKET, SO_RCVBUF, RCVBUF);
	return err;
}

int sl_packet_ring_make(struct sl_xsk_lease *l, uint32_t ifindex, uint32_t entries)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};
	int err;

	l->packet_places = entries > SL_PACKET_PLACES ? SL_PACKET_PLACES
						      : sl_max(entries, BLOCK / SL_PACKET_PLACE);
	err = set_options(l->packet_fd, l->packet_places);
	if (!err)
		err = sl_packet_ring_map(l);
	return err ? err : sl_sys_bind(l->packet_fd, &at, sizeof(at));
}

/* Late packets --------------------------------------------------------------------------------- */

#define LEAD sizeof(struct sl_meta)

/* Offset of the IP header, behind two VLAN tags at most; 0: there is none. */
static uint16_t find_l3(const uint8_t *packet, uint32_t bytes)
{
	for (uint16_t l3 = ETH_HLEN; l3 <= ETH_HLEN + 8 && l3 <= bytes; l3 += 4) {
		uint16_t type = (uint16_t)(packet[l3 - 2] << 8 | packet[l3 - 1]);

		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			return l3;
	}
	return 0;
}

/* Copies the packet of a place behind LEAD bytes of buf, and writes its struct sl_meta there.
 * Returns its bytes; 0: it is no whole packet with a record. */
static uint32_t copy_place(const uint8_t *place, uint8_t *buf)
{
	const struct tpacket2_hdr *h = (const struct tpacket2_hdr *)place;
	uint32_t mac = sl_load(&h->tp_mac), bytes = sl_load(&h->tp_snaplen);
	struct sl_packet_record rec;
	struct virtio_net_hdr vnet;
	uint16_t l3;

	if (mac < sizeof(*h) + sizeof(vnet) || mac > SL_PACKET_PLACE ||
	    bytes > SL_PACKET_PLACE - mac || bytes < ETH_HLEN || bytes != sl_load(&h->tp_len))
		return 0;
	memcpy(&vnet, place + mac - sizeof(vnet), sizeof(vnet));
	memcpy(buf + LEAD, place + mac, bytes);
	if (bytes > ETH_HLEN)
		sl_packet_mend(buf + LEAD);
	memcpy(&rec, buf + LEAD, sizeof(rec));
	l3 = find_l3(buf + LEAD, bytes);
	if (rec.magic != SL_PACKET_MAGIC || vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE || !l3)
		return 0;
	memset(buf + LEAD, 0, sizeof(rec));
	memcpy(buf,
	       &(struct sl_meta){
		       .magic = SL_META_MAGIC,
		       .proto = rec.proto,
		       .flags = rec.flags & (uint8_t) ~(SL_META_HW | SL_META_SW),
		       .l3 = l3,
		       .l4 = (uint16_t)(l3 + rec.l4_words * 4u),
		       .slot = rec.slot,
		       .gen = rec.gen,
	       },
	       LEAD);
	return bytes;
}

static uint32_t *status_of(const struct sl_xsk_lease *l, uint32_t place)
{
	uint8_t *at = (uint8_t *)l->packet_ring + (size_t)place * SL_PACKET_PLACE;

	return &((struct tpacket2_hdr *)at)->tp_status;
}

/* The place behind one that the kernel has: the oldest packet's, if there is any. 0: all are full.
 */
static uint32_t oldest(const struct sl_xsk_lease *l)
{
	for (uint32_t i = 0; i < l->packet_places; i++) {
		uint32_t next = i + 1 == l->packet_places ? 0 : i + 1;

		if (!(sl_load_acquire(status_of(l, i)) & TP_STATUS_USER) &&
		    sl_load_acquire(status_of(l, next)) & TP_STATUS_USER)
			return next;
	}
	return 0;
}

void sl_packet_ring_take(const struct sl_xsk_lease *l, sl_packet_late_fn *late, void *arg)
{
	static _Alignas(8) uint8_t buf[LEAD + SL_PACKET_PLACE];
	uint32_t at, bytes;

	if (!l->packet_places || !l->packet_ring)
		return;
	at = oldest(l);
	for (uint32_t i = 0; i < l->packet_places; i++) {
		uint32_t *status = status_of(l, at);

		if (!(sl_load_acquire(status) & TP_STATUS_USER))
			return;
		bytes = copy_place((uint8_t *)l->packet_ring + (size_t)at * SL_PACKET_PLACE, buf);
		/* Pairs with the kernel's look at the status (packet_current_rx_frame). */
		sl_store_release(status, TP_STATUS_KERNEL);
		if (bytes)
			late(arg, buf + LEAD, bytes);
		at = at + 1 == l->packet_places ? 0 : at + 1;
	}
}
