/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel for XDP features of a device: two questions of generic netlink, for the number of
 * the family and for the device. */
#include "ctl/kern/netdev.h"

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define ANSWER_BYTES 8192

/* Documentation/netlink/specs/netdev.yaml, which the headers of Debian 12 do not have yet. */
enum {
	NETDEV_CMD_DEV_GET = 1,
	NETDEV_A_DEV_IFINDEX = 1,
	NETDEV_A_DEV_XDP_FEATURES = 3,
	NETDEV_A_DEV_XDP_RX_METADATA_FEATURES = 5,
};

static struct nlmsghdr *request(void *buf, uint16_t family, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

static int talk(int fd, const struct nlmsghdr *nlh, mnl_attr_cb_t found, void *arg)
{
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	const struct nlmsghdr *answer;
	int err = sl_netlink_ask(fd, nlh, buf, sizeof(buf), &answer);

	if (err)
		return err;
	return mnl_attr_parse(answer, sizeof(struct genlmsghdr), found, arg) < 0 ? -EBADMSG : 0;
}

static int find_family(const struct nlattr *attr, void *out)
{
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
	    !mnl_attr_validate(attr, MNL_TYPE_U16))
		*(uint16_t *)out = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int find_features(const struct nlattr *attr, void *arg)
{
	struct sl_netdev *out = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (type != NETDEV_A_DEV_XDP_FEATURES && type != NETDEV_A_DEV_XDP_RX_METADATA_FEATURES)
		return MNL_CB_OK;
	if (mnl_attr_validate(attr, MNL_TYPE_U64))
		return MNL_CB_ERROR;
	if (type == NETDEV_A_DEV_XDP_FEATURES) {
		out->xdp = mnl_attr_get_u64(attr);
		out->xdp_known = true;
	} else {
		out->hints = mnl_attr_get_u64(attr);
		out->hints_known = true;
	}
	return MNL_CB_OK;
}

static int query(int fd, uint32_t ifindex, struct sl_netdev *out)
{
	uint8_t buf[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	uint16_t family = 0;
	int err;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	err = talk(fd, nlh, find_family, &family);
	if (err || !family)
		return err ? err : -ENOENT;
	nlh = request(buf, family, NETDEV_CMD_DEV_GET);
	mnl_attr_put_u32(nlh, NETDEV_A_DEV_IFINDEX, ifindex);
	return talk(fd, nlh, find_features, out);
}

int sl_netdev_query(uint32_t ifindex, struct sl_netdev *out)
{
	int fd = sl_netlink_open(NETLINK_GENERIC), err;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return fd;
	err = query(fd, ifindex, out);
	sl_sys_close(fd);
	return err;
}

bool sl_netdev_has_tags_beside(const char *driver)
{
	static const char *const list[] = {"veth",   "netkit",  "macvlan", "ipvlan",
					   "bridge", "bonding", "team"};

	for (size_t i = 0; i < sl_array_len(list); i++)
		if (!strcmp(driver, list[i]))
			return true;
	return false;
}
