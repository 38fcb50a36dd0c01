/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces in a connection's queues; their bytes are in frames (tcp_sndq.c, tcp_reass.c). */
#ifndef SL_TCP_QUEUE_H
#define SL_TCP_QUEUE_H

#include "base/list.h"
#include "wire/tcp_seg.h"

struct sl_tcp;

/* A piece of the send queue: at most one segment's bytes, in a frame of its own. */
struct sl_txseg {
	uint32_t frame; /* SL_NO_FRAME: SYN or FIN alone */
	uint32_t seq;
	uint16_t off; /* offset of the bytes in the frame */
	uint16_t len;
	uint16_t sum;  /* sum of the bytes as for a checksum: folded, not complemented, from an even
			  start */
	uint8_t flags; /* flags sent with it: SL_TCP_SYN, FIN, PSH, URG */
	uint8_t marks; /* SL_TXS_* */
	uint8_t sent;  /* times sent, saturating */
	uint32_t in_flight : 24; /* tcp_rate.c's: segments in flight when it was sent, with it */
	union {
		uint32_t run;  /* SACKED: it and so many behind it, less one, are SACKED */
		uint32_t lost; /* else tcp_rate.c's: c->lost when it was sent */
	};
	uint64_t sent_us; /* time of the last transmission */
	/* delivery rate and RACK (draft-cheng-iccrg-delivery-rate-estimation) */
	uint32_t delivered;
	uint32_t tsval;
	uint32_t first_us, acked_us; /* tcp_rate.c's, if the connection takes samples */
};
#define SL_TXS_SACKED (1u << 0)
#define SL_TXS_LOST   (1u << 1)
#define SL_TXS_RETX   (1u << 2) /* sent again, and that copy is in flight */

/* A piece of the receive queue: bytes in order. */
struct sl_rxseg {
	uint32_t frame;
	uint16_t off, len;
};

/* A piece beyond a hole. The pieces are in a sorted row and do not overlap. */
struct sl_oooseg {
	uint32_t seq;
	uint32_t frame; /* SL_NO_FRAME: a FIN alone */
	uint16_t off, len;
	bool fin;
	bool scrap; /* shares its frame with other pieces (sl_scrap_put()) */
};

/* A part of the row: pieces [first, first + n) of seg[]. */
#define SL_OOO_BLOCK 64
struct sl_oooblock {
	uint16_t first, n, size;
	struct sl_oooseg seg[];
};

/* The queue of data beyond a hole, and its SACK blocks, the most recently changed first (RFC 2018
 * 4). */
struct sl_ooo {
	struct sl_oooblock **block; /* none is empty (tcp_ooo.c) */
	uint32_t nblocks, max_blocks;
	/* tcp_mem.c's links, used while there are pieces and the connection is not frozen */
	struct sl_list greedy; /* in host->mem.greedy[class] */
	struct sl_list aged;   /* in host->mem.aged */
	struct sl_tcp *of;     /* the connection */
	uint64_t since_us; /* when the oldest hole was opened, or the one before it was filled */
	uint32_t held;     /* bytes of packet memory */
	uint8_t class;
	uint32_t loose; /* small pieces that came since sl_tcp_ooo_pack(), each with a frame */
	struct sl_tcp_block last_sack[SL_TCP_MAX_SACK];
};

/* A note at the start of each received frame of a connection that waits to be accepted. If the
 * process is killed, the reader of its memory finds the unread data by these notes (tcp_dead.c). */
struct sl_rx_note {
	uint32_t seq;
	uint32_t next; /* frame of the next piece, or SL_NO_FRAME */
	uint16_t off, len;
};

/* A note at the start of each frame in the queues of a connection that forked children may have
 * (sl_tcp_note()). If the process is killed, its reaper finds the bytes by these notes
 * (tools/death/queues.c). The headers of a segment end behind the note; very long ones would
 * overwrite its end first, and it is no note then. */
struct sl_tcp_note {
	uint32_t seq;
	uint16_t off, len;
	uint64_t id; /* sl_tcp_note_id(); 0: no note */
};

/* The number of a connection's queue. */
static inline uint64_t sl_tcp_note_id(uint32_t iss, uint32_t irs, bool send)
{
	uint64_t id = (uint64_t)iss << 32 | irs;

	return send ? ~id : id;
}

#endif
