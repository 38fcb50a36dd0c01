/* SPDX-License-Identifier: BSD-2-Clause */
/* A TIME_WAIT of the kernel's that stands in the way of a connection of ours.
 *
 * The kernel drops such a record when a SYN of a new connection comes (RFC 6191). The SYN of our
 * connection was steered past the kernel, so the record stayed. When the connection has to end as
 * the kernel's, the record would answer in its place, with the numbers of the earlier
 * connection. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/addr.h"
#include "base/sys.h"
#include "death.h"

struct request {
	struct nlmsghdr nlh;
	struct inet_diag_req_v2 req;
};

static int diag_fd = -1;

static int diag_socket(void)
{
	if (diag_fd < 0)
		diag_fd = sl_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return diag_fd;
}

void sl_time_wait_open(void)
{
	(void)diag_socket();
}

static void name(struct inet_diag_sockid *id, const struct sl_flow_key *k, bool v4)
{
	id->idiag_sport = htons(k->local_port);
	id->idiag_dport = htons(k->remote_port);
	memcpy(id->idiag_src, k->local + (v4 ? 12 : 0), v4 ? 4 : 16);
	memcpy(id->idiag_dst, k->remote + (v4 ? 12 : 0), v4 ? 4 : 16);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* Sends r and reads the one answer, which is there when the request has been sent. */
static long send_request(struct request *r, void *buf, size_t bytes)
{
	static uint32_t seq;
	const struct nlmsghdr *answer = buf;
	long n;

	r->nlh.nlmsg_seq = ++seq;
	n = sl_sys_sendto(diag_fd, r, sizeof(*r), 0, NULL, 0);
	do
		n = n < 0 ? n : sl_sys_recvfrom(diag_fd, buf, bytes, MSG_DONTWAIT, NULL, NULL);
	while (n >= (long)sizeof(*answer) && answer->nlmsg_seq != seq);
	return n;
}

void sl_time_wait_forget(const struct sl_flow_key *k)
{
	const struct sl_addr local = sl_addr_of(k->local);
	bool v4 = sl_addr_is_v4(&local);
	struct request r = {
		.nlh = {.nlmsg_len = sizeof(r),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST},
		.req = {.sdiag_family = v4 ? AF_INET : AF_INET6,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0u},
	};
	union {
		struct nlmsghdr nlh;
		uint8_t bytes[4096];
	} a;
	const struct inet_diag_msg *m = (void *)(a.bytes + NLMSG_HDRLEN);

	name(&r.req.id, k, v4);
	if (diag_socket() < 0 ||
	    send_request(&r, &a, sizeof(a)) < (long)(NLMSG_HDRLEN + sizeof(*m)) ||
	    a.nlh.nlmsg_type != SOCK_DIAG_BY_FAMILY || m->idiag_state != TCP_TIME_WAIT)
		return;
	/* Destroy this TIME_WAIT and no other. */
	r.req.id = m->id;
	r.nlh.nlmsg_type = SOCK_DESTROY;
	r.nlh.nlmsg_flags |= NLM_F_ACK;
	(void)send_request(&r, &a, sizeof(a));
}
