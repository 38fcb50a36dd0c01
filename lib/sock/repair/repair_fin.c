/* SPDX-License-Identifier: BSD-2-Clause */
/* Forges segments of the peer: its FIN or RST for a connection in repair mode, and what
 * repair_queue.c needs. The kernel has no call that marks a FIN as received, so its socket must
 * receive one: the broker sends a segment in the peer's name to this host, and therefore never on a
 * wire (CRIU's soccr does the same). */
#include "sock/repair/repair.h"

#include <linux/tcp.h>

#include "base/sys.h"
#include "ctl/front/broker.h"
#include "wire/csum.h"
#include "wire/wire.h"

#define TRIES   200 /* looks, 5 ms apart */
#define RESEND  20  /* looks between two attempts */
#define HURRY   5   /* looks of a caller in a hurry, 250 us apart */
#define TCP_LEN 20u
#define IP6_LEN 40u
#define TTL     64

/* The segment: it leaves the window as it is. (A SYN's window is not scaled.) */
static void build_tcp(uint8_t *p, const struct sl_tcp_repair *r, const struct sl_forged *f)
{
	bool scaled = r->wscale_ok && !(f->flags & SL_TCP_SYN);
	uint32_t wnd = scaled ? r->snd_wnd >> r->snd_wscale : r->snd_wnd;
	uint32_t head = TCP_LEN + f->nopts;
	uint64_t pseudo = sl_pseudo_sum(&r->key.remote, &r->key.local, IPPROTO_TCP, head + f->n);
	uint16_t sum;

	memset(p, 0, TCP_LEN);
	if (f->nopts)
		memcpy(p + TCP_LEN, f->opts, f->nopts);
	if (f->n)
		memcpy(p + head, f->bytes, f->n);
	sl_put_be16(p, r->key.rport);
	sl_put_be16(p + 2, r->key.lport);
	sl_put_be32(p + 4, f->seq);
	sl_put_be32(p + 8, f->ack);
	p[12] = (uint8_t)(head / 4 << 4);
	p[13] = f->flags;
	sl_put_be16(p + 14, sl_min(wnd, 65535u));
	sum = sl_csum_fold(sl_csum_add(pseudo, p, head + f->n));
	memcpy(p + 16, &sum, sizeof(sum));
}

/* Returns the length of the packet. The kernel fills in IPv4's checksum, length and ID. */
static size_t build(uint8_t *p, const struct sl_tcp_repair *r, const struct sl_forged *f)
{
	uint32_t len = TCP_LEN + f->nopts + f->n;
	const struct sl_addr *src = &r->key.remote, *dst = &r->key.local;
	uint8_t *tcp;

	if (sl_addr_is_v4(dst)) {
		tcp = sl_put_ipv4(p, src, dst, 0, IPPROTO_TCP, TTL);
	} else {
		tcp = sl_put_ipv6(p, src, dst, 0, IPPROTO_TCP, TTL);
		sl_put_be16(p + 4, len);
	}
	build_tcp(tcp, r, f);
	return (size_t)(tcp - p) + len;
}

int sl_repair_forge(int fd, const struct sl_tcp_repair *r, const struct sl_forged *f)
{
	_Alignas(4) uint8_t pkt[IP6_LEN + TCP_LEN + SL_FORGED_OPTS + SL_FORGED_MOST];
	uint32_t scope = sl_addr_is_linklocal(&r->key.local) ? r->scope_id : 0;

	return sl_broker_inject(fd, pkt, build(pkt, r, f), scope);
}

static bool is_closed(uint8_t state)
{
	return state == SL_TCP_CLOSED;
}

/* A socket counts as closed once its connection is in TIME_WAIT, or when the peer has reset it. */
static bool has_fin(uint8_t state)
{
	return state == SL_TCP_CLOSE_WAIT || state == SL_TCP_CLOSING || state == SL_TCP_LAST_ACK ||
	       is_closed(state);
}

static bool is_now(int fd, bool (*wanted)(uint8_t state))
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return !sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       wanted(info.tcpi_state);
}

/* Sends the segment until the connection has changed. */
static int forge(int fd, const struct sl_tcp_repair *r, const struct sl_forged *f,
		 bool (*wanted)(uint8_t state), bool hurry)
{
	struct timespec pause = {.tv_nsec = hurry ? 250 * 1000 : 5 * 1000 * 1000};

	for (unsigned i = 0; i < (hurry ? HURRY : TRIES); i++) {
		if (i % RESEND == 0)
			(void)sl_repair_forge(fd, r, f);
		if (is_now(fd, wanted))
			return 0;
		(void)sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return -EIO;
}

int sl_repair_fin(int fd, const struct sl_tcp_repair *r, bool hurry)
{
	struct sl_forged fin = {r->rcv_nxt, r->snd_una, .flags = SL_TCP_FIN | SL_TCP_ACK};

	return forge(fd, r, &fin, has_fin, hurry);
}

bool sl_repair_is_over(int fd)
{
	return is_now(fd, is_closed);
}

int sl_repair_end(int fd, const struct sl_tcp_repair *r, bool reset, bool hurry)
{
	struct sl_forged rst = {r->rcv_nxt + r->fin_rcvd, r->snd_una,
				.flags = SL_TCP_RST | SL_TCP_ACK};
	struct sl_forged ack = {r->rcv_nxt + 1, r->snd_una + 1, .flags = SL_TCP_ACK};

	return forge(fd, r, reset ? &rst : &ack, is_closed, hurry);
}
