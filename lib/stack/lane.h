/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane is what one thread needs to talk to the wire alone: frames, sockets, and a leg on each
 * port it is open on. lane.c deals lanes out; stack.c makes their turns. */
#ifndef SL_LANE_H
#define SL_LANE_H

#include <poll.h>

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/stats.h"
#include "io/frame.h"
#include "net/net.h"
#include "stack/train.h"

struct sl_lane_pace;
struct sl_leg;
struct sl_port;
struct sl_tcp;
struct sl_tcp_host;
struct sl_later;

#define SL_MAX_LANES SL_STATS_LANES

/* A packet for a socket of another lane. It is delivered after our own lane is released. */
struct sl_cross {
	struct sl_lane *lane;
	uint32_t slot, gen;
	bool after; /* what the other lane's rings have is older */
	struct sl_in in;
};

/* A program that writes many short messages in a row to a connection with TCP_NODELAY. */
struct sl_burst {
	const struct sl_tcp *of; /* the connection; compared only */
	uint32_t n;              /* writes close to each other, minus those that were not */
	uint64_t end_us;         /* end of the last write */
	uint64_t held_us;        /* since when something is held back */
};

/* A program that writes each answer in two pieces. */
struct sl_pair {
	const struct sl_tcp
		*of;       /* connection whose first piece waits for the second; compared only */
	uint32_t n;        /* answers in a row written in two pieces */
	uint64_t since_us; /* when the first piece was written */
};

#define SL_LANE_BATCH 64 /* SLUICE_CQ_POLL_BATCH_MAX up to this */

struct sl_lane {
	struct sl_lock lock;
	uint32_t id;
	uint32_t nlegs;
	struct sl_leg *leg[SL_STATS_PORTS];
	struct sl_lane_stats *stats;
	uint32_t turns; /* the keeper compares it: does a thread make turns? */
	uint32_t loads; /* turns that found packets */
	bool hot;       /* many loads a second; written by the keeper */
	bool turned; /* other threads made turns between the keeper's last two looks; the keeper's
		      */
	uint32_t leader;    /* thread id of the last thread whose wait ended with packets */
	uint32_t followers; /* threads that sleep and let others receive; atomic */
	uint32_t users;     /* sockets on the lane */
	uint32_t stamps;    /* hardware transmit stamps that a caller waits for */
	uint32_t sleepers;  /* threads that sleep on the lane's descriptors; atomic */
	bool left;          /* the last turn has left packets with the kernel (sl_rx.full) */
	bool expects;       /* a connection must answer the peer's next segment at once */
	bool attended;      /* the keeper watches the descriptors, or comes soon; the keeper's */
	bool watched;       /* a send queue has packets under way: the keeper must check it */
	/* Senders that wait for room. on_room() is called for them after a turn that reaped
	 * completions. */
	struct sl_list blocked;
	uint64_t room_next_us; /* when to check them at the latest, UINT64_MAX: none waits */
	void (*on_room)(struct sl_list *entry);
	struct sl_list reaped; /* sl_lane_on_reaped() is called for these after such a turn, too */
	/* TCP: state shared by the lane's connections, NULL until there are any. tcp_next_us: when
	 * timers must run at the latest, UINT64_MAX: never; written with the lane held, read by
	 * the keeper. */
	struct sl_tcp_host *tcp;
	uint64_t tcp_next_us;
	struct sl_later *later; /* segments that the keeper delivers (due.c); NULL: none ever */
	uint64_t later_us;      /* when it must, UINT64_MAX: there are none */
	bool paced;             /* packets wait for their send time (pace.c) */
	uint64_t pace_next_us;  /* send time of the first of them */
	struct sl_lane_pace *pace;
	struct sl_burst burst;
	struct sl_pair pair;
	struct sl_train train;
	bool crossing; /* a thread is delivering the packets of cross */
	uint32_t ncross, max_cross;
	struct sl_cross *cross;
	struct sl_dst_cache *dst;
	struct sl_sources *sources;
	struct sl_gro *gro; /* NULL until there is TCP, and when segments are not aggregated */
	struct sl_frames frames;
	/* The packets of a turn: here, since a program's thread may have a small stack. */
	struct sl_rx_desc descs[SL_LANE_BATCH + SL_RX_MORE];
} SL_ALIGNED;

/* Allocates the packet memory and the pool. on_room: called with the lane held for each waiting
 * sender when frames came back; it removes the entry from the list if the sender is served. */
int sl_stack_init(void (*on_room)(struct sl_list *entry));
/* Chooses the lane for a new socket by SLUICE_RING (ring allocation logic). NULL: no memory. */
struct sl_lane *sl_lane_pick(uint32_t ifindex, int fd);
/* sl_lane_pick() by the logic that the caller names. id: the socket's descriptor, or with
 * SL_RING_USER_ID the program's number. */
#define SL_RING_USER_ID 11
struct sl_lane *sl_lane_pick_by(int logic, uint32_t ifindex, uint32_t id);
/* The key of the calling thread's lane, if the setting gives each thread or core one; else 0. */
uint64_t sl_lane_key_here(void);
/* The lane for that key, made at first use. NULL: no memory. */
struct sl_lane *sl_lane_of_key(uint64_t key);
/* True: sl_lane_of_key() would give this lane, and make none. Any thread. */
bool sl_lane_fits(const struct sl_lane *lane, uint64_t key);
/* A lane without ports, for sockets that are on no port yet. */
extern struct sl_lane sl_limbo;
/* The lane's leg on the port, opened at first use. NULL: it cannot be opened. No lane held. */
struct sl_leg *sl_lane_leg(struct sl_lane *lane, struct sl_port *port);
/* Closes the lanes' legs on a port that retires; a lane that still uses such a leg sends nothing.
 * False: some could not be closed now. No lane held. */
bool sl_lanes_leave(struct sl_port *p);
/* nic.c: called by the keeper about once a second: takes down a NIC send queue that has failed. */
void sl_lanes_check(void);
/* nic.c: when the keeper must call sl_lanes_check() again, because a failed queue is due to be
 * reopened. UINT64_MAX: no need. */
uint64_t sl_lanes_look_us(void);
/* Protects the table of lanes and the opening of legs. */
extern struct sl_lock sl_lanes_lock;
/* The lanes' part of sl_stack_init(), sl_stack_renew() and sl_stack_child(). */
void sl_lanes_init(void (*on_room)(struct sl_list *entry));
void sl_lanes_renew(void);
void sl_lanes_child(void);
/* Calls fn for each lane that has a leg. */
void sl_lane_for_each(void (*fn)(struct sl_lane *lane, void *arg), void *arg);
/* depart.c: waits briefly until packets posted in zero-copy mode are sent. */
void sl_lanes_depart(void);

/* Locks the lane. False: this thread holds it already (signal handler): use the kernel. */
static inline bool sl_lane_lock(struct sl_lane *lane)
{
	return sl_lock(&lane->lock);
}

/* Locks the lane if no thread holds it. */
static inline bool sl_lane_trylock(struct sl_lane *lane)
{
	return sl_trylock(&lane->lock);
}
void sl_lane_cross_flush(struct sl_lane *lane);
static inline void sl_lane_unlock(struct sl_lane *lane)
{
	if (sl_unlikely(lane->ncross))
		sl_lane_cross_flush(lane); /* releases the lane */
	else
		sl_unlock(&lane->lock);
}

/* Queues the packet for a socket of another lane; the caller holds `from`. after: delivers it after
 * all that `to` has received; sl_lane_catch_up(), which the caller has set, takes that, and gets
 * the lane held. */
extern void (*sl_lane_catch_up)(struct sl_lane *lane);
void sl_lane_cross(struct sl_lane *from, struct sl_lane *to, uint32_t slot, const struct sl_in *in,
		   bool after);
/* Makes one turn: receives a batch, delivers it, gives frames back. Locks and unlocks the lane.
 * Returns the number of packets handled (0: nothing); never blocks. */
int sl_lane_turn(struct sl_lane *lane);
/* A turn by the keeper. -EBUSY: another thread holds the lane, and the keeper must not delay it. */
int sl_lane_try_turn(struct sl_lane *lane);
/* Called by the keeper: receives first, since ACKs that wait in the ring are no loss, then runs
 * the timers that are due. Does nothing if another thread holds the lane: the keeper comes again.
 * But if segments wait for the keeper (later_us), the keeper waits for the lane, since a thread
 * that spins would never leave the lane free. Lane not held. */
void sl_lane_run(struct sl_lane *lane);
/* A turn by a caller that holds the lane. */
int sl_lane_turn_locked(struct sl_lane *lane);
/* Descriptors that become readable when packets arrive. Writes at most max entries (events
 * POLLIN), returns how many there are. */
unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max);
#define SL_LANE_MAX_FDS 64
/* Takes back the frames of sent packets on all legs. */
void sl_lane_reap(struct sl_lane *lane);
/* Registers a sender that waits for room: later turns pass the entry to lane->on_room(). The
 * keeper makes such a turn every SL_ROOM_US. Lane held. */
#define SL_ROOM_US 1000
void sl_lane_block(struct sl_lane *lane, struct sl_list *entry);
/* Puts a socket into the lane's list of those that wait until the device has sent a frame. Each
 * turn that takes frames back passes the entry to sl_lane_on_reaped(), which removes it if the
 * socket waits no more. Lane held. */
void sl_lane_block_reaped(struct sl_lane *lane, struct sl_list *entry);
extern void (*sl_lane_on_reaped)(struct sl_list *entry);

/* Takes a frame to fill; reaps completions when there are few. SL_NO_FRAME: none free. */
uint32_t sl_lane_frame_slow(struct sl_lane *lane);
static inline uint32_t sl_lane_frame(struct sl_lane *lane)
{
	uint32_t f;

	if (sl_unlikely(lane->frames.n == 0))
		return sl_lane_frame_slow(lane);
	f = lane->frames.idx[--lane->frames.n];
	sl_frame_own(f, 1);
	return f;
}

/* The destination, from the lane's cache; lane held. */
struct sl_dst *sl_lane_dst(struct sl_lane *lane, const struct sl_route_key *key, uint64_t now_ns);
/* Like that, for the answer to a SYN: see sl_dst_get_alike(). */
struct sl_dst *sl_lane_dst_alike(struct sl_lane *lane, const struct sl_route_key *key,
				 uint64_t now_ns);
/* Called by the keeper: asks the kernel again for destinations that grew old in the lane's cache.
 * Lane not held. */
void sl_lane_ask_aged(struct sl_lane *lane);
/* In a child of fork, where the lanes belong to the parent: closes descriptors.
 * Async-signal-safe. */
void sl_stack_child(void);
/* Call after sl_ports_leave(), when no socket holds a frame: lanes and devices can be opened
 * again, with new packet memory. */
void sl_stack_renew(void);

#endif
