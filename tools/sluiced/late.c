/* SPDX-License-Identifier: BSD-2-Clause */
/* Late packets: they came for a dead process, and it never took them; above all SYNs, which their
 * peers would send again only after a second.
 *
 * Theory of operation: a moment later these packets would have gone to the kernel, or to another
 * worker. So the daemon gives TCP's to the kernel now: its listener answers a SYN, and the kernel
 * gets the rest of that connection, too (bpf/group.bpf.h); a connection that was rescued gets its
 * segment; a segment that meets no socket is reset, as by any kernel. The packets come by the
 * loopback device, as from a raw socket (sl_broker_inject()), so sockets that are bound to a device
 * get none.
 *
 * The dead process may have written anything into the rings and the frames: none of their bytes
 * reaches the kernel unchecked. The daemon parses a packet as a segment of TCP. It must be for an
 * end that the process had proved, from a source that a wire may have, and the kernel must give it
 * to no other user's socket. Then the daemon writes it anew: from the addresses, the segment and
 * its payload, without IP options and extension headers. */
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "ctl/broker/inject.h"
#include "ctl/claim/bury.h"
#include "ctl/device/device.h"
#include "ctl/device/port.h"
#include "net/route.h"
#include "wire/csum.h"
#include "wire/tcp_seg.h"
#include "conns.h"
#include "deliver.h"
#include "memory.h"
#include "session.h"

#define LATE_MAX 1024 /* packets at a time: some 20 ms */
/* Within that time a SYN has not been sent again, so no other worker has answered it. */
#define SYN_NS 500000000ull

struct late {
	const struct sl_session *session;
	uint32_t given, left;
	uint32_t strange; /* packets dropped as no segment for the process */
	bool syns;
};

/* Sources that no wire may have: RFC 1122 3.2.1.3, RFC 4291 2.5.2 and 2.5.3. */
static bool is_martian(const struct sl_addr *a)
{
	if (sl_addr_is_any(a) || sl_addr_is_multicast(a) || sl_addr_is_loopback(a) ||
	    sl_addr_is_local(a))
		return true;
	return sl_addr_is_v4(a) && (a->b[12] == 0 || a->b[12] >= 240);
}

/* True: the packet was for the process, and no other process gets it now. */
static bool is_for(const struct sl_session *s, const struct sl_diag_flow *f, bool v6)
{
	const struct sl_own_end *end = sl_conns_end(&s->conns, f->local.b, f->local_port);

	return end && end->everywhere && sl_addr_is_v4(&f->local) != v6 &&
	       sl_addr_is_v4(&f->remote) != v6 && !is_martian(&f->remote) && sl_prove_late(s, f);
}

static struct sl_diag_flow flow_of_pkt(const struct sl_pkt *p)
{
	struct sl_diag_flow f = {.proto = IPPROTO_TCP};

	sl_pkt_saddr(p, &f.remote);
	sl_pkt_daddr(p, &f.local);
	f.remote_port = sl_get_be16(p->data + p->l4);
	f.local_port = sl_get_be16(p->data + p->l4 + 2);
	return f;
}

/* Writes the segment, from its IP header on. at: the payload's place, with room in front of it. */
static const uint8_t *write_anew(const struct sl_pkt *p, const struct sl_diag_flow *f,
				 const struct sl_tcp_seg *seg, uint8_t *at, size_t *bytes)
{
	const struct sl_udp_build b = {
		.src = f->remote,
		.dst = f->local,
		.sport = f->remote_port,
		.dport = f->local_port,
		.tos = p->tos,
		.ttl = p->ttl,
		.df = true,
	};
	struct sl_tcp_hdr h;
	uint8_t *frame;

	sl_build_tcp_hdr(&h, &b);
	frame = sl_build_tcp(&h, seg, at, 0, sl_csum_add(0, at, seg->len));
	*bytes = (size_t)(at + seg->len - frame) - h.l3;
	return frame + h.l3;
}

/* Handles a packet of a dead ring: the dead process may have filled `frame` with anything. */
static void give_packet(void *arg, uint32_t ifindex, const uint8_t *frame, uint32_t off,
			uint32_t bytes)
{
	static _Alignas(8) uint8_t copy[16384], fresh[SL_TCP_HEADROOM + sizeof(copy)];
	const struct sl_device *d = sl_device_find(ifindex);
	struct sl_pkt p = {.data = copy, .len = bytes};
	struct sl_diag_flow f;
	struct late *l = arg;
	struct sl_tcp_seg seg;
	const uint8_t *packet;
	bool partial_ok;
	struct sl_meta m;
	size_t len;

	if (!l->left || !d || off < sizeof(m) || bytes > sizeof(copy))
		return;
	memcpy(&m, frame + off - sizeof(m), sizeof(m));
	/* From here on the copy is read: others may write to the frame. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m.magic != SL_META_MAGIC || (m.proto & ~SL_META_SUMMED) != IPPROTO_TCP)
		return;
	l->left--;
	memcpy(copy, frame + off, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	p.l3 = m.l3;
	p.l4 = m.l4;
	partial_ok = d->info.flags & SL_PORT_PARTIAL_CSUM && !(m.proto & SL_META_SUMMED);
	if (sl_parse_tcp(&p, partial_ok, &seg) != SL_PARSE_OK) {
		l->strange++;
		return;
	}
	f = flow_of_pkt(&p);
	if (seg.flags & SL_TCP_SYN && !l->syns)
		return;
	if (!is_for(l->session, &f, p.v6)) {
		l->strange++;
		return;
	}
	memcpy(fresh + SL_TCP_HEADROOM, copy + p.payload, p.payload_len);
	packet = write_anew(&p, &f, &seg, fresh + SL_TCP_HEADROOM, &len);
	l->given += !sl_embedded_inject(packet, len, ifindex);
}

void sl_late(const struct sl_session *s, const struct sl_broker_lane *lanes, unsigned n)
{
	struct late l = {
		.session = s,
		.left = LATE_MAX,
		.syns = sl_now_ns() < s->mended_ns + SYN_NS,
	};

	if (!s->limits.repair) /* as for sl_on_inject() */
		return;
	for (unsigned i = 0; i < n; i++)
		sl_broker_late(s->memory->umem, s->share, &lanes[i], give_packet, &l);
	if (l.given)
		sl_debug("sluiced",
			 "lease %u: %u packets came too late for it: they are the "
			 "kernel's",
			 s->member, l.given);
	if (l.strange)
		sl_debug("sluiced",
			 "lease %u: %u packets in its rings were not for it: they are dropped",
			 s->member, l.strange);
}
