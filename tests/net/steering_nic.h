/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by steering_nic.c and its BPF program. */
#ifndef STEERING_NIC_H
#define STEERING_NIC_H

#define NIC_RULES    64
#define NIC_SPREADS  128
#define NIC_CONTEXTS 8 /* RSS contexts, with that of packets without a rule, 0 */
#define NIC_SPREAD                                                                                 \
	0x80000000u /* a rule's packets go to the queues of the context of this number             \
		     */

/* A packet's ends, or those of a rule, which leaves out what it does not look at. Network order. */
struct nic_key {
	__u32 dst[4], src[4];
	__u16 dport, sport;
	__u32 proto;
};

#endif
