/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving: passes a frame to its socket's protocol handler. */
#include <netinet/ip6.h>

#include "net/bufs.h"
#include "net/gro.h"
#include "net/icmp.h"
#include "net/net.h"

#include "steer.h"

uint32_t sl_in_vlan[SL_MAX_VLANS];

/* Copies the record, since it must not change after the checks. */
static bool read_meta(const struct sl_rx_desc *desc, struct sl_meta *m)
{
	if (sl_unlikely(desc->off < sizeof(*m)))
		return false;
	memcpy(m, sl_frame_ptr(desc->frame) + desc->off - sizeof(*m), sizeof(*m));
	return m->magic == SL_META_MAGIC;
}

/* Reads the time stamps in front of the record, if there are any. */
static void read_stamp(struct sl_in *in, const struct sl_rx_desc *desc, uint8_t flags)
{
	uint16_t room =
		flags & SL_META_HW ? sizeof(struct sl_meta_hw) : sizeof(struct sl_meta_stamped);

	if (desc->off < room || !(flags & SL_META_SW))
		return;
	in->stamp = flags & (SL_META_HW | SL_META_SW);
	memcpy(&in->stamp_ns,
	       sl_frame_ptr(desc->frame) + desc->off - sizeof(struct sl_meta_stamped),
	       sizeof(in->stamp_ns));
}

uint64_t sl_hw_stamp(uint32_t frame, uint16_t off)
{
	struct sl_meta_hw m;

	memcpy(&m.hw_ns, sl_frame_ptr(frame) + off - sizeof(m), sizeof(m.hw_ns));
	return m.hw_ns;
}

/* True: an object of the kind can get a packet of the protocol. TCP gets ICMP errors; errors about
 * datagrams go to the kernel's shadow socket, which reports them. */
static bool fits_kind(uint32_t kind, uint8_t proto)
{
	switch (proto) {
	case IPPROTO_UDP:
		return kind == SL_SLOT_UDP || kind == SL_SLOT_FAN;
	case IPPROTO_TCP:
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return sl_slot_is_tcp(kind);
	}
	return false;
}

/* summed: its checksum is not left to a device. */
static enum sl_parse_result parse_packet(struct sl_in *in, const struct sl_rx_desc *desc,
					 const struct sl_meta *m, bool summed)
{
	bool partial_ok = in->partial_ok && !summed;

	in->proto = m->proto;
	in->pkt.data = sl_frame_ptr(desc->frame) + desc->off;
	in->pkt.len = desc->len;
	in->pkt.tail_len = 0;
	in->pkt.csum_ok = desc->csum_ok;
	in->pkt.l3 = m->l3;
	in->pkt.l4 = m->l4;
	if (sl_unlikely(in->bufs) && !sl_bufs_join(in, in->bufs))
		return SL_PARSE_LEN;
	if (sl_likely(m->proto == IPPROTO_UDP))
		return sl_parse_udp(&in->pkt, partial_ok);
	if (m->proto == IPPROTO_TCP)
		return sl_parse_tcp(&in->pkt, partial_ok, &in->seg);
	return sl_parse_icmp(&in->pkt, m->proto);
}

static bool dispatch(const struct sl_slot *s, struct sl_in *in, uint8_t proto)
{
	if (sl_likely(proto == IPPROTO_UDP))
		return sl_in_dispatch(s, in);
	if (sl_likely(proto == IPPROTO_TCP))
		return sl_unlikely(in->gro) ? sl_gro_input(s, in) : sl_in_dispatch(s, in);
	sl_icmp_input(s, in);
	return false;
}

/* True: the packet is for the same good address as an earlier one of its family. */
static inline bool is_same_dest(const struct sl_in *in)
{
	const uint8_t *ip = in->pkt.data + in->pkt.l3;
	const struct sl_sources *s = in->sources;
	uint64_t to6[2];
	uint32_t to4;

	if (sl_unlikely(!s))
		return true;
	if (in->pkt.v6) {
		memcpy(to6, ip + offsetof(struct ip6_hdr, ip6_dst), sizeof(to6));
		return to6[0] == s->to6[0] && to6[1] == s->to6[1] &&
		       s->to6_gen == sl_load(&sl_route_gen);
	}
	memcpy(&to4, ip + offsetof(struct iphdr, daddr), sizeof(to4));
	return to4 == s->to4 && s->to4_gen == sl_load(&sl_route_gen);
}

/* True: the host has the destination no more. */
static inline bool is_for_nobody(struct sl_in *in)
{
	return sl_unlikely(!is_same_dest(in)) && !sl_dest_is_good(in);
}

/* TCP ignores frames sent to a group (RFC 9293 3.9.2.3), and so does ICMP error handling. The
 * source of a TCP segment was checked when the handshake began; its destination may have gone. */
static bool is_martian_segment(struct sl_in *in, uint8_t proto)
{
	if (sl_unlikely(in->pkt.data[0] & 1))
		return true;
	if (is_for_nobody(in))
		return true;
	return (proto != IPPROTO_TCP || in->seg.flags & SL_TCP_SYN) && !sl_source_is_good(in);
}

/* True: the kernel would refuse the packet for its addresses. */
static bool is_martian(struct sl_in *in, uint8_t proto)
{
	const uint8_t *ends = in->pkt.data + in->pkt.l3 + offsetof(struct iphdr, saddr);

	if (sl_unlikely(proto != IPPROTO_UDP))
		return is_martian_segment(in, proto);
	if (sl_likely(!memcmp(ends, &in->ends, sizeof(in->ends)) && !in->pkt.v6))
		return false;
	return is_for_nobody(in) || !sl_source_is_good(in); /* (which remembers good ends) */
}

/* Handles a packet with time stamps, of a VLAN, or in several frames. Drops it if the VLAN device
 * is down or gone. */
static SL_APART bool dispatch_special(const struct sl_slot *s, struct sl_in *in,
				      const struct sl_rx_desc *desc, const struct sl_meta *m)
{
	uint32_t vlan = SL_META_VLAN_NR(m->flags), lower = in->ifindex, ifindex = lower;
	bool kept;

	if (vlan)
		ifindex = sl_load(&sl_in_vlan[vlan]);
	if (vlan && !ifindex) {
		in->stats->rx_stale++;
		return false;
	}
	read_stamp(in, desc, m->flags);
	in->ifindex = ifindex;
	if (vlan)
		in->ends = 0; /* was for another device */
	if (is_martian(in, m->proto)) {
		in->stats->rx_martian++;
		kept = false;
	} else {
		kept = in->bufs ? sl_bufs_dispatch(s, in) : dispatch(s, in, m->proto);
	}
	in->ifindex = lower; /* the device of the batch */
	if (vlan)
		in->ends = 0;
	return kept;
}

/* Returns true if the frame was kept. */
static bool input(struct sl_in *in, const struct sl_rx_desc *desc)
{
	struct sl_meta m;
	struct sl_slot *s;
	bool summed;

	if (sl_unlikely(!read_meta(desc, &m))) {
		in->stats->rx_bad_meta++;
		return false;
	}
	summed = m.proto & SL_META_SUMMED;
	m.proto &= (uint8_t)~SL_META_SUMMED;
	s = m.slot < sl_load(&sl_nslots) ? &sl_slots[m.slot] : NULL;
	if (sl_unlikely(!s || sl_load_acquire(&s->gen) != m.gen ||
			sl_load(&s->kind) == SL_SLOT_FREE)) {
		in->stats->rx_stale++;
		return false;
	}
	if (sl_unlikely(!fits_kind(sl_load(&s->kind), m.proto))) {
		in->stats->rx_bad_meta++;
		return false;
	}
	switch (parse_packet(in, desc, &m, summed)) {
	case SL_PARSE_LEN:
		in->stats->rx_bad_len++;
		return false;
	case SL_PARSE_CSUM:
		in->stats->rx_bad_csum++;
		return false;
	case SL_PARSE_OK:
		break;
	}
	in->frame = desc->frame;
	in->off = desc->off;
	in->slot = m.slot;
	in->stamp = 0;
	if (sl_unlikely(m.flags || in->bufs))
		return dispatch_special(s, in, desc, &m);
	if (sl_unlikely(is_martian(in, m.proto))) {
		in->stats->rx_martian++;
		return false;
	}
	return dispatch(s, in, m.proto);
}

/* Call before looking for a record in front of the frame: if the driver carries no metadata,
 * anything may be there, even an earlier packet's record. */
static bool is_marked(const struct sl_rx_desc *desc, struct sl_mark *mark)
{
	if (sl_unlikely(desc->len < sizeof(*mark)))
		return false;
	memcpy(mark, sl_frame_ptr(desc->frame) + desc->off, sizeof(*mark));
	return mark->magic == SL_MARK_MAGIC;
}

/* Handles a frame that starts with a mark as if the driver had carried metadata. */
static bool input_marked(struct sl_in *in, const struct sl_rx_desc *desc, uint16_t len)
{
	struct sl_rx_desc packet = *desc;

	if (len < sizeof(struct sl_mark) + sizeof(struct sl_meta) || len > desc->len) {
		in->stats->rx_bad_meta++;
		return false;
	}
	in->stats->rx_bytes -= len;
	packet.off += len;
	packet.len -= len;
	return input(in, &packet);
}

void sl_net_input(struct sl_in *in, const struct sl_rx_desc *desc)
{
	struct sl_mark mark;
	bool kept;

	in->stats->rx_pkts++;
	in->stats->rx_bytes += desc->len;
	if (sl_unlikely(is_marked(desc, &mark)))
		kept = input_marked(in, desc, mark.len);
	else
		kept = input(in, desc);
	if (!kept)
		sl_frame_spent(in->cache, desc->frame);
}
