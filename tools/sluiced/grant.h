/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices as sessions have them. */
#ifndef SL_GRANT_H
#define SL_GRANT_H

#include "ctl/device/port.h"
#include "ctl/lease/proto.h"

struct sl_device;
struct sl_session;
struct sl_session_port;

/* grant.c ------------------------------------------------------------------------------------ */

void sl_port_put(struct sl_session *s, struct sl_session_port *p);
/* The session's process is dead: takes its frames and lanes back. False: not possible yet. */
bool sl_umem_bury(struct sl_session *s);
void sl_port_describe(const struct sl_port_info *info, struct sl_lease_port_ok *out);

/* devices.c ---------------------------------------------------------------------------------- */

/* The state of a device; mtu: its present MTU, if the device is there; end: SL_PORT_END_STEERED, or
 * why it is not steered. */
enum sl_lease_device sl_device_state(const struct sl_device *d, uint32_t *mtu,
				     enum sl_port_end *end);
/* Log changes of the devices' state, of one device or of all. */
void sl_device_check(uint32_t ifindex);
void sl_devices_check(void);

/* view.c ------------------------------------------------------------------------------------- */

/* Opens a memory file again, read-only, for processes that must not write it. -errno. */
int sl_open_to_read(int memfd);
/* A new descriptor of a device's rules, to be read by others; -errno. */
int sl_view_get(uint32_t ifindex);
/* Updates the views, and drops those of devices that were closed. */
void sl_views_sync(void);

#endif
