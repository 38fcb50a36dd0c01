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
#include "ctl/broker.h"
#include "ctl/rule.h"
#include "io/verbs.h"
#include "io/xsk.h"
#include "net/net.h"
#include "stack/pace.h"
#include "tcp/tcp.h"

#define SL_MAX_LANES SL_STATS_LANES

/* Does the kernel have the hardware stamp what it sends on a device? */
enum sl_os_stamps { SL_OS_STAMPS_UNKNOWN, SL_OS_STAMPS_NO, SL_OS_STAMPS_YES };

struct sl_port {
	struct sl_port_info info;
	uint32_t index; /* in the table of ports */
	/* A VLAN device goes by the queues and the steering program of the one below. */
	struct sl_port *base; /* that port, NULL: it is none */
	uint32_t lower;       /* index of the device whose maps have the claims */
	uint32_t vlan;        /* as in struct sl_flow_key */
	uint32_t vlan_nr;     /* in sl_in_vlan and the claims; 0: it is none */
	bool tags;            /* the steering program sees them; under the lock of ports */
	bool left;            /* the VLAN device is not what it was: its packets are the kernel's */
	struct sl_port_stats *stats;
	uint8_t os_stamps; /* enum sl_os_stamps */
	bool emptied;      /* the device does not exist any more, and its fill rings were emptied */
	uint8_t gone;      /* looks of the keeper since the steering program was taken off */
	bool retired;      /* none, until another device has it (retire.c) */
	bool cost_link;    /* its link is away because it was opened */
	uint64_t restart_ns; /* until then its link and its neighbours may be away; 0: it had one */
	struct sl_xsk_counts counted; /* what of the kernel's counts stats has; the keeper's */
	struct sl_xsk_queue queue[SL_MAX_QUEUES];
};

/* A lane's presence on a port. */
struct sl_leg {
	struct sl_port *port;
	struct sl_lane *lane;
	struct sl_tx *tx;
	struct sl_leg *below; /* a VLAN device's packets come and go by this one; else NULL */
	struct sl_tx
		*verbs;    /* the NIC's own queue that tx is or was; NULL: none, or it is below's */
	uint64_t verbs_ns; /* it had one: when to look for another */
	uint32_t verbs_wait; /* seconds, doubled each time */
	uint32_t first;      /* index into `lanes`, for claims */
	uint32_t nqueues;    /* 0 for a VLAN device */
	uint32_t tx_queue;   /* of the XSK by which it sends, without verbs */
	bool dead;           /* the device is gone: nothing is sent any more */
	bool again;          /* the last kick has not started all */
	struct sl_tx none;   /* what tx is once it is closed (retire.c) */
	struct sl_xsk xsk[];
};

/* A packet for a socket of another lane, delivered after our own lane is released. */
struct sl_cross {
	struct sl_lane *lane;
	uint32_t slot, gen;
	struct sl_in in;
};

/* A program that writes one short message after the other to a connection with TCP_NODELAY. */
struct sl_burst {
	const struct sl_tcp *of; /* compared only */
	uint32_t n;              /* writes that came close upon another, less those that did not */
	uint64_t end_us;         /* of the last write */
	uint64_t held_us;        /* since when something is held back */
};

/* A program that writes each answer in two pieces. */
struct sl_pair {
	const struct sl_tcp *of; /* whose first piece waits for its second; compared only */
	uint32_t n;              /* answers in a row that had two */
	uint64_t since_us;       /* when the first was written */
};

/* The large TCP segment that was posted last, and what another one must be to carry it on. */
struct sl_train {
	const struct sl_tx *tx;
	uint32_t open;  /* of tx; 0: there is none */
	const void *of; /* the connection; compared only */
	uint8_t *flags; /* in the header */
	uint8_t hdr;    /* bytes of header */
	uint8_t n;      /* segments */
	uint32_t bytes; /* of payload */
	struct sl_tcp_seg first;
};

struct sl_lane {
	struct sl_lock lock;
	uint32_t id;
	uint32_t nlegs;
	struct sl_leg *leg[SL_STATS_PORTS];
	struct sl_lane_stats *stats;
	uint32_t turns;  /* counted for the keeper: does the owner come by? */
	uint32_t loads;  /* turns that found packets */
	bool hot;        /* many of these a second; the keeper's to say */
	bool turned;     /* others made turns since the keeper's last look but one; the keeper's */
	uint32_t leader; /* thread id: whose wait ended last with something for it */
	uint32_t followers; /* threads that leave it to others to take what comes; atomic */
	uint32_t users;     /* sockets on it */
	uint32_t stamps;    /* transmit stamps of the hardware that somebody waits for */
	bool keeper_asleep; /* the keeper waits on its descriptors */
	bool watched;       /* something is under way in a queue that the keeper is to look at */
	/* Told at the end of a turn that reaped completions: somebody waits for room to send. */
	struct sl_list blocked;
	uint64_t room_next_us; /* when they are to be looked at the latest, UINT64_MAX: none */
	void (*on_room)(struct sl_list *entry);
	/* TCP: what its connections share, NULL until there are any. tcp_next_us: when timers are
	 * to be run at the latest, UINT64_MAX: none; written with the lane held, read by the
	 * keeper. */
	struct sl_tcp_host *tcp;
	uint64_t tcp_next_us;
	bool paced;            /* packets wait for their time (pace.c) */
	uint64_t pace_next_us; /* and the first to go, when they do */
	struct sl_lane_pace *pace;
	struct sl_burst burst;
	struct sl_pair pair;
	struct sl_train train;
	bool crossing; /* a thread is delivering what was in cross */
	uint32_t ncross, max_cross;
	struct sl_cross *cross;
	struct sl_dst_cache *dst;
	struct sl_sources *sources;
	struct sl_frames frames;
} SL_ALIGNED;

/* Makes the packet memory and the pool. on_room: called for each entry of a lane's list of blocked
 * senders when frames came back, lane held; it takes the entry off the list if it is done. */
int sl_stack_init(void (*on_room)(struct sl_list *entry));

/* Ports ---------------------------------------------------------------------------------------- */

/* Takes the device into use, or finds that it is. NULL: it cannot be (said in the log once for
 * each device and reason). Slow; any thread, no lane held. */
struct sl_port *sl_port_open(uint32_t ifindex);
/* Called when a signal handler wants a device that is not open yet: another thread opens it. */
extern void (*sl_port_put_off)(void);
/* The device has changed: a VLAN device may be down, gone, or the kernel's now. No lane held. */
void sl_port_link_changed(struct sl_port *p, const struct sl_link *link, bool gone);
/* The device whose queues it goes by: that below a VLAN device, else itself. */
uint32_t sl_port_lower(uint32_t ifindex);
/* Bytes of the longest IP packet that comes by its queues. */
uint32_t sl_port_rx_mtu(const struct sl_port *p);
/* How packets leave it: the source address, and, in *mtu, which is lowered, their length. */
void sl_port_wire(const struct sl_port *p, uint8_t smac[6], uint32_t *mtu);
/* The open port, or NULL. */
struct sl_port *sl_port_find(uint32_t ifindex);
/* restart.c: the link may be away because the port was opened. It just was; the link is there; is
 * it away for that, or was when last waited for; waits for it. */
void sl_port_opened(struct sl_port *p);
void sl_port_has_link(struct sl_port *p);
bool sl_port_cost_link(const struct sl_port *p);
void sl_port_wait_link(struct sl_port *p);
/* May it be so still; is that over for what has waited since then? */
bool sl_port_restarts(const struct sl_port *p);
bool sl_port_restarted(const struct sl_port *p, uint64_t since_ns);
struct sl_port *sl_port_at(uint32_t index); /* each of them, from 0 on; NULL: no more */
void sl_port_child(void);                   /* in a child: there are none */
/* Its device is no more: nothing comes by its claims, the guard alone reads them. */
bool sl_port_is_gone(const struct sl_port *port);
/* What the rules in force say of a socket: those of the port, or, with NULL, of the configuration
 * file. Arguments and result as sl_rule_decide(). Counts the decision in the rule's `hits`. */
enum sl_rule_action sl_port_decide(const struct sl_port *port, uint32_t role,
				   const struct sl_addr *first, uint16_t first_port,
				   const struct sl_addr *second, uint16_t second_port);
/* The keeper's, about once a second: counts what the kernel dropped, and sees whether the steering
 * program is still attached. Once it is not, the port's traffic is the kernel's for good (somebody
 * took it off on purpose, with `ip link set dev X xdp off`): it is said once, and the program is
 * attached again only by the next process. No lane held. */
void sl_ports_check(void);
/* May its place be another device's (retire.c)? The keeper's. */
bool sl_port_may_retire(const struct sl_port *p);
void sl_port_vlan_over(const struct sl_port *p); /* its number may be another's */
/* It is. No lane held. */
void sl_port_retire(struct sl_port *p);
/* All of them, whatever is left there, and none is opened again before sl_ports_close(false). The
 * policy looks at none any more (sl_policy_stop()). */
void sl_ports_leave(void);
void sl_ports_close(bool closed);
/* The device is gone or changed: forget that it could not be opened. */
void sl_port_forget(uint32_t ifindex);
/* May the configuration have it (SLUICE_DEVICES), and is it of a kind that can be offloaded? */
bool sl_port_allowed(const struct sl_link *link);

/* Lanes ---------------------------------------------------------------------------------------- */

/* The lane for a new socket by SLUICE_RING (ring allocation logic). NULL: no memory. */
struct sl_lane *sl_lane_pick(uint32_t ifindex, int fd);
/* A lane that is on no port, for sockets that have none yet. */
extern struct sl_lane sl_limbo;
/* The lane's leg on the port, opened at first use. NULL: cannot be had. No lane held. */
struct sl_leg *sl_lane_leg(struct sl_lane *lane, struct sl_port *port);
/* Closes the lanes' legs on a port that retires; what lanes still find of them sends nothing.
 * False: some could not be closed now. No lane held. */
bool sl_lanes_leave(struct sl_port *p);
/* A leg like that. */
static inline bool sl_leg_is_closed(const struct sl_leg *leg)
{
	return leg->tx == &leg->none;
}
/* Makes one of it: its tables and rings are closed already. Lane held. */
void sl_leg_close(struct sl_leg *leg);
/* The keeper's, about once a second: a transmit queue of the NIC that has failed is taken down. */
void sl_lanes_check(void);
/* When it is to be done again, though nothing happens, for one that is to come back. UINT64_MAX:
 * there is none. The keeper's. */
uint64_t sl_lanes_look_us(void);
/* Calls fn for each lane that has a leg. */
void sl_lane_for_each(void (*fn)(struct sl_lane *lane, void *arg), void *arg);
/* depart.c: waits, not for long, until what was posted in zero-copy mode is sent. */
void sl_lanes_depart(void);

/* Takes the lane. False: this thread has it already (signal handler): use the kernel. */
static inline bool sl_lane_lock(struct sl_lane *lane)
{
	return sl_lock(&lane->lock);
}
/* Takes the lane if nobody has it. */
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

/* Hands the packet to a socket of another lane; our lane is held. */
void sl_lane_cross(struct sl_lane *from, struct sl_lane *to, uint32_t slot, const struct sl_in *in);

/* One turn: receive a batch, deliver it, give frames back. Takes and releases the lane's lock.
 * Returns the number of packets handled (0: nothing), never blocks. */
int sl_lane_turn(struct sl_lane *lane);
/* The same for the keeper. -EBUSY: somebody has the lane, and is not to be kept from it. */
int sl_lane_try_turn(struct sl_lane *lane);
/* The same with the lane held. */
int sl_lane_turn_locked(struct sl_lane *lane);

/* The descriptors that become readable when packets arrive. Writes at most max entries (events
 * POLLIN), returns how many there are. */
unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max);
#define SL_LANE_MAX_FDS 64

/* A packet wakes all who sleep on a lane's descriptors. So who sleeps while the lane is in heavy
 * use by another thread follows: it waits for its bell alone, and has a look at times
 * (SL_FOLLOW_NS) whether that is still so. The leader is on the descriptors, or busy, or spins.
 * loads: the lane's at the last look, written. */
static inline bool sl_lane_is_led(const struct sl_lane *lane, uint32_t *loads)
{
	uint32_t before = *loads, leader = sl_load(&lane->leader);

	*loads = sl_load(&lane->loads);
	return sl_load(&lane->hot) && leader && leader != sl_tid() && *loads != before;
}
/* A wait has ended with something. Nobody follows a thread that has waited a few times only: it may
 * be one that serves a connection and goes, and who followed it would find out late. */
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
/* It closes a socket, and may wait no more. */
static inline void sl_lane_leave(struct sl_lane *lane)
{
	if (sl_load(&lane->leader) == sl_tid())
		sl_store(&lane->leader, 0);
}
/* For the first look: any load counts. */
static inline uint32_t sl_lane_no_loads(const struct sl_lane *lane)
{
	return sl_load(&lane->loads) - 1;
}
/* How long it sleeps, until it is sl_lane_unfollow()ed. Two followers are watchful; the others, be
 * they a thousand, rest on them (and on the keeper, who takes what nobody else does). */
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

/* Transmit, lane held. A frame with the packet at off; started by the kick. False: no room now
 * (the frame is still the caller's). */
bool sl_leg_post_desc(struct sl_leg *leg, const struct sl_tx_desc *d);
static inline bool sl_leg_post(struct sl_leg *leg, uint32_t frame, uint16_t off, uint16_t len)
{
	struct sl_tx_desc d = {.frame = frame, .off = off, .len = len};

	return sl_leg_post_desc(leg, &d);
}
/* A packet in n frames, whose caps have SL_TX_SG: all of them or none. */
bool sl_leg_post_long(struct sl_leg *leg, const struct sl_tx_desc *d, unsigned n);
/* The same for a TCP segment whose headers of hdr bytes begin the packet; of: the connection. Where
 * the device segments the next ones may carry it on; d->hdr is 0 then where they may not. */
bool sl_leg_post_tcp(struct sl_leg *leg, struct sl_tx_desc *d, const struct sl_tcp_seg *seg,
		     const void *of);
/* Does seg carry on what was posted last? Then it goes as its bytes, without headers. */
bool sl_train_takes(const struct sl_leg *leg, const struct sl_tcp_seg *seg, const void *of);
bool sl_train_post(struct sl_leg *leg, uint32_t frame, uint16_t off, const struct sl_tcp_seg *seg);
/* When the packet that was posted last leaves is to be told (sl_tx_on_stamp). False: the device
 * does not know, or too many are asked for. Lane held. */
bool sl_leg_stamp(struct sl_leg *leg, void *who, uint64_t what);
static inline bool sl_leg_has_stamps(const struct sl_leg *leg)
{
	return leg->tx->caps & SL_TX_STAMP;
}
/* Takes completions back on all legs. */
void sl_lane_reap(struct sl_lane *lane);
/* How many more descriptors it takes. */
static inline uint32_t sl_leg_room(const struct sl_leg *leg)
{
	return leg->tx->ops->room ? leg->tx->ops->room(leg->tx) : UINT32_MAX;
}
/* A sender waits for room: the entry is given to lane->on_room() in the turns that follow, of which
 * the keeper sees to one each SL_ROOM_US. Lane held. */
#define SL_ROOM_US 1000
void sl_lane_block(struct sl_lane *lane, struct sl_list *entry);
/* Starts what was posted. 0 (also while the link is down: frames wait on the ring), -EAGAIN (ring
 * full) or -ENODEV (the device is gone: the leg is dead). */
int sl_leg_kick(struct sl_leg *leg);
/* nic.c: a new leg sends by the NIC's own queue, if there is one to be had; */
void sl_leg_open_verbs(struct sl_leg *leg);
/* does it? */
static inline bool sl_leg_is_by_nic(const struct sl_leg *leg)
{
	const struct sl_leg *own = leg;

	while (own->below)
		own = own->below;
	return own->verbs && leg->tx == own->verbs;
}
/* and by AF_XDP when that has failed (a kick said -EIO), lane held. */
void sl_leg_leave_verbs(struct sl_leg *leg);
/* A frame to fill; reaps completions when short. SL_NO_FRAME: none. */
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
/* The keeper's: asks the kernel anew for what grew old in that cache. Lane not held. */
void sl_lane_ask_aged(struct sl_lane *lane);

/* TCP on a lane -------------------------------------------------------------------------------- */

/* What the lanes' hosts call; once, before the first of them is made. Takes the secret for
 * sequence numbers from the kernel. 0 or -errno. */
int sl_stack_tcp_init(const struct sl_tcp_ops *ops);
/* The lane's host, made at the first call. NULL: no memory, or sl_limbo. Its owner is the lane.
 * Lane not held. */
struct sl_tcp_host *sl_lane_tcp(struct sl_lane *lane);
/* Around calls of lib/tcp for connections of the lane outside of its turn, lane held: the first
 * tells the host the time; the second sends what is due (ACKs, data), starts it, and sees that the
 * timers will be run. Not inside of lib/tcp's callbacks: the turn does it. */
void sl_lane_tcp_begin(struct sl_lane *lane);
void sl_lane_tcp_done(struct sl_lane *lane);
/* In its place after a write of n bytes to c. One of many short ones in a row, or the first of what
 * is likely to be two, may be held back for a little, until the next or any other turn or call, or
 * until the keeper comes (hold.c). fresh: before it, nothing of c was unsent or unacknowledged.
 * sl_tcp_append() needs neither of them, but is not for the second of two writes. */
void sl_lane_tcp_wrote(struct sl_lane *lane, const struct sl_tcp *c, size_t n, bool fresh);
/* That one is waited for. */
static inline bool sl_lane_tcp_awaits(const struct sl_lane *lane, const struct sl_tcp *c)
{
	return lane->pair.of == c;
}
#define SL_HOLD_US 32
/* Is something held back, or was a moment ago? The keeper's. */
bool sl_lane_is_bursting(const struct sl_lane *lane, uint64_t now_us);
/* So much later than SL_HOLD_US the keeper may come for what is held back now. */
uint64_t sl_lane_hold_late_us(const struct sl_lane *lane);
/* The end of a turn that had something to do for TCP, and of one that had not; lane held. */
void sl_lane_tcp_turn(struct sl_lane *lane);
void sl_lane_tcp_idle(struct sl_lane *lane);
/* Of one that had nothing to do, while something was held back. */
void sl_lane_tcp_late(struct sl_lane *lane);
/* The keeper's, about once a second: frames may be short although nothing comes to the lane. Lane
 * not held. */
void sl_lane_tcp_relieve(struct sl_lane *lane);
/* Before a thread sleeps that has made the lane's turns: ACKs that wait for more data go. Lane not
 * held. */
void sl_lane_tcp_sleeps(struct sl_lane *lane);

/* When the keeper must be awake ---------------------------------------------------------------- */

/* *next, of a lane that is held, is next_us at the latest: tells the keeper when that is nearer
 * than what he knows, by late_us at least. */
void sl_lane_due(uint64_t *next, uint64_t next_us, uint64_t late_us);
/* Must timers of the lane be run at that time? Any thread. */
bool sl_lane_is_due(const struct sl_lane *lane, uint64_t at_us);
/* Do paced packets wait? Any thread. */
static inline bool sl_lane_is_paced(const struct sl_lane *lane)
{
	return sl_load(&lane->paced);
}
/* Runs the timers that are due (the keeper's), after what has come was taken in: ACKs that wait in
 * the ring are no loss. Not while somebody has the lane: the keeper comes again. Lane not held. */
void sl_lane_run(struct sl_lane *lane);
/* A stamp is awaited, for which nobody else may look: the keeper does. Lane held. */
void sl_lane_await(struct sl_lane *lane);
/* Something is under way that the keeper is to look at (lane->watched). Lane held. */
void sl_lane_watch(struct sl_lane *lane);
/* The keeper's, who is going to sleep until until_us at most and least_us at least: he must wake at
 * the result (timers are due then), and is woken when nearer ones are armed meanwhile. Timers of
 * TCP on a lane that others turn, who run them themselves, do not wake him before turned_us. At
 * watch_us he looks at queues in which something is under way. */
uint64_t sl_lanes_sleep(uint64_t until_us, uint64_t least_us, uint64_t turned_us,
			uint64_t watch_us);
void sl_lanes_awake(void);
void sl_lanes_due_child(void); /* in a child: there is no keeper */

/* hwclock.c: what the driver's receive stamp, of the device, is in the time that the settings ask
 * for; 0: that is not known. May make a system call, once a second. Any lane may be held. */
uint64_t sl_hw_time(uint32_t ifindex, uint64_t phc_ns);
/* Would the kernel have the hardware stamp what leaves by the port? Asked of it once. */
bool sl_port_os_stamps(struct sl_port *port);
void sl_hwclock_child(void); /* in a child */

/* In the child after fork: the lanes are the parent's; closes descriptors. Async-signal-safe. */
void sl_stack_child(void);
/* After sl_ports_leave(), when no socket has a frame: new lanes and devices may be opened, of other
 * packet memory. */
void sl_stack_renew(void);

#endif
