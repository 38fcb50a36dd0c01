/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs backend: transmits the frames where they lie, by a raw-packet queue pair of the NIC.
 * Receive is AF_XDP's. libibverbs is loaded only when there is a device for it. */
#ifndef SL_VERBS_H
#define SL_VERBS_H

#include "base/pace.h"
#include "io/io.h"

struct sl_lane_stats;
/* An open queue, for logs and tools. */
struct sl_verbs_info {
	char device[64];       /* the RDMA device's name */
	uint32_t depth;        /* packets that can be under way */
	uint32_t inline_bytes; /* packets up to this are copied into the send queue */
	bool direct;           /* requests are written by us, not by libibverbs */
};

/* The queue that the caller wants. */
struct sl_verbs_want {
	uint32_t depth, inline_bytes; /* as in sl_verbs_info; depth a power of two */
	uint32_t device_bytes;        /* on-device memory for packets over inline_bytes; 0: none */
	struct sl_lane_stats *stats;  /* counters of on-device memory */
	struct sl_frames *frames;     /* the lane's; the queue gives sent frames back to it */
};

/* Opens a transmit queue on the network device, and fills info; the frame pool must be attached.
 * NULL: it cannot, and *why is the reason; NULL there if the device is no RDMA device. Slow; errno
 * may change. Not in a signal handler. */
struct sl_tx *sl_verbs_open(uint32_t ifindex, const char *ifname, const struct sl_verbs_want *want,
			    struct sl_verbs_info *info, const char **why);

/* The keeper calls this with the lane held: looks for events of the device, and whether completions
 * still come. */
void sl_verbs_check(struct sl_tx *tx, uint64_t now_ns);
/* Why the queue is dead (kick() returns -EIO then); NULL: it is not. */
const char *sl_verbs_dead(const struct sl_tx *tx);
/* For a queue whose kick() returned -EIO: moves up to n packets that certainly did not leave to
 * descs, in order; the caller owns them now. Returns how many. Packets that may have left go back
 * to the pool by close(). */
unsigned sl_verbs_unsent(struct sl_tx *tx, struct sl_tx_desc *descs, unsigned n);

/* Opens another queue on the device of an open one, like sl_verbs_open(), but without on-device
 * memory. */
struct sl_tx *sl_verbs_open_beside(struct sl_tx *beside, const struct sl_verbs_want *want,
				   const char **why);
/* Asks whether the queue's device claims to know that rate. 0, or an error as of
 * sl_verbs_set_rate(). */
int sl_verbs_may_pace(const struct sl_tx *tx, const struct sl_pace_ask *ask);
/* Has the NIC hold the queue to that rate from now on, counting bytes of frames; 0: no limit.
 * -ERANGE: no whole number of kbit/s is near enough; -EOPNOTSUPP, -EINVAL: the device cannot, or
 * not at that rate; -ENOSPC and others: it has no more rates. errno may change. */
int sl_verbs_set_rate(struct sl_tx *tx, const struct sl_pace_ask *ask);
/* True: nothing is posted, or all of it has left. Lane held. */
bool sl_verbs_is_idle(const struct sl_tx *tx);
/* Packets posted so far, and packets known to have left; both counts wrap. sl_verbs_has_done(): the
 * first `posted` packets have left. Lane held. */
uint32_t sl_verbs_posted(const struct sl_tx *tx);
uint32_t sl_verbs_done(const struct sl_tx *tx);
bool sl_verbs_has_done(const struct sl_tx *tx, uint32_t posted);

/* The device's abilities (for raw packets), as it reports them. 0: it has none. */
struct sl_verbs_caps {
	char device[64]; /* the RDMA device's name */
	char firmware[64];
	int raw_error; /* errno of an attempt to make a raw-packet queue pair, 0: it can be had */
	uint32_t inline_bytes;
	bool checksums;                        /* the NIC writes those of sent packets */
	uint32_t tso_bytes;                    /* most payload of one request */
	uint32_t pace_min_kbps, pace_max_kbps; /* rates of a queue pair, kbit/s */
	uint64_t memory_bytes;                 /* on-device memory */
	uint64_t clock_khz;                    /* rate of completions' time stamps */
};
/* Reads them. 0, -ENODEV: it is no RDMA device, -ELIBACC: libibverbs is not installed (out->device
 * is filled), else -errno. Opens the device anew; slow; for tools. */
int sl_verbs_caps(uint32_t ifindex, const char *ifname, uint32_t inline_bytes,
		  struct sl_verbs_caps *out);

/* In a forked child: closes the parent's devices. Async-signal-safe. */
void sl_verbs_child(void);

#endif
