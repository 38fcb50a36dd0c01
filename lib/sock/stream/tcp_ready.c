/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that poll(2) reports for a TCP socket. */
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "tcp/tcp_user.h"

static uint32_t listener_ready(const struct sl_sock *sk, const struct sl_tlisten *l)
{
	return sl_load(&l->tcp.nchildren) || (sl_load(&sk->os) & SL_OS_IN) ? EPOLLIN | EPOLLRDNORM
									   : 0;
}

static uint32_t stream_ready(const struct sl_sock *sk, const struct sl_tcp *t)
{
	uint32_t ev = 0;

	if (sl_tcp_is_readable(t, sk->rcvlowat))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (t->tx_shut || sl_tcp_write_room(t))
		ev |= EPOLLOUT | EPOLLWRNORM;
	if (t->urg_have)
		ev |= EPOLLPRI;
	return ev;
}

uint32_t sl_tcp_sock_ready(const struct sl_sock *sk)
{
	const struct sl_tlisten *l = sl_load_acquire(&sk->lsn);
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);
	const struct sl_tcp *t;
	uint32_t ev = 0;
	uint8_t state;
	bool rx_over;

	if (l)
		return listener_ready(sk, l);
	if (!c && sk->phase != SL_UNCONNECTED) /* leaves us or is closed: watchers are told */
		return 0;
	if (!c)
		return EPOLLOUT | EPOLLWRNORM | EPOLLHUP |
		       (sl_load(&sk->error) || sl_errq_has(sk) ? EPOLLERR : 0) |
		       (sk->shut & 1 ? EPOLLIN | EPOLLRDNORM | EPOLLRDHUP : 0);
	t = &c->tcp;
	state = sl_load(&t->state);
	rx_over = t->rx_shut || t->fin_rcvd;
	if (state == SL_TCP_CLOSED)
		ev |= EPOLLHUP | EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM;
	else if (rx_over && t->tx_shut)
		ev |= EPOLLHUP;
	if (rx_over)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (!sl_tconn_is_connecting(c))
		ev |= stream_ready(sk, t);
	else if (t->tfo_defer) /* the first write sends the SYN */
		ev |= EPOLLOUT | EPOLLWRNORM;
	if (t->error || sl_errq_has(sk))
		ev |= EPOLLERR;
	return ev;
}
