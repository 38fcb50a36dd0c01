/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of one endpoint as a group. */
#ifndef SL_CTL_GROUP_H
#define SL_CTL_GROUP_H

#include "ctl/device/device.h"

int sl_group_make(struct sl_device *port, const struct sl_claim *target, uint32_t count,
		  struct sl_claim *out);
void sl_group_drop(struct sl_device *port, uint32_t group);
int sl_group_get(struct sl_device *port, uint32_t group, struct sl_group *out);

#endif
