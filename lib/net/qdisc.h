/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the traffic classes that mqprio and taprio make on devices (qdisc.c). */
#ifndef SL_QDISC_H
#define SL_QDISC_H

#include <linux/netlink.h>

#include "base/base.h"

/* Transmit queues of a traffic class: n from `first` on. n 0: the device has no classes. */
struct sl_class {
	uint16_t first, n;
};

/* The class of packets with that priority on the device. Any thread. */
struct sl_class sl_qdisc_class(uint32_t ifindex, uint32_t prio);

/* Handles an event or a dumped entry of RTM_{NEW,DEL}QDISC. Returns SL_RTNL_*. The others as for
 * links (rtnl.h). */
unsigned sl_qdisc_on_msg(const struct nlmsghdr *nlh);
void sl_qdisc_mark(void);
void sl_qdisc_sweep(void);
void sl_qdisc_forget(void);
void sl_qdisc_child(void);

#endif
