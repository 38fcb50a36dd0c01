/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP connection on its way between a process and sluiced. */
#ifndef SL_LEASE_IMAGE_H
#define SL_LEASE_IMAGE_H

#include "base/base.h"

/* A connection (struct sl_tcp_repair) in types of fixed width. */
struct sl_lease_conn {
	uint8_t local[16], remote[16];
	uint16_t lport, rport; /* host order */
	uint32_t scope_id;
	uint32_t snd_una, rcv_nxt; /* before a FIN */
	uint32_t snd_wl1, snd_wnd, max_window, rcv_wnd, rcv_wup;
	uint32_t unsent, sndq, rcvq, sndbuf, rcvbuf; /* bytes */
	uint32_t tsval, ts_recent;
	uint16_t mss_clamp, flags; /* SL_LEASE_CONN_* */
	uint8_t state, snd_wscale, rcv_wscale, pad;
};
#define SL_LEASE_CONN_WSCALE  (1u << 0)
#define SL_LEASE_CONN_SACK    (1u << 1)
#define SL_LEASE_CONN_TS      (1u << 2)
#define SL_LEASE_CONN_ECN     (1u << 3)
#define SL_LEASE_CONN_FIN_OUT (1u << 4) /* fin_sent */
#define SL_LEASE_CONN_FIN_IN  (1u << 5) /* fin_rcvd */
#define SL_LEASE_CONN_FIN_DUE (1u << 6) /* fin_queued */
#define SL_LEASE_CONN_RX_SHUT (1u << 7)
#define SL_LEASE_CONN_LIVELY  (1u << 8)
_Static_assert(sizeof(struct sl_lease_conn) == 104, "ABI");

enum sl_lease_how {
	SL_LEASE_LIVE = 1, /* the connection goes on */
	SL_LEASE_ENDED, /* the connection is over: the reader gets the unread bytes, then the end */
	SL_LEASE_RESET, /* reset: the reader gets the unread bytes, then the error */
	SL_LEASE_SYN,   /* its SYN is sent once more: fields `syn_...` */
	SL_LEASE_QUEUE, /* it waits for accept(2) in the kernel's queue of the listener, which comes
			   in the shadow's place; no RESTORED follows */
};
struct sl_lease_restore {
	uint32_t how; /* enum sl_lease_how */
	struct sl_lease_conn conn;
	uint32_t iss, syn_bytes; /* syn_bytes: data of the SYN; conn.rcvq and sndq are 0, the memfd
				    has these bytes */
	uint16_t syn_mss, syn_user_mss;
};
struct sl_lease_restored {
	uint32_t go; /* 0: cancel; the answer is -ECANCELED */
};
/* err 0: the descriptor is a memfd with the queues, and the kernel has forgotten the connection.
 * Else the descriptor is the socket, unchanged. */
struct sl_lease_take_ok {
	int32_t err;
	struct sl_lease_conn conn;
};

#endif
