/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* VXLAN (RFC 7348): the map of the VXLAN devices above a device. Part of the ABI of steer.h. */
#ifndef SL_VXLAN_H
#define SL_VXLAN_H

#include <linux/types.h>

#define SL_MAX_VXLANS 64 /* entries of `vxlans` */

/* A VNI in the place of a VLAN tag in the keys of claims. Bit 30 says that it is one: no tag has
 * it. Bits 12 to 15 stay free, as in a tag (recent.bpf.h). */
#define SL_VXLAN_TAG_BIT      (1u << 30)
#define SL_VXLAN_TAG(vni)     (SL_VXLAN_TAG_BIT | ((vni)&0xfff) | ((vni)&0xfff000) << 4)
#define SL_VXLAN_TAG_VNI(tag) (((tag)&0xfff) | ((tag) >> 4 & 0xfff000))

/* `vxlans`: VXLAN devices whose packets the steering program takes out of their outer headers, by
 * VNI and outer port. */
struct sl_vxlan_key {
	__u32 vni;
	__u16 port; /* outer destination */
	__u16 pad;
};

#define SL_VXLAN_STRICT (1u << 0) /* rp_filter is 1: the way back is by the same device */
#define SL_VXLAN_LOOSE  (1u << 1) /* rp_filter is 2: there is a way back */
#define SL_VXLAN_V6     (1u << 2) /* outer packets are IPv6; else IPv4 */
#define SL_VXLAN_NO_SUM (1u << 3) /* IPv6: outer packets without checksum are taken */
#define SL_VXLAN_BINDS  (1u << 4) /* the stations in `stations` are behind their host alone */
struct sl_vxlan {
	__u32 tag;    /* SL_VXLAN_TAG() */
	__u16 mac[3]; /* of the VXLAN device */
	__u16 flags;  /* SL_VXLAN_*: which outer packets are refused */
	/* The device's own address, and its usual peer, whose packets need no further checks. ::
	 * stands for any address of this host, and for no peer. IPv4 is in the last four bytes. */
	__u8 local[16], remote[16];
};

/* `stations`: the host behind which a VXLAN device that learns has a station for good. A frame of
 * the station's by another host is the kernel's. ::: no host's frames are taken. */
#define SL_MAX_STATIONS 1024
struct sl_station_key {
	struct sl_vxlan_key of;
	__u8 mac[6];
	__u16 pad;
};
struct sl_station {
	__u8 remote[16]; /* as in struct sl_vxlan */
};

/* Ethernet, IP, UDP, VXLAN: what stands in front of the inner frame. */
#define SL_VXLAN_BYTES4 50
#define SL_VXLAN_BYTES6 70

#ifndef __bpf__
_Static_assert(sizeof(struct sl_vxlan_key) == 8, "map ABI");
_Static_assert(sizeof(struct sl_vxlan) == 44, "map ABI");
_Static_assert(sizeof(struct sl_station_key) == 16, "map ABI");
#endif

#endif
