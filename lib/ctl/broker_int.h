/* SPDX-License-Identifier: BSD-2-Clause */
/* What the broker's files share. Everything here is called with the broker's lock held (see
 * sl_broker_enter), except where it says otherwise. */
#ifndef SL_BROKER_INT_H
#define SL_BROKER_INT_H

#include "ctl/broker_embedded.h"
#include "ctl/pin.h"

/* Ring sizes, in entries, when the options say nothing. */
#define SL_XSK_RX  4096
#define SL_XSK_TX  2048
#define SL_XSK_MAX 65536

#define SL_STEER_PROG "steer" /* the program's name, also in the kernel */

struct bpf_object;
struct xdp_program;
struct xdp_mmap_offsets;

enum sl_attach_kind {
	SL_ATTACH_NONE,
	SL_ATTACH_LIBXDP, /* beside other programs where there is freplace and a bpffs, else alone;
			     can be taken off by hand; the reaper ends it */
	SL_ATTACH_LINK,   /* bpf_link: alone; the kernel ends it */
};

/* In the order they are pinned: who owns the directory comes first. */
enum sl_map {
	SL_MAP_CONFIG,
	SL_MAP_FLOWS,
	SL_MAP_ENDPOINTS,
	SL_MAP_LOCALS,
	SL_MAP_GROUPS,
	SL_MAP_PORTS,
	SL_MAP_LANES,
	SL_MAP_RULES,
	SL_MAP_COUNTERS,
	SL_MAP_PICKED,
	SL_MAP_STRAYS,
	SL_MAP_COUNT
};
extern const char *const sl_map_names[SL_MAP_COUNT];

#define SL_HINT_STAMP (1u << 0) /* hardware time stamps */
#define SL_HINT_TAG   (1u << 1) /* VLAN tags that are not in the frame; the driver tells them */

#define SL_GUARD_NF 2 /* one for each version of IP */
/* Of netfilter, before conntrack's (NF_IP_PRI_CONNTRACK_DEFRAG is -400). */
#define SL_GUARD_PRIORITY (-800)

/* Attachment of the steering program to one device. */
struct sl_attach {
	enum sl_attach_kind kind;
	struct bpf_object *obj;
	struct xdp_program *prog; /* libxdp only */
	int mode;                 /* enum xdp_attach_mode */
	bool beside;              /* in a dispatcher */
	uint32_t prog_id;         /* ours */
	bool frags;               /* it takes packets in several buffers */
	uint32_t hints;           /* SL_HINT_*: what it may ask the driver */
	uint32_t main_id;         /* what the device runs: the dispatcher, or ours */
	int link_fd;
	int guard_fd;              /* of the guard's link, -1: none */
	int guard_nf[SL_GUARD_NF]; /* of those on the way out of the namespace; or that of tables */
	int guard_prog;            /* of its program, -1: not loaded, or not by this process */
	bool guard_tried, guard_nf_tried;
	uint32_t guard_on; /* the device that it is on now (sl_guard_follow), 0: the attachment's */
	int map_fd[SL_MAP_COUNT];
};

/* One RX queue of a port. */
struct sl_queue {
	int anchor_fd; /* XSK that keeps the rings of the queue alive */
	void *fill_map, *comp_map;
	size_t fill_bytes, comp_bytes;
	uint32_t share_queue; /* its record in the group's memory */
};

/* Packet memory, and who has which of its frames: a group's. The embedded broker has one alone. */
struct sl_umem {
	struct sl_umem *next;
	struct sl_umem_info info;
	void *share_mem;
	size_t share_bytes;
	struct sl_share_watch *watch;    /* its locks (broker_watch.c); NULL: of a process alone */
	bool broken;                     /* its shared memory is not used any more: */
	bool unburied[SL_SHARE_MEMBERS]; /* members without lanes, to be buried when it can be */
};

/* Entries, powers of two. */
struct sl_ring_sizes {
	uint32_t rx, tx, fill, comp;
};

/* How many claims stand behind each bit of `ports`, by its index. Of flows there may be one on each
 * port: those of a kind lie together, where few pages are touched. A count that is full stays so,
 * and with it the bit, which costs a look-up. */
struct sl_port_uses {
	uint16_t flow[SL_MAX_PORTS];
	uint16_t endpoint[SL_MAX_PORTS];
	uint16_t wildcard[SL_MAX_PORTS];
};

/* A group's queues of a device. */
#define SL_MAX_PARTS 8
struct sl_part {
	struct sl_device *port;
	uint32_t first, n; /* which they are */
	bool taken;
	uint32_t users;       /* of a group that has them, */
	uint32_t umem_id;     /* and this packet memory, */
	struct sl_umem *umem; /* and that one, once they are bound */
	bool bound, zerocopy;
};

/* A NIC that is told which packets go to which queue (broker_nic.c). */
#define SL_NIC_SPREADS 2048 /* entries of its table of queues, at most */
struct sl_nic {
	bool made_ntuple;               /* rules were switched on for us */
	bool chooses;                   /* it says itself where a rule lies */
	bool full;                      /* no place is left, until a rule of ours goes */
	bool spread_usual;              /* the table of queues was the driver's own */
	uint32_t nspread;               /* its entries; 0: it is as it was */
	uint32_t places;                /* for rules, all together */
	uint32_t last;                  /* where the last one was put */
	uint8_t spread[SL_NIC_SPREADS]; /* what the table was */
};

struct sl_device {
	struct sl_device *next;
	struct sl_port_info info;
	uint32_t users;
	int owner_fd;  /* listening socket whose name is the ownership of the device */
	int reaper_fd; /* socket to the reaper, -1: none */
	struct sl_attach attach;
	uint64_t link_ns;    /* until then its link is away because it is ours; 0: it had none */
	uint64_t vlans_left; /* see struct sl_port_config */
	uint32_t nparts;     /* 1, or more: broker_part.c */
	struct sl_part part[SL_MAX_PARTS];
	struct sl_nic nic;
	bool lent_once;             /* its queues are bound with the first lane (broker_ring.c) */
	struct sl_ring_sizes rings; /* of all queues and lanes; chosen when the queues are bound */
	struct sl_queue queue[SL_MAX_QUEUES];
	uint64_t lane_open[SL_MAX_XSKS / 64]; /* bit set of lanes */
	uint8_t lane_part[SL_MAX_XSKS];       /* of which part each is */
	uint16_t xsk[SL_MAX_XSKS];            /* records of the lanes' XSKs in the group's memory */
	struct sl_port_uses *uses;
	struct sl_rule *rules; /* mapped writable */
	uint32_t replaced;     /* at most so many claims of flows are not in the map any more */
	uint16_t group_free[SL_MAX_GROUPS]; /* ring of unused groups, oldest first */
	uint32_t group_head, group_nfree;
};

/* Writes the sentence that *why points to (thread-local; any thread, no lock). */
void sl_why(const char **why, const char *fmt, ...) SL_PRINTF(2, 3);
/* Puts the errno of a failed library call into words; NULL-terminated, static or thread-local. */
const char *sl_strerror(int err);

/* broker.c */
struct sl_device *sl_device_find(uint32_t ifindex);
struct sl_device *sl_port_first(void);
/* An empty one; one that is complete, to be found from now on; one that was not completed. */
struct sl_device *sl_device_new(void);
void sl_device_add(struct sl_device *p);
void sl_device_drop(struct sl_device *p);
const struct sl_broker_opts *sl_broker_opts(void);
uint32_t sl_broker_pid(void); /* this process */

/* broker_dev.c */
/* NICs that count receive buffers in kilobytes (SRRCTL.BSIZEPKT). */
bool sl_dev_counts_kilobytes(const char *driver);
/* Fills ifname, driver, mac, mtu, nqueues, flags, max_lanes of info. */
int sl_dev_query(uint32_t ifindex, struct sl_port_info *info, const char **why);
/* Has the device another number of queues now than info says? fd: any socket. */
bool sl_dev_has_changed(int fd, const struct sl_port_info *info);
/* SIOCETHTOOL of a device, whatever its name is now. */
int sl_dev_ethtool(uint32_t ifindex, void *cmd);
/* Do VLAN tags stand in the frames that it receives? Not those that a NIC takes off. 1 or 0, or
 * -errno. */
int sl_dev_leaves_tags(const struct sl_port_info *info);
/* A master (bond) that has its slaves run a native program. That must not be: an XSK takes only
 * what its own device has received, and the kernel drops what a slave redirects to it. */
bool sl_dev_hands_xdp_down(const char *driver);

/* broker_link.c */
struct sl_link_now {
	uint8_t mac[6];
	uint32_t xdp_id; /* of the program that the device runs, 0: none */
	uint32_t mtu;
	bool carrier;
};
/* Its descriptor, made when there is none: in a call of the program, not later by the keeper. */
int sl_link_open(void);
/* 0, or -errno: -ENODEV when the device is gone. */
int sl_link_look(uint32_t ifindex, struct sl_link_now *out);
void sl_link_look_child(void);

/* broker_left.c: has the device a link, or had one until it was left, moments ago? */
bool sl_left_had_link(uint32_t ifindex);
/* It had one before it was left: if it has none now, who comes next is to know. */
void sl_left_without(uint32_t ifindex);

/* broker_owner.c: the name that a device is owned by. 0: it is ours now. */
int sl_owner_take(uint32_t ifindex, const char *ifname, int *owner_fd, const char **why);
/* The name was another process's of ours: who asks is told this one. */
void sl_owner_again(int owner_fd);
/* Empties the queue of those who asked who we are. */
void sl_owner_drain(int owner_fd);
/* Starts a process of the tool that outlives us, with these as its descriptors 3, 4, 5 and 6, and
 * nothing else of ours. -ENOENT: no tool. */
#define SL_HELPER_FDS 4
int sl_helper_start(const char *command, const char *arg, const int fd[SL_HELPER_FDS]);
/* The one that cleans up if we die. -ENOENT: no tool. */
int sl_reaper_start(struct sl_device *port);
/* Ends it; it cleans up what is still on the device. */
void sl_reaper_stop(struct sl_device *port);

/* A word of `ports`, which its broker alone writes: the bits change, and what the steering program
 * remembers of the port is forgotten. After what is changed in the maps of claims. */
static inline void sl_port_word_change(uint64_t *word, uint64_t set, uint64_t clear)
{
	sl_store_release(word, ((sl_load(word) + SL_PORT_GEN) | set) & ~clear);
}

/* broker_load.c */
/* The plain form, not loaded; frags: for packets in several buffers. NULL: errno. */
struct bpf_object *sl_steer_open(bool frags);
/* A program of so many instructions, now so long, stays in the pages that it was given. */
bool sl_steer_fits(size_t insns, size_t xlated_bytes, size_t page);
/* Loads the best form into a->obj, prog_id and hints; its descriptor or -errno. */
int sl_steer_load(struct sl_attach *a, uint32_t ifindex, bool native);
/* After an attempt that failed with err: it was this kernel's verifier, and why says its reason. */
bool sl_steer_refused(int err, const char *ifname, const char **why);
/* Of a verifier's log, which is cut into lines: the last one that is not about its own work. */
const char *sl_verifier_reason(char *log);

/* broker_attach.c */
/* -EBUSY: a program of somebody else has the device, alone. Asked before anything is built for it,
 * since who is refused asks again. */
int sl_attach_held(uint32_t ifindex, const char *ifname, const char **why);
/* Will it be tried with its frags set? */
bool sl_attach_may_have_frags(const struct sl_port_info *info);
/* reaper: there is one, so the attachment may outlive us. */
int sl_attach_open(struct sl_attach *a, const struct sl_port_info *info, bool reaper,
		   const char **why);
void sl_attach_close(struct sl_attach *a, uint32_t ifindex);
/* xdp_id: what the device runs now. */
bool sl_attach_alive(struct sl_attach *a, uint32_t ifindex, uint32_t xdp_id);
bool sl_attach_is_generic(const struct sl_attach *a);
/* Removes every steering program of this namespace's device from it: only for who owns it. */
void sl_attach_clean(uint32_t ifindex);
/* In a forked child. Async-signal-safe. */
void sl_attach_child(struct sl_attach *a);
/* Where libxdp looks for a bpffs, and whether one is there. */
const char *sl_bpffs_root(void);
bool sl_bpffs_is_there(void);
/* True when the pinned or attached program is a steering program of that device. */
bool sl_steer_config(int prog_fd, struct sl_port_config *cfg);

/* broker_libs.c */
/* Around calls of libbpf and libxdp: their messages go to our log, at DEBUG. */
void sl_libs_quiet(void);
void sl_libs_restore(void);
/* What libxdp may have left open of that program. */
void sl_libs_close_leaks(uint32_t prog_id);

/* broker_guard.c: once for an attachment, at its first claim of TCP; where it cannot be had there
 * is none. Closing is async-signal-safe. */
void sl_guard_open(struct sl_attach *a, uint32_t ifindex);
/* The second one, for what leaves by other devices, with the first: in a call of the program, not
 * by the keeper, since libbpf's descriptors are low ones for a moment. Alone for a daemon that was
 * started again, which has adopted the first. */
void sl_guard_open_rest(struct sl_attach *a, uint32_t ifindex);
/* To the device that came for the attachment's. False: it is there, or there is no guard. */
bool sl_guard_follow(struct sl_attach *a, uint32_t ifindex);
void sl_guard_close(struct sl_attach *a);

/* broker_nft.c: has nf_tables ask the program about all that leaves the namespace, until the
 * descriptor that is returned is closed. -errno: the kernel cannot. */
int sl_guard_tables(int prog_fd, uint32_t ifindex);

/* broker_holders.c. Async-signal-safe. */
void sl_holders_child(void);

/* broker_pin.c */
int sl_pin_maps(struct sl_device *port);
/* Unlinks all pins of a device of this namespace: only for who owns it. */
void sl_pin_remove(uint32_t ifindex);

/* broker_maps.c */
int sl_maps_open(struct sl_device *port, const char **why);
/* The same for maps that are in use: they stay as they are, but for the host's addresses. */
int sl_maps_open_again(struct sl_device *port, const char **why);
/* Unmaps; the maps themselves go with the attachment. */
void sl_maps_close(struct sl_device *port);
void sl_maps_set_config(struct sl_device *port);

/* broker_group.c: the claims of one endpoint as a group. */
int sl_group_make(struct sl_device *port, const struct sl_claim *target, uint32_t count,
		  struct sl_claim *out);
void sl_group_drop(struct sl_device *port, uint32_t group);
int sl_group_get(struct sl_device *port, uint32_t group, struct sl_group *out);

/* broker_umem.c */
struct sl_umem *sl_umem_first(void);
struct sl_umem *sl_umem_find(uint32_t id);
/* Makes one with a number of its own (0: that of the embedded broker's only one). */
int sl_umem_make(uint32_t id, uint32_t nframes, uint32_t frame_size, const char **why);
void sl_umem_child(void);
/* The process is about to become another user: at these addresses is private memory from now on,
 * with what the process itself had in it, and the descriptors are closed. Of devices nothing is
 * left. */
void sl_umem_part(struct sl_umem_info *u, void *share_mem, size_t share_bytes);
void sl_umem_part_all(void);
/* Gives it up; no device of it is open. Harmless when there is none. */
void sl_umem_drop(uint32_t id);
/* Takes memory into use that there is already: info has everything but what is mapped. */
int sl_umem_map_again(const struct sl_umem_info *info);
/* Registers the packet memory with an XSK that is not bound. */
int sl_umem_register(const struct sl_umem *u, int fd);
/* Frames for an empty fill ring, at most max; how many. And back, or: the ring of that queue of the
 * group's has them now. */
uint32_t sl_umem_take(struct sl_umem *u, uint32_t *frames, uint32_t max);
void sl_umem_untake(struct sl_umem *u, const uint32_t *frames, uint32_t n);
void sl_umem_given(struct sl_umem *u, const uint32_t *frames, uint32_t n, uint32_t share_queue);

/* broker_ring.c: maps rings, in the broker or in who gets the socket. A queue's from its anchor, of
 * so many entries; a lane's from the lease's descriptor. -EBUSY: see sl_rings_lent_once(). */
int sl_ring_offsets(int fd, struct xdp_mmap_offsets *off);
int sl_queue_map(struct sl_queue *q, uint32_t fill, uint32_t comp);
void sl_queue_unmap(struct sl_queue *q);
int sl_lease_map(struct sl_xsk_lease *l);
void sl_lease_unmap(struct sl_xsk_lease *l);
/* Rings are to be mapped before bind: this kernel does not do it later. */
bool sl_rings_lent_once(void);
void sl_rings_are_lent_once(void);
/* Finds that out, if it is not known, by a queue that is bound. */
void sl_rings_try(const struct sl_queue *q);

/* broker_xsk.c: an XSK; queue: the sizes of the queue's rings, NULL: it shares another's. */
int sl_xsk_new(uint32_t rx, uint32_t tx, const struct sl_ring_sizes *queue);
/* One that others get unbound: by nobody without CAP_NET_RAW is it bound to another device (Linux
 * 6.5 and stable kernels of 2023: f7306acec9aa; before, it is not heeded). */
int sl_xsk_confine(int fd, const struct sl_device *port);
/* Linux 6.6: XSKs get packets whole that the driver has in several buffers, in one frame or, if
 * they are bound so (XDP_USE_SG), in several. */
bool sl_xsk_gathers(void);
int sl_xsk_bind(int fd, const struct sl_device *port, uint32_t queue, uint16_t flags, int share);
/* Anchors on all queues of a part. Where rings are lent once that was but a trial: they are closed
 * again, */
int sl_queues_bind(struct sl_part *part, const char **why);
/* Bytes of the longest packet that comes by them. Attached, and the packet memory is known. */
uint32_t sl_queues_room(const struct sl_part *part);
/* Says what is not, if anything. */
void sl_queues_say_room(const struct sl_part *part);
/* The device has this MTU now. */
void sl_queues_check_mtu(const struct sl_part *part, uint32_t mtu);
/* made anew (unless they are there) to be mapped by others, */
int sl_queues_make(struct sl_part *part, const char **why);
bool sl_queues_are_made(const struct sl_part *part); /* and not bound */
/* and bound then. -EAGAIN: a queue is not free yet; all are closed. */
int sl_queues_bind_made(struct sl_part *part, const char **why);
/* The rings of queues that are bound. */
int sl_queues_map_again(struct sl_part *part);
/* unmap: nobody works the rings any more. */
void sl_queues_close(struct sl_part *part, bool unmap);

/* broker_part.c: divides a device among so many groups, if it can be; else it is whole. */
void sl_parts_make(struct sl_device *port, uint32_t want);
/* It is one again, and nobody's. */
void sl_parts_end(struct sl_device *port);
/* As it is given to the reaper, and what that one does of it: "" for one that is whole. */
#define SL_PARTS_WORD 16
void sl_parts_word(const struct sl_device *port, char word[SL_PARTS_WORD]);
void sl_parts_clean(uint32_t ifindex, const char *word);
/* One user more, whose packet memory that is. */
void sl_part_take(struct sl_part *part, uint32_t umem);
/* That which has this packet memory; one that is nobody's; or NULL. */
struct sl_part *sl_part_of(struct sl_device *port, uint32_t umem);
struct sl_part *sl_part_unused(struct sl_device *port);
/* Is it of a part whose queues are bound? */
bool sl_queue_is_bound(const struct sl_device *port, uint32_t queue);
/* Do both claims' packets come by the same part's queues? (Those that pass come by none.) */
bool sl_part_is_same(const struct sl_device *port, const struct sl_claim *a,
		     const struct sl_claim *b);
/* The device as the group that has this part sees it. */
void sl_part_describe(const struct sl_part *part, struct sl_port_info *out);

/* broker_nic.c: what cannot be says why. 0 or -errno. Can it be told, and is it ready for that? */
int sl_nic_open(struct sl_device *port, const char **why);
/* What no rule is about goes to the first n queues only. */
int sl_nic_spread(struct sl_device *port, uint32_t n, const char **why);
/* As it was, but for rules. */
void sl_nic_close(struct sl_device *port);
/* Packets to that end (of local 0: any address of its family) from that one (of port 0: anybody)
 * go to that queue. place: its name from then on. */
int sl_nic_rule_add(struct sl_device *port, const struct sl_flow_key *key, uint32_t queue,
		    uint32_t *place);
void sl_nic_rule_del(struct sl_device *port, uint32_t place);
/* All such rules that lead to the queues from the first'th on, which are for ours alone. found is
 * false: it is taken out. */
typedef bool sl_nic_found(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place);
void sl_nic_rules(struct sl_device *port, uint32_t first, sl_nic_found *found, void *arg);

/* broker_lane.c: of a lane's XSK on a queue, which is put into the map, too. */
int sl_lane_map_again(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *l);
/* Takes a lane's XSKs out of the map; gives its number and records free. */
void sl_lane_mute(uint32_t ifindex, uint32_t lane);
void sl_lane_free(uint32_t ifindex, uint32_t lane);

/* broker_bury.c: what of the dead's has been sent, as much as is taken at a time; how many, or
 * -EBUSY. */
int sl_queues_reap(void);
/* Members without lanes that could not be buried, since a lock was taken: again. */
void sl_umems_bury_left(void);

/* broker_reclaim.c: the frames of closed queues come back, where the kernel is done with them.
 * Cheap when there are none. */
void sl_queues_reclaim(void);

#endif
