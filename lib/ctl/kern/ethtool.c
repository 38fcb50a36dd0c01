/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks and tells drivers by ethtool's ioctl. */
#include "ctl/kern/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <string.h>

#include "base/sys.h"

int sl_ethtool(const char name[IFNAMSIZ], void *cmd)
{
	int fd = sl_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return fd;
	err = sl_sys_ethtool(fd, name, cmd);
	sl_sys_close(fd);
	return err;
}

int sl_coalesce_get(const char name[IFNAMSIZ], struct sl_coalesce *c)
{
	struct ethtool_coalesce e = {.cmd = ETHTOOL_GCOALESCE};
	int err = sl_ethtool(name, &e);

	*c = (struct sl_coalesce){e.rx_max_coalesced_frames, e.rx_coalesce_usecs};
	return err;
}

int sl_coalesce_set(const char name[IFNAMSIZ], const struct sl_coalesce *c)
{
	struct ethtool_coalesce e = {.cmd = ETHTOOL_GCOALESCE};
	int err = sl_ethtool(name, &e);

	if (err)
		return err;
	e.cmd = ETHTOOL_SCOALESCE;
	e.rx_max_coalesced_frames = c->packets;
	e.rx_coalesce_usecs = c->us;
	return sl_ethtool(name, &e);
}
