/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the receive ring of a lane's packet socket (kernel:
 * Documentation/networking/packet_mmap.rst). */
#include "ctl/umem/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "ctl/umem/ring.h"

#define BLOCK  65536u
#define RCVBUF (8 << 20)

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
