/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks sock_diag for one socket by the kernel's look-up, or for all of a port. */
#include "ctl/kern/diag_sock.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define ASK_BYTES 128
#define BUF_BYTES 16384

/* Copies the attribute, zeros behind a shorter one; without it all is 0. */
static void read_attr(const struct nlmsghdr *nlh, uint16_t type, void *to, size_t n)
{
	struct nlattr *a = mnl_nlmsg_get_payload_offset(nlh, sizeof(struct inet_diag_msg));
	const char *end = mnl_nlmsg_get_payload_tail(nlh);

	memset(to, 0, n);
	for (; mnl_attr_ok(a, (int)(end - (const char *)a)); a = mnl_attr_next(a))
		if (mnl_attr_get_type(a) == type)
			memcpy(to, mnl_attr_get_payload(a),
			       sl_min(n, (size_t)mnl_attr_get_payload_len(a)));
}

/* The kernel reports it for sockets without a peer (Linux 4.1). */
static bool read_v6only(const struct nlmsghdr *nlh)
{
	uint8_t v;

	read_attr(nlh, INET_DIAG_SKV6ONLY, &v, sizeof(v));
	return v;
}

static uint8_t read_rcv_wscale(const struct nlmsghdr *nlh)
{
	struct tcp_info info;

	read_attr(nlh, INET_DIAG_INFO, &info, sizeof(info));
	return info.tcpi_options & TCPI_OPT_WSCALE ? info.tcpi_rcv_wscale : 0;
}

static struct sl_addr read_addr(uint8_t family, const uint32_t words[4])
{
	return family == AF_INET ? sl_addr_v4(words[0]) : sl_addr_v6(words);
}

static bool read_sock(const struct nlmsghdr *nlh, struct sl_diag_sock *s)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);

	if ((nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY && nlh->nlmsg_type != TCPDIAG_GETSOCK) ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*m))
		return false;
	*s = (struct sl_diag_sock){
		.local = read_addr(m->idiag_family, m->id.idiag_src),
		.remote = read_addr(m->idiag_family, m->id.idiag_dst),
		.local_port = __builtin_bswap16(m->id.idiag_sport),
		.remote_port = __builtin_bswap16(m->id.idiag_dport),
		.ifindex = m->id.idiag_if,
		.uid = m->idiag_uid,
		.inode = m->idiag_inode,
		.cookie = m->id.idiag_cookie[0] | (uint64_t)m->id.idiag_cookie[1] << 32,
		.rqueue = m->idiag_rqueue,
		.family = m->idiag_family,
		.state = m->idiag_state,
		.rcv_wscale = read_rcv_wscale(nlh),
		.v6only = read_v6only(nlh),
	};
	return true;
}

static struct inet_diag_req_v2 *put_request(struct nlmsghdr *nlh, uint16_t flags, uint8_t family,
					    uint8_t proto)
{
	struct inet_diag_req_v2 *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	req->sdiag_family = family;
	req->sdiag_protocol = proto;
	return req;
}

static void put_addr(__be32 out[4], const struct sl_addr *a)
{
	if (sl_addr_is_v4(a))
		memcpy(out, a->b + 12, 4);
	else
		memcpy(out, a->b, 16);
}

/* TCP's look-up takes `src` for the local end. UDP's takes it for the sender (udp_dump_one(): "src
 * and dst are swapped for historical reasons"). */
static void put_ends(struct inet_diag_sockid *id, const struct sl_diag_flow *f)
{
	bool tcp = f->proto == IPPROTO_TCP;

	put_addr(tcp ? id->idiag_src : id->idiag_dst, &f->local);
	put_addr(tcp ? id->idiag_dst : id->idiag_src, &f->remote);
	*(tcp ? &id->idiag_sport : &id->idiag_dport) = __builtin_bswap16(f->local_port);
	*(tcp ? &id->idiag_dport : &id->idiag_sport) = __builtin_bswap16(f->remote_port);
	id->idiag_if = f->ifindex;
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

int sl_diag_find(int netlink, const struct sl_diag_flow *f, struct sl_diag_sock *out)
{
	uint8_t ask[ASK_BYTES] __attribute__((aligned(8))) = {0};
	uint8_t buf[4096] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(ask);
	const struct nlmsghdr *answer = NULL;
	struct inet_diag_req_v2 *req;
	int err;

	req = put_request(nlh, 0, sl_addr_is_v4(&f->local) ? AF_INET : AF_INET6, f->proto);
	req->idiag_states = ~0u;
	req->idiag_ext = f->proto == IPPROTO_TCP ? 1u << (INET_DIAG_INFO - 1) : 0;
	put_ends(&req->id, f);
	err = sl_netlink_ask(netlink, nlh, buf, sizeof(buf), &answer);
	if (err)
		return err;
	return read_sock(answer, out) ? 0 : -EBADMSG;
}

/* 1 at the end of the dump, 0 if more is to come, or -errno. */
static int read_buf(const void *buf, long n, sl_diag_fn *fn, void *arg)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)n;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		struct sl_diag_sock s;

		if (nlh->nlmsg_len > (uint32_t)left) /* libmnl 1.0.4 compares as int */
			return -EBADMSG;
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 1;
		if (nlh->nlmsg_type == NLMSG_ERROR) {
			int err = sl_netlink_error(nlh);

			return err < 0 ? err : -EBADMSG;
		}
		if (read_sock(nlh, &s))
			fn(&s, arg);
	}
	return 0;
}

/* The kernel walks its whole table of connections, some milliseconds, whatever the request asks
 * for; the older kind of request walks it once for both families. */
static int begin_conns(int netlink, uint16_t port, uint32_t states)
{
	uint8_t ask[ASK_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(ask);
	struct inet_diag_req *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	nlh->nlmsg_type = TCPDIAG_GETSOCK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req->idiag_states = states;
	req->id.idiag_sport = __builtin_bswap16(port);
	return sl_netlink_send(netlink, nlh);
}

int sl_diag_begin(int netlink, const struct sl_diag_ask *ask)
{
	uint8_t buf[ASK_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req;

	if (ask->family == AF_UNSPEC)
		return begin_conns(netlink, ask->port, ask->states);
	req = put_request(nlh, NLM_F_DUMP, ask->family, ask->proto);
	req->idiag_states = ask->states;
	req->id.idiag_sport = __builtin_bswap16(ask->port);
	return sl_netlink_send(netlink, nlh);
}

int sl_diag_go_on(int netlink, uint64_t until_ns, sl_diag_fn *fn, void *arg)
{
	uint8_t buf[BUF_BYTES] __attribute__((aligned(8)));
	int err = 0;

	do {
		long n = sl_sys_recvfrom(netlink, buf, sizeof(buf), 0, NULL, NULL);

		if (n != -EINTR)
			err = n < 0 ? (int)n : read_buf(buf, n, fn, arg);
	} while (!err && sl_now_ns() < until_ns);
	return err;
}

int sl_diag_dump(int netlink, const struct sl_diag_ask *ask, sl_diag_fn *fn, void *arg)
{
	int err = sl_diag_begin(netlink, ask);

	return err ? err : sl_min(sl_diag_go_on(netlink, UINT64_MAX, fn, arg), 0);
}
