/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker: everything that needs privilege. Embedded in the process (broker_embedded.h), or
 * sluiced does it on request (lease.h): front.c chooses, once, at the start. So arguments are plain
 * structs and descriptors, and nothing else is shared.
 *
 * Thread-safe (one mutex inside); never called on the packet path. All return 0 or -errno. On
 * failure *why (if not NULL) points to a static or thread-local sentence for the log: what could
 * not be had, and the remedy. */
#ifndef SL_BROKER_H
#define SL_BROKER_H

#include "base/base.h"
#include "base/share_watch.h"
#include "steer.h"

#define SL_MAX_QUEUES 64 /* RX queues of one device that can be covered */

#define SL_PORT_ZEROCOPY (1u << 0)
#define SL_PORT_GENERIC  (1u << 1) /* XDP in generic (skb) mode */
#define SL_PORT_PARTIAL_CSUM                                                                       \
	(1u << 2) /* veth, virtio_net: packets may carry only the pseudo-header sum */
#define SL_PORT_HW_STAMP (1u << 3) /* metadata stamps are hardware stamps */
#define SL_PORT_PINNED   (1u << 4)
#define SL_PORT_TAGS     (1u << 5) /* the steering program sees the VLAN tags of all packets */
#define SL_PORT_FRAGS    (1u << 7) /* packets that one frame does not hold come in several */
/* A link that it lacks is one that it lost by being taken into use, or left, in the last seconds.
 */
#define SL_PORT_HAD_LINK (1u << 6)
#define SL_LINK_BACK_NS  10000000000ull /* the slowest: 10GBASE-T negotiates for seven seconds */

/* A device taken into use. The pointers are shared maps, valid until sl_broker_port_close(). */
struct sl_port_info {
	uint32_t ifindex;
	char ifname[16];
	char driver[32];
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t nqueues; /* RX queues, all covered by each lane */
	uint32_t flags;   /* SL_PORT_* */
	uint32_t max_lanes;
	uint64_t *ports;             /* `ports`: SL_MAX_PORTS words; written by the broker alone */
	const struct sl_rule *rules; /* `rules`: SL_MAX_RULES + 1 entries, live */
	struct sl_rule *rules_rw;    /* the same, to count hits in; NULL: not writable */
	char pin_dir[64];            /* "" when not pinned */
};

/* How the broker does its work; the defaults are all zero. */
enum sl_broker_xdp { SL_BROKER_XDP_AUTO, SL_BROKER_XDP_NATIVE, SL_BROKER_XDP_GENERIC };
enum sl_broker_zc { SL_BROKER_ZC_AUTO, SL_BROKER_ZC_OFF, SL_BROKER_ZC_FORCE };
struct sl_broker_opts {
	enum sl_broker_xdp xdp;     /* auto: native, and generic where the driver has none */
	enum sl_broker_zc zerocopy; /* auto: tried, then copy mode; force: -EOPNOTSUPP without */
	/* Entries of each receive and transmit ring, rounded up to a power of two; 0: 4096, 2048.
	 * Fill and completion rings of a queue have twice as many. */
	uint32_t rx_ring, tx_ring;
	bool busy_poll;            /* set SO_PREFER_BUSY_POLL on the XSKs */
	uint32_t busy_poll_us;     /* SO_BUSY_POLL, 0: 20 */
	uint32_t busy_poll_budget; /* SO_BUSY_POLL_BUDGET in packets, 0: 64 */
	bool in_frame;             /* records go into the frame, not into XDP metadata */
	bool serve;                /* other processes are the group's members, we are none */
	bool lend_once;   /* rings are mapped before bind, by one process (broker_ring.c) */
	bool guard_nft;   /* no guard but that of nf_tables (broker_guard.c) */
	bool no_huge;     /* ordinary pages only */
	bool want_huge;   /* warn when there are no huge pages */
	const char *tool; /* path of the `sluice` tool (the reaper); NULL: looked for beside
			     the library, in ../bin and in PREFIX/bin */
	/* Socket of sluiced, whose broker is used when it answers. NULL: no daemon. */
	const char *daemon;
	bool daemon_wanted; /* warn when it is not there */
	const char *group;  /* to be of with it (sl_lease_hello.group); NULL: that of the user */
};
/* What the settings say of them. */
struct sl_broker_opts sl_broker_opts_set(void);
/* Before the first other call; later calls change what is opened afterwards. The strings must
 * stay. */
void sl_broker_init(const struct sl_broker_opts *opts);

/* What a lane gets on one RX queue. Fill and completion rings belong to the queue and are shared
 * by its lanes. The broker keeps an XSK of its own on each queue, so these rings (and the frames in
 * them) stay when the last lane closes, until the port is closed.
 *
 * The rings are mapped already, since kernels before 6.4 let that be done only before bind. rx_map
 * and tx_map are the caller's to unmap; fill_map and comp_map are the broker's. NULL (a lease that
 * came over a socket): map them from the descriptor; it is the caller's then.
 *
 * The fill ring of a queue has frames in it before bind (a driver may stay deaf otherwise). */
struct sl_xsk_lease {
	int fd; /* bound XSK; the caller owns it */
	uint32_t queue;
	uint32_t rx_size, tx_size, fill_size, comp_size; /* entries */
	void *rx_map, *tx_map, *fill_map, *comp_map;
	size_t rx_bytes, tx_bytes;       /* of the mappings */
	uint32_t share_queue, share_xsk; /* records in the group's memory */
	bool zerocopy;
	bool unbound; /* the daemon's only: it is bound when its process has mapped it */
};

/* The packet memory of a group, or of this process alone: one memfd, registered as UMEM with every
 * XSK. */
#define SL_UMEM_QUEUES (32 * SL_MAX_QUEUES) /* records in a group's memory */
#define SL_UMEM_XSKS   (2 * SL_MAX_XSKS)
struct sl_umem_info {
	uint32_t id; /* among those of one broker; 0: the embedded one's only one */
	int memfd; /* owned by the broker; map it, do not close it; -1: a process alone has none */
	void *base;
	uint32_t nframes;
	uint32_t frame_size; /* bytes, a power of two */
	uint32_t headroom;   /* bytes the kernel leaves free in front of a received frame, beside
				XDP_PACKET_HEADROOM */
	bool huge;           /* on huge pages */
	/* Who has which frames, and the state of the queues' rings: shared with the other processes
	 * of the group, of which we are that member. Passed on, the descriptors (told_fd: one for
	 * reading), the sizes above, the geometry and a member's number are all that
	 * sl_pool_attach() needs elsewhere. */
	int share_fd; /* owned by the broker */
	int told_fd;  /* what the group's owner tells its members; -1: a process alone */
	struct sl_share_geometry geometry;
	struct sl_share share;
	uint8_t member;
};

/* Free in front of a received frame beside XDP_PACKET_HEADROOM: room for wider headers on the way
 * out of a frame that is sent on. With XDP_PACKET_HEADROOM it puts the metadata record at the start
 * of a cache line. */
#define SL_UMEM_HEADROOM 16
#define SL_ETH_MOST      22 /* Ethernet header and two VLAN tags */

/* Bytes of the longest packet, from its Ethernet header on, that a frame takes: there are
 * XDP_PACKET_HEADROOM in front of it, what is left is counted in units of 128 bytes where it is a
 * buffer of the NIC's (i40e, ice), and the longest record may have to be in the packet. */
static inline uint32_t sl_umem_room(const struct sl_umem_info *u)
{
	return ((u->frame_size - 256 - u->headroom) & ~127u) -
	       (uint32_t)(sizeof(struct sl_mark) + sizeof(struct sl_meta_hw));
}

/* The same of an IP packet. */
static inline uint32_t sl_umem_mtu(const struct sl_umem_info *u)
{
	return sl_umem_room(u) - SL_ETH_MOST;
}

/* Bytes of the longest IP packet that comes in several frames (SL_PORT_FRAGS): of what there is of
 * Ethernet, and no more than sl_broker_inject() takes. */
#define SL_PACKET_MOST 9216

/* Do packets that the driver has in several buffers come to XSKs? */
bool sl_broker_gathers(const char *driver);

/* In frames of that size, as we make them. */
static inline uint32_t sl_frame_mtu(uint32_t frame_size)
{
	const struct sl_umem_info u = {.frame_size = frame_size, .headroom = SL_UMEM_HEADROOM};

	return sl_umem_mtu(&u);
}

/* Bytes of frames that do for the devices that are there now. Any thread. */
uint32_t sl_broker_frame_size(void);

/* Makes the packet memory (frame_size 0: what the devices want that are there; once; later calls
 * return the same). Call it before the first sl_broker_port_open(), so that a device that cannot be
 * covered is refused there. */
int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why);

/* Attaches the steering program to the device, or finds it open already. wait: up to 0.6 s
 * for queues that the kernel has not given back yet. -EBUSY: another process
 * has the device; -EOPNOTSUPP: no XDP, not Ethernet, or not with these settings; -EPERM. */
int sl_broker_port_open(uint32_t ifindex, bool wait, struct sl_port_info *out, const char **why);
/* Detaches and unpins when it was the last user. rules: as opened. */
void sl_broker_port_close(uint32_t ifindex, const struct sl_rule *rules);

/* Opens and binds the XSKs of one lane on all RX queues of an open port, and puts them into
 * `lanes` at *first .. *first + nqueues - 1 (*first is out: what sl_claim.lane wants).
 * leases: room for nqueues. Rings are mapped by the caller from the descriptors. Needs the packet
 * memory (-ENXIO without). -EINVAL: the lane number is not below max_lanes, -EBUSY: it is open. */
int sl_broker_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			uint32_t *first, const char **why);
/* Takes the lane out of `lanes` (packets then pass to the kernel). The caller closes the fds. */
void sl_broker_lane_close(uint32_t ifindex, uint32_t lane);

/* Members of the group whose packet memory has that number, other processes that get lanes. The
 * embedded broker's own process is one already. quota: the most frames the new one may hold; spare:
 * how many must be left over, with all quotas used, for the fill rings and for what lies in receive
 * rings. Its number, or -EUSERS, -ENOSPC. */
int sl_broker_join(uint32_t umem, uint32_t quota, uint32_t spare);
/* A member has died, for certain (its pidfd says so): its locks are released, its half-done work on
 * rings is mended. At once: others go without the rings until then. Waits for nothing. */
void sl_broker_died(uint32_t umem, uint8_t member);
/* All its lanes. */
struct sl_broker_lane {
	uint32_t ifindex, lane;
	struct sl_xsk_lease *leases;
	uint32_t nleases;
};
/* Then, when convenient: nothing is steered to its lanes any more, */
void sl_broker_mute(const struct sl_broker_lane *lanes, unsigned n);
/* (what lies in the receive rings of one of them may be looked at, then and again before the
 * burial; it is taken out. off: where in the frame, which others of the group can still write to.
 * The broker is not to be entered) */
typedef void sl_broker_late_fn(void *arg, uint32_t ifindex, const uint8_t *frame, uint32_t off,
			       uint32_t bytes);
void sl_broker_late(uint32_t umem, uint8_t member, const struct sl_broker_lane *lane,
		    sl_broker_late_fn *late, void *arg);
/* once a grace period of the kernel is over (some 10 ms, hundreds when it is busy; any thread may
 * wait for it); */
void sl_broker_grace(void);
/* (is something of its in queue pairs of the NIC's? a child of the dead may have the last
 * descriptor of them, if only for a moment) */
bool sl_broker_is_posted(uint32_t umem, uint8_t member);
/* (is a lock of that group broken? See sl_share_look(), of which this is a look. From then on its
 * shared memory is left as it is: nothing of it is mended or given back.) */
bool sl_broker_is_broken(uint32_t umem, uint32_t looks, sl_share_stopped_fn *stopped, void *arg,
			 struct sl_share_fault *f);
/* and then what it had goes back, and its lanes are closed, with the leases' descriptors and
 * mappings, which the broker must have kept. -EBUSY: again later; nothing is closed then. */
int sl_broker_bury(uint32_t umem, uint8_t member, const struct sl_broker_lane *lanes, unsigned n,
		   struct sl_share_left *left);
/* What was in flight when its owner died comes back by whoever works the queue; where nobody does,
 * by this. How many frames came, or -EBUSY. */
int sl_broker_reap(void);

/* Claims packets on a port. shadow_fd is the kernel socket that proves the claim (the embedded
 * broker trusts its own process). remote_port 0: an endpoint, else an exact flow. An endpoint
 * that is claimed already by another slot becomes a group when spread is set; else -EADDRINUSE.
 * With SL_CLAIM_PASS the flow is the kernel's, whoever has the endpoint (the lane is not looked at;
 * the slot says whose the claim is); -EINVAL for an endpoint. */
struct sl_claim_req {
	uint32_t ifindex;
	int shadow_fd;
	struct sl_flow_key key;
	struct sl_claim claim;
	bool spread;  /* SO_REUSEPORT: share the endpoint by hash */
	bool replace; /* SO_REUSEADDR: take it from the other socket of this process that has it */
};
int sl_broker_claim(const struct sl_claim_req *req, const char **why);
/* Changes the flags (SL_CLAIM_STAMP) or the lane of a claim in place, or adds it. */
int sl_broker_claim_update(const struct sl_claim_req *req);
/* Gives the claim of that slot up; harmless when there is none. */
void sl_broker_unclaim(const struct sl_claim_req *req);

/* The host's own addresses, as the mirror sees them (for wildcard endpoints), on all ports, those
 * opened later too. A set: adding twice is adding once. */
void sl_broker_local_add(const uint8_t addr[16]);
void sl_broker_local_del(const uint8_t addr[16]);

/* Why a device is not steered any more. (The daemon sends it: numbers stay what they are.) */
enum sl_port_end {
	SL_PORT_STEERED,   /* it is */
	SL_PORT_UNKNOWN,   /* a daemon that does not say why */
	SL_PORT_GONE,      /* the device does not exist here any more */
	SL_PORT_TAKEN_OFF, /* by hand, for instance: it runs no XDP program */
	SL_PORT_REPLACED,  /* it runs another one */
	SL_PORT_QUEUES,    /* it has not the queues that it had */
	SL_PORT_LEFT,      /* the daemon ends, or does not know of it */
	SL_PORT_BROKEN,    /* the memory that its group shares is broken */
};
/* SL_PORT_STEERED while our program is still attached to the device (somebody may remove it by
 * hand) and the device has the queues that it had. Costs a netlink request; also takes a changed
 * MAC address over.
 */
enum sl_port_end sl_broker_port_end(uint32_t ifindex);
/* What has happened, a sentence without its end. */
const char *sl_port_end_text(enum sl_port_end end);

/* Is SL_PORT_TAGS still true of it? (ethtool -K <device> rxvlan) */
bool sl_broker_port_has_tags(uint32_t ifindex);

/* Packets of the VLAN device with that number (SL_CLAIM_VLAN) on the device pass to the kernel,
 * whatever is claimed; or come to us again. */
void sl_broker_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);

/* As long as a connection of ours may be found by nobody, the kernel's resets of claimed flows are
 * held back on that device; now everything there is the kernel's. */
void sl_broker_port_unguard(uint32_t ifindex);
/* TCP flows of this process's claims on that device of which the kernel keeps getting segments (by
 * another device, or as fragments), which it does not answer: it should have the connections. (And
 * such flows of claimed endpoints that are nobody's, or another process's.) Told as long as it goes
 * on. How many, at most max, after the first `skip`. Waits for no daemon. */
#define SL_STRAYS_TOLD 64
unsigned sl_broker_port_strays(uint32_t ifindex, unsigned skip, struct sl_flow_key *out,
			       unsigned max);
/* There is a device of that number and name. If it came for one of ours, deleted meanwhile, what
 * the peers of connections there send again may come by it before it is steered: the kernel's
 * resets are held back there, too. (A daemon sees its devices for itself.) */
void sl_broker_link_seen(uint32_t ifindex, const char *name);

/* Puts a TCP socket into repair mode or out of it: setsockopt(2) with TCP_REPAIR and `how`, which
 * needs CAP_NET_ADMIN. It may sleep. A daemon lends no repair mode (-EPERM): with it a process can
 * bind(2) to any port, whoever listens there. */
int sl_broker_repair(int fd, int how);
/* By the daemon: a connection that this process has claimed becomes the kernel's. The first call
 * makes it, in a socket of the daemon's that is as `shadow` is, with the queues' bytes in memfd
 * (-1: there are none); the kernel drops what comes for it until the second gives it the word,
 * whose answer is the socket. go false: it is not to be, -ECANCELED. -EPERM: the policy says no, or
 * the connection is none of this process's; others as bind(2) and connect(2) say. */
struct sl_lease_restore;
struct sl_lease_take_ok;
int sl_broker_restore(const struct sl_lease_restore *r, int shadow, int memfd);
int sl_broker_restored(bool go);
/* By the daemon: the kernel's connection *fd, which this process has no more when the daemon looks
 * at it, is read, and the kernel forgets it. 0: *fd is a memfd with the queues. -errno: *fd is the
 * socket, unharmed, or -1: the daemon has gone with it. -EBUSY: somebody else has it. */
int sl_broker_take(int *fd, struct sl_lease_take_ok *ok);
/* Sets the size of a TCP socket's buffer, opt SO_SNDBUFFORCE or SO_RCVBUFFORCE, beyond the limits
 * of the system: setsockopt(2), which needs CAP_NET_ADMIN for it. */
#define SL_BUFFER_MAX (64u << 20)
int sl_broker_buffer(int fd, int opt, uint32_t bytes);
/* Has the kernel drop what comes for a TCP socket, by a socket filter, or no longer. (Filters are
 * everybody's; there are kernels where they need CAP_NET_ADMIN.) */
int sl_broker_drop_packets(int fd, bool on);

/* Sends a whole IP packet (no options, at most SL_INJECT_MAX bytes) to the address of this host
 * that it is addressed to, for the socket fd, which must be bound to the port it is for, and, if it
 * is connected (of TCP it must be), to where it says to come from. Needs CAP_NET_RAW. No lane is
 * taken. scope: of a link-local address. 0 or -errno; -EADDRNOTAVAIL: it is none of the host's. */
#define SL_INJECT_MAX (SL_PACKET_MOST + 8) /* one without VLAN tags may have as much more */
int sl_broker_inject(int fd, const void *packet, size_t bytes, uint32_t scope);
/* Would it be allowed? 0 or -errno, usually -EPERM. */
int sl_broker_may_inject(void);

/* How many have the file behind the descriptor open: descriptors of this process or another,
 * messages under way that carry one, calls that another thread is just making with it. -errno: the
 * kernel does not say. */
int sl_broker_holders(int fd);

/* Does the daemon do the work? Then it says to the kernel, too, which neighbours are in use (what
 * this process may not): 0 or -errno. */
bool sl_broker_is_leased(void);
int sl_broker_neigh_use(uint32_t ifindex, const uint8_t addr[16]);

/* Where this process's TCP connections lie, so that their peers can be told should it die without a
 * word. All in bytes; offsets are of an entry. */
struct sl_conns_layout {
	uint32_t stride;
	uint32_t max;           /* entries */
	uint32_t host;          /* a pointer that is not NULL while the entry is in use */
	uint32_t dead;          /* one byte, not 0: it is over */
	uint32_t state;         /* one byte, as in TCP_INFO */
	uint32_t local, remote; /* 16 bytes each */
	uint32_t lport, rport;  /* uint16_t */
	uint32_t owner;    /* a pointer that is not NULL while the program has a socket of it */
	uint32_t oif;      /* uint32_t: interface of its link-local addresses */
	uint32_t listener; /* uint32_t: number of the listener it came by (sl_broker_box()) */
	/* Where the protocol's own state lies, and what it looks like: sl_tcp_repair_form(). */
	uint32_t tcp, form;
	/* Requests (sl_tcp_repair_dead_req()): where in the file, how many of how many bytes; and
	 * where in one the number of its listener is. */
	uint64_t req_at;
	uint32_t req_stride, req_max, req_listener;
	uint32_t reserved; /* 0 */
};
/* memfd: the caller's still, and must stay open and what it is; the byte behind the entries is
 * others' to write. Before any device is opened. */
int sl_broker_conns(int memfd, const struct sl_conns_layout *layout);
/* Other processes accept what that listener of ours has, too: should this one die, who waits in its
 * queue is sent through `out` (sock/tcp_share.c), as a descriptor of the kernel's with the packet
 * SL_BOX_BARE. fd: the listener's, which is not kept. 0; -EOPNOTSUPP: there is no daemon; -errno.
 */
int sl_broker_box(uint32_t listener, int out, int fd);
/* No more. */
void sl_broker_unbox(uint32_t listener);
#define SL_BOX_BARE  "b" /* it has none of the listener's options yet */
#define SL_BOX_READY ""

/* Policy: writes the n rules into every open port's `rules` (and those opened later). */
int sl_broker_rules_set(const struct sl_rule *rules, unsigned n);

/* Around fork, in the parent: no child is made in the middle of an attachment, since it would keep
 * its descriptors and its file locks (which hold up every process of the host) as long as it lives.
 * In the child sl_broker_child() follows instead of the end. */
void sl_broker_fork_begin(void);
void sl_broker_fork_end(void);

/* In the child after fork: forgets everything without touching the parent's state; closes the
 * inherited descriptors (an XSK kept open in a child would swallow packets). Async-signal-safe. */
void sl_broker_child(void);

/* The process is about to become another user, and has closed its devices: gives up the lease (or
 * what the broker has open), and makes the memory that it shared private copies of its own. The
 * next sl_broker_init() is a first one. */
void sl_broker_part(void);

/* At exit: detaches, unpins. */
void sl_broker_fini(void);

#endif
