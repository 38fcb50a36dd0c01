/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes and ends a host, the state that the connections of one lane share, and has the settings of
 * all connections. */
#include "tcp/tcp_host.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_tw.h"

#define BUCKETS 64 /* at first */

struct sl_tcp_params sl_tcp_params;

/* The defaults of Linux 6.x (Documentation/networking/ip-sysctl.rst). */
void sl_tcp_params_default(struct sl_tcp_params *p)
{
	*p = (struct sl_tcp_params){
		.rmem_min = 4096,
		.rmem_default = 131072,
		.rmem_max = 6291456,
		.wmem_min = 4096,
		.wmem_default = 16384,
		.wmem_max = 4194304,
		.init_cwnd = 10,
		.syn_retries = 6,
		.syn_linear_timeouts = 4,
		.synack_retries = 5,
		.retries2 = 15,
		.orphan_retries = 8,
		.max_orphans = 65536,
		.keepalive_time_ms = 7200000,
		.keepalive_intvl_ms = 75000,
		.keepalive_probes = 9,
		.fin_timeout_ms = 60000,
		.rto_min_ms = 200,
		.rto_max_ms = 120000,
		.delack_min_ms = 40,
		.delack_max_ms = 200,
		.quickack_segs = 16,
		.timestamps = true,
		.window_scaling = true,
		.wscale_fixed = -1,
		.sack = true,
		.dsack = true,
		.ecn_in = true,
		.ecn = 2,
		.moderate_rcvbuf = true,
		.slow_start_after_idle = true,
		.frto = true,
		.autocorking = true,
		.recovery_rack = true,
		.tlp = true,
		.syncookies = 1,
		.max_syn_backlog = 1024,
		.tfo = 1,
		.base_mss = 1024,
		.min_snd_mss = 48,
		.mtu_probe_floor = 48,
		.probe_threshold = 8,
		.probe_interval_s = 600,
		.challenge_ack_limit = INT32_MAX,
		.invalid_ratelimit_ms = 500,
		.tfo_blackhole_s = 3600,
		.congestion = "cubic",
	};
}

int sl_tcp_host_init(struct sl_tcp_host *h, const struct sl_tcp_ops *ops, struct sl_frames *frames,
		     const uint8_t secret[16], uint64_t now_us, void *owner)
{
	memset(h, 0, sizeof(*h));
	h->bucket = sl_calloc(BUCKETS, sizeof(*h->bucket));
	h->spare_trouble = sl_calloc(1, sizeof(*h->spare_trouble));
	if (!h->bucket || !h->spare_trouble) {
		sl_free(h->spare_trouble);
		sl_free(h->bucket);
		return -ENOMEM;
	}
	h->nbuckets = BUCKETS;
	h->ops = ops;
	h->frames = frames;
	h->owner = owner;
	memcpy(h->key, secret, sizeof(h->key));
	memcpy(h->pair_key, secret, sizeof(h->pair_key));
	sl_tcp_hash_init(h);
	sl_list_init(&h->out);
	sl_list_init(&h->room);
	sl_list_init(&h->held);
	sl_list_init(&h->trains);
	sl_tcp_mem_init(&h->mem);
	sl_tcp_set_now(h, now_us);
	sl_wheel_init(&h->wheel, now_us);
	return 0;
}

static void node_free(struct sl_tcp_node *n, void *host)
{
	if (n->kind == SL_TCP_REQ)
		sl_tcp_req_free(host, n);
	else if (n->kind == SL_TCP_TW)
		sl_tcp_tw_free(host, n);
}

void sl_tcp_host_fini(struct sl_tcp_host *h)
{
	sl_tcp_table_each(h, node_free, h);
	sl_tcp_table_fini(h);
	sl_free(h->spare_trouble);
	sl_free(h->late);
}
