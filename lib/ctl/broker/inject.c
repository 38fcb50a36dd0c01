/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts packets to sockets of this host in, or has the kernel drop them. A packet is put in by a raw
 * socket, for an address of the host. Its route, which is looked at beforehand, is a local one, so
 * the packet comes back by the loopback device and never is on a wire. */
#include "ctl/broker/inject.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <netinet/ip6.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"

static int raw_socket(int family)
{
	return sl_sys_socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
}

int sl_embedded_may_inject(void)
{
	int fd = raw_socket(AF_INET);

	if (fd >= 0)
		sl_sys_close(fd);
	return sl_min(fd, 0);
}

/* The answer's type of route, or -errno. */
static int route_type(int fd, const struct nlmsghdr *nlh)
{
	uint8_t buf[4096] __attribute__((aligned(8)));
	const struct nlmsghdr *answer = NULL;
	int err = sl_netlink_ask(fd, nlh, buf, sizeof(buf), &answer);

	if (err)
		return answer ? -EADDRNOTAVAIL : err; /* the kernel has no route there */
	if (answer->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(answer) < sizeof(struct rtmsg))
		return -EBADMSG;
	return ((const struct rtmsg *)mnl_nlmsg_get_payload(answer))->rtm_type;
}

/* Checks that the address is this host's, by the routes by which the packet would go: bind(2)
 * accepts others, too, where net.ipv4.ip_nonlocal_bind is set. */
static int check_local(uint8_t family, const void *addr, uint16_t len, uint32_t scope)
{
	uint8_t buf[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	int fd = sl_netlink_open(NETLINK_ROUTE), type;

	if (fd < 0)
		return fd;
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm->rtm_family = family;
	rtm->rtm_dst_len = (uint8_t)(len * 8);
	mnl_attr_put(nlh, RTA_DST, len, addr);
	if (scope)
		mnl_attr_put_u32(nlh, RTA_OIF, scope);
	type = route_type(fd, nlh);
	sl_sys_close(fd);
	if (type < 0)
		return type;
	return type == RTN_LOCAL ? 0 : -EADDRNOTAVAIL;
}

int sl_embedded_inject(const void *packet, size_t bytes, uint32_t scope)
{
	const uint8_t *ip = packet; /* behind an Ethernet header: not aligned */
	struct sockaddr_in to4 = {.sin_family = AF_INET};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_scope_id = scope};
	bool is_v4 = bytes >= sizeof(struct iphdr) && ip[0] >> 4 == 4;
	int fd, err;
	long n;

	if (!is_v4 && bytes < sizeof(struct ip6_hdr))
		return -EINVAL;
	if (is_v4)
		memcpy(&to4.sin_addr, ip + offsetof(struct iphdr, daddr), 4);
	else
		memcpy(&to6.sin6_addr, ip + offsetof(struct ip6_hdr, ip6_dst), 16);
	err = is_v4 ? check_local(AF_INET, &to4.sin_addr, 4, 0)
		    : check_local(AF_INET6, &to6.sin6_addr, 16,
				  IN6_IS_ADDR_LINKLOCAL(&to6.sin6_addr) ? scope : 0);
	if (err)
		return err;
	fd = raw_socket(is_v4 ? AF_INET : AF_INET6);
	if (fd < 0)
		return fd;
	n = sl_sys_sendto(fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT,
			  is_v4 ? (void *)&to4 : (void *)&to6, is_v4 ? sizeof(to4) : sizeof(to6));
	sl_sys_close(fd);
	return n < 0 ? (int)n : 0;
}

int sl_embedded_drop_packets(int fd, bool on)
{
	struct sock_filter drop = {.code = BPF_RET | BPF_K};
	struct sock_fprog prog = {.len = 1, .filter = &drop};
	int none = 0;

	return on ? sl_sys_setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog))
		  : sl_sys_setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
}
