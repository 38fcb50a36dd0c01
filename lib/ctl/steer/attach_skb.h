/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program of devices that receive by packet sockets. */
#ifndef SL_CTL_ATTACH_SKB_H
#define SL_CTL_ATTACH_SKB_H

#include "ctl/device/device.h"

/* Loads bpf/steer_skb.bpf.c and attaches it to what the device receives (tcx, Linux 6.6). Sets obj,
 * prog_id, link_fd, drop_fd and kind of the attachment; the kernel ends the link with the process.
 * 0 or -errno; -EOPNOTSUPP: no tcx here. Call between sl_libs_quiet() and sl_libs_restore(). */
int sl_attach_skb(struct sl_attach *a, uint32_t ifindex);
/* True: the link is still on its device. A system call. */
bool sl_attach_skb_is_on(const struct sl_attach *a);

#endif
