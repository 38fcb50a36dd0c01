/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs where a device receives, behind its packet sockets: by tcx, and by a tc filter where the
 * kernel has no tcx. */
#ifndef SL_CTL_TC_H
#define SL_CTL_TC_H

#include "base/base.h"

/* True: the kernel attaches programs by tcx (Linux 6.6). A system call. */
bool sl_tcx_is_there(void);
/* Attaches the program by tcx; it goes with the device. 0 or -errno. */
int sl_tcx_attach(uint32_t ifindex, int prog_fd);

/* The filter of ours on a device. It outlives its process. */
struct sl_tc_filter {
	uint32_t prog_id; /* 0: there is none */
	uint32_t handle;
	bool others; /* the device has filters of others */
};

/* The calls below ask over nl, a socket of sl_netlink_open(NETLINK_ROUTE), which no other thread
 * uses meanwhile: CAP_NET_ADMIN, and each takes some system calls. 0 or -errno. */

/* Looks at what the device receives by. */
int sl_tc_look(int nl, uint32_t ifindex, struct sl_tc_filter *seen);
/* Attaches the program behind all other filters, with a queueing discipline "clsact" where the
 * device has none. -EEXIST: there is a filter of ours. */
int sl_tc_attach(int nl, uint32_t ifindex, int prog_fd);
/* Puts the program in the place of the one in the filter, in one step. */
int sl_tc_replace(int nl, uint32_t ifindex, const struct sl_tc_filter *f, int prog_fd);
/* Removes the filter, and the queueing discipline that came with it, unless others use that. */
int sl_tc_remove(int nl, uint32_t ifindex, const struct sl_tc_filter *f);

#endif
