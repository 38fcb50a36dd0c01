/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel about network devices: driver, queues, XDP, offloads. */
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/pair.h"
#include "ctl/kern/libbpf.h"
#include "ctl/rules/rule.h"
#include "tools.h"

static bool has_master(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/master", name);
	return !access(path, F_OK);
}

static unsigned count_rx_queues(const char *name)
{
	char path[64];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/queues", name);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "rx-", 3);
	if (d)
		closedir(d);
	return n;
}

/* True: the driver has flow rules and a table of queues. (sluiced tries which rules it takes.) */
static bool takes_rules(int sock, const char *name)
{
	struct ethtool_rxnfc rules = {.cmd = ETHTOOL_GRXCLSRLCNT};
	struct ethtool_rxfh_indir table = {.cmd = ETHTOOL_GRXFHINDIR};

	return !sl_sys_ethtool(sock, name, &rules) && !sl_sys_ethtool(sock, name, &table) &&
	       table.size;
}

static void query_ioctls(int sock, struct sl_device *d)
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_value csum = {.cmd = ETHTOOL_GTXCSUM};
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	struct vlan_ioctl_args vlan = {.cmd = GET_VLAN_REALDEV_NAME_CMD};
	struct ifreq ifr = {0};

	memcpy(ifr.ifr_name, d->name, sizeof(ifr.ifr_name));
	if (!ioctl(sock, SIOCGIFFLAGS, &ifr))
		d->flags = (unsigned short)ifr.ifr_flags;
	if (!ioctl(sock, SIOCGIFMTU, &ifr))
		d->mtu = (unsigned)ifr.ifr_mtu;
	if (!ioctl(sock, SIOCGIFHWADDR, &ifr))
		d->type = ifr.ifr_hwaddr.sa_family;
	if (!sl_sys_ethtool(sock, d->name, &drv))
		snprintf(d->driver, sizeof(d->driver), "%.31s", drv.driver);
	if (!sl_sys_ethtool(sock, d->name, &ch))
		d->rx_queues = ch.rx_count + ch.combined_count;
	if (!d->rx_queues)
		d->rx_queues = count_rx_queues(d->name);
	d->tx_csum = !sl_sys_ethtool(sock, d->name, &csum) && csum.data;
	d->flow_rules = takes_rules(sock, d->name);
	d->rx_tags = !sl_sys_ethtool(sock, d->name, &flags) && flags.data & ETH_FLAG_RXVLAN;
	snprintf(vlan.device1, sizeof(vlan.device1), "%.15s", d->name);
	if (!ioctl(sock, SIOCGIFVLAN, &vlan))
		snprintf(d->lower, sizeof(d->lower), "%.15s", vlan.u.device2);
}

static void query_xdp(struct sl_device *d)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int fd;

	if (sl_libbpf_load(NULL) || bpf_xdp_query((int)d->ifindex, 0, &q) || !q.prog_id)
		return;
	d->xdp_prog = q.prog_id;
	d->xdp_generic = q.attach_mode == XDP_ATTACHED_SKB;
	fd = bpf_prog_get_fd_by_id(q.prog_id);
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		snprintf(d->xdp_name, sizeof(d->xdp_name), "%s", info.name);
	close(fd);
}

int sl_devices(struct sl_device *dev, unsigned max)
{
	struct if_nameindex *list = if_nameindex();
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned n = 0;

	if (!list || sock < 0) {
		int err = -errno;

		if_freenameindex(list);
		if (sock >= 0)
			close(sock);
		return err;
	}
	for (struct if_nameindex *i = list; i->if_index && n < max; i++) {
		struct sl_device *d = &dev[n];

		memset(d, 0, sizeof(*d));
		snprintf(d->name, sizeof(d->name), "%.15s", i->if_name);
		d->ifindex = i->if_index;
		d->wanted = sl_globs_match(sl_settings.devices, d->name);
		d->enslaved = has_master(d->name);
		query_ioctls(sock, d);
		query_xdp(d);
		(void)sl_netdev_query(d->ifindex, &d->xdp);
		n += !sl_pair_is(d->name, d->driver); /* without lanes' private pairs */
	}
	if_freenameindex(list);
	close(sock);
	return (int)n;
}

static bool is_steering(const struct sl_device *d)
{
	return !strncmp(d->xdp_name, "sl_", 3) || !strncmp(d->xdp_name, "steer", 5) ||
	       !strncmp(d->xdp_name, "xdp_dispatcher", 14);
}

const char *sl_device_obstacle(const struct sl_device *d, const char **remedy)
{
	const char *none;

	if (!remedy)
		remedy = &none;
	*remedy = NULL;
	if (d->flags & IFF_LOOPBACK)
		return "it is the loopback: local traffic stays with the kernel";
	if (!d->wanted)
		return "SLUICE_DEVICES leaves it out";
	if (d->type != ARPHRD_ETHER)
		return "it is not an Ethernet device";
	if (d->enslaved)
		return "it is a port of a bridge or bond";
	if (!(d->flags & IFF_UP)) {
		*remedy = "ip link set DEV up";
		return "it is down";
	}
	if (d->xdp.xdp_known && !(d->xdp.xdp & SL_XDP_FEATURE_BASIC) &&
	    sl_settings.xdp_mode == SL_XDP_NATIVE) {
		*remedy = "SLUICE_XDP_MODE=auto takes generic mode, which is slower";
		return "its driver has no native XDP";
	}
	if (d->xdp_prog && !is_steering(d)) {
		*remedy = "ip link set DEV xdp off; or load it with xdp-loader, which lets several "
			  "programs live together";
		return "another XDP program is attached, not through libxdp's dispatcher";
	}
	return NULL;
}
