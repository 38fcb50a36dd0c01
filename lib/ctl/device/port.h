/* SPDX-License-Identifier: BSD-2-Clause */
/* A device taken into use, for the code that uses it. */
#ifndef SL_CTL_PORT_H
#define SL_CTL_PORT_H

#include "base/base.h"
#include "steer.h"

#define SL_MAX_QUEUES 64 /* RX queues of one device that can be covered */

#define SL_PORT_ZEROCOPY (1u << 0)
#define SL_PORT_GENERIC  (1u << 1) /* XDP in generic (skb) mode */
#define SL_PORT_PARTIAL_CSUM                                                                       \
	(1u << 2) /* veth, virtio_net: packets may carry only the pseudo-header sum */
#define SL_PORT_HW_STAMP (1u << 3) /* metadata stamps are hardware stamps */
#define SL_PORT_PINNED   (1u << 4)
#define SL_PORT_TAGS     (1u << 5) /* the steering program sees the VLAN tags of all packets */
#define SL_PORT_FRAGS    (1u << 7) /* packets that one frame does not hold come in several */
#define SL_PORT_PACKET   (1u << 8) /* packets come by packet sockets, without XDP */
#define SL_PORT_VERBS    (1u << 9) /* by queues of its NIC (verbs); SL_PORT_PACKET, too */
/* The device has no link because it was taken into use, or left, within the last seconds: the link
 * is expected back. */
#define SL_PORT_HAD_LINK (1u << 6)
#define SL_LINK_BACK_NS  10000000000ull /* slowest: 10GBASE-T negotiates for seven seconds */

/* A device taken into use. The pointers are shared maps, valid until sl_broker_port_close(). */
struct sl_port_info {
	uint32_t ifindex;
	char ifname[16];
	char driver[32];
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t nqueues; /* RX queues, all covered by each lane */
	uint32_t flags;   /* SL_PORT_* */
	uint32_t max_lanes;
	uint64_t *ports;             /* `ports`: SL_MAX_PORTS words; written by the broker alone */
	const struct sl_rule *rules; /* `rules`: SL_MAX_RULES + 1 entries, live */
	struct sl_rule *rules_rw;    /* the same array, for counting hits; NULL: not writable */
	const struct sl_pace_rule *paces; /* `paces`: SL_MAX_PACES entries, live */
	char pin_dir[64];                 /* "" when not pinned */
};

/* TCP flows that sl_broker_port_strays() tells of at a time. */
#define SL_STRAYS_TOLD 32

/* A strayed flow, and the resets that were noted for it (bpf/steer.h). */
struct sl_stray_told {
	struct sl_flow_key key;
	uint32_t n;
	struct sl_stray_note note[SL_STRAY_NOTES];
};

/* Why a device is not steered any more. (The daemon sends it: numbers stay what they are.) */
enum sl_port_end {
	SL_PORT_END_STEERED,   /* still steered */
	SL_PORT_END_UNKNOWN,   /* the daemon does not say why */
	SL_PORT_END_GONE,      /* the device does not exist here any more */
	SL_PORT_END_TAKEN_OFF, /* no XDP program runs there, for instance removed by hand */
	SL_PORT_END_REPLACED,  /* the device runs another XDP program */
	SL_PORT_END_QUEUES,    /* the number of queues changed */
	SL_PORT_END_LEFT,      /* the daemon ends, or does not know of it */
	SL_PORT_END_BROKEN,    /* the memory that its group shares is broken */
	SL_PORT_END_NIC,       /* a queue of the NIC, which steers itself, has failed */
};
/* The event as a sentence without its full stop, for the log. */
const char *sl_port_end_text(enum sl_port_end end);

#endif
