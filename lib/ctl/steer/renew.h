/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces an attached steering program by another form of it. */
#ifndef SL_CTL_RENEW_H
#define SL_CTL_RENEW_H

#include "ctl/device/device.h"

/* Has the device's program take packets out of VXLAN, from now on: the first VXLAN device came
 * after the program was attached. No packet comes meanwhile that no program sees, and claims stay.
 * 0 or -errno, with the program that was there, and *why. Broker's lock held. */
int sl_attach_add_vxlan(struct sl_attach *a, const struct sl_port_info *info, const char **why);
/* Has it know of groups, before the first one is made; as above. */
int sl_attach_add_groups(struct sl_attach *a, const struct sl_port_info *info, const char **why);

#endif
