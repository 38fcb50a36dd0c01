/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's report of XDP features of a device: its netdev family of generic netlink. */
#ifndef SL_NETDEV_H
#define SL_NETDEV_H

#include "base/base.h"

/* Bits of `xdp` and of `hints`, which the headers of Debian 12 do not all have: enum netdev_xdp_act
 * and netdev_xdp_rx_metadata of linux/netdev.h. */
#define SL_XDP_FEATURE_BASIC    (1u << 0)
#define SL_XDP_FEATURE_ZEROCOPY (1u << 3)
#define SL_XDP_FEATURE_RX_SG    (1u << 5)
#define SL_XDP_HINT_STAMP       (1u << 0)
#define SL_XDP_HINT_TAG         (1u << 2)

struct sl_netdev {
	bool xdp_known;   /* Linux 6.3 */
	bool hints_known; /* Linux 6.7; VLAN tags 6.8 */
	uint64_t xdp;     /* SL_XDP_FEATURE_* */
	uint64_t hints;   /* SL_XDP_HINT_*: metadata that the driver reports of a packet */
};

/* Asks the kernel over a socket of its own; on failure nothing is known. Any thread. 0 or -errno:
 * -ENOENT when the kernel has no such family. */
int sl_netdev_query(uint32_t ifindex, struct sl_netdev *out);

/* True: the device reports VLAN tags beside the frame whatever its NIC does: the sender's kernel
 * never put them in, or the device below took them off. */
bool sl_netdev_has_tags_beside(const char *driver);

#endif
