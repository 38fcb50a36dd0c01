/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker does everything that needs privilege. It runs embedded in the process
 * (broker/embedded.h), or in sluiced on request (lease.h); front.c chooses once, at the start.
 * Arguments are therefore plain structs and descriptors, and nothing else is shared.
 *
 * Thread-safe (one mutex inside); never called on the packet path. All functions return 0 or
 * -errno. On failure *why (if not NULL) points to a static or thread-local sentence for the log:
 * what is missing, and the remedy. */
#ifndef SL_BROKER_H
#define SL_BROKER_H

#include "base/base.h"
#include "base/share/share_bury.h"
#include "base/share/share_watch.h"
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
/* The device has no link because it was taken into use, or left, within the last seconds: the link
 * is expected back. */
#define SL_PORT_HAD_LINK (1u << 6)
#define SL_LINK_BACK_NS  10000000000ull /* slowest: 10GBASE-T negotiates for seven seconds */

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
	struct sl_rule *rules_rw;    /* the same array, for counting hits; NULL: not writable */
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
	bool serve;                /* other processes are the group's members, this one is not */
	bool lend_once;            /* rings are mapped before bind, by one process (umem/ring.c) */
	bool guard_nft;            /* use only the nf_tables guard (steer/guard.c) */
	bool no_huge;              /* ordinary pages only */
	bool want_huge;            /* warn when there are no huge pages */
	const char *tool; /* path of the `sluice` tool (the reaper); NULL: looked for beside
			     the library, in ../bin and in PREFIX/bin */
	/* Socket of sluiced; its broker is used when it answers. NULL: no daemon. */
	const char *daemon;
	bool daemon_wanted; /* warn when it is not there */
	const char
		*group; /* group to join at the daemon (sl_lease_hello.group); NULL: the user's */
};
/* The options that the SLUICE_* settings ask for. */
struct sl_broker_opts sl_broker_opts_set(void);
/* Before the first other call; later calls change what is opened afterwards. The strings must
 * stay. */
void sl_broker_init(const struct sl_broker_opts *opts);

/* A lane's XSK on an RX queue. Fill and completion rings belong to the queue and are shared by
 * its lanes. The broker keeps an XSK of its own on each queue, so these rings (and the frames in
 * them) stay when the last lane closes, until the port is closed.
 *
 * The rings are mapped already, since kernels before 6.4 let that be done only before bind. The
 * caller unmaps rx_map and tx_map; fill_map and comp_map belong to the broker. NULL (a lease that
 * came over a socket): the caller maps the ring from the descriptor and owns the mapping.
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
	bool unbound; /* only in the daemon: to be bound when the process has mapped its rings */
};

/* The packet memory of a group, or of this process alone: one memfd, registered as UMEM with every
 * XSK. */
#define SL_UMEM_QUEUES (32 * SL_MAX_QUEUES) /* records in a group's memory */
#define SL_UMEM_XSKS   (2 * SL_MAX_XSKS)
struct sl_umem_info {
	uint32_t id; /* distinguishes the memories of one broker; 0: the embedded broker's only one
		      */
	int memfd; /* owned by the broker; map it, do not close it; -1: a process alone has none */
	void *base;
	uint32_t nframes;
	uint32_t frame_size; /* bytes, a power of two */
	uint32_t headroom;   /* bytes the kernel leaves free in front of a received frame, beside
				XDP_PACKET_HEADROOM */
	bool huge;           /* on huge pages */
	/* Owners of the frames, and the state of the queues' rings: shared with the other processes
	 * of the group; this process is `member` of it. The descriptors (told_fd: one for reading),
	 * the sizes above, the geometry and a member number are all that sl_pool_attach() needs in
	 * another process. */
	int share_fd; /* owned by the broker */
	int told_fd;  /* messages of the group's owner to its members; -1: a process alone */
	struct sl_share_geometry geometry;
	struct sl_share share;
	uint8_t member;
};

/* Free in front of a received frame beside XDP_PACKET_HEADROOM: room for wider headers on the way
 * out of a frame that is sent on. With XDP_PACKET_HEADROOM it puts the metadata record at the start
 * of a cache line. */
#define SL_UMEM_HEADROOM 16
#define SL_ETH_MOST      22 /* Ethernet header and two VLAN tags */

/* Bytes of the longest packet, from its Ethernet header on, that fits in one frame.
 * XDP_PACKET_HEADROOM lies in front of it; a NIC's buffer (i40e, ice) is counted in units of 128
 * bytes; the longest metadata record may have to lie in the packet. */
static inline uint32_t sl_umem_room(const struct sl_umem_info *u)
{
	return ((u->frame_size - 256 - u->headroom) & ~127u) -
	       (uint32_t)(sizeof(struct sl_mark) + sizeof(struct sl_meta_hw));
}

/* Bytes of the longest IP packet that fits in one frame. */
static inline uint32_t sl_umem_mtu(const struct sl_umem_info *u)
{
	return sl_umem_room(u) - SL_ETH_MOST;
}

/* Bytes of the longest IP packet that comes in several frames (SL_PORT_FRAGS): a jumbo frame, and
 * no more than sl_broker_inject() takes. */
#define SL_PACKET_MOST 9216

/* True: XSKs get packets that this driver receives in several buffers. */
bool sl_broker_gathers(const char *driver);

/* sl_umem_mtu() for frames of that size with the headroom that we use. */
static inline uint32_t sl_frame_mtu(uint32_t frame_size)
{
	const struct sl_umem_info u = {.frame_size = frame_size, .headroom = SL_UMEM_HEADROOM};

	return sl_umem_mtu(&u);
}

/* Bytes of a frame that suffices for the devices that exist now. Any thread. */
uint32_t sl_broker_frame_size(void);

/* Makes the packet memory once; later calls return the same. frame_size 0: as the existing devices
 * need. Call it before the first sl_broker_port_open(), which then refuses a device whose packets
 * do not fit. */
int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why);

/* Attaches the steering program to the device, or finds it open already. wait: up to 0.6 s
 * for queues that the kernel has not given back yet. -EBUSY: another process
 * has the device; -EOPNOTSUPP: no XDP, not Ethernet, or not with these settings; -EPERM. */
int sl_broker_port_open(uint32_t ifindex, bool wait, struct sl_port_info *out, const char **why);
/* Ends one use of the port; the last one detaches and unpins. rules: as opened. */
void sl_broker_port_close(uint32_t ifindex, const struct sl_rule *rules);

/* Opens and binds the XSKs of one lane on all RX queues of an open port, and puts them into
 * `lanes` at *first .. *first + nqueues - 1 (*first is out: what sl_claim.lane wants).
 * leases: room for nqueues. Rings are mapped by the caller from the descriptors. Needs the packet
 * memory (-ENXIO without). -EINVAL: the lane number is not below max_lanes, -EBUSY: it is open. */
int sl_broker_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			uint32_t *first, const char **why);
/* Takes the lane out of `lanes` (packets then pass to the kernel). The caller closes the fds. */
void sl_broker_lane_close(uint32_t ifindex, uint32_t lane);

/* Adds another process as a member of the group that has this packet memory. (The embedded broker's
 * own process is a member already.) quota: the most frames it may hold; spare: frames that must be
 * left over, with all quotas used, for the fill rings and for packets in receive rings. Returns the
 * member's number, -EUSERS or -ENOSPC. */
int sl_broker_join(uint32_t umem, uint32_t quota, uint32_t spare);
/* A member has died, for certain (its pidfd says so): releases its locks and mends its half-done
 * work on rings. Call it at once: other members cannot use the rings until then. Does not block. */
void sl_broker_died(uint32_t umem, uint8_t member);
/* A lane of a dead member, with its leases. */
struct sl_broker_lane {
	uint32_t ifindex, lane;
	struct sl_xsk_lease *leases;
	uint32_t nleases;
};
/* First step of a burial, after sl_broker_died(): the kernel steers nothing to these lanes any
 * more. */
void sl_broker_mute(const struct sl_broker_lane *lanes, unsigned n);
/* Shows `late` the packets in the receive rings of a muted lane and takes them out; call it after
 * sl_broker_mute() and again before sl_broker_bury(). off: start of the packet in the frame, which
 * other members can still write to. The callback must not call the broker. */
typedef void sl_broker_late_fn(void *arg, uint32_t ifindex, const uint8_t *frame, uint32_t off,
			       uint32_t bytes);
void sl_broker_late(uint32_t umem, uint8_t member, const struct sl_broker_lane *lane,
		    sl_broker_late_fn *late, void *arg);
/* Second step: waits for a grace period of the kernel (some 10 ms, hundreds when it is busy), after
 * which no program run steers to the muted lanes. Any thread. */
void sl_broker_grace(void);
/* True: queue pairs of the NIC still hold frames of this member; a child of the dead process may
 * have the last descriptor of them for a moment. */
bool sl_broker_is_posted(uint32_t umem, uint8_t member);
/* True: a lock of that group is broken, see sl_share_look(), which this calls once. From then on
 * its shared memory is left as it is: nothing in it is mended or given back. */
bool sl_broker_is_broken(uint32_t umem, uint32_t looks, sl_share_stopped_fn *stopped, void *arg,
			 struct sl_share_fault *f);
/* Last step: takes the dead member's frames back and closes its lanes, with the leases' descriptors
 * and mappings, which the broker must have kept. -EBUSY: try again later; nothing is closed then.
 */
int sl_broker_bury(uint32_t umem, uint8_t member, const struct sl_broker_lane *lanes, unsigned n,
		   struct sl_share_left *left);
/* Takes back frames that were in flight when their owner died, on queues that no process works.
 * Returns how many came back, or -EBUSY. */
int sl_broker_reap(void);

/* Claims packets on a port. shadow_fd is the kernel socket that proves the claim (the embedded
 * broker trusts its own process). remote_port 0: an endpoint, else an exact flow. An endpoint that
 * is claimed already by another slot becomes a group when spread is set; else -EADDRINUSE. With
 * SL_CLAIM_PASS the kernel gets the flow even if its endpoint is claimed: the lane is ignored, the
 * slot names the claim's owner; -EINVAL for an endpoint. */
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
/* Gives up the claim of that slot; harmless when there is none. */
void sl_broker_unclaim(const struct sl_claim_req *req);

/* The host's own addresses, as the mirror sees them (for wildcard endpoints), on all ports, those
 * opened later too. A set: adding twice is adding once. */
void sl_broker_local_add(const uint8_t addr[16]);
void sl_broker_local_del(const uint8_t addr[16]);

/* Why a device is not steered any more. (The daemon sends it: numbers stay what they are.) */
enum sl_port_end {
	SL_PORT_END_STEERED,   /* still steered */
	SL_PORT_END_UNKNOWN,   /* the daemon does not say why */
	SL_PORT_END_GONE,      /* the device does not exist here any more */
	SL_PORT_END_TAKEN_OFF, /* no XDP program runs there, for instance removed by hand */
	SL_PORT_END_REPLACED,  /* the device runs another XDP program */
	SL_PORT_END_QUEUES,    /* the number of queues changed */
	SL_PORT_END_LEFT,      /* the daemon ends, or does not know of it */
	SL_PORT_END_BROKEN,    /* the memory that its group shares is broken */
};
/* SL_PORT_END_STEERED while our program is still attached to the device (somebody may remove it by
 * hand) and the device has the queues that it had. Costs a netlink request; also takes a changed
 * MAC address over.
 */
enum sl_port_end sl_broker_port_end(uint32_t ifindex);
/* The event as a sentence without its full stop, for the log. */
const char *sl_port_end_text(enum sl_port_end end);

/* True: SL_PORT_TAGS still holds for the device. (ethtool -K <device> rxvlan changes it.) */
bool sl_broker_port_has_tags(uint32_t ifindex);

/* leave: packets of the VLAN device with that number (SL_CLAIM_VLAN) on the device pass to the
 * kernel, whatever is claimed; else they come to us again. */
void sl_broker_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);

/* Ends the guard on that device: everything there is the kernel's now. Until then the kernel's
 * resets of claimed flows are held back, since a connection of ours may be met by no socket. */
void sl_broker_port_unguard(uint32_t ifindex);
/* TCP flows of this process's claims on that device whose segments the kernel keeps getting (by
 * another device, or as fragments) and does not answer: the kernel should have these connections.
 * Also such flows of claimed endpoints that belong to no process or to another. Reported as long as
 * it goes on. Returns how many, at most max, after the first `skip`. Does not wait for the daemon.
 */
#define SL_STRAYS_TOLD 64
unsigned sl_broker_port_strays(uint32_t ifindex, unsigned skip, struct sl_flow_key *out,
			       unsigned max);
/* A device of that number and name exists. If it replaces a deleted device of ours, peers may
 * retransmit to it before it is steered: the kernel's resets are held back there, too. (A daemon
 * sees its devices for itself.) */
void sl_broker_link_seen(uint32_t ifindex, const char *name);

/* Puts a TCP socket into repair mode or out of it: setsockopt(2) with TCP_REPAIR and `how`, which
 * needs CAP_NET_ADMIN. It may sleep. A daemon lends no repair mode (-EPERM): with it a process can
 * bind(2) to any port, whoever listens there. */
int sl_broker_repair(int fd, int how);
/* The daemon makes a connection that this process has claimed the kernel's. sl_broker_restore()
 * creates it, in a socket of the daemon's with the properties of `shadow` and the queues' bytes
 * from memfd (-1: none); the kernel drops its packets until sl_broker_restored(true), which returns
 * the socket. go false: undone, -ECANCELED. -EPERM: the policy forbids it, or the connection is not
 * this process's; others as from bind(2) and connect(2). */
struct sl_lease_restore;
struct sl_lease_take_ok;
int sl_broker_restore(const struct sl_lease_restore *r, int shadow, int memfd);
int sl_broker_restored(bool go);
/* The daemon reads the kernel's connection *fd and makes the kernel forget it; this process must
 * hold no other descriptor of it. 0: *fd is a memfd with the queues. -errno: *fd is the socket,
 * unharmed, or -1: the daemon has died with it. -EBUSY: another process has it, too. */
int sl_broker_take(int *fd, struct sl_lease_take_ok *ok);
/* Sets the size of a TCP socket's buffer, opt SO_SNDBUFFORCE or SO_RCVBUFFORCE, beyond the limits
 * of the system: setsockopt(2), which needs CAP_NET_ADMIN for it. */
#define SL_BUFFER_MAX (64u << 20)
int sl_broker_buffer(int fd, int opt, uint32_t bytes);
/* on: has the kernel drop what arrives for a TCP socket, by a socket filter; else ends that. (Any
 * process may set filters, but on some kernels they need CAP_NET_ADMIN.) */
int sl_broker_drop_packets(int fd, bool on);

/* Sends a whole IP packet (no options, at most SL_INJECT_MAX bytes) to the host's own address that
 * it names, for the socket fd. fd must be bound to the packet's destination port, and if it is
 * connected (TCP must be) to the packet's source. Needs CAP_NET_RAW. Uses no lane. scope: of a
 * link-local address. 0 or -errno; -EADDRNOTAVAIL: not an address of the host. */
#define SL_INJECT_MAX (SL_PACKET_MOST + 8) /* without VLAN tags it may be that much longer */
int sl_broker_inject(int fd, const void *packet, size_t bytes, uint32_t scope);
/* Whether sl_broker_inject() would be allowed: 0 or -errno, usually -EPERM. */
int sl_broker_may_inject(void);

/* References to the file behind the descriptor: descriptors of this process or another, messages
 * under way that carry one, calls that another thread is making with it. -errno: the kernel does
 * not say. */
int sl_broker_holders(int fd);

/* True: the daemon does the work. It then also tells the kernel which neighbours are in use, for
 * which this process lacks the privilege: sl_broker_neigh_use(), 0 or -errno. */
bool sl_broker_is_leased(void);
int sl_broker_neigh_use(uint32_t ifindex, const uint8_t addr[16]);

/* Layout of this process's TCP connections in a shared file, so that their peers can be told if the
 * process dies without a word. All in bytes; offsets are within an entry. */
struct sl_conns_layout {
	uint32_t stride;
	uint32_t max;           /* number of entries */
	uint32_t host;          /* a pointer that is not NULL while the entry is in use */
	uint32_t dead;          /* one byte, not 0: the connection is over */
	uint32_t state;         /* one byte, as in TCP_INFO */
	uint32_t local, remote; /* 16 bytes each */
	uint32_t lport, rport;  /* uint16_t */
	uint32_t owner;    /* a pointer that is not NULL while the program has a socket of it */
	uint32_t oif;      /* uint32_t: interface of its link-local addresses */
	uint32_t listener; /* uint32_t: number of its listener (sl_broker_box()) */
	/* Offset and form of the protocol's own state: sl_tcp_repair_form(). */
	uint32_t tcp, form;
	/* Requests (sl_tcp_repair_dead_req()): offset in the file, size and number of records; and
	 * the offset in a record of its listener's number. */
	uint64_t req_at;
	uint32_t req_stride, req_max, req_listener;
	uint32_t reserved; /* 0 */
};
/* Hands the file of connections to the reaper or the daemon; call it before any device is opened.
 * memfd stays the caller's and must stay open and unchanged; other processes may write the byte
 * behind the entries. */
int sl_broker_conns(int memfd, const struct sl_conns_layout *layout);
/* Other processes accept from the same listener as ours. Should this process die, each connection
 * that waits in its queue is sent through `out` (sock/listen/share.c), as a kernel socket with the
 * packet SL_BOX_BARE. fd: the listener's, which is not kept. 0; -EOPNOTSUPP: there is no daemon;
 * -errno. */
int sl_broker_box(uint32_t listener, int out, int fd);
/* Ends what sl_broker_box() began. */
void sl_broker_unbox(uint32_t listener);
#define SL_BOX_BARE  "b" /* the socket has none of the listener's options yet */
#define SL_BOX_READY ""

/* Policy: writes the n rules into every open port's `rules` (and those opened later). */
int sl_broker_rules_set(const struct sl_rule *rules, unsigned n);

/* Around fork, in the parent: no child may be made in the middle of an attachment, since it would
 * keep the attachment's descriptors and file locks (which hold up every process of the host) as
 * long as it lives. The child calls sl_broker_child() instead of sl_broker_fork_end(). */
void sl_broker_fork_begin(void);
void sl_broker_fork_end(void);

/* In the child after fork: forgets everything without touching the parent's state; closes the
 * inherited descriptors (an XSK kept open in a child would swallow packets). Async-signal-safe. */
void sl_broker_child(void);

/* The process is about to change its user, and has closed its devices: gives up the lease (or what
 * the broker has open), and replaces the shared memory by private copies. The next sl_broker_init()
 * starts afresh. */
void sl_broker_part(void);

/* At exit: detaches, unpins. */
void sl_broker_fini(void);

#endif
