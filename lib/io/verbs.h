/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs backend: transmit by a raw-packet queue pair of the NIC, from the frames as they are.
 * Receive is AF_XDP's. libibverbs is loaded when a device is there that wants it, and not before.
 */
#ifndef SL_VERBS_H
#define SL_VERBS_H

#include "base/pace.h"
#include "io/io.h"

struct sl_lane_stats;
struct sl_verbs_info {
	char device[64];       /* the RDMA device's name */
	uint32_t depth;        /* packets that can be under way */
	uint32_t inline_bytes; /* packets up to this are copied into the send queue */
	bool direct;           /* requests are written by us, not by libibverbs */
};

/* What is asked for. */
struct sl_verbs_want {
	uint32_t depth, inline_bytes; /* as above; depth a power of two */
	uint32_t device_bytes;        /* on-device memory for packets over inline_bytes; 0: none */
	struct sl_lane_stats *stats;  /* where that is counted */
	struct sl_frames *frames;     /* the lane's, to which the queue gives back what is sent */
};

/* A transmit queue on the network device, of its own; the frame pool is attached already. NULL:
 * there is none to be had, and *why says so, or is NULL when the device is no RDMA device at all.
 * Slow; errno may change. */
struct sl_tx *sl_verbs_open(uint32_t ifindex, const char *ifname, const struct sl_verbs_want *want,
			    struct sl_verbs_info *info, const char **why);

/* The keeper's look, lane held: events of the device, and whether completions still come. */
void sl_verbs_check(struct sl_tx *tx, uint64_t now_ns);
/* Why nothing goes out any more (kick() says -EIO from then on); NULL: it does. */
const char *sl_verbs_dead(const struct sl_tx *tx);
/* Of a queue whose kick() said -EIO: takes up to n packets that surely did not leave, in their
 * order; they are the caller's. Those of which nobody knows come back to the pool by close(). */
unsigned sl_verbs_unsent(struct sl_tx *tx, struct sl_tx_desc *descs, unsigned n);

/* Another queue at the device of one, which stays open meanwhile. As sl_verbs_open(). */
struct sl_tx *sl_verbs_open_beside(struct sl_tx *beside, const struct sl_verbs_want *want,
				   const char **why);
/* Does the device of a queue say that it knows that rate? 0, or as sl_verbs_set_rate(). */
int sl_verbs_may_pace(const struct sl_tx *tx, const struct sl_pace_ask *ask);
/* The NIC holds the queue to that rate from now on, to the bytes of frames; 0: to none. -ERANGE: it
 * is not one of kbit/s; -EINVAL: the device cannot, or not at that rate; -ENOSPC and others: it has
 * no more rates. errno may change. */
int sl_verbs_set_rate(struct sl_tx *tx, const struct sl_pace_ask *ask);
/* Nothing is posted, or all of it has left. */
bool sl_verbs_is_idle(const struct sl_tx *tx);
/* How many packets were posted, and how many are known to have left, so far; and have so many? */
uint32_t sl_verbs_posted(const struct sl_tx *tx);
uint32_t sl_verbs_done(const struct sl_tx *tx);
bool sl_verbs_has_done(const struct sl_tx *tx, uint32_t posted);

/* What the device says of itself. 0 of what it has not (for raw packets). */
struct sl_verbs_caps {
	char device[64]; /* the RDMA device's name */
	char firmware[64];
	int raw_error; /* errno of an attempt to make a raw-packet queue pair, 0: it can be had */
	uint32_t inline_bytes;
	bool checksums;                        /* of sent packets, by the NIC */
	uint32_t tso_bytes;                    /* of one request */
	uint32_t pace_min_kbps, pace_max_kbps; /* rates of a queue pair, kbit/s */
	uint64_t memory_bytes;                 /* on the device */
	uint64_t clock_khz;                    /* of the time stamps of completions */
};
/* 0, or -ENODEV: it is no RDMA device, -ELIBACC: libibverbs is not installed (out->device is
 * filled), -errno. Opens the device anew; slow; for tools. */
int sl_verbs_caps(uint32_t ifindex, const char *ifname, uint32_t inline_bytes,
		  struct sl_verbs_caps *out);

/* In a forked child: closes the parent's devices. Async-signal-safe. */
void sl_verbs_child(void);

#endif
