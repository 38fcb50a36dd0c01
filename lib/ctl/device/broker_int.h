/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the broker's files. Call everything here with the broker's lock held (see
 * sl_broker_enter), except where a comment says otherwise. */
#ifndef SL_BROKER_INT_H
#define SL_BROKER_INT_H

#include "ctl/broker/embedded.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/steer/pin.h"

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
			     can be taken off by hand; the reaper removes it */
	SL_ATTACH_LINK,   /* bpf_link: alone; the kernel removes it */
};

/* In the order of pinning: the first pin decides which process owns the directory. */
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
#define SL_HINT_TAG   (1u << 1) /* VLAN tags outside the frame, which the driver reports */

#define SL_GUARD_NF 2 /* one for each version of IP */
/* Netfilter priority, before conntrack's (NF_IP_PRI_CONNTRACK_DEFRAG is -400). */
#define SL_GUARD_PRIORITY (-800)

/* Attachment of the steering program to one device. */
struct sl_attach {
	enum sl_attach_kind kind;
	struct bpf_object *obj;
	struct xdp_program *prog; /* libxdp only */
	int mode;                 /* enum xdp_attach_mode */
	bool beside;              /* attached by a dispatcher */
	uint32_t prog_id;         /* our program's */
	bool frags;               /* the program takes packets in several buffers */
	uint32_t hints;           /* SL_HINT_*: metadata the program may ask of the driver */
	uint32_t main_id;         /* program that the device runs: the dispatcher, or ours */
	int link_fd;
	int guard_fd;              /* the guard's link, -1: none */
	int guard_nf[SL_GUARD_NF]; /* links of the guards for packets that leave the namespace, or
				      the nf_tables one's */
	int guard_prog;            /* the guard's program, -1: not loaded, or not by this process */
	bool guard_tried, guard_nf_tried;
	uint32_t guard_on; /* device that the guard is on now (sl_guard_follow), 0: the attachment's
			    */
	int map_fd[SL_MAP_COUNT];
};

/* An RX queue of a port. */
struct sl_queue {
	int anchor_fd; /* XSK that keeps the rings of the queue alive */
	void *fill_map, *comp_map;
	size_t fill_bytes, comp_bytes;
	uint32_t share_queue; /* its record in the group's memory */
};

/* A group's packet memory and the owners of its frames. The embedded broker has one alone. */
struct sl_umem {
	struct sl_umem *next;
	struct sl_umem_info info;
	void *share_mem;
	size_t share_bytes;
	struct sl_share_watch
		*watch; /* watches its locks (broker_watch.c); NULL: a process alone */
	bool broken;    /* a lock is broken; the shared memory is not used any more */
	bool unburied[SL_SHARE_MEMBERS]; /* members without lanes, still to be buried */
};

/* Entries, powers of two. */
struct sl_ring_sizes {
	uint32_t rx, tx, fill, comp;
};

/* Number of claims behind each bit of `ports`, by its index. A connection may use any port number:
 * the counts of one kind lie together, so that few pages are touched. A count at its maximum stays
 * there, and so does the bit, which costs a look-up. */
struct sl_port_uses {
	uint16_t flow[SL_MAX_PORTS];
	uint16_t endpoint[SL_MAX_PORTS];
	uint16_t wildcard[SL_MAX_PORTS];
};

/* A group's queues of a device. */
#define SL_MAX_PARTS 8
struct sl_part {
	struct sl_device *port;
	uint32_t first, n; /* range of queues */
	bool taken;
	uint32_t users;       /* uses by the group that has this part */
	uint32_t umem_id;     /* the group's packet memory */
	struct sl_umem *umem; /* that memory, once the queues are bound */
	bool bound, zerocopy;
};

/* State of a NIC that steers packets to queues by rules (device/nic.c). */
#define SL_NIC_SPREADS 2048 /* entries of its table of queues, at most */
struct sl_nic {
	bool made_ntuple;               /* we switched ntuple rules on */
	bool chooses;                   /* the NIC chooses where a rule lies */
	bool full;                      /* no room for a rule, until one of ours is removed */
	bool spread_usual;              /* the queue table was the driver's default */
	uint32_t nspread;               /* entries of the queue table; 0: unchanged */
	uint32_t places;                /* rules that fit, all together */
	uint32_t last;                  /* place of the last rule */
	uint8_t spread[SL_NIC_SPREADS]; /* the queue table before our change */
};

struct sl_device {
	struct sl_device *next;
	struct sl_port_info info;
	uint32_t users;
	int owner_fd;  /* listening socket whose name is the ownership of the device */
	int reaper_fd; /* socket to the reaper, -1: none */
	struct sl_attach attach;
	uint64_t link_ns;    /* until then a missing link is due to our attaching; 0: it had none */
	uint64_t vlans_left; /* see struct sl_port_config */
	uint32_t nparts;     /* 1, or more: device/part.c */
	struct sl_part part[SL_MAX_PARTS];
	struct sl_nic nic;
	bool lent_once;             /* its queues are bound with the first lane (umem/ring.c) */
	struct sl_ring_sizes rings; /* of all queues and lanes; chosen when the queues are bound */
	struct sl_queue queue[SL_MAX_QUEUES];
	uint64_t lane_open[SL_MAX_XSKS / 64]; /* bit set of lanes */
	uint8_t lane_part[SL_MAX_XSKS];       /* part that each lane belongs to */
	uint16_t xsk[SL_MAX_XSKS];            /* records of the lanes' XSKs in the group's memory */
	struct sl_port_uses *uses;
	struct sl_rule *rules; /* mapped writable */
	uint32_t replaced;     /* at most so many flow claims have been replaced in the map */
	uint16_t group_free[SL_MAX_GROUPS]; /* ring of unused groups, oldest first */
	uint32_t group_head, group_nfree;
};

/* device/core.c */
struct sl_device *sl_device_find(uint32_t ifindex);
struct sl_device *sl_port_first(void);
/* sl_device_new() makes an empty device; sl_device_add() lists it when it is complete;
 * sl_device_free() frees one that is not listed (any more); sl_device_remove() takes it off the
 * list. */
struct sl_device *sl_device_new(void);
void sl_device_add(struct sl_device *p);
void sl_device_remove(struct sl_device *p);
void sl_device_free(struct sl_device *p);
/* In a forked child: no device is this process's, whose number is another. */
void sl_devices_forget(void);
/* broker.c: frees one that was not completed. */
void sl_device_drop(struct sl_device *p);
const struct sl_broker_opts *sl_broker_opts(void);
uint32_t sl_broker_pid(void); /* this process */

/* device/dev.c */
/* NICs that count receive buffers in kilobytes (SRRCTL.BSIZEPKT). */
bool sl_dev_counts_kilobytes(const char *driver);
/* Bytes of a frame that suffices for the devices that exist now; small_mtu: the longest packet that
 * a frame of 2,048 bytes holds. Any thread. */
uint32_t sl_dev_frame_size(uint32_t small_mtu);
/* Fills ifname, driver, mac, mtu, nqueues, flags, max_lanes of info. */
int sl_dev_query(uint32_t ifindex, struct sl_port_info *info, const char **why);
/* True: the device has another number of queues now than info says. fd: any socket. */
bool sl_dev_has_changed(int fd, const struct sl_port_info *info);
/* SIOCETHTOOL on a device, whatever its name is now. */
int sl_dev_ethtool(uint32_t ifindex, void *cmd);
/* 1: VLAN tags stay in the frames that the device receives; 0: the NIC takes them off; -errno. */
int sl_dev_leaves_tags(const struct sl_port_info *info);
/* True for a master (bond) that has its slaves run a native program. Such a device must be refused:
 * an XSK takes only what its own device has received, and the kernel drops what a slave redirects
 * to it. */
bool sl_dev_hands_xdp_down(const char *driver);

/* device/link.c */
struct sl_link_now {
	uint8_t mac[6];
	uint32_t xdp_id; /* program that the device runs, 0: none */
	uint32_t mtu;
	bool carrier;
};
/* Returns the netlink descriptor, made on first use. Call it in a call of the program, not in the
 * keeper, so that the descriptor does not appear later. */
int sl_link_open(void);
/* 0, or -errno: -ENODEV when the device is gone. */
int sl_link_look(uint32_t ifindex, struct sl_link_now *out);
void sl_link_look_child(void);

/* steer/left.c. True: the device has a link, or had one until it was left, moments ago. */
bool sl_left_had_link(uint32_t ifindex);
/* The device had a link before it was left; if it has none now, the next user must know. */
void sl_left_without(uint32_t ifindex);

/* broker/owner.c: takes the name that marks a device's owner. 0: it is ours now. */
int sl_owner_take(uint32_t ifindex, const char *ifname, int *owner_fd, const char **why);
/* Another process of ours had the name; from now on this process answers those that ask. */
void sl_owner_again(int owner_fd);
/* Empties the queue of processes that asked for the owner. */
void sl_owner_drain(int owner_fd);
/* Starts a process of the tool that outlives us, with fd[] as its descriptors 3 to 6 and nothing
 * else of ours. -ENOENT: no tool. */
#define SL_HELPER_FDS 4
int sl_helper_start(const char *command, const char *arg, const int fd[SL_HELPER_FDS]);
/* Starts the process that cleans up if we die. -ENOENT: no tool. */
int sl_reaper_start(struct sl_device *port);
/* Ends the reaper; it cleans up what is still on the device. */
void sl_reaper_stop(struct sl_device *port);

/* Changes bits in a word of `ports`, which only its broker writes, and its generation, so that the
 * steering program forgets what it remembers of the port. Call it after changing the maps of
 * claims. */
static inline void sl_port_word_change(uint64_t *word, uint64_t set, uint64_t clear)
{
	sl_store_release(word, ((sl_load(word) + SL_L4_PORT_GEN) | set) & ~clear);
}

/* steer/load.c */
/* Opens the plain form of the program without loading it; frags: for packets in several buffers.
 * NULL: errno. */
struct bpf_object *sl_steer_open(bool frags);
/* True: a program of so many instructions, now so long, fits in the pages that it was given. */
bool sl_steer_fits(size_t insns, size_t xlated_bytes, size_t page);
/* Loads the best form into a->obj, prog_id and hints; its descriptor or -errno. */
int sl_steer_load(struct sl_attach *a, uint32_t ifindex, bool native);
/* After a failed attempt: true when this kernel's verifier refused; why then says its reason. */
bool sl_steer_refused(int err, const char *ifname, const char **why);
/* Returns the last line of a verifier's log that is not about the verifier's own work; cuts the log
 * into lines. */
const char *sl_verifier_reason(char *log);

/* steer/attach.c */
/* -EBUSY: another owner's program has the device exclusively. Call it before building anything,
 * since a refused caller asks again. */
int sl_attach_held(uint32_t ifindex, const char *ifname, const char **why);
/* reaper: a reaper runs, so the attachment may outlive us. */
int sl_attach_open(struct sl_attach *a, const struct sl_port_info *info, bool reaper,
		   const char **why);
void sl_attach_close(struct sl_attach *a, uint32_t ifindex);
/* xdp_id: program that the device runs now. */
bool sl_attach_alive(struct sl_attach *a, uint32_t ifindex, uint32_t xdp_id);
bool sl_attach_is_generic(const struct sl_attach *a);
/* Removes every steering program from this namespace's device: for the device's owner only. */
void sl_attach_clean(uint32_t ifindex);
/* In a forked child. Async-signal-safe. */
void sl_attach_child(struct sl_attach *a);
/* Directory where libxdp looks for a bpffs, and whether one is mounted there. */
const char *sl_bpffs_root(void);
bool sl_bpffs_is_there(void);
/* True when the pinned or attached program is a steering program of that device. */
bool sl_steer_config(int prog_fd, struct sl_port_config *cfg);

/* device/libs.c */
/* Around calls of libbpf and libxdp: their messages go to our log, at DEBUG. */
void sl_libs_quiet(void);
void sl_libs_restore(void);
/* Closes descriptors that libxdp may have left open for that program. */
void sl_libs_close_leaks(uint32_t prog_id);

/* steer/guard.c: opens the guard, once for an attachment, at its first claim of TCP; a kernel that
 * cannot do it has no guard. Closing is async-signal-safe. */
void sl_guard_open(struct sl_attach *a, uint32_t ifindex);
/* Opens the second guard, for packets that leave by other devices, together with the first. Call it
 * in a call of the program, not in the keeper, since libbpf's descriptors are low numbers for a
 * moment. A restarted daemon, which has adopted the first guard, calls it alone. */
void sl_guard_open_rest(struct sl_attach *a, uint32_t ifindex);
/* Moves the guard to the device that replaced the attachment's. False: it is there already, or
 * there is no guard. */
bool sl_guard_follow(struct sl_attach *a, uint32_t ifindex);
void sl_guard_close(struct sl_attach *a);

/* steer/nft.c: has nf_tables run the program on all that leaves the namespace, until the returned
 * descriptor is closed. -errno: the kernel cannot. */
int sl_guard_tables(int prog_fd, uint32_t ifindex);

/* steer/holders.c. Async-signal-safe. */
void sl_holders_child(void);

/* steer/pin.c */
int sl_pin_maps(struct sl_device *port);
/* Unlinks all pins of a device of this namespace: for the device's owner only. */
void sl_pin_remove(uint32_t ifindex);

/* steer/maps.c */
int sl_maps_open(struct sl_device *port, const char **why);
/* Opens maps that are in use: they stay as they are, except for the host's addresses. */
int sl_maps_open_again(struct sl_device *port, const char **why);
/* Unmaps; the maps themselves go with the attachment. */
void sl_maps_close(struct sl_device *port);
void sl_maps_set_config(struct sl_device *port);

/* claim/group.c: the claims of one endpoint as a group. */
int sl_group_make(struct sl_device *port, const struct sl_claim *target, uint32_t count,
		  struct sl_claim *out);
void sl_group_drop(struct sl_device *port, uint32_t group);
int sl_group_get(struct sl_device *port, uint32_t group, struct sl_group *out);

/* umem/umem.c */
struct sl_umem *sl_umem_first(void);
struct sl_umem *sl_umem_find(uint32_t id);
/* Makes packet memory with this number (0: the embedded broker's only one). */
int sl_umem_make(uint32_t id, uint32_t nframes, uint32_t frame_size, const char **why);
void sl_umem_child(void);
/* The process is about to change its user: puts private memory at these addresses, with the
 * process's own data copied, and closes the descriptors. Nothing of the devices is kept. */
void sl_umem_part(struct sl_umem_info *u, void *share_mem, size_t share_bytes);
void sl_umem_part_all(void);
/* Gives up the packet memory; no device may have it open. Harmless when there is none. */
void sl_umem_drop(uint32_t id);
/* Takes existing memory into use: info has everything but the mappings. */
int sl_umem_map_again(const struct sl_umem_info *info);
/* Registers the packet memory with an XSK that is not bound. */
int sl_umem_register(const struct sl_umem *u, int fd);
/* sl_umem_take() gives frames for an empty fill ring, at most max, and returns how many.
 * sl_umem_untake() returns them; sl_umem_given() says that the ring of that queue has them now. */
uint32_t sl_umem_take(struct sl_umem *u, uint32_t *frames, uint32_t max);
void sl_umem_untake(struct sl_umem *u, const uint32_t *frames, uint32_t n);
void sl_umem_given(struct sl_umem *u, const uint32_t *frames, uint32_t n, uint32_t share_queue);

/* umem/ring.c: maps rings, in the broker or in the process that gets the socket. sl_queue_map()
 * maps a queue's rings (fill, comp: entries) from its anchor, sl_lease_map() a lane's from the
 * lease's descriptor. -EBUSY: see sl_rings_lent_once(). */
int sl_ring_offsets(int fd, struct xdp_mmap_offsets *off);
int sl_queue_map(struct sl_queue *q, uint32_t fill, uint32_t comp);
void sl_queue_unmap(struct sl_queue *q);
int sl_lease_map(struct sl_xsk_lease *l);
void sl_lease_unmap(struct sl_xsk_lease *l);
/* True: this kernel cannot map rings after bind (before Linux 6.4), so they are mapped before it.
 */
bool sl_rings_lent_once(void);
void sl_rings_are_lent_once(void);
/* Finds sl_rings_lent_once() out with a bound queue, if it is not known. */
void sl_rings_try(const struct sl_queue *q);

/* umem/xsk.c: an XSK; queue: the sizes of the queue's rings, NULL: it shares another's. */
int sl_xsk_new(uint32_t rx, uint32_t tx, const struct sl_ring_sizes *queue);
/* Confines an unbound XSK that another process gets: without CAP_NET_RAW it cannot be bound to
 * another device (Linux 6.5 and stable kernels of 2023: f7306acec9aa; older ones ignore it). */
int sl_xsk_confine(int fd, const struct sl_device *port);
/* True (Linux 6.6): XSKs get packets that the driver has in several buffers, in one frame or, if
 * bound with XDP_USE_SG, in several. */
bool sl_xsk_gathers(void);
/* True: the steering program will be tried with its frags flag set. */
bool sl_xsk_may_have_frags(const struct sl_port_info *info);
int sl_xsk_bind(int fd, const struct sl_device *port, uint32_t queue, uint16_t flags, int share);
/* Binds anchors on all queues of a part. Where rings are lent once this is only a trial, and the
 * anchors are closed again. */
int sl_queues_bind(struct sl_part *part, const char **why);
/* Bytes of the longest packet that these queues deliver. Needs the attachment and the packet
 * memory. */
uint32_t sl_queues_room(const struct sl_part *part);
/* Logs packets that the queues cannot deliver, if there are any. */
void sl_queues_say_room(const struct sl_part *part);
/* The device has this MTU now: logs if packets became too long for the queues. */
void sl_queues_check_mtu(const struct sl_part *part, uint32_t mtu);
/* Makes unbound anchors (unless they exist) whose rings another process maps. */
int sl_queues_make(struct sl_part *part, const char **why);
bool sl_queues_are_made(const struct sl_part *part); /* made but not bound */
/* Binds the anchors of sl_queues_make(). -EAGAIN: a queue is not free yet; all are closed. */
int sl_queues_bind_made(struct sl_part *part, const char **why);
/* Maps the rings of queues that are bound already. */
int sl_queues_map_again(struct sl_part *part);
/* unmap: no process works the rings any more. */
void sl_queues_close(struct sl_part *part, bool unmap);

/* device/part.c: divides a device among that many groups, if possible; else it stays whole, which
 * it does where rings are lent once (sl_rings_lent_once()). */
void sl_parts_make(struct sl_device *port, uint32_t want, bool lent_once);
/* Makes the device whole again, with no group using it. */
void sl_parts_end(struct sl_device *port);
/* sl_parts_word() writes the division for the reaper, "" for a whole device; sl_parts_clean() is
 * the reaper's undoing of it. */
#define SL_PARTS_WORD 16
void sl_parts_word(const struct sl_device *port, char word[SL_PARTS_WORD]);
void sl_parts_clean(uint32_t ifindex, const char *word);
/* Adds a use of the part, by the group with that packet memory. */
void sl_part_take(struct sl_part *part, uint32_t umem);
/* sl_part_of() finds the part of this packet memory, sl_part_unused() a free one; or NULL. */
struct sl_part *sl_part_of(struct sl_device *port, uint32_t umem);
struct sl_part *sl_part_unused(struct sl_device *port);
/* True: the queue belongs to a part whose queues are bound. */
bool sl_queue_is_bound(const struct sl_device *port, uint32_t queue);
/* True: both claims' packets come by the same part's queues. (Claims that pass use no queues.) */
bool sl_part_is_same(const struct sl_device *port, const struct sl_claim *a,
		     const struct sl_claim *b);
/* Describes the device as the group of this part sees it. */
void sl_part_describe(const struct sl_part *part, struct sl_port_info *out);

/* device/nic.c: rules of the NIC. All return 0 or -errno, with the reason in *why. sl_nic_open()
 * checks that the NIC takes rules and makes it ready. */
int sl_nic_open(struct sl_device *port, const char **why);
/* Sends packets without a rule to the first n queues only. */
int sl_nic_spread(struct sl_device *port, uint32_t n, const char **why);
/* Undoes sl_nic_open() and sl_nic_spread(), but leaves the rules. */
void sl_nic_close(struct sl_device *port);
/* Sends packets for the local end (address 0: any of its family) from the remote end (port number
 * 0: any peer) to that queue. place: names the rule from then on. */
int sl_nic_rule_add(struct sl_device *port, const struct sl_flow_key *key, uint32_t queue,
		    uint32_t *place);
void sl_nic_rule_del(struct sl_device *port, uint32_t place);
/* Calls found() for each rule that leads to a queue from `first` on; such queues only our rules
 * use. found() returns false: the rule is removed. */
typedef bool sl_nic_found(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place);
void sl_nic_rules(struct sl_device *port, uint32_t first, sl_nic_found *found, void *arg);

/* claim/lane.c: maps a lane's XSK on a queue again and puts it into the map. */
int sl_lane_map_again(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *l);
/* Takes a lane's XSKs out of the map; gives its number and records free. */
void sl_lane_mute(uint32_t ifindex, uint32_t lane);
void sl_lane_free(uint32_t ifindex, uint32_t lane);

/* claim/bury.c: takes back sent frames of dead members, a batch at a time. Returns how many, or
 * -EBUSY. */
int sl_queues_reap(void);
/* Tries again to bury members without lanes that a taken lock has kept from it. */
void sl_umems_bury_left(void);

/* umem/reclaim.c: takes back the frames of closed queues once the kernel is done with them. Cheap
 * when there are none. */
void sl_queues_reclaim(void);

#endif
