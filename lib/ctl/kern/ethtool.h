/* SPDX-License-Identifier: BSD-2-Clause */
/* How often a device interrupts, as `ethtool -c` shows it and `ethtool -C` sets it. */
#ifndef SL_COALESCE_H
#define SL_COALESCE_H

#include <net/if.h>

#include "base/base.h"

/* An interrupt for received packets comes after so many, or so long after the first. */
struct sl_coalesce {
	uint32_t packets, us; /* 0: that does not count */
};

/* 0, or -errno: -EOPNOTSUPP: the driver cannot say. Any thread. */
int sl_coalesce_get(const char name[IFNAMSIZ], struct sl_coalesce *c);
/* 0, or -errno: -EPERM without CAP_NET_ADMIN; -EOPNOTSUPP, -EINVAL: not on this device. Leaves the
 * device's other parameters as they are. */
int sl_coalesce_set(const char name[IFNAMSIZ], const struct sl_coalesce *c);

#endif
