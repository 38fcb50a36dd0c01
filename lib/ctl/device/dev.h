/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries a network device: name, driver, address, MTU, receive queues. */
#ifndef SL_CTL_DEV_H
#define SL_CTL_DEV_H

#include "ctl/device/port.h"

/* NICs that count receive buffers in kilobytes (SRRCTL.BSIZEPKT). */
bool sl_dev_counts_kilobytes(const char *driver);
/* Bytes of a frame that suffices for the devices that exist now; small_mtu: the longest packet that
 * a frame of 2,048 bytes holds. Any thread. */
uint32_t sl_dev_frame_size(uint32_t small_mtu);
/* Steps through the names in a list like SLUICE_DEVICES (not the patterns) that no device of this
 * network namespace has. *list moves on. False: there is no further one. */
bool sl_dev_next_missing(const char **list, char name[16]);
/* Fills ifname, driver, mac, mtu, nqueues, flags, max_lanes of info. */
int sl_dev_query(uint32_t ifindex, struct sl_port_info *info, const char **why);
/* True: the device has another number of queues now than info says. fd: any socket. */
bool sl_dev_has_changed(int fd, const struct sl_port_info *info);
/* SIOCETHTOOL on a device, whatever its name is now. */
int sl_dev_ethtool(uint32_t ifindex, void *cmd);
/* 1: VLAN tags stay in the frames that the device receives; 0: the NIC takes them off; -errno. */
int sl_dev_leaves_tags(const struct sl_port_info *info);
/* True for a master (a bond, a device of Hyper-V with a virtual function) that has its slaves run
 * a native program. That mode loses packets: an XSK takes only what its own device has received,
 * and the kernel drops what a slave redirects to it. */
bool sl_dev_hands_xdp_down(const char *driver);
/* True: XDP costs more on this device than it brings. On a veth it switches the peer's segmentation
 * off for everybody; others have no native mode of their own, as far as the kernel says (6.3).
 * Asks the kernel. */
bool sl_dev_is_better_without_xdp(const struct sl_port_info *info);

#endif
