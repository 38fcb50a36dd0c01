/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a socket: what its shadow is bound and connected to. */
#include "base/sys.h"
#include "net/ipconf.h"
#include "sock/core/endpoint.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"

struct names {
	struct sl_addr local, remote;
	uint16_t local_port, remote_port;
	uint32_t scope;
	bool connected;
};

/* Reads the names of the shadow. */
static int read_names(const struct sl_sock *sk, struct names *n)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint32_t scope = 0;
	int err = sl_sys_getsockname(sk->fd, &ss, &len);

	if (err == 0)
		err = sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &n->local, &n->local_port,
					    &n->scope);
	if (err < 0 || !sl_sock_is_udp(sk)) /* (a stream's shadow has no peer while it is ours) */
		return err;
	len = sizeof(ss);
	n->connected = sl_sys_getpeername(sk->fd, &ss, &len) == 0;
	if (n->connected)
		err = sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &n->remote,
					    &n->remote_port, &scope);
	if (scope)
		n->scope = scope;
	return err;
}

/* Puts the names where the packet path sees them. */
static void set_names(struct sl_sock *sk, const struct names *n)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sk->local = n->local;
	sk->local_port = n->local_port;
	sk->local_scope = n->scope;
	sk->bound_addr = !sl_addr_is_any(&n->local);
	if (sl_sock_is_udp(sk)) {
		us->udp.remote = n->remote;
		us->udp.remote_port = n->remote_port;
		us->udp.connected = n->connected;
		us->ip_id = (uint16_t)sl_ip_random(us);
		us->path.d = NULL;
	}
	sl_lane_unlock(lane);
	sk->stats->local = n->local;
	sk->stats->local_port = n->local_port;
	sk->stats->remote = n->remote;
	sk->stats->remote_port = n->remote_port;
}

int sl_sock_read_names(struct sl_sock *sk)
{
	struct names names = {0};
	int err = read_names(sk, &names);

	if (err == 0)
		set_names(sk, &names);
	return err;
}

void sl_sock_set_local(struct sl_sock *sk, const struct sl_addr *local, uint16_t port,
		       uint32_t scope)
{
	struct names names = {.local = *local, .local_port = port};

	if (sl_addr_is_linklocal(local))
		names.scope = scope;
	set_names(sk, &names);
}
