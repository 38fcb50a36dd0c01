/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Writes the record (struct sl_meta) in front of a packet that is redirected, with its stamps. */
#ifndef SL_RECORD_BPF_H
#define SL_RECORD_BPF_H

#include "hints.bpf.h"

/* Makes room for a record of n bytes inside the frame: every driver leaves XDP_PACKET_HEADROOM in
 * front of it. */
static __always_inline void *room_in_frame(struct xdp_md *ctx, __u32 n)
{
	struct sl_mark *mark;

	if (bpf_xdp_adjust_head(ctx, -(int)(sizeof(*mark) + n)))
		return 0;
	mark = (void *)(long)ctx->data;
	if ((void *)(mark + 1) + n > (void *)(long)ctx->data_end)
		return 0;
	__builtin_memset(mark, 0, sizeof(*mark));
	mark->magic = SL_MARK_MAGIC;
	mark->len = sizeof(*mark) + n;
	return mark + 1;
}

/* Makes room for a record of n bytes and returns its place. *moved: by how many bytes the frame
 * begins earlier now. Packet pointers are no longer valid afterwards. */
static __always_inline void *room(struct xdp_md *ctx, const struct sl_port_config *cfg, __u32 n,
				  __u32 *moved)
{
	void *meta;

	if (cfg->in_frame || bpf_xdp_adjust_meta(ctx, -(int)n)) {
		meta = room_in_frame(ctx, n);
		if (meta)
			*moved = sizeof(struct sl_mark) + n;
		return meta;
	}
	meta = (void *)(long)ctx->data_meta;
	return meta + n > (void *)(long)ctx->data ? 0 : meta;
}

static __always_inline int put_meta(struct xdp_md *ctx, const struct sl_port_config *cfg,
				    const struct sl_meta *meta, __u32 *moved)
{
	struct sl_meta *m = room(ctx, cfg, sizeof(*m), moved);

	if (!m)
		return -1;
	*m = *meta;
	return 0;
}

static __always_inline int put_meta_hw(struct xdp_md *ctx, const struct sl_port_config *cfg,
				       struct sl_meta *meta, __u64 hw_ns, __u32 *moved)
{
	struct sl_meta_hw *m = room(ctx, cfg, sizeof(*m), moved);

	if (!m)
		return -1;
	meta->flags |= SL_META_SW | SL_META_HW;
	m->hw_ns = hw_ns;
	m->sw.stamp_ns = bpf_ktime_get_ns();
	m->sw.meta = *meta;
	return 0;
}

static __always_inline int put_meta_stamped(struct xdp_md *ctx, const struct sl_port_config *cfg,
					    struct sl_meta *meta, __u32 *moved)
{
	__u64 hw_ns = hw_stamp(ctx);
	struct sl_meta_stamped *m;

	if (hw_ns)
		return put_meta_hw(ctx, cfg, meta, hw_ns, moved);
	m = room(ctx, cfg, sizeof(*m), moved);
	if (!m)
		return -1;
	meta->flags |= SL_META_SW;
	m->stamp_ns = bpf_ktime_get_ns();
	m->meta = *meta;
	return 0;
}

#endif
