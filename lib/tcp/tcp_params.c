/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of all connections. */
#include "tcp/tcp_params.h"

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
		.timestamps = 1,
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
		.retrans_collapse = true,
		.no_ssthresh_metrics_save = true,
		.reordering = 3,
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
