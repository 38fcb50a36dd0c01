/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets to sockets of this host: that come, and that do not. The former come from a raw socket to
 * an address of the host. The route to it is a local one, so they come back by the loopback device
 * and never are on a wire. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/ip.h>
#include <netinet/ip6.h>
#include <netinet/in.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/broker_int.h"

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

int sl_embedded_inject(const void *packet, size_t bytes, uint32_t scope)
{
	const struct iphdr *v4 = packet;
	const struct ip6_hdr *v6 = packet;
	struct sockaddr_in to4 = {.sin_family = AF_INET};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_scope_id = scope};
	bool is_v4 = bytes >= sizeof(*v4) && v4->version == 4;
	long n;
	int fd;

	if (!is_v4 && bytes < sizeof(*v6))
		return -EINVAL;
	if (is_v4)
		to4.sin_addr.s_addr = v4->daddr;
	else
		to6.sin6_addr = v6->ip6_dst;
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
