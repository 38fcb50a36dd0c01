/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says about network devices: driver, queues, XDP, offloads. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "ctl/rule.h"
#include "tools.h"

/* As the library does it: the last that matches decides, a list of exclusions begins with all. */
bool sl_device_is_wanted(const char *globs, const char *name)
{
	bool wanted = *globs == '!';

	while (*globs) {
		size_t n = strcspn(globs, ", ");
		bool exclude = *globs == '!';
		char glob[64];

		snprintf(glob, sizeof(glob), "%.*s", (int)(n - exclude), globs + exclude);
		if (glob[0] && sl_glob_match(glob, name))
			wanted = !exclude;
		globs += n + (globs[n] != 0);
	}
	return wanted;
}

static bool has_master(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/master", name);
	return !access(path, F_OK);
}

static int ethtool(int sock, const char *name, void *cmd)
{
	struct ifreq ifr = {.ifr_data = cmd};

	memcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	return ioctl(sock, SIOCETHTOOL, &ifr);
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

static void query_ioctls(int sock, struct sl_device *d)
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_value csum = {.cmd = ETHTOOL_GTXCSUM};
	struct ifreq ifr = {0};

	memcpy(ifr.ifr_name, d->name, sizeof(ifr.ifr_name));
	if (!ioctl(sock, SIOCGIFFLAGS, &ifr))
		d->flags = (unsigned short)ifr.ifr_flags;
	if (!ioctl(sock, SIOCGIFMTU, &ifr))
		d->mtu = (unsigned)ifr.ifr_mtu;
	if (!ioctl(sock, SIOCGIFHWADDR, &ifr))
		d->type = ifr.ifr_hwaddr.sa_family;
	if (!ethtool(sock, d->name, &drv))
		snprintf(d->driver, sizeof(d->driver), "%.31s", drv.driver);
	if (!ethtool(sock, d->name, &ch))
		d->rx_queues = ch.rx_count + ch.combined_count;
	if (!d->rx_queues)
		d->rx_queues = count_rx_queues(d->name);
	d->tx_csum = !ethtool(sock, d->name, &csum) && csum.data;
}

static void query_xdp(struct sl_device *d)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int fd;

	if (bpf_xdp_query((int)d->ifindex, 0, &q) || !q.prog_id)
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

/* The netdev family of generic netlink (Linux 6.3): what XDP can do on a device. Numbers from
 * Documentation/netlink/specs/netdev.yaml, which the headers of Debian 12 do not have yet. */
enum {
	NETDEV_CMD_DEV_GET = 1,
	NETDEV_A_DEV_IFINDEX = 1,
	NETDEV_A_DEV_XDP_FEATURES = 3,
	NETDEV_A_DEV_XDP_RX_METADATA_FEATURES = 5, /* Linux 6.8 */
};

static int find_u16(const struct nlattr *attr, void *out)
{
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
	    !mnl_attr_validate(attr, MNL_TYPE_U16))
		*(uint16_t *)out = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int on_family(const struct nlmsghdr *nlh, void *out)
{
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), find_u16, out);
}

static int find_features(const struct nlattr *attr, void *out)
{
	struct sl_device *d = out;

	if (mnl_attr_get_type(attr) == NETDEV_A_DEV_XDP_FEATURES &&
	    !mnl_attr_validate(attr, MNL_TYPE_U64)) {
		d->features = mnl_attr_get_u64(attr);
		d->features_known = true;
	}
	if (mnl_attr_get_type(attr) == NETDEV_A_DEV_XDP_RX_METADATA_FEATURES &&
	    !mnl_attr_validate(attr, MNL_TYPE_U64)) {
		d->hints = mnl_attr_get_u64(attr);
		d->hints_known = true;
	}
	return MNL_CB_OK;
}

static int on_device(const struct nlmsghdr *nlh, void *out)
{
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), find_features, out);
}

static struct nlmsghdr *request(char *buf, uint16_t family, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = 1;
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

static int talk(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	char buf[8192];
	int err = 1;

	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	while (err > 0) {
		ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (n < 0)
			return -1;
		err = mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), cb, arg);
	}
	return err;
}

static void query_features(struct sl_device *dev, unsigned n)
{
	struct mnl_socket *nl = mnl_socket_open(NETLINK_GENERIC);
	char buf[256];
	uint16_t family = 0;
	struct nlmsghdr *nlh;

	if (!nl)
		return;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		goto close_socket;
	nlh = request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	talk(nl, nlh, on_family, &family);
	for (unsigned i = 0; family && i < n; i++) {
		nlh = request(buf, family, NETDEV_CMD_DEV_GET);
		mnl_attr_put_u32(nlh, NETDEV_A_DEV_IFINDEX, dev[i].ifindex);
		talk(nl, nlh, on_device, &dev[i]);
	}
close_socket:
	mnl_socket_close(nl);
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
		struct sl_device *d = &dev[n++];

		memset(d, 0, sizeof(*d));
		snprintf(d->name, sizeof(d->name), "%.15s", i->if_name);
		d->ifindex = i->if_index;
		d->wanted = sl_device_is_wanted(sl_settings.devices, d->name);
		d->enslaved = has_master(d->name);
		query_ioctls(sock, d);
		query_xdp(d);
	}
	query_features(dev, n);
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
	unsigned mtu_max = sl_settings.frame_size == 4096 ? 3520 : 1500;

	if (!remedy)
		remedy = &none;
	*remedy = NULL;
	if (d->flags & IFF_LOOPBACK)
		return "it is the loopback: local traffic stays with the kernel";
	if (!d->wanted)
		return "SLUICE_DEVICES leaves it out";
	if (!strncmp(d->driver, "802.1Q", 6))
		return "it is a VLAN device";
	if (d->type != ARPHRD_ETHER)
		return "it is not an Ethernet device";
	if (d->enslaved)
		return "it is a port of a bridge or bond";
	if (!(d->flags & IFF_UP)) {
		*remedy = "ip link set DEV up";
		return "it is down";
	}
	if (d->features_known && !(d->features & SL_XDP_FEATURE_BASIC) &&
	    sl_settings.xdp_mode == SL_XDP_NATIVE) {
		*remedy = "SLUICE_XDP_MODE=auto takes generic mode, which is slower";
		return "its driver has no native XDP";
	}
	if (d->mtu > mtu_max) {
		*remedy = sl_settings.frame_size == 4096
				  ? "ip link set DEV mtu 3498 or less"
				  : "ip link set DEV mtu 1500, or SLUICE_FRAME_SIZE=4096";
		return "its MTU is larger than a frame";
	}
	if (d->xdp_prog && !is_steering(d)) {
		*remedy = "ip link set DEV xdp off; or load it with xdp-loader, which lets several "
			  "programs live together";
		return "another XDP program is attached, not through libxdp's dispatcher";
	}
	return NULL;
}
