/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's offloads: checksums, and the segments of a large packet. A large packet is several
 * descriptors in a row, each a frame: the headers of the first go into the request itself, the
 * bytes of all are gathered. */
#if __has_include(<infiniband/verbs.h>)
#include "base/log.h"
#include "base/settings.h"
#include "io/verbs_int.h"

#define HEADERS_MAX 128

void sl_verbs_query(struct sl_verbs_dev *dev)
{
	struct verbs_context *ops = verbs_get_ctx_op(dev->ctx, query_device_ex);
	struct ibv_device_attr_ex attr = {0};
	const struct ibv_tso_caps *tso = &attr.tso_caps;

	if (!ops || ops->query_device_ex(dev->ctx, NULL, &attr, sizeof(attr)))
		return;
	dev->max_dm = attr.max_dm_size;
	/* (In libvma's words, which its manual has one look for.) */
	sl_debug("verbs", "%s: port(s): %u vendor: %u fw: %s max_qp_wr: %d on_device_memory: %llu",
		 dev->name, attr.orig_attr.phys_port_cnt, attr.orig_attr.vendor_part_id,
		 attr.orig_attr.fw_ver, attr.orig_attr.max_qp_wr,
		 (unsigned long long)attr.max_dm_size);
	sl_verbs_query_clock(dev, &attr);
	if (attr.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET) {
		dev->pace_min_kbps = attr.packet_pacing_caps.qp_rate_limit_min;
		dev->pace_max_kbps = attr.packet_pacing_caps.qp_rate_limit_max;
	}
	if (!(attr.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM))
		return;
	dev->caps = SL_TX_CSUM;
	if (!sl_settings.tso || tso->max_tso < SL_TSO_BYTES ||
	    !(tso->supported_qpts & 1u << IBV_QPT_RAW_PACKET) ||
	    attr.orig_attr.max_sge < SL_TSO_NIC_SEGS)
		return;
	dev->caps |= SL_TX_TSO;
}

void sl_verbs_ask_tso(struct ibv_qp_init_attr_ex *attr)
{
	attr->comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	attr->max_tso_header = HEADERS_MAX;
	attr->send_ops_flags |= IBV_QP_EX_WITH_TSO;
	attr->cap.max_send_sge = SL_TSO_NIC_SEGS;
}

static bool carries_on(const struct sl_verbs_tx *v, uint32_t at)
{
	return v->desc[at & v->mask].flags & SL_TXD_CONT;
}

uint32_t sl_verbs_train(const struct sl_verbs_tx *v, uint32_t at)
{
	uint32_t n = 1;

	while (at + n != v->head && carries_on(v, at + n))
		n++;
	return n;
}

uint32_t sl_verbs_train_begin(const struct sl_verbs_tx *v, uint32_t at)
{
	while (carries_on(v, at))
		at--;
	return at;
}

void sl_verbs_train_sges(const struct sl_verbs_tx *v, uint32_t at, uint32_t n, struct ibv_sge *sge)
{
	const struct sl_tx_desc *d = &v->desc[at & v->mask];
	uint8_t *packet = sl_frame_ptr(d->frame) + d->off;

	sge[0] = (struct ibv_sge){(uintptr_t)(packet + d->hdr), (uint32_t)d->len - d->hdr, v->lkey};
	for (uint32_t i = 1; i < n; i++) {
		d = &v->desc[(at + i) & v->mask];
		sge[i] = (struct ibv_sge){(uintptr_t)(sl_frame_ptr(d->frame) + d->off), d->len,
					  v->lkey};
	}
}
#endif
