/* SPDX-License-Identifier: BSD-2-Clause */
/* The guard of packets that leave the network namespace (bpf/guard_nft.bpf.c), by nf_tables.
 *
 * Theory of operation: a table that has an owner (Linux 5.12) goes away with the netlink socket
 * that made it, however the socket is closed, and nobody else can change or flush the table. So the
 * table stands in for a link of netfilter, and the netlink socket for the link's descriptor. The
 * table's chain is called at the same place as the links' program; its only rule calls our program
 * by the match xt_bpf, which takes a socket filter. There is one table for each version of IP,
 * since xt_bpf does not work in a table for both ("inet"). */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/xt_bpf.h>
#include <stdio.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"
#include "ctl/steer/guard.h"

#define BATCH_BYTES  4096 /* of two rules, each with the match's 528, 2.1 KB */
#define ANSWER_BYTES 4096
#define NAMES        8 /* to try: a dead process's go away in a moment */
#define CHAIN        "resets"

#define TABLE_OWNER 0x2 /* NFT_TABLE_F_OWNER, which headers before 5.12 do not have */

struct batch {
	uint8_t buf[BATCH_BYTES] __attribute__((aligned(8)));
	size_t bytes;
	uint32_t seq;
};

/* Messages -------------------------------------------------------------------------------------
 */

static struct nlmsghdr *msg_begin(struct batch *b, int type, int flags, uint8_t family, int res_id)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(b->buf + b->bytes);
	struct nfgenmsg *g;

	h->nlmsg_type = (uint16_t)type;
	h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	h->nlmsg_seq = ++b->seq;
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = htons((uint16_t)res_id);
	return h;
}

static void msg_end(struct batch *b, const struct nlmsghdr *h)
{
	b->bytes += h->nlmsg_len;
}

/* A batch's begin, or its end. */
static void put_mark(struct batch *b, int type)
{
	msg_end(b, msg_begin(b, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES));
}

static struct nlmsghdr *new_begin(struct batch *b, int type, int flags, uint8_t family)
{
	return msg_begin(b, NFNL_SUBSYS_NFTABLES << 8 | type, NLM_F_CREATE | flags, family, 0);
}

static void put_be32(struct nlmsghdr *h, uint16_t type, uint32_t v)
{
	mnl_attr_put_u32(h, type, htonl(v));
}

static void put_value(struct nlmsghdr *h, uint16_t type, const void *value, size_t bytes)
{
	struct nlattr *data = mnl_attr_nest_start(h, type);

	mnl_attr_put(h, NFTA_DATA_VALUE, bytes, value);
	mnl_attr_nest_end(h, data);
}

/* The rule -------------------------------------------------------------------------------------
 */

struct expr {
	struct nlattr *elem, *data;
};

static struct expr expr_begin(struct nlmsghdr *h, const char *name)
{
	struct expr e = {.elem = mnl_attr_nest_start(h, NFTA_LIST_ELEM)};

	mnl_attr_put_strz(h, NFTA_EXPR_NAME, name);
	e.data = mnl_attr_nest_start(h, NFTA_EXPR_DATA);
	return e;
}

static void expr_end(struct nlmsghdr *h, const struct expr *e)
{
	mnl_attr_nest_end(h, e->data);
	mnl_attr_nest_end(h, e->elem);
}

/* Leaves out packets to this host itself: these are always the kernel's own connections. */
static void put_not_loopback(struct nlmsghdr *h)
{
	uint16_t loopback = ARPHRD_LOOPBACK;
	struct expr e = expr_begin(h, "meta");

	put_be32(h, NFTA_META_KEY, NFT_META_OIFTYPE);
	put_be32(h, NFTA_META_DREG, NFT_REG_1);
	expr_end(h, &e);
	e = expr_begin(h, "cmp");
	put_be32(h, NFTA_CMP_SREG, NFT_REG_1);
	put_be32(h, NFTA_CMP_OP, NFT_CMP_NEQ);
	put_value(h, NFTA_CMP_DATA, &loopback, sizeof(loopback));
	expr_end(h, &e);
}

static void put_program(struct nlmsghdr *h, int prog_fd)
{
	struct xt_bpf_info_v1 info = {.mode = XT_BPF_MODE_FD_ELF, .fd = prog_fd};
	struct expr e = expr_begin(h, "match");

	mnl_attr_put_strz(h, NFTA_MATCH_NAME, "bpf");
	put_be32(h, NFTA_MATCH_REV, 1);
	mnl_attr_put(h, NFTA_MATCH_INFO, sizeof(info), &info);
	expr_end(h, &e);
}

static void put_drop(struct nlmsghdr *h)
{
	struct expr e = expr_begin(h, "immediate");
	struct nlattr *data, *verdict;

	put_be32(h, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = mnl_attr_nest_start(h, NFTA_IMMEDIATE_DATA);
	verdict = mnl_attr_nest_start(h, NFTA_DATA_VERDICT);
	put_be32(h, NFTA_VERDICT_CODE, NF_DROP);
	mnl_attr_nest_end(h, verdict);
	mnl_attr_nest_end(h, data);
	expr_end(h, &e);
}

/* Tables ---------------------------------------------------------------------------------------
 */

static void put_chain(struct batch *b, uint8_t family, const char *table)
{
	struct nlmsghdr *h = new_begin(b, NFT_MSG_NEWCHAIN, NLM_F_EXCL, family);
	struct nlattr *hook;

	mnl_attr_put_strz(h, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(h, NFTA_CHAIN_NAME, CHAIN);
	mnl_attr_put_strz(h, NFTA_CHAIN_TYPE, "filter");
	hook = mnl_attr_nest_start(h, NFTA_CHAIN_HOOK);
	put_be32(h, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	put_be32(h, NFTA_HOOK_PRIORITY, (uint32_t)SL_GUARD_PRIORITY);
	mnl_attr_nest_end(h, hook);
	msg_end(b, h);
}

/* ack: 0, or NLM_F_ACK. */
static void put_table(struct batch *b, uint8_t family, const char *table, int prog_fd, int ack)
{
	struct nlmsghdr *h = new_begin(b, NFT_MSG_NEWTABLE, NLM_F_EXCL, family);
	struct nlattr *list;

	mnl_attr_put_strz(h, NFTA_TABLE_NAME, table);
	put_be32(h, NFTA_TABLE_FLAGS, TABLE_OWNER);
	msg_end(b, h);
	put_chain(b, family, table);
	h = new_begin(b, NFT_MSG_NEWRULE, NLM_F_APPEND | ack, family);
	mnl_attr_put_strz(h, NFTA_RULE_TABLE, table);
	mnl_attr_put_strz(h, NFTA_RULE_CHAIN, CHAIN);
	list = mnl_attr_nest_start(h, NFTA_RULE_EXPRESSIONS);
	put_not_loopback(h);
	put_program(h, prog_fd);
	put_drop(h);
	mnl_attr_nest_end(h, list);
	msg_end(b, h);
}

/* Returns the first answer: to the message that failed, else to the last, which asks for one. */
static int answer_of(int fd)
{
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	const struct nlmsghdr *h;
	int err = sl_netlink_receive(fd, buf, sizeof(buf), &h);

	return err ? err : sl_netlink_error(h);
}

/* Makes both tables in one transaction: all of it, or nothing. */
static int make(int fd, const char *table, int prog_fd)
{
	struct batch b = {0};
	int err;

	put_mark(&b, NFNL_MSG_BATCH_BEGIN);
	put_table(&b, NFPROTO_IPV4, table, prog_fd, 0);
	put_table(&b, NFPROTO_IPV6, table, prog_fd, NLM_F_ACK);
	put_mark(&b, NFNL_MSG_BATCH_END);
	err = (int)sl_sys_write(fd, b.buf, b.bytes);
	return err < 0 ? err : answer_of(fd);
}

int sl_guard_tables(int prog_fd, uint32_t ifindex)
{
	char table[32];
	int err = -EEXIST, fd = -1;

	for (unsigned i = 0; i < NAMES && (err == -EEXIST || err == -EPERM); i++) {
		if (fd >= 0)
			sl_sys_close(fd);
		fd = sl_netlink_open(NETLINK_NETFILTER);
		if (fd < 0)
			return fd;
		snprintf(table, sizeof(table), i ? "sluice-%u.%u" : "sluice-%u", ifindex, i);
		err = make(fd, table, prog_fd);
	}
	if (!err)
		return sl_fd_keep(fd);
	sl_sys_close(fd);
	return err;
}
