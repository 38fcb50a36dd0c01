/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries a network device: name, driver, address, MTU, receive queues. */
#include "ctl/device/dev.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/link.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"
#include "ctl/kern/netdev.h"
#include "ctl/kern/say.h"
#include "ctl/rules/rule.h"

static int dev_ioctl(int fd, unsigned long req, struct ifreq *ifr)
{
	return sl_sys_ioctl(fd, req, ifr);
}

static bool is_one_of(const char *driver, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(driver, list[i]))
			return true;
	}
	return false;
}

/* Devices whose packets may come from a sender on the same host that left the checksum to an
 * offload which never ran. (A tunnel's inner packets are such over a veth, a bond's over
 * virtio_net; generic XDP sees them as they are.) */
static bool may_be_partial(const char *driver)
{
	static const char *const list[] = {"veth",    "virtio_net", "tun",          "netkit",
					   "macvlan", "ipvlan",     "bridge",       "dummy",
					   "vxlan",   "geneve",     "gretap",       "ip6gretap",
					   "bonding", "team",       "net_failover", "hv_netvsc"};

	return is_one_of(driver, list, sl_array_len(list));
}

static void query_driver(int fd, struct sl_port_info *info)
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};

	strcpy(info->driver, "unknown");
	if (!sl_sys_ethtool(fd, info->ifname, &drv)) {
		memcpy(info->driver, drv.driver, sizeof(info->driver));
		info->driver[sizeof(info->driver) - 1] = 0;
	}
	if (may_be_partial(info->driver))
		info->flags |= SL_PORT_PARTIAL_CSUM;
}

/* (A team has no native XDP. hv_netvsc: drivers/net/hyperv/netvsc_bpf.c, netvsc_vf_setxdp();
 * virtio_net with a standby has net_failover above it, which has no XDP.) */
bool sl_dev_hands_xdp_down(const char *driver)
{
	return !strcmp(driver, "bonding") || !strcmp(driver, "hv_netvsc");
}

/* Before Linux 6.3 the kernel does not say which devices these are; the common ones of its own. */
static bool is_known_without_xdp(const char *driver)
{
	static const char *const list[] = {"bridge", "geneve", "ipvlan", "macvlan", "vxlan"};

	return is_one_of(driver, list, sl_array_len(list));
}

bool sl_dev_is_better_without_xdp(const struct sl_port_info *info)
{
	struct sl_netdev can;

	if (!strcmp(info->driver, "veth") || sl_dev_hands_xdp_down(info->driver))
		return true;
	if (sl_netdev_query(info->ifindex, &can) || !can.xdp_known)
		return is_known_without_xdp(info->driver);
	return !(can.xdp & SL_XDP_FEATURE_BASIC);
}

/* Devices that cannot tell have one queue. */
static uint32_t queues_of(int fd, const char *ifname)
{
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};

	if (sl_sys_ethtool(fd, ifname, &ch) || !(ch.rx_count + ch.combined_count))
		return 1;
	return ch.rx_count + ch.combined_count;
}

bool sl_dev_counts_kilobytes(const char *driver)
{
	return !strcmp(driver, "igb") || !strcmp(driver, "igc") || !strcmp(driver, "ixgbe");
}

/* True: frames of 2,048 bytes would keep longer packets, or zero-copy, from this device, which may
 * be offloaded. */
static bool wants_large_frames(int fd, const char *name, uint32_t small_mtu)
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name); /* (ioctls leave it) */
	if (!sl_globs_match(sl_settings.devices, name) || dev_ioctl(fd, SIOCGIFFLAGS, &ifr) ||
	    !(ifr.ifr_flags & IFF_UP) || ifr.ifr_flags & IFF_LOOPBACK ||
	    dev_ioctl(fd, SIOCGIFHWADDR, &ifr) || ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER ||
	    dev_ioctl(fd, SIOCGIFMTU, &ifr))
		return false;
	return (uint32_t)ifr.ifr_mtu > small_mtu ||
	       (sl_broker_opts()->zerocopy != SL_BROKER_ZC_OFF &&
		!sl_sys_ethtool(fd, ifr.ifr_name, &drv) && sl_dev_counts_kilobytes(drv.driver));
}

uint32_t sl_dev_frame_size(uint32_t small_mtu)
{
	int fd = sl_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct if_nameindex *devices = fd < 0 ? NULL : if_nameindex();
	uint32_t size = 2048;

	for (struct if_nameindex *i = devices; i && i->if_index && size == 2048; i++) {
		if (!wants_large_frames(fd, i->if_name, small_mtu))
			continue;
		size = 4096;
		sl_debug("port", "frames of %u bytes: %s is there", size, i->if_name);
	}
	if (devices)
		if_freenameindex(devices);
	if (fd >= 0)
		sl_sys_close(fd);
	return size;
}

bool sl_dev_next_missing(const char **list, char name[16])
{
	struct ifreq ifr = {0};
	int fd = sl_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool missing = false;

	while (fd >= 0 && **list && !missing) {
		size_t n = strcspn(*list, ", ");
		bool plain = n && n < IFNAMSIZ && strcspn(*list, "!*?[\\") >= n;

		snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", plain ? (int)n : 0, *list);
		missing = plain && dev_ioctl(fd, SIOCGIFINDEX, &ifr) == -ENODEV;
		*list += n + ((*list)[n] != 0);
	}
	if (fd >= 0)
		sl_sys_close(fd);
	memcpy(name, ifr.ifr_name, IFNAMSIZ);
	return missing;
}

bool sl_dev_has_changed(int fd, const struct sl_port_info *info)
{
	struct ifreq ifr = {.ifr_ifindex = (int)info->ifindex};

	return dev_ioctl(fd, SIOCGIFNAME, &ifr) || queues_of(fd, ifr.ifr_name) != info->nqueues;
}

/* A packet on a queue that is not covered passes to the kernel. */
static int query_queues(int fd, struct sl_port_info *info, const char **why)
{
	info->nqueues = queues_of(fd, info->ifname);
	if (info->nqueues > SL_MAX_QUEUES) {
		sl_why(why,
		       "%s has %u receive queues, at most %u can be covered; remedy: ethtool "
		       "-L %s combined %u",
		       info->ifname, info->nqueues, SL_MAX_QUEUES, info->ifname, SL_MAX_QUEUES);
		return -EOPNOTSUPP;
	}
	info->max_lanes = SL_MAX_XSKS / info->nqueues;
	return 0;
}

static int query_link(int fd, struct sl_port_info *info, const char **why)
{
	struct ifreq ifr = {0};
	int err;

	memcpy(ifr.ifr_name, info->ifname, sizeof(ifr.ifr_name));
	err = dev_ioctl(fd, SIOCGIFHWADDR, &ifr);
	if (err)
		goto failed;
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
		sl_why(why, "%s is not an Ethernet device", info->ifname);
		return -EOPNOTSUPP;
	}
	memcpy(info->mac, ifr.ifr_hwaddr.sa_data, sizeof(info->mac));
	err = dev_ioctl(fd, SIOCGIFMTU, &ifr);
	if (err)
		goto failed;
	info->mtu = (uint32_t)ifr.ifr_mtu;
	return 0;
failed:
	sl_why(why, "%s: %s", info->ifname, sl_strerror(err));
	return err;
}

static int query(int fd, uint32_t ifindex, struct sl_port_info *info, const char **why)
{
	struct ifreq ifr = {.ifr_ifindex = (int)ifindex};
	int err = dev_ioctl(fd, SIOCGIFNAME, &ifr);

	if (err) {
		sl_why(why, "there is no device %u in this network namespace", ifindex);
		return err;
	}
	info->ifindex = ifindex;
	memcpy(info->ifname, ifr.ifr_name, sizeof(info->ifname));
	err = query_link(fd, info, why);
	if (err)
		return err;
	query_driver(fd, info);
	return query_queues(fd, info, why);
}

int sl_dev_query(uint32_t ifindex, struct sl_port_info *info, const char **why)
{
	int fd = sl_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0) {
		sl_why(why, "no socket: %s", sl_strerror(fd));
		return fd;
	}
	err = query(fd, ifindex, info, why);
	sl_sys_close(fd);
	return err;
}

int sl_dev_ethtool(uint32_t ifindex, void *cmd)
{
	struct ifreq ifr = {.ifr_ifindex = (int)ifindex};
	int fd = sl_link_open(), err;

	if (fd < 0)
		return fd;
	err = dev_ioctl(fd, SIOCGIFNAME, &ifr); /* it may have been renamed */
	return err ? err : sl_sys_ethtool(fd, ifr.ifr_name, cmd);
}

int sl_dev_leaves_tags(const struct sl_port_info *info)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	int err;

	if (sl_netdev_has_tags_beside(info->driver))
		return 0;
	err = sl_dev_ethtool(info->ifindex, &flags);
	return err ? err : !(flags.data & ETH_FLAG_RXVLAN);
}

const char *sl_port_end_text(enum sl_port_end end)
{
	static const char *const texts[] = {
		[SL_PORT_END_STEERED] = "it is steered",
		[SL_PORT_END_UNKNOWN] = "it is not steered any more",
		[SL_PORT_END_GONE] = "it is gone, or in another network namespace",
		[SL_PORT_END_TAKEN_OFF] = "the steering program was taken off",
		[SL_PORT_END_REPLACED] =
			"another XDP program was put in place of the steering program",
		[SL_PORT_END_QUEUES] = "the number of its queues was changed",
		[SL_PORT_END_LEFT] =
			"the daemon ends, or another one came that does not know of it",
		[SL_PORT_END_BROKEN] = "a lock of the memory that its group shares is broken",
		[SL_PORT_END_NIC] = "the receive queue of its NIC has failed",
	};

	return texts[(size_t)end < sl_array_len(texts) ? end : SL_PORT_END_UNKNOWN];
}
