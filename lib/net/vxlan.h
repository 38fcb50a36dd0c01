/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the forwarding databases (fdb) of VXLAN devices, which have the remote host for each
 * station. */
#ifndef SL_NET_VXLAN_H
#define SL_NET_VXLAN_H

#include <libmnl/libmnl.h>

#include "net/route.h"

enum sl_fdb_state {
	SL_FDB_UNKNOWN, /* the keeper is asking the kernel */
	SL_FDB_REMOTE,  /* one remote host */
	SL_FDB_OTHER,   /* none, several, a nexthop group: the kernel decides */
};

/* Where frames to a station go. */
struct sl_fdb {
	enum sl_fdb_state state;
	uint32_t ifindex; /* out of this device alone; 0: by the route */
	uint32_t vni;     /* unless it is SL_FDB_NO_VNI, of this network */
	uint16_t port;    /* 0: the device's; host order */
	struct sl_addr remote;
};
#define SL_FDB_NO_VNI UINT32_MAX

/* Grows when an answer of sl_fdb_get() may be another. Read with sl_load(). */
extern uint32_t sl_fdb_gen;
/* Looks the station up in the mirror of the device's fdb. Asks the kernel by the keeper, so a first
 * answer is SL_FDB_UNKNOWN, and sl_fdb_gen grows when there is a better one. Any thread. */
struct sl_fdb sl_fdb_get(uint32_t ifindex, const uint8_t mac[6]);

/* Handles an event of RTM_{NEW,DEL}NEIGH. */
void sl_fdb_on_msg(const struct nlmsghdr *nlh);
void sl_fdb_work(void); /* the keeper asks for what sl_fdb_get() was asked for */
void sl_fdb_forget(void);
void sl_fdb_child(void);

#endif
