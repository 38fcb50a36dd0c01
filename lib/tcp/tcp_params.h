/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings for all connections (tcp_params.c). */
#ifndef SL_TCP_PARAMS_H
#define SL_TCP_PARAMS_H

#include "base/base.h"

/* The caller reads most of them from /proc/sys/net/ipv4/tcp_*, so that an offloaded program behaves
 * as the machine is configured. They may change at any time, a word of eight bytes at once. */
struct sl_tcp_params {
	uint32_t rmem_min, rmem_default, rmem_max; /* tcp_rmem, bytes */
	uint32_t wmem_min, wmem_default, wmem_max;
	uint32_t init_cwnd; /* segments (RFC 6928) */
	uint32_t syn_retries, syn_linear_timeouts, synack_retries, retries2, orphan_retries;
	uint32_t max_orphans; /* connections of the process that its program has closed */
	uint32_t keepalive_time_ms, keepalive_intvl_ms, keepalive_probes;
	uint32_t notsent_lowat;  /* bytes; 0: none */
	uint32_t fin_timeout_ms; /* orphaned FIN_WAIT2 */
	uint32_t rto_min_ms, rto_max_ms;
	bool thin_linear_timeouts;             /* TCP_THIN_LINEAR_TIMEOUTS for all */
	uint32_t delack_min_ms, delack_max_ms; /* 40, 200 */
	uint32_t quickack_segs;                /* ACKs sent at once at the start of a connection */
	bool quickack;                         /* send every ACK at once */
	uint32_t quickack_max; /* quickack and TCP_QUICKACK apply to segments of up to this payload;
				  0: any */
	uint32_t ack_every_bytes; /* send an ACK after so many bytes; 0: after every second full
				     segment */
	uint8_t timestamps;       /* 0, 1, 2 (the kernel's are without random offsets) */
	bool window_scaling, sack, dsack, ecn_out, ecn_in;
	bool ecn_fallback;   /* a SYN that is sent again does not ask for ECN */
	bool reflect_tos;    /* a child has the DSCP of its SYN */
	bool stdurg;         /* the urgent byte is the one at the pointer, not before it */
	int8_t wscale_fixed; /* window shift to announce; -1: as rmem_max needs */
	uint8_t ecn;         /* tcp_ecn */
	bool moderate_rcvbuf;
	bool abort_on_overflow;
	bool autocorking, retrans_collapse;
	bool slow_start_after_idle;
	bool frto, recovery_rack, tlp;
	bool no_metrics_save, no_ssthresh_metrics_save; /* tcp_metrics.c */
	uint32_t max_tw;                                /* records of TIME_WAIT */
	bool rfc1337;                                   /* a reset does not end TIME_WAIT */
	uint8_t syncookies;                             /* 0, 1, 2 (always) */
	uint32_t max_syn_backlog; /* requests of a listener, without cookies */
	uint32_t tfo;             /* tcp_fastopen bits */
	uint8_t mtu_probing;      /* 1: after a black hole was found, 2: always */
	bool errors_unseen;       /* no router's ICMP errors come by some device: as if it were 1 */
	uint32_t base_mss, min_snd_mss;
	uint32_t mtu_probe_floor, probe_threshold, probe_interval_s;
	uint32_t challenge_ack_limit; /* per second, for the whole host */
	uint32_t max_syn_rate;        /* SYNs per second, the rest is dropped; 0: no limit */
	uint32_t invalid_ratelimit_ms;
	uint32_t reordering;           /* so many later arrivals tell of a loss (tcp_reordering) */
	uint32_t max_reordering;       /* no more than so many ever do */
	uint32_t min_rtt_s;            /* the least round trip is one of so many seconds */
	uint32_t pacing_ss, pacing_ca; /* percent of the window in a round trip: tcpi_pacing_rate */
	uint32_t tfo_blackhole_s;      /* tcp_fastopen_blackhole_timeout_sec */
	_Alignas(8) char congestion[16]; /* "cubic" */
	/* ip_local_port_range; 0: only the kernel can choose a port number (see
	 * sock/stream/tcp_port.c) */
	uint16_t port_min, port_max;
};
extern struct sl_tcp_params sl_tcp_params;
/* Sets the defaults of Linux. */
void sl_tcp_params_default(struct sl_tcp_params *p);

#endif
