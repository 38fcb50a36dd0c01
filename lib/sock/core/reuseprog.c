/* SPDX-License-Identifier: BSD-2-Clause */
/* SO_REUSEPORT groups whose sockets a BPF program chooses.
 *
 * Theory of operation: the kernel runs the program of a group over all its sockets, by their index.
 * The steering program spreads by the flow's hash and cannot run it, so a group with a program is
 * the kernel's as a whole: its sockets are handed back when the program comes, and those that join
 * later are never claimed. The kernel gives no answer to the question which group has a program, so
 * each socket of this process remembers it, also after the socket that brought the program is
 * closed, as the kernel's group does. A connected datagram socket is left alone: the kernel finds
 * it before it asks the program. */
#include <netinet/in.h>

#include "base/log.h"
#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"

static bool any_program; /* a group of this process has or had one; atomic */

/* The kernel's groups are by protocol, family, address, port and device. The names are asked for,
 * because those of a socket that is the kernel's are not followed here. */
struct group {
	const struct sl_sock *sk;
	struct sl_addr local;
	uint16_t port;
	int ifindex;
	bool set; /* the value that all get */
};

static bool read_group(const struct sl_sock *sk, struct group *g)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	uint32_t scope;

	*g = (struct group){.sk = sk};
	if (sl_sys_getsockname(sk->fd, &ss, &len) < 0 ||
	    sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &g->local, &g->port, &scope) < 0)
		return false;
	g->ifindex = sl_sock_get_int(sk, SOL_SOCKET, SO_BINDTOIFINDEX);
	return g->port != 0;
}

static bool is_connected(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sl_udp_sk_const(sk)->udp.connected;
}

static bool is_member(const struct sl_sock *sk, const struct group *g)
{
	struct group own;

	if (sk == g->sk || sk->proto != g->sk->proto || sk->family != g->sk->family ||
	    !sk->reuseport || is_connected(sk) || !read_group(sk, &own))
		return false;
	return own.port == g->port && own.ifindex == g->ifindex &&
	       sl_addr_eq(&own.local, &g->local);
}

static void set_member(struct sl_sock *sk, void *arg)
{
	const struct group *g = arg;

	if (!is_member(sk, g))
		return;
	sk->reuse_prog = g->set;
	if (g->set && sl_load(&sk->state) != SL_STATE_KERNEL)
		sl_sock_kernel(sk, SL_REASON_OPTION);
}

void sl_reuseprog_set(struct sl_sock *sk, int name)
{
	bool set = name != SO_DETACH_REUSEPORT_BPF;
	struct group g;

	sk->reuse_prog = set;
	if (set)
		sl_store(&any_program, true);
	if (!sl_load(&any_program) || !read_group(sk, &g))
		return;
	g.set = set;
	sl_debug("sock", "fd %d: the group of port %u %s a program", sk->fd, g.port,
		 set ? "has" : "has no longer");
	sl_sock_for_each(set_member, &g);
}

static bool is_member_with_program(struct sl_sock *sk, void *arg)
{
	return sk->reuse_prog && is_member(sk, arg);
}

bool sl_reuseprog_has(struct sl_sock *sk)
{
	struct group g;

	if (!sl_load(&any_program) || !sk->reuseport || is_connected(sk))
		return false;
	if (!sk->reuse_prog && read_group(sk, &g) && sl_sock_find(is_member_with_program, &g))
		sk->reuse_prog = true;
	return sk->reuse_prog;
}
