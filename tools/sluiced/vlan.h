/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN devices, which the daemon numbers for all its sessions. */
#ifndef SL_VLAN_H
#define SL_VLAN_H

#include "base/base.h"

struct sl_claim_req;
struct sl_session;

/* True: the claim carries no tag and no number, or a tag and the number that the session has for
 * it. A claim that passes may leave the number out. */
bool sl_vlan_is_sound(const struct sl_session *s, const struct sl_claim_req *req);
/* The device by which the kernel gets the claim's packets: the VLAN device for a claim that carries
 * its number. 0: that VLAN device is gone, or is not known. */
uint32_t sl_vlan_device_of(const struct sl_claim_req *req);
/* True: the session has a number of the VLAN device `ifindex`. */
bool sl_vlan_is_of(const struct sl_session *s, uint32_t ifindex);
/* Takes the session's numbers on that device back, 0: on all. A number that a claim of the session
 * carries is left. */
void sl_vlans_drop(struct sl_session *s, uint32_t ifindex);
/* Gives VLAN devices that changed to the kernel, whatever their processes do, and has the steering
 * program follow VXLAN devices if sl_vlans_changed() was called, or rp_filter may have changed. */
void sl_vlans_check(void);
void sl_vlans_changed(void); /* a VXLAN device or its fdb has changed: sl_vlans_check() is due */
bool sl_vlans_are_due(void);
/* After the adoption of sessions: frees numbers that no session has. */
void sl_vlans_adopted(void);

#endif
