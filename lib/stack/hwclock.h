/* SPDX-License-Identifier: BSD-2-Clause */
/* The time of hardware stamps (hwclock.c). */
#ifndef SL_HWCLOCK_H
#define SL_HWCLOCK_H

#include "base/base.h"

struct sl_port;

/* Does the kernel have hardware time stamps of packets that a device sends, and receives? */
#define SL_OS_STAMPS_ASKED (1u << 0)
#define SL_OS_STAMPS_TX    (1u << 1)
#define SL_OS_STAMPS_RX    (1u << 2)

/* Converts a receive stamp of the device's clock into the clock that the settings ask
 * for; 0: not known. May make a system call, once a second. Any lane may be held. */
uint64_t sl_hw_time(uint32_t ifindex, uint64_t phc_ns);
/* CLOCK_MONOTONIC of such a stamp, whatever the settings ask for; 0: not known. Else as above. */
uint64_t sl_hw_came_ns(uint32_t ifindex, uint64_t phc_ns);
/* True: the kernel enables hardware stamps for packets sent by the port. Asks it once. */
bool sl_port_os_stamps(struct sl_port *port);
/* True: the kernel has hardware stamps of packets that the port receives, and the way by which they
 * come here has none. Asks it once. */
bool sl_port_os_rx_stamps(struct sl_port *port);
void sl_hwclock_child(void); /* in a child of fork */

#endif
