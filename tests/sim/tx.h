/* SPDX-License-Identifier: BSD-2-Clause */
/* A bare verbs sender: one raw-packet queue pair, driven by the ibv_wr_* calls. What the tests of
 * the simulated NIC send with, and the oracle for a backend's instructions per packet. */
#ifndef SIM_TX_H
#define SIM_TX_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define TX_SLOT     2048u /* bytes of each frame's buffer */
#define TX_SLOTS    256u
#define TX_SEND_MAX 65536u /* one large send, behind the slots */

/* How the data of a send gets to the device. */
enum tx_way { TX_HOST, TX_INLINE, TX_DEVICE_MEMORY };

struct tx_want {
	uint32_t depth; /* of the send queue; 0: 128 */
	uint32_t inline_bytes;
	bool tso, channel, wallclock;
	uint32_t dm_bytes;          /* 0: no device memory */
	uint32_t slot_bytes, slots; /* 0: TX_SLOT, TX_SLOTS */
};

struct tx {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr, *dm_mr;
	struct ibv_dm *dm;
	struct ibv_comp_channel *channel;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	uint32_t depth, inline_bytes; /* as granted */
	uint32_t pending;             /* posted, not known to be done */
	uint8_t *buf;
	uint32_t slot_bytes, slots;
	bool wallclock;
};

struct tx_done {
	uint64_t wr_id;
	uint64_t stamp; /* as the queue gives it: raw cycles, or ns of real time */
	enum ibv_wc_status status;
	uint32_t vendor_err;
};

/* Both return 0 or a positive errno; what was made before an error is there until tx_close(). */
int tx_open(struct tx *tx); /* the first device */
int tx_setup(struct tx *tx, const struct tx_want *want);
int tx_ready(struct tx *tx);     /* queue pair to RTS, from RESET */
void tx_teardown(struct tx *tx); /* undoes tx_setup(), whatever the verbs return */
void tx_close(struct tx *tx);
int tx_rate(struct tx *tx, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes);

uint8_t *tx_slot(struct tx *tx, unsigned n);
uint8_t *tx_large(struct tx *tx); /* TX_SEND_MAX bytes */
/* Posts the frame of slot n. 0 or errno. */
int tx_post(struct tx *tx, enum tx_way way, unsigned n, uint32_t len, uint64_t wr_id,
	    unsigned flags);
/* Posts a TCP segment of many, header apart. */
int tx_post_tso(struct tx *tx, uint8_t *hdr, uint16_t hdr_len, uint16_t mss, const uint8_t *data,
		uint32_t len, uint64_t wr_id);
/* Up to n completions, waiting at most so long for each. Returns how many. */
unsigned tx_drain(struct tx *tx, struct tx_done *done, unsigned n, unsigned ms);
uint64_t tx_now_ns(void);
/* A command to the NIC's control socket: true if it said ok. */
bool tx_control(const char *command);

/* Frames for receive.c: UDP with a numbered pattern, TCP with a stream's. */
#define TX_UDP_PORT 5001
#define TX_TCP_PORT 5002
#define TX_TCP_ISN  0xfffff000u /* wraps soon */
struct tx_kind {
	bool v6, vlan;
};
uint32_t tx_udp_header_bytes(struct tx_kind kind);
void tx_udp(uint8_t *frame, struct tx_kind kind, uint32_t len, uint32_t seq);
uint16_t tx_tcp_header(uint8_t *hdr, struct tx_kind kind, uint32_t stream_off, uint8_t flags);
static inline uint8_t tx_udp_byte(uint32_t seq, uint32_t i)
{
	return (uint8_t)(seq * 31 + i);
}
static inline uint8_t tx_tcp_byte(uint32_t off)
{
	return (uint8_t)(off * 7 + (off >> 8));
}

#endif
