/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's sockets for `sluice ss`: sock_diag(7) through libmnl. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/kern/netlink.h"
#include "ss.h"

#ifndef SOCK_DESTROY
#define SOCK_DESTROY 21
#endif

/* Copies what the kernel sent of a struct; a shorter one of an older kernel leaves zeros. */
static void copy(void *to, size_t len, const struct nlattr *a)
{
	memcpy(to, mnl_attr_get_payload(a), sl_min(len, (size_t)mnl_attr_get_payload_len(a)));
}

static void one_attr(struct sl_ss_sock *k, const struct nlattr *a)
{
	unsigned len = mnl_attr_get_payload_len(a);

	switch (mnl_attr_get_type(a)) {
	case INET_DIAG_SKMEMINFO:
		copy(k->mem, sizeof(k->mem), a);
		k->has_mem = true;
		break;
	case INET_DIAG_INFO:
		copy(&k->info, sizeof(k->info), a);
		k->has_info = true;
		break;
	case INET_DIAG_CONG:
		copy(k->congestion, sizeof(k->congestion) - 1, a);
		break;
	case INET_DIAG_SHUTDOWN:
		if (len >= 1)
			k->shut = mnl_attr_get_u8(a);
		break;
	case INET_DIAG_SKV6ONLY:
		if (len >= 1) {
			k->v6only = mnl_attr_get_u8(a) != 0;
			k->has_v6only = true;
		}
		break;
	case INET_DIAG_MARK:
		if (len >= 4)
			k->mark = mnl_attr_get_u32(a);
		break;
	}
}

static void read_sock(struct sl_ss_sock *k, int proto, const struct nlmsghdr *nlh)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;
	bool v4 = m->idiag_family == AF_INET;

	memset(k, 0, sizeof(*k));
	k->proto = (uint8_t)proto;
	k->family = m->idiag_family;
	k->state = m->idiag_state;
	k->timer = m->idiag_timer;
	k->retrans = m->idiag_retrans;
	k->expires_ms = m->idiag_expires;
	k->local = v4 ? sl_addr_v4(m->id.idiag_src[0]) : sl_addr_v6(m->id.idiag_src);
	k->remote = v4 ? sl_addr_v4(m->id.idiag_dst[0]) : sl_addr_v6(m->id.idiag_dst);
	k->local_port = __builtin_bswap16(m->id.idiag_sport);
	k->remote_port = __builtin_bswap16(m->id.idiag_dport);
	k->rq = m->idiag_rqueue;
	k->sq = m->idiag_wqueue;
	k->ifindex = m->id.idiag_if;
	k->inode = m->idiag_inode;
	k->uid = m->idiag_uid;
	k->cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	k->fd = -1;
	mnl_attr_for_each (a, nlh, sizeof(*m)) {
		one_attr(k, a);
	}
}

struct dump {
	int proto;
	void (*fn)(const struct sl_ss_sock *k, void *arg);
	void *arg;
};

/* Returns 1 at the end of the dump, 0 if it goes on, or -errno. */
static int dump_buf(const struct dump *d, const void *buf, long n)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)n;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		struct sl_ss_sock k;

		if (nlh->nlmsg_len > (uint32_t)left) /* libmnl 1.0.4 compares as int */
			return -EBADMSG;
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 1;
		if (nlh->nlmsg_type == NLMSG_ERROR)
			return sl_netlink_error(nlh) ?: -EBADMSG;
		if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    mnl_nlmsg_get_payload_len(nlh) < sizeof(struct inet_diag_msg))
			continue;
		read_sock(&k, d->proto, nlh);
		if (k.state && k.state < SL_SS_STATES)
			d->fn(&k, d->arg);
	}
	return 0;
}

static int dump_family(int fd, const struct dump *d, int family)
{
	static uint8_t buf[65536] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req;
	int err;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = (uint8_t)family;
	req->sdiag_protocol = (uint8_t)d->proto;
	req->idiag_states = SL_SS_ALL | 1u << 12; /* 12: SYN_RECV of a listener's handshakes */
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) |
			 1 << (INET_DIAG_SKMEMINFO - 1) | 1 << (INET_DIAG_SHUTDOWN - 1);
	err = sl_netlink_send(fd, nlh);
	while (!err) {
		long n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR)
			continue;
		err = n < 0 ? -errno : dump_buf(d, buf, n);
	}
	return sl_min(err, 0);
}

int sl_ss_kernel(int proto, void (*fn)(const struct sl_ss_sock *k, void *arg), void *arg)
{
	struct dump d = {proto, fn, arg};
	int fd = sl_netlink_open(NETLINK_SOCK_DIAG), err;

	if (fd < 0)
		return fd;
	err = dump_family(fd, &d, AF_INET);
	if (!err) {
		err = dump_family(fd, &d, AF_INET6);
		if (err == -ENOENT) /* a kernel without IPv6 */
			err = 0;
	}
	close(fd);
	return err;
}

/* An IPv4 address in the kernel's form for its family. */
static void put_addr(uint32_t to[4], const struct sl_addr *a, int family)
{
	if (family == AF_INET)
		to[0] = a->w[3];
	else
		memcpy(to, a->b, sizeof(a->b));
}

int sl_ss_destroy(const struct sl_ss_sock *k)
{
	uint8_t buf[256] __attribute__((aligned(8))) = {0}, got[512] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	const struct nlmsghdr *answer = NULL;
	struct inet_diag_req_v2 *req;
	int fd = sl_netlink_open(NETLINK_SOCK_DIAG), err;

	if (fd < 0)
		return fd;
	nlh->nlmsg_type = SOCK_DESTROY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = k->family;
	req->sdiag_protocol = k->proto;
	req->idiag_states = 1u << k->state;
	req->id.idiag_sport = __builtin_bswap16(k->local_port);
	req->id.idiag_dport = __builtin_bswap16(k->remote_port);
	put_addr(req->id.idiag_src, &k->local, k->family);
	put_addr(req->id.idiag_dst, &k->remote, k->family);
	req->id.idiag_if = k->ifindex;
	req->id.idiag_cookie[0] = (uint32_t)k->cookie;
	req->id.idiag_cookie[1] = (uint32_t)(k->cookie >> 32);
	err = sl_netlink_ask(fd, nlh, got, sizeof(got), &answer);
	if (answer)
		err = sl_netlink_error(answer);
	close(fd);
	return err;
}
