/* SPDX-License-Identifier: BSD-2-Clause */
/* A device in use as the broker has it, and the table of all (core.c). Call everything here with
 * the broker's lock held (lock.h). */
#ifndef SL_CTL_DEVICE_H
#define SL_CTL_DEVICE_H

#include "base/base.h"
#include "ctl/device/port.h"
#include "steer.h"

#define SL_STEER_PROG     "steer"     /* the program's name, also in the kernel */
#define SL_STEER_SKB_PROG "steer_skb" /* of devices that receive by packet sockets */

struct bpf_object;
struct xdp_program;

struct sl_umem;

enum sl_attach_kind {
	SL_ATTACH_NONE,
	SL_ATTACH_LIBXDP, /* beside other programs where there is freplace and a bpffs, else alone;
			     can be taken off by hand; the reaper removes it */
	SL_ATTACH_LINK,   /* bpf_link: alone; the kernel removes it */
	SL_ATTACH_MAPS,   /* nothing is attached: rules of the NIC steer, and the maps say what is
			     claimed */
	SL_ATTACH_TCX,    /* bpf_link of the program for packet sockets, beside others; the kernel
			     removes it (steer/attach_skb.c) */
	SL_ATTACH_CLS,    /* the same as a tc filter, for kernels without tcx; the reaper removes
			     it */
};

/* True: the device receives by packet sockets. */
static inline bool sl_attach_is_by_packet(enum sl_attach_kind kind)
{
	return kind == SL_ATTACH_TCX || kind == SL_ATTACH_CLS;
}

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
	SL_MAP_PACES,
	SL_MAP_VXLANS,
	SL_MAP_STATIONS,
	SL_MAP_COUNT
};

#define SL_GUARD_NF 2 /* one for each version of IP */

/* Attachment of the steering program to one device. */
struct sl_attach {
	enum sl_attach_kind kind;
	struct bpf_object *obj;
	struct xdp_program *prog;  /* libxdp only */
	int mode;                  /* enum xdp_attach_mode */
	bool beside;               /* attached by a dispatcher */
	uint32_t prog_id;          /* our program's */
	bool frags;                /* the program takes packets in several buffers */
	bool vxlan;                /* the program takes packets out of VXLAN */
	bool veth;                 /* the device is one */
	bool groups;               /* it knows of sockets that share an endpoint */
	uint64_t *hash_key;        /* of the program, SL_HASH_KEYS: another form gets the same */
	uint32_t hints;            /* SL_HINT_*: metadata the program may ask of the driver */
	uint32_t main_id;          /* program that the device runs: the dispatcher, or ours */
	bool left;                 /* its filter could not be removed: the reaper's work */
	int link_fd;               /* SL_ATTACH_CLS: a netlink socket for its filter; or -1 */
	int drop_fd;               /* the program for private devices (packet sockets), or -1 */
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

/* A numbered VLAN device over a port. */
struct sl_device_vlan {
	uint32_t tag;     /* as in struct sl_flow_key; 0: the number is free */
	uint32_t ifindex; /* of the VLAN device when it was numbered last */
	uint16_t port;    /* of a VXLAN device that is in `vxlans`; else 0 */
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
	struct sl_device_vlan vlan[SL_MAX_VLANS]; /* by number; no two ports use the same number */
	uint32_t nparts;                          /* 1, or more: device/part.c */
	struct sl_part part[SL_MAX_PARTS];
	struct sl_nic nic;
	struct sl_spare *spare;     /* a pair for the first lane (claim/spare.h), or NULL */
	bool lent_once;             /* its queues are bound with the first lane (umem/ring.c) */
	struct sl_ring_sizes rings; /* of all queues and lanes; chosen when the queues are bound */
	struct sl_queue queue[SL_MAX_QUEUES];
	uint64_t lane_open[SL_MAX_XSKS / 64]; /* bit set of lanes */
	bool gone; /* it was deleted or moved away, and may have come back since */
	uint64_t lane_mute[SL_MAX_XSKS / 64]; /* those that get no packets: their owner has ended */
	uint8_t lane_part[SL_MAX_XSKS];       /* part that each lane belongs to */
	uint16_t xsk[SL_MAX_XSKS];            /* records of the lanes' XSKs in the group's memory */
	struct sl_port_uses *uses;
	struct sl_rule *rules;          /* mapped writable */
	struct sl_pace_rule *paces;     /* mapped writable */
	bool has_picked;                /* or cannot have it: sl_maps_want_picked() */
	struct sl_nic_rules *nic_rules; /* steer/nic_rule.c; NULL: none */
	uint32_t replaced; /* at most so many flow claims have been replaced in the map */
	/* Bit set of the pages of info.ports that are mapped. */
	uint64_t ports_pages[SL_MAX_PORTS * sizeof(uint64_t) / 4096 / 64];
	uint16_t group_free[SL_MAX_GROUPS]; /* ring of unused groups, oldest first */
	uint32_t group_head, group_nfree;
};

struct sl_device *sl_device_find(uint32_t ifindex);
struct sl_device *sl_port_first(void);
/* sl_device_new() makes an empty device; sl_device_add() lists it when it is complete;
 * sl_device_free() frees one that is not listed (any more); sl_device_remove() takes it off the
 * list. */
struct sl_device *sl_device_new(void);
void sl_device_add(struct sl_device *p);
void sl_device_remove(struct sl_device *p);
void sl_device_free(struct sl_device *p);
/* A forked child calls this: it has no device, and another process number than its parent. */
void sl_devices_forget(void);

#endif
