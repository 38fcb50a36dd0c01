/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes and ports. A lane is what one thread needs to talk to the wire alone: frames, sockets, and
 * a leg on each port it is open on (one XSK for each RX queue, one transmit queue). A port is a
 * device taken into use. */
#ifndef SL_STACK_H
#define SL_STACK_H

#include <poll.h>

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"
#include "ctl/front/broker.h"
#include "ctl/rules/rule.h"
#include "io/verbs.h"
#include "io/xsk.h"
#include "net/net.h"
#include "stack/pace.h"
#include "tcp/tcp.h"

#define SL_MAX_LANES SL_STATS_LANES

/* Does the kernel enable hardware time stamps for packets that a device sends? */
enum sl_os_stamps { SL_OS_STAMPS_UNKNOWN, SL_OS_STAMPS_NO, SL_OS_STAMPS_YES };

struct sl_port {
	struct sl_port_info info;
	uint32_t index; /* place in the table of ports */
	/* A VLAN device uses the queues and the steering program of the device below it. */
	struct sl_port *base; /* port of the device below a VLAN device; NULL: not a VLAN device */
	uint32_t lower;       /* ifindex of the device whose steering maps hold the claims */
	uint32_t vlan;        /* as in struct sl_flow_key */
	uint32_t vlan_nr;     /* number in sl_in_vlan and in the claims; 0: not a VLAN device */
	bool tags; /* the steering program sees VLAN tags; guarded by the lock of ports */
	bool left; /* the VLAN device changed and cannot be offloaded: the kernel gets its packets
		    */
	struct sl_port_stats *stats;
	uint8_t os_stamps; /* enum sl_os_stamps */
	bool emptied;      /* the device no longer exists and its fill rings were emptied */
	uint8_t gone;      /* times the keeper has looked since the steering program was detached */
	bool retired;      /* free place in the table, until another device takes it (retire.c) */
	bool cost_link;    /* opening the port took its link down */
	uint64_t restart_ns; /* link and neighbours may be missing until then; 0: the link was up */
	struct sl_xsk_counts
		counted; /* kernel counts already added to stats; used by the keeper only */
	struct sl_xsk_queue queue[SL_MAX_QUEUES];
};

/* A lane's presence on a port. */
struct sl_leg {
	struct sl_port *port;
	struct sl_lane *lane;
	struct sl_tx *tx;
	struct sl_leg *below; /* the leg that carries a VLAN device's packets; else NULL */
	struct sl_tx *verbs;  /* the NIC's own send queue, used by tx now or before; NULL: none, or
				 below has it */
	uint64_t verbs_ns;    /* when the queue was opened or, after a failure, when to try for a
				 new one; 0: never had one */
	uint32_t verbs_wait;  /* seconds to wait, doubled after each failure */
	uint32_t first;       /* first index in the table `lanes`, used in claims */
	uint32_t nqueues;     /* 0 for a VLAN device */
	uint32_t tx_queue;    /* queue of the XSK that sends when there is no verbs queue */
	bool dead;            /* the device is gone: nothing is sent any more */
	bool again;           /* the last kick did not start every packet */
	struct sl_tx none;    /* tx points here after the leg was closed (retire.c) */
	struct sl_xsk xsk[];
};

/* A packet for a socket of another lane. It is delivered after our own lane is released. */
struct sl_cross {
	struct sl_lane *lane;
	uint32_t slot, gen;
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

/* The TCP packet posted last, which the device segments (TSO), and the fields that the next
 * segment must match to be appended to it. */
struct sl_train {
	const struct sl_tx *tx;
	uint32_t open;  /* tx->open when it was posted; 0: no packet can be continued */
	const void *of; /* the connection; compared only */
	uint8_t *flags; /* TCP flags byte in its header */
	uint8_t hdr;    /* header bytes */
	uint8_t n;      /* segments so far */
	uint32_t bytes; /* payload bytes so far */
	struct sl_tcp_seg first;
};

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
	bool keeper_asleep; /* the keeper sleeps on the lane's descriptors */
	bool watched;       /* a send queue has packets under way: the keeper must check it */
	/* Senders that wait for room. on_room() is called for them after a turn that reaped
	 * completions. */
	struct sl_list blocked;
	uint64_t room_next_us; /* when to check them at the latest, UINT64_MAX: none waits */
	void (*on_room)(struct sl_list *entry);
	/* TCP: state shared by the lane's connections, NULL until there are any. tcp_next_us: when
	 * timers must run at the latest, UINT64_MAX: never; written with the lane held, read by
	 * the keeper. */
	struct sl_tcp_host *tcp;
	uint64_t tcp_next_us;
	bool paced;            /* packets wait for their send time (pace.c) */
	uint64_t pace_next_us; /* send time of the first of them */
	struct sl_lane_pace *pace;
	struct sl_burst burst;
	struct sl_pair pair;
	struct sl_train train;
	bool crossing; /* a thread is delivering the packets of cross */
	uint32_t ncross, max_cross;
	struct sl_cross *cross;
	struct sl_dst_cache *dst;
	struct sl_sources *sources;
	struct sl_frames frames;
} SL_ALIGNED;

/* Allocates the packet memory and the pool. on_room: called with the lane held for each waiting
 * sender when frames came back; it removes the entry from the list if the sender is served. */
int sl_stack_init(void (*on_room)(struct sl_list *entry));

/* Ports ---------------------------------------------------------------------------------------- */

/* Opens the device for offload, or returns its open port. NULL: not possible (logged once for each
 * device and reason). Slow; any thread, no lane held. */
struct sl_port *sl_port_open(uint32_t ifindex);
/* Called when a signal handler needs a device that is not open: another thread will open it. */
extern void (*sl_port_put_off)(void);
/* Tells the port that its device changed. A VLAN device may be down, gone, or no longer one that
 * can be offloaded. No lane held. */
void sl_port_link_changed(struct sl_port *p, const struct sl_link *link, bool gone);
/* The device whose queues carry this device's packets: the one below a VLAN device, else itself. */
uint32_t sl_port_lower(uint32_t ifindex);
/* Bytes of the longest IP packet that its queues can receive. */
uint32_t sl_port_rx_mtu(const struct sl_port *p);
/* Source MAC address for packets out of p. Lowers *mtu where two VLAN tags leave less room. */
void sl_port_wire(const struct sl_port *p, uint8_t smac[6], uint32_t *mtu);
/* The open port, or NULL. */
struct sl_port *sl_port_find(uint32_t ifindex);
/* restart.c: some drivers take the link down when a port is opened. Call sl_port_opened() after
 * opening and sl_port_has_link() when the link is up. sl_port_cost_link(): opening took the link
 * down and nobody has seen it come back. sl_port_wait_link() sleeps until it is back. */
void sl_port_opened(struct sl_port *p);
void sl_port_has_link(struct sl_port *p);
bool sl_port_cost_link(const struct sl_port *p);
void sl_port_wait_link(struct sl_port *p);
/* sl_port_restarts(): the link or the neighbours may still be missing. sl_port_restarted(): that
 * time is over, and had not ended at since_ns. */
bool sl_port_restarts(const struct sl_port *p);
bool sl_port_restarted(const struct sl_port *p, uint64_t since_ns);
struct sl_port *sl_port_at(uint32_t index); /* from 0 on; NULL: no more */
void sl_port_child(void);                   /* in a child of fork: forgets all ports */
/* True: the device no longer exists. No packet comes for its claims; only the guard reads them. */
bool sl_port_is_gone(const struct sl_port *port);
/* Applies the rules in force to a socket: those of the port, or with NULL those of the
 * configuration file. Arguments and result as sl_rule_decide(). Counts the decision in the rule's
 * `hits`. */
enum sl_rule_action sl_port_decide(const struct sl_port *port, uint32_t role,
				   const struct sl_addr *first, uint16_t first_port,
				   const struct sl_addr *second, uint16_t second_port);
/* Called by the keeper about once a second. Counts packets that the kernel dropped and checks that
 * the steering program is still attached. If somebody detached it (`ip link set dev X xdp off`),
 * the kernel gets the port's traffic for good: this is logged once, and only the next process
 * attaches the program again. No lane held. */
void sl_ports_check(void);
/* True: another device may reuse the port's place (retire.c). Called by the keeper. */
bool sl_port_may_retire(const struct sl_port *p);
void sl_port_vlan_over(const struct sl_port *p); /* frees its VLAN number for reuse */
/* Frees p's place after sl_port_may_retire() said true. Call without a lane's lock. */
void sl_port_retire(struct sl_port *p);
/* sl_ports_leave() retires every port, used or not, and refuses to open ports until
 * sl_ports_close(false). Call after sl_policy_stop(), so that the policy uses none of them. */
void sl_ports_leave(void);
void sl_ports_close(bool closed);
/* Call when the device is gone or changed: a past failure to open it no longer counts. */
void sl_port_forget(uint32_t ifindex);
/* True: the configuration allows the device (SLUICE_DEVICES) and its kind can be offloaded. */
bool sl_port_allowed(const struct sl_link *link);

/* Lanes ---------------------------------------------------------------------------------------- */

/* Chooses the lane for a new socket by SLUICE_RING (ring allocation logic). NULL: no memory. */
struct sl_lane *sl_lane_pick(uint32_t ifindex, int fd);
/* A lane without ports, for sockets that are on no port yet. */
extern struct sl_lane sl_limbo;
/* The lane's leg on the port, opened at first use. NULL: it cannot be opened. No lane held. */
struct sl_leg *sl_lane_leg(struct sl_lane *lane, struct sl_port *port);
/* Closes the lanes' legs on a port that retires; a lane that still uses such a leg sends nothing.
 * False: some could not be closed now. No lane held. */
bool sl_lanes_leave(struct sl_port *p);
/* True: sl_leg_close() has closed this leg. */
static inline bool sl_leg_is_closed(const struct sl_leg *leg)
{
	return leg->tx == &leg->none;
}
/* Marks the leg closed; the caller has closed its tables and rings. Lane held. */
void sl_leg_close(struct sl_leg *leg);
/* Called by the keeper about once a second: takes down a NIC send queue that has failed. */
void sl_lanes_check(void);
/* When the keeper must call sl_lanes_check() again, because a failed queue is due to be reopened.
 * UINT64_MAX: no need. */
uint64_t sl_lanes_look_us(void);
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

/* Queues the packet for a socket of another lane; the caller holds `from`. */
void sl_lane_cross(struct sl_lane *from, struct sl_lane *to, uint32_t slot, const struct sl_in *in);

/* Makes one turn: receives a batch, delivers it, gives frames back. Locks and unlocks the lane.
 * Returns the number of packets handled (0: nothing); never blocks. */
int sl_lane_turn(struct sl_lane *lane);
/* A turn by the keeper. -EBUSY: another thread holds the lane, and the keeper must not delay it. */
int sl_lane_try_turn(struct sl_lane *lane);
/* A turn by a caller that holds the lane. */
int sl_lane_turn_locked(struct sl_lane *lane);

/* Descriptors that become readable when packets arrive. Writes at most max entries (events
 * POLLIN), returns how many there are. */
unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max);
#define SL_LANE_MAX_FDS 64

/* A packet wakes every thread that sleeps on a lane's descriptors. To avoid that, a thread follows
 * while another thread uses the lane heavily: it sleeps on its own bell only and checks from time
 * to time (SL_FOLLOW_NS) that the other still does. The leader sleeps on the descriptors, works or
 * spins. loads: lane->loads at the last check, updated. */
static inline bool sl_lane_is_led(const struct sl_lane *lane, uint32_t *loads)
{
	uint32_t before = *loads, leader = sl_load(&lane->leader);

	*loads = sl_load(&lane->loads);
	return sl_load(&lane->hot) && leader && leader != sl_tid() && *loads != before;
}
/* Makes this thread the leader: its wait ended with packets. A thread with fewer than
 * SL_LEADS_AFTER such waits cannot lead: it may serve one connection and exit, and its followers
 * would notice late. */
extern __thread uint32_t sl_waits_ended __attribute__((tls_model("initial-exec")));
#define SL_LEADS_AFTER 16u
static inline void sl_lane_lead(struct sl_lane *lane)
{
	uint32_t me = sl_tid();

	if (sl_unlikely(sl_waits_ended < SL_LEADS_AFTER)) {
		sl_waits_ended++;
		return;
	}
	if (sl_load(&lane->leader) != me)
		sl_store(&lane->leader, me);
}
/* Gives up the lead: this thread closes a socket and may never wait again. */
static inline void sl_lane_leave(struct sl_lane *lane)
{
	if (sl_load(&lane->leader) == sl_tid())
		sl_store(&lane->leader, 0);
}
/* Initial *loads for sl_lane_is_led(), so that any load counts. */
static inline uint32_t sl_lane_no_loads(const struct sl_lane *lane)
{
	return sl_load(&lane->loads) - 1;
}
/* Starts following: returns how long the thread may sleep before it calls sl_lane_unfollow(). Two
 * followers check often; the others (even a thousand) rely on these two and on the keeper, which
 * receives what no other thread does. */
#define SL_FOLLOW_NS      1000000
#define SL_FOLLOW_LATE_NS 10000000
static inline uint64_t sl_lane_follow(struct sl_lane *lane)
{
	uint32_t n = __atomic_fetch_add(&lane->followers, 1, __ATOMIC_RELAXED);

	return n < 2 ? SL_FOLLOW_NS : SL_FOLLOW_LATE_NS * (1 + sl_min(n, 512u) / 8ull);
}
static inline void sl_lane_unfollow(struct sl_lane *lane)
{
	__atomic_fetch_sub(&lane->followers, 1, __ATOMIC_RELAXED);
}

/* Transmit, lane held: posts a frame whose packet starts at off; the kick starts it. False: no
 * room now (the caller keeps the frame). */
bool sl_leg_post_desc(struct sl_leg *leg, const struct sl_tx_desc *d);
static inline bool sl_leg_post(struct sl_leg *leg, uint32_t frame, uint16_t off, uint16_t len)
{
	struct sl_tx_desc d = {.frame = frame, .off = off, .len = len};

	return sl_leg_post_desc(leg, &d);
}
/* Posts a packet in n frames, all or none. The leg's caps must have SL_TX_SG. */
bool sl_leg_post_long(struct sl_leg *leg, const struct sl_tx_desc *d, unsigned n);
/* Posts a TCP segment with d->hdr bytes of headers; of: the connection. On a device with TSO the
 * next segments may be appended to it (sl_train_post()); where they may not, d->hdr is set to 0. */
bool sl_leg_post_tcp(struct sl_leg *leg, struct sl_tx_desc *d, const struct sl_tcp_seg *seg,
		     const void *of);
/* True: seg continues the packet posted last, so that sl_train_post() can append its bytes without
 * headers. */
bool sl_train_takes(const struct sl_leg *leg, const struct sl_tcp_seg *seg, const void *of);
bool sl_train_post(struct sl_leg *leg, uint32_t frame, uint16_t off, const struct sl_tcp_seg *seg);
/* Asks for the time at which the packet posted last leaves; sl_tx_on_stamp reports it. False: the
 * device cannot, or too many are asked for. Lane held. */
bool sl_leg_stamp(struct sl_leg *leg, void *who, uint64_t what);
static inline bool sl_leg_has_stamps(const struct sl_leg *leg)
{
	return leg->tx->caps & SL_TX_STAMP;
}
/* Takes back the frames of sent packets on all legs. */
void sl_lane_reap(struct sl_lane *lane);
/* Number of descriptors that can be posted now. */
static inline uint32_t sl_leg_room(const struct sl_leg *leg)
{
	return leg->tx->ops->room ? leg->tx->ops->room(leg->tx) : UINT32_MAX;
}
/* Registers a sender that waits for room: later turns pass the entry to lane->on_room(). The
 * keeper makes such a turn every SL_ROOM_US. Lane held. */
#define SL_ROOM_US 1000
void sl_lane_block(struct sl_lane *lane, struct sl_list *entry);
/* Starts the posted packets. 0 (also while the link is down: frames wait on the ring), -EAGAIN
 * (ring full) or -ENODEV (the device is gone: the leg is dead). */
int sl_leg_kick(struct sl_leg *leg);
/* nic.c: gives a new leg the NIC's own send queue, if one is available. */
void sl_leg_open_verbs(struct sl_leg *leg);
/* True: the leg sends by the NIC's own queue. */
static inline bool sl_leg_is_by_nic(const struct sl_leg *leg)
{
	const struct sl_leg *own = leg;

	while (own->below)
		own = own->below;
	return own->verbs && leg->tx == own->verbs;
}
/* Makes the leg send by AF_XDP after its NIC queue failed (a kick returned -EIO). Lane held. */
void sl_leg_leave_verbs(struct sl_leg *leg);
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
/* Called by the keeper: asks the kernel again for destinations that grew old in the lane's cache.
 * Lane not held. */
void sl_lane_ask_aged(struct sl_lane *lane);

/* TCP on a lane -------------------------------------------------------------------------------- */

/* Sets the operations for the lanes' hosts. Call once, before the first host is made. Gets the
 * secret for sequence numbers from the kernel. 0 or -errno. */
int sl_stack_tcp_init(const struct sl_tcp_ops *ops);
/* The lane's TCP host, made at the first call; its owner is the lane. NULL: no memory, or
 * sl_limbo. Lane not held. */
struct sl_tcp_host *sl_lane_tcp(struct sl_lane *lane);
/* Call these two around calls of lib/tcp for the lane's connections outside a turn, lane held.
 * begin() tells the host the time. done() sends what is due (ACKs, data), starts it, and makes
 * sure that the timers will run. Do not call them in lib/tcp's callbacks: the turn does it. */
void sl_lane_tcp_begin(struct sl_lane *lane);
void sl_lane_tcp_done(struct sl_lane *lane);
/* Call instead of done() after a write of n bytes to c. It may hold back a short write that is one
 * of many in a row, or the first of a likely pair, until the next write, turn or call, or until
 * the keeper comes (hold.c). fresh: before the write, c had nothing unsent or unacknowledged.
 * sl_tcp_append() needs neither begin() nor done(), but must not be used for the second write of a
 * pair. */
void sl_lane_tcp_wrote(struct sl_lane *lane, const struct sl_tcp *c, size_t n, bool fresh);
/* True: c's first write of a pair is held back and the second is expected. */
static inline bool sl_lane_tcp_awaits(const struct sl_lane *lane, const struct sl_tcp *c)
{
	return lane->pair.of == c;
}
#define SL_HOLD_US 32
/* True: a burst of short writes is or was a moment ago under way. Called by the keeper. */
bool sl_lane_is_bursting(const struct sl_lane *lane, uint64_t now_us);
/* How much later than SL_HOLD_US the keeper may come for the data held back now. */
uint64_t sl_lane_hold_late_us(const struct sl_lane *lane);
/* End of a turn: sl_lane_tcp_turn() if TCP received something, else sl_lane_tcp_idle(). Lane
 * held. */
void sl_lane_tcp_turn(struct sl_lane *lane);
void sl_lane_tcp_idle(struct sl_lane *lane);
/* End of a turn that found nothing while data were held back. Lane held. */
void sl_lane_tcp_late(struct sl_lane *lane);
/* Called by the keeper about once a second: frees frames if they are short, even if the lane
 * receives nothing. Lane not held. */
void sl_lane_tcp_relieve(struct sl_lane *lane);
/* Sends the ACKs that were delayed in the hope of more data. Call before a thread that made the
 * lane's turns sleeps. Lane not held. */
void sl_lane_tcp_sleeps(struct sl_lane *lane);

/* When the keeper must be awake ---------------------------------------------------------------- */

/* Lowers *next of a held lane to next_us. Wakes the keeper if it would otherwise sleep more than
 * late_us beyond that. */
void sl_lane_due(uint64_t *next, uint64_t next_us, uint64_t late_us);
/* True: timers of the lane must run at that time. Any thread. */
bool sl_lane_is_due(const struct sl_lane *lane, uint64_t at_us);
/* True: paced packets wait. Any thread. */
static inline bool sl_lane_is_paced(const struct sl_lane *lane)
{
	return sl_load(&lane->paced);
}
/* Called by the keeper: receives first, since ACKs that wait in the ring are no loss, then runs
 * the timers that are due. Does nothing if another thread holds the lane: the keeper comes again.
 * Lane not held. */
void sl_lane_run(struct sl_lane *lane);
/* Wakes the keeper in time to fetch a transmit stamp that no other thread may fetch. Lane held. */
void sl_lane_await(struct sl_lane *lane);
/* Sets lane->watched: the keeper must check a send queue with packets under way. Lane held. */
void sl_lane_watch(struct sl_lane *lane);
/* Called by the keeper before it sleeps, at least until least_us and at most until until_us.
 * Returns when it must wake to run timers; arming a nearer timer wakes it earlier. For lanes that
 * other threads turn (they run TCP timers themselves) it does not wake before turned_us. It checks
 * watched lanes at watch_us. */
uint64_t sl_lanes_sleep(uint64_t until_us, uint64_t least_us, uint64_t turned_us,
			uint64_t watch_us);
void sl_lanes_awake(void);
void sl_lanes_due_child(void); /* in a child of fork: there is no keeper */

/* hwclock.c: converts a receive stamp of the device's clock into the clock that the settings ask
 * for; 0: not known. May make a system call, once a second. Any lane may be held. */
uint64_t sl_hw_time(uint32_t ifindex, uint64_t phc_ns);
/* True: the kernel enables hardware stamps for packets sent by the port. Asks it once. */
bool sl_port_os_stamps(struct sl_port *port);
void sl_hwclock_child(void); /* in a child of fork */

/* In a child of fork, where the lanes belong to the parent: closes descriptors.
 * Async-signal-safe. */
void sl_stack_child(void);
/* Call after sl_ports_leave(), when no socket holds a frame: lanes and devices can be opened
 * again, with new packet memory. */
void sl_stack_renew(void);

#endif
