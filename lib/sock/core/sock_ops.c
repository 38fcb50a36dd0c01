/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of sockets, and other state of the process that all sockets share. */
#include "sock/core/sock_ops.h"

#include "sock/core/life.h"
#include "sock/core/sock.h"

uint32_t sl_forks;
void (*sl_sock_on_use)(struct sl_sock *sk, bool sends);

static const struct sl_sock_ops *dgram_ops, *stream_ops;

void sl_sock_set_ops(const struct sl_sock_ops *dgram, const struct sl_sock_ops *stream)
{
	dgram_ops = dgram;
	stream_ops = stream;
}

const struct sl_sock_ops *sl_sock_ops(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP ? stream_ops : dgram_ops;
}
