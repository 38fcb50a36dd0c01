/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the parameters of VXLAN devices from the kernel. */
#ifndef SL_CTL_VXLAN_H
#define SL_CTL_VXLAN_H

#include "base/base.h"

struct sl_vxlan_dev {
	uint32_t vni, lower; /* lower: the device below; 0: the kernel chooses it by routing */
	uint16_t port;       /* on which it receives */
	uint8_t mac[6];
	bool v6;      /* its outer packets are IPv6 */
	bool no_sum6; /* and may come without checksum */
	bool learns;  /* its fdb follows senders, and permanent entries bind these */
	/* The form is that of struct sl_vxlan. Unset: there is none, or it is a group. */
	uint8_t local[16], remote[16];
};

/* Reads the parameters of the VXLAN device. -ENODEV: it is none; -EOPNOTSUPP: it receives other
 * than plain VXLAN, as *why says. Costs a question to the kernel. */
int sl_vxlan_read(uint32_t ifindex, struct sl_vxlan_dev *out, const char **why);
/* A station that an entry of a VXLAN device's fdb binds to a host: learning does not change it.
 * remote as above; unset: the kernel alone knows which host. */
struct sl_vxlan_bound {
	uint8_t mac[6];
	uint8_t remote[16];
};
/* Reads up to max of them. Returns how many there are, or -errno. */
int sl_vxlan_read_bound(uint32_t ifindex, struct sl_vxlan_bound *out, int max);
/* True: the network namespace has a VXLAN device, or the kernel does not say. */
bool sl_vxlan_any(void);

#endif
