/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker in this process: the calls of broker.h about ports, done here even if there is a
 * daemon (broker.c). sluiced itself uses these. */
#ifndef SL_BROKER_EMBEDDED_H
#define SL_BROKER_EMBEDDED_H

#include "ctl/device/port.h"

struct sl_device;

/* Opens the port with the packet memory of that number. groups: how many must be able to have the
 * device, if it is not open yet and can be divided (else one). -EBUSY, too: others have its queues;
 * -EAGAIN: a queue is in use, or was until a moment ago. */
int sl_embedded_port_open(uint32_t ifindex, uint32_t umem, uint32_t groups,
			  struct sl_port_info *out, const char **why);
void sl_embedded_port_close(uint32_t ifindex, uint32_t umem);
enum sl_port_end sl_embedded_port_end(uint32_t ifindex);
bool sl_embedded_port_has_tags(uint32_t ifindex);
/* Returns the number of the VLAN device with that tag over the device `ifindex`, and gives it one
 * if it has none: no other VLAN device of this process, or of the daemon, has the same. Ends
 * sl_embedded_vlan_leave(). vlan: the VLAN device's ifindex. -ENODEV; -ENOSPC: all are in use. */
int sl_embedded_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why);
/* Frees the number. No claim may carry it. */
void sl_embedded_vlan_put(uint32_t ifindex, uint32_t nr);
void sl_embedded_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);
void sl_embedded_port_unguard(uint32_t ifindex);
/* sl_broker_link_seen(), but returns the number of the device that the new one replaces, 0: none.
 */
uint32_t sl_embedded_link_seen(uint32_t ifindex, const char *name);
void sl_embedded_link_gone(uint32_t ifindex);
void sl_embedded_child(void);
void sl_embedded_part(void);
void sl_embedded_fini(void);

/* Frees a device that was not completed. */
void sl_device_drop(struct sl_device *p);

#endif
