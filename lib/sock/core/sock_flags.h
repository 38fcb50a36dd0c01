/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits and limits in struct sl_sock. */
#ifndef SL_SOCK_FLAGS_H
#define SL_SOCK_FLAGS_H

/* sl_sock.os: the kernel holds data or an error for the shadow, as far as we know. */
#define SL_OS_IN  (1u << 0)
#define SL_OS_ERR (1u << 1)

/* Ancillary data wanted with each datagram (sl_sock.want). */
#define SL_WANT_PKTINFO   (1u << 0)
#define SL_WANT_TOS       (1u << 1)
#define SL_WANT_TTL       (1u << 2)
#define SL_WANT_STAMP_US  (1u << 3)
#define SL_WANT_STAMP_NS  (1u << 4)
#define SL_WANT_STAMPING  (1u << 5) /* SO_TIMESTAMPING, software */
#define SL_WANT_OVFL      (1u << 6)
#define SL_WANT_GRO       (1u << 7)
#define SL_WANT_ORIGDST   (1u << 8)
#define SL_WANT_PKTINFO6  (1u << 9)
#define SL_WANT_TCLASS    (1u << 10)
#define SL_WANT_HOPLIMIT  (1u << 11)
#define SL_WANT_NEW_STAMP (1u << 12) /* the 64-bit form of SO_TIMESTAMP(NS|ING) was asked for */
#define SL_WANT_HW_STAMP  (1u << 13) /* SO_TIMESTAMPING, hardware */
#define SL_WANT_ERR_PRI   (1u << 14) /* SO_SELECT_ERR_QUEUE */
#define SL_WANT_TIMES     (1u << 15) /* TCP: SLUICE_LATENCY_STATS */
#define SL_WANT_ANY_STAMP                                                                          \
	(SL_WANT_STAMP_US | SL_WANT_STAMP_NS | SL_WANT_STAMPING | SL_WANT_HW_STAMP)

/* SO_RCVTIMEO and SO_SNDTIMEO. NO_WAIT: a negative time was set, so no call waits. MAX_S: from so
 * many seconds on, calls wait without limit (the kernel's own limit is 2^63 ticks). */
#define SL_TIMEO_NO_WAIT 1
#define SL_TIMEO_MAX_S   1000000000

#endif
