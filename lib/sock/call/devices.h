/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices and addresses that come and go: sockets claim on new ones, too. */
#ifndef SL_DEVICES_H
#define SL_DEVICES_H

#include "net/net.h"

/* The mirrors' events (struct sl_net_events); the keeper calls them. */
void sl_devices_link_changed(const struct sl_link *link, bool gone);
void sl_devices_part_gone(const struct sl_link *part, uint32_t master);
void sl_devices_addr_changed(uint32_t ifindex, const struct sl_addr *addr, bool gone);

/* A signal handler needs a device, which it must not open: the keeper does it soon. */
void sl_devices_later(void);

/* The keeper's: opens the device that a call did not wait for, and decides on the sockets that the
 * kernel serves meanwhile. */
void sl_devices_look_late(uint64_t now_ns);
uint64_t sl_devices_late_due_ns(uint64_t now_ns, bool quiet);
/* Waits for that: a thread of the program that is about to fork, to become another user, or to
 * confine itself; or, numbers: to use the numbers that the keeper's files have for the moment. No
 * lock held. */
void sl_devices_settle(bool numbers);
/* The keeper's job, once a second: offers devices again to sockets that were busy. */
void sl_devices_look(uint64_t now_ns);
uint64_t sl_devices_due_ns(uint64_t now_ns, bool quiet);
/* The keeper's: opens devices anew that have lost their steering program. */
void sl_devices_look_lost(uint64_t now_ns);
uint64_t sl_devices_lost_due_ns(uint64_t now_ns, bool quiet);
void sl_devices_child(void); /* after fork, in the child */

#endif
