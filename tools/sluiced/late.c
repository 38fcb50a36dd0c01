/* SPDX-License-Identifier: BSD-2-Clause */
/* What came for a dead process and was never taken: SYNs above all, whose senders would ask again
 * after a second.
 *
 * Theory of operation: had the packets come a moment later, they would have been the kernel's, or
 * another worker's. So TCP's are the kernel's now: its listener answers a SYN, and what follows is
 * the kernel's, too (bpf/steer.bpf.c); a connection that was rescued has its segment; what is for
 * nobody is reset, as by any kernel. They come to it by the loopback device, as from a raw socket
 * (sl_broker_inject()), so there are none for sockets that are bound to a device.
 *
 * The rings are the word of the dead: only what is for an end that the process had proved to have
 * is believed, and only if it is for an address of this host. */
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "ctl/broker_int.h"
#include "sluiced.h"
#include "wire/csum.h"
#include "wire/tcp_seg.h"

#define LATE_MAX 1024 /* packets at a time: some 20 ms */
/* Who sent a SYN has not yet sent it again, which another worker might have answered. */
#define SYN_NS 500000000ull

struct late {
	const struct sl_session *session;
	uint32_t given, left;
	bool syns;
};

static struct sl_addr addr_at(const uint8_t *p, bool v6)
{
	struct sl_addr a;
	uint32_t v4;

	if (v6) {
		memcpy(a.b, p, 16);
		return a;
	}
	memcpy(&v4, p, 4);
	return sl_addr_v4(v4);
}

static void ends_of(const struct sl_pkt *p, struct sl_addr *src, struct sl_addr *dst)
{
	const uint8_t *at = p->data + p->l3 + (p->v6 ? 8 : 12);

	*src = addr_at(at, p->v6);
	*dst = addr_at(at + (p->v6 ? 16 : 4), p->v6);
}

/* Was it the process's? */
static bool is_for(const struct sl_session *s, const struct sl_pkt *p, const struct sl_addr *src,
		   const struct sl_addr *dst)
{
	const struct sl_own_end *end =
		sl_conns_end(&s->conns, dst->b, sl_get_be16(p->data + p->l4 + 2));

	return end && end->everywhere && !sl_addr_is_any(src) && !sl_addr_is_multicast(src) &&
	       !sl_addr_eq(src, dst);
}

/* The sender may have left it to a device that never did it. */
static void finish_sum(const struct sl_pkt *p, const struct sl_addr *src, const struct sl_addr *dst,
		       uint16_t len)
{
	uint8_t *tcp = p->data + p->l4;
	uint64_t sum = sl_pseudo_sum(src, dst, IPPROTO_TCP, len);
	uint16_t folded;

	memset(tcp + 16, 0, 2);
	folded = sl_csum_fold(sl_csum_add(sum, tcp, len));
	memcpy(tcp + 16, &folded, sizeof(folded));
}

static void give(void *arg, uint32_t ifindex, const uint8_t *frame, uint32_t off, uint32_t bytes)
{
	static _Alignas(8) uint8_t copy[16384];
	const struct sl_device *d = sl_device_find(ifindex);
	struct sl_pkt p = {.data = copy, .len = bytes};
	struct sl_addr src, dst;
	struct late *l = arg;
	struct sl_tcp_seg seg;
	struct sl_meta m;
	uint32_t end;

	if (!l->left || !d || off < sizeof(m) || bytes > sizeof(copy))
		return;
	memcpy(&m, frame + off - sizeof(m), sizeof(m));
	if (m.magic != SL_META_MAGIC || m.proto != IPPROTO_TCP)
		return;
	memcpy(copy, frame + off, bytes);
	p.l3 = m.l3;
	p.l4 = m.l4;
	if (sl_parse_tcp(&p, d->info.flags & SL_PORT_PARTIAL_CSUM, &seg) != SL_PARSE_OK)
		return;
	ends_of(&p, &src, &dst);
	if (!is_for(l->session, &p, &src, &dst) || (seg.flags & SL_TCP_SYN && !l->syns))
		return;
	end = (uint32_t)p.payload + p.payload_len;
	finish_sum(&p, &src, &dst, (uint16_t)(end - p.l4));
	l->left--;
	l->given += !sl_embedded_inject(copy + p.l3, end - p.l3, ifindex);
}

void sl_late(const struct sl_session *s, const struct sl_broker_lane *lanes, unsigned n)
{
	struct late l = {
		.session = s,
		.left = LATE_MAX,
		.syns = sl_now_ns() < s->mended_ns + SYN_NS,
	};

	if (!s->limits.repair) /* as for any packet that is put in */
		return;
	for (unsigned i = 0; i < n; i++)
		sl_broker_late(s->memory->umem, s->share, &lanes[i], give, &l);
	if (l.given)
		sl_debug("sluiced",
			 "lease %u: %u packets came too late for it: they are the "
			 "kernel's",
			 s->member, l.given);
}
