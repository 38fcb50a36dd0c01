/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions and commands to a device's driver, as ethtool(8) sends them. */
#ifndef SL_ETHTOOL_H
#define SL_ETHTOOL_H

#include <net/if.h>

#include "base/base.h"

/* cmd: a structure of linux/ethtool.h, which the kernel fills. 0 or -errno. Any thread. */
int sl_ethtool(const char name[IFNAMSIZ], void *cmd);

/* How often a device interrupts, as `ethtool -c` shows it and `ethtool -C` sets it --------------
 */

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
