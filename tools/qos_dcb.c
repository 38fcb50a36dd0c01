/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests over DCB netlink (the kernel's net/dcb/dcbnl.c) for `sluice qos`. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#include "ctl/kern/netlink.h"
#include "qos.h"

/* The kernel's answers fit a page or two (NLMSG_DEFAULT_SIZE); 512 DSCP entries take 4 KB. */
#define DCB_BYTES 32768

int sl_dcb_open(struct sl_dcb *d, const char *name)
{
	d->name = name;
	d->fd = sl_netlink_open(NETLINK_ROUTE);
	return d->fd < 0 ? d->fd : 0;
}

void sl_dcb_close(struct sl_dcb *d)
{
	close(d->fd);
}

static struct nlmsghdr *put_request(const struct sl_dcb *d, void *buf, uint16_t type, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct dcbmsg *dcb;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	dcb = mnl_nlmsg_put_extra_header(nlh, sizeof(*dcb));
	dcb->cmd = cmd;
	mnl_attr_put_strz(nlh, DCB_ATTR_IFNAME, d->name);
	return nlh;
}

static const struct nlattr *find_attr(const struct nlmsghdr *nlh, uint16_t type)
{
	const struct nlattr *a;

	mnl_attr_for_each (a, nlh, sizeof(struct dcbmsg)) {
		if (mnl_attr_get_type(a) == type)
			return a;
	}
	return NULL;
}

/* A request to change something is answered with one byte: 0, or the driver's value cut to a byte,
 * which is a negative errno for all but DCB_ATTR_DCBX. */
static int change(const struct sl_dcb *d, struct nlmsghdr *nlh, uint16_t answer_attr)
{
	char buf[DCB_BYTES];
	const struct nlmsghdr *answer;
	const struct nlattr *a;
	int err = sl_netlink_ask(d->fd, nlh, buf, sizeof(buf), &answer);

	if (err)
		return err;
	a = find_attr(answer, answer_attr);
	if (!a || mnl_attr_get_payload_len(a) < 1)
		return -EBADMSG;
	return (int8_t)mnl_attr_get_u8(a);
}

/* The structs grow at their end with the kernel: a shorter one leaves the rest zero. */
static bool take_struct(const struct nlattr *a, void *to, size_t bytes)
{
	size_t n = mnl_attr_get_payload_len(a);

	memcpy(to, mnl_attr_get_payload(a), n < bytes ? n : bytes);
	return true;
}

static void take_apps(struct sl_qos *q, const struct nlattr *table)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, table) {
		struct dcb_app *app = &q->app[q->apps];

		if (mnl_attr_get_type(a) != DCB_ATTR_IEEE_APP || q->apps == SL_QOS_APPS_MAX)
			continue;
		if (mnl_attr_get_payload_len(a) < sizeof(*app))
			continue;
		memcpy(app, mnl_attr_get_payload(a), sizeof(*app));
		q->apps += app->selector == IEEE_8021QAZ_APP_SEL_DSCP &&
			   app->protocol < SL_QOS_DSCPS && app->priority < IEEE_8021QAZ_MAX_TCS;
	}
}

static void take_ieee(struct sl_qos *q, const struct nlattr *ieee)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, ieee) {
		switch (mnl_attr_get_type(a)) {
		case DCB_ATTR_IEEE_ETS:
			q->has_ets = take_struct(a, &q->ets, sizeof(q->ets));
			break;
		case DCB_ATTR_IEEE_PFC:
			q->has_pfc = take_struct(a, &q->pfc, sizeof(q->pfc));
			break;
		case DCB_ATTR_IEEE_MAXRATE:
			q->has_maxrate = take_struct(a, &q->rate, sizeof(q->rate));
			break;
		case DCB_ATTR_DCB_BUFFER:
			q->has_buffer = take_struct(a, &q->buffer, sizeof(q->buffer));
			break;
		case DCB_ATTR_IEEE_APP_TABLE:
			take_apps(q, a);
			break;
		}
	}
}

static int read_dcbx(const struct sl_dcb *d, struct sl_qos *q)
{
	char question[MNL_NLMSG_HDRLEN + 64] = {0}, buf[DCB_BYTES];
	const struct nlmsghdr *answer;
	const struct nlattr *a;
	int err = sl_netlink_ask(d->fd, put_request(d, question, RTM_GETDCB, DCB_CMD_GDCBX), buf,
				 sizeof(buf), &answer);

	if (err)
		return err;
	a = find_attr(answer, DCB_ATTR_DCBX);
	q->has_dcbx = a && mnl_attr_get_payload_len(a) >= 1;
	if (q->has_dcbx)
		q->dcbx = mnl_attr_get_u8(a);
	return 0;
}

int sl_dcb_read(const struct sl_dcb *d, struct sl_qos *q)
{
	char question[MNL_NLMSG_HDRLEN + 64] = {0}, buf[DCB_BYTES];
	const struct nlmsghdr *answer;
	const struct nlattr *ieee;
	int err = sl_netlink_ask(d->fd, put_request(d, question, RTM_GETDCB, DCB_CMD_IEEE_GET), buf,
				 sizeof(buf), &answer);

	memset(q, 0, sizeof(*q));
	if (err)
		return err;
	ieee = find_attr(answer, DCB_ATTR_IEEE);
	if (!ieee)
		return -EBADMSG;
	take_ieee(q, ieee);
	/* A driver without a DCBX mode still has its classes. */
	err = read_dcbx(d, q);
	return err == -EOPNOTSUPP ? 0 : err;
}

int sl_dcb_set(const struct sl_dcb *d, uint16_t attr, const void *data, size_t bytes)
{
	char question[MNL_NLMSG_HDRLEN + 512] = {0};
	struct nlmsghdr *nlh = put_request(d, question, RTM_SETDCB, DCB_CMD_IEEE_SET);
	struct nlattr *ieee = mnl_attr_nest_start(nlh, DCB_ATTR_IEEE);

	mnl_attr_put(nlh, attr, bytes, data);
	mnl_attr_nest_end(nlh, ieee);
	return change(d, nlh, DCB_ATTR_IEEE);
}

int sl_dcb_map_dscp(const struct sl_dcb *d, bool gone, uint16_t dscp, uint8_t prio)
{
	const struct dcb_app app = {
		.selector = IEEE_8021QAZ_APP_SEL_DSCP, .priority = prio, .protocol = dscp};
	char question[MNL_NLMSG_HDRLEN + 128] = {0};
	struct nlmsghdr *nlh =
		put_request(d, question, RTM_SETDCB, gone ? DCB_CMD_IEEE_DEL : DCB_CMD_IEEE_SET);
	struct nlattr *ieee = mnl_attr_nest_start(nlh, DCB_ATTR_IEEE);
	struct nlattr *table = mnl_attr_nest_start(nlh, DCB_ATTR_IEEE_APP_TABLE);

	mnl_attr_put(nlh, DCB_ATTR_IEEE_APP, sizeof(app), &app);
	mnl_attr_nest_end(nlh, table);
	mnl_attr_nest_end(nlh, ieee);
	return change(d, nlh, DCB_ATTR_IEEE);
}

int sl_dcb_set_dcbx(const struct sl_dcb *d, uint8_t mode)
{
	char question[MNL_NLMSG_HDRLEN + 64] = {0};
	struct nlmsghdr *nlh = put_request(d, question, RTM_SETDCB, DCB_CMD_SDCBX);
	int err;

	mnl_attr_put_u8(nlh, DCB_ATTR_DCBX, mode);
	err = change(d, nlh, DCB_ATTR_DCBX);
	/* (A driver says 1 for a mode that it does not take.) */
	return err > 0 ? -EBUSY : err;
}
