/* SPDX-License-Identifier: BSD-2-Clause */
/* Forges the peer's FIN or RST for a connection in repair mode. The kernel has no call that marks a
 * FIN as received, so its socket must receive one: the broker sends a segment in the peer's name to
 * this host, and therefore never on a wire (CRIU's soccr does the same). */
#include "sock/repair/repair.h"

#include <linux/tcp.h>

#include "base/sys.h"
#include "ctl/front/broker.h"
#include "wire/csum.h"

#define TRIES   200 /* looks, 5 ms apart */
#define RESEND  20  /* looks between two attempts */
#define HURRY   5   /* looks of a caller in a hurry, 250 us apart */
#define TCP_LEN 20u
#define IP6_LEN 40u

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* Fields of a segment that the peer might have sent. */
struct forged {
	uint32_t seq, ack;
	uint8_t flags;
};

/* The segment: it leaves the window as it is. */
static void build_tcp(uint8_t *p, const struct sl_tcp_repair *r, const struct forged *f,
		      uint64_t pseudo)
{
	uint32_t wnd = r->wscale_ok ? r->snd_wnd >> r->snd_wscale : r->snd_wnd;
	uint16_t sum;

	memset(p, 0, TCP_LEN);
	put16(p, r->key.rport);
	put16(p + 2, r->key.lport);
	put32(p + 4, f->seq);
	put32(p + 8, f->ack);
	p[12] = TCP_LEN / 4 << 4;
	p[13] = f->flags;
	put16(p + 14, sl_min(wnd, 65535u));
	sum = sl_csum_fold(sl_csum_add(pseudo, p, TCP_LEN));
	memcpy(p + 16, &sum, sizeof(sum));
}

static uint64_t pseudo_sum(const void *src, const void *dst, size_t n)
{
	const uint8_t rest[4] = {0, IPPROTO_TCP, 0, TCP_LEN};

	return sl_csum_add(sl_csum_add(sl_csum_add(0, src, n), dst, n), rest, sizeof(rest));
}

/* Returns the length of the packet. The kernel fills in IPv4's checksum, length and ID. */
static size_t build(uint8_t *p, const struct sl_tcp_repair *r, const struct forged *f)
{
	const uint8_t *src = r->key.remote.b, *dst = r->key.local.b;

	if (sl_addr_is_v4(&r->key.local)) {
		struct iphdr *ip = (struct iphdr *)p;

		*ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
		memcpy(&ip->saddr, src + 12, 4);
		memcpy(&ip->daddr, dst + 12, 4);
		build_tcp(p + sizeof(*ip), r, f, pseudo_sum(src + 12, dst + 12, 4));
		return sizeof(*ip) + TCP_LEN;
	}
	memset(p, 0, IP6_LEN);
	p[0] = 6 << 4;
	put16(p + 4, TCP_LEN);
	p[6] = IPPROTO_TCP;
	p[7] = 64;
	memcpy(p + 8, src, 16);
	memcpy(p + 24, dst, 16);
	build_tcp(p + IP6_LEN, r, f, pseudo_sum(src, dst, 16));
	return IP6_LEN + TCP_LEN;
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
static int forge(int fd, const struct sl_tcp_repair *r, const struct forged *f,
		 bool (*wanted)(uint8_t state), bool hurry)
{
	struct timespec pause = {.tv_nsec = hurry ? 250 * 1000 : 5 * 1000 * 1000};
	_Alignas(4) uint8_t pkt[IP6_LEN + TCP_LEN];
	size_t n = build(pkt, r, f);
	uint32_t scope = sl_addr_is_linklocal(&r->key.local) ? r->scope_id : 0;

	for (unsigned i = 0; i < (hurry ? HURRY : TRIES); i++) {
		if (i % RESEND == 0)
			(void)sl_broker_inject(fd, pkt, n, scope);
		if (is_now(fd, wanted))
			return 0;
		(void)sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return -EIO;
}

int sl_repair_fin(int fd, const struct sl_tcp_repair *r, bool hurry)
{
	struct forged fin = {r->rcv_nxt, r->snd_una, SL_TCP_FIN | SL_TCP_ACK};

	return forge(fd, r, &fin, has_fin, hurry);
}

bool sl_repair_is_over(int fd)
{
	return is_now(fd, is_closed);
}

int sl_repair_end(int fd, const struct sl_tcp_repair *r, bool reset, bool hurry)
{
	struct forged rst = {r->rcv_nxt + r->fin_rcvd, r->snd_una, SL_TCP_RST | SL_TCP_ACK};
	struct forged ack = {r->rcv_nxt + 1, r->snd_una + 1, SL_TCP_ACK};

	return forge(fd, r, reset ? &rst : &ack, is_closed, hurry);
}
