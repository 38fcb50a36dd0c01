/* SPDX-License-Identifier: BSD-2-Clause */
/* Taps: copies of the packets that a lane receives and sends, for `sluice capture`.
 *
 * The ring is memory that the tool has made; the process writes it and reads nothing of it but the
 * tool's position, which it does not trust. The layout below is what both sides see. */
#ifndef SL_TAP_H
#define SL_TAP_H

#include "io/io.h"

#define SL_TAP_MAGIC     0x51c37a70u
#define SL_TAP_VERSION   1
#define SL_TAP_MAX       4     /* captures of a process at a time */
#define SL_TAP_PORTS     32    /* devices whose losses are counted apart */
#define SL_TAP_HEAD      4096u /* bytes in front of the records */
#define SL_TAP_MIN_BYTES (256u << 10)
#define SL_TAP_MAX_BYTES (256u << 20)
#define SL_TAP_ALIGN     64u
#define SL_TAP_ANY       UINT32_MAX

/* The tool's first packet on the socket, with the ring's file (a memfd sealed against shrinking).
 */
struct sl_tap_ask {
	uint32_t magic, version;
	uint32_t bytes;      /* of the records: a power of two */
	uint32_t snap;       /* bytes of a packet that are wanted */
	uint32_t lane;       /* SL_TAP_ANY: all */
	uint32_t ifindex;    /* 0: all */
	uint32_t directions; /* SL_TAP_IN, SL_TAP_OUT; 0: both */
	uint32_t spare;
};
/* The process's answer. */
struct sl_tap_answer {
	uint32_t magic;
	int32_t err; /* 0 or -errno */
};

#define SL_TAP_IN    (1u << 0)
#define SL_TAP_OUT   (1u << 1)
#define SL_TAP_CSUM  (1u << 2) /* a device writes the checksums, or has checked them */
#define SL_TAP_STAMP (1u << 3) /* ts_ns is when the steering program saw the packet */
#define SL_TAP_PAD   (1u << 7) /* no packet: the rest of the ring up to its end */

/* A record, at a multiple of SL_TAP_ALIGN; the packet's bytes follow. */
struct sl_tap_rec {
	uint32_t commit; /* 0: not complete; SL_TAP_MAGIC; written last */
	uint32_t bytes;  /* of the whole record */
	uint64_t ts_ns;  /* CLOCK_MONOTONIC */
	uint64_t hw_ns;  /* the device's own stamp, as the driver says; 0: none */
	uint64_t lost;   /* packets of the device that had no room so far */
	uint32_t ifindex;
	uint32_t wire; /* bytes of the packet */
	uint32_t cap;  /* bytes that follow */
	uint16_t lane;
	uint16_t gso;  /* payload of each of its TCP segments but the last; 0: it is one packet */
	uint16_t hdr;  /* bytes of headers of such a packet */
	uint8_t port;  /* index of the device in lost[] */
	uint8_t flags; /* SL_TAP_* */
	uint8_t spare[12];
};
struct sl_tap_head {
	uint64_t tail; /* the tool's: bytes that it has read, ever */
	uint64_t pad[7];
	uint64_t lost[SL_TAP_PORTS]; /* the process's: packets without room; see sl_tap_rec */
};
_Static_assert(sizeof(struct sl_tap_rec) == SL_TAP_ALIGN, "record");
_Static_assert(sizeof(struct sl_tap_head) <= SL_TAP_HEAD, "head");

/* Begins to write to a ring of ask->bytes at mem, SL_TAP_HEAD in front of them. The values of ask
 * must have been checked (sl_tap_ask_is_good). Returns its number, or -ENOSPC. One thread (the
 * keeper) calls this and sl_tap_end(). */
int sl_tap_begin(const struct sl_tap_ask *ask, void *mem);
/* Ends it: threads that hold a lane may still write, until the lane has been locked once. */
void sl_tap_end(int nr);
bool sl_tap_ask_is_good(const struct sl_tap_ask *ask);
/* True: a tap is open, or packets are logged (level FINE). */
bool sl_taps_on(void);
void sl_taps_child(void); /* after fork, in the child: forgets all. Async-signal-safe */

/* Where a packet was seen. */
struct sl_tap_at {
	uint32_t ifindex;
	uint16_t lane;
	uint8_t port; /* below SL_TAP_PORTS */
};
/* A packet in pieces; gso and hdr as in struct sl_tap_rec. */
struct sl_tap_pkt {
	uint64_t ts_ns, hw_ns;
	const struct sl_tap_piece {
		const void *p;
		uint32_t len;
	} * piece;
	uint32_t n;
	uint16_t gso, hdr;
	uint8_t flags;
};
/* Writes a packet to each tap that wants it, or counts it as lost there. No lock, no system call
 * but for a log that is to have packets; any thread and any signal handler. */
void sl_tap_put(const struct sl_tap_at *at, const struct sl_tap_pkt *pkt);
/* tap_log.c: tells the log of it; bytes: of all its pieces. */
void sl_tap_log(const struct sl_tap_at *at, const struct sl_tap_pkt *pkt, uint32_t bytes);

/* Puts taps between a backend and its users (tap_ops.c): its table is replaced by a copy that
 * looks at what passes. Nothing of it is there while no tap is open, so the packet path pays
 * nothing. Lane held. Does nothing if the backend has one; without memory it stays untapped. */
void sl_tap_rx(struct sl_rx *rx, const struct sl_tap_at *at);
void sl_tap_tx(struct sl_tx *tx, const struct sl_tap_at *at);
/* Takes them away. Call before the backend is closed otherwise than by its table. Lane held. */
void sl_untap_rx(struct sl_rx *rx);
void sl_untap_tx(struct sl_tx *tx);

#endif
