/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program of devices that receive by packet sockets. */
#ifndef SL_CTL_ATTACH_SKB_H
#define SL_CTL_ATTACH_SKB_H

#include "ctl/device/device.h"

/* Loads the program that ends packets where private devices receive, behind the packet socket, and
 * at their ends here (device/pair.h): drop_fd of the attachment. 0 or -errno. */
int sl_attach_drop(struct sl_attach *a);
/* Loads bpf/steer_skb.bpf.c and attaches it to what the device receives: by tcx, whose link the
 * kernel ends with the process; before Linux 6.6 as a tc filter, if a reaper runs that will remove
 * it and the device has no filters of others. Sets obj, prog_id, link_fd and kind of the
 * attachment. 0 or -errno; -EOPNOTSUPP: neither can be had, and *why. Call between sl_libs_quiet()
 * and sl_libs_restore(). */
int sl_attach_skb(struct sl_attach *a, uint32_t ifindex, bool reaper, const char **why);
/* Loads the form that the attachment is to have now, and puts it in the place of the attached one
 * in one step. 0 or -errno; obj and prog_id may be set in any case. */
int sl_attach_skb_renew(struct sl_attach *a, uint32_t ifindex);
/* True: the program is still on its device. One to three system calls. */
bool sl_attach_skb_is_on(const struct sl_attach *a, uint32_t ifindex);
/* Removes the tc filter that has the attachment's program. 0 or -errno: it may be there still. */
int sl_attach_skb_take_off(const struct sl_attach *a, uint32_t ifindex);
/* Removes the tc filter that a dead owner of the device has left there. */
void sl_attach_skb_clean(uint32_t ifindex);

#endif
