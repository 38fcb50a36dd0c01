/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocol between a process and sluiced.
 *
 * A SOCK_SEQPACKET connection to a UNIX socket. Each request is one packet and gets one answer, in
 * order: a header, then the body that its operation has, whole and of exactly that length, with
 * exactly the descriptors it has (SCM_RIGHTS). All in host order: both ends are on one machine. The
 * lease lasts as long as the connection. The daemon closes a connection that breaks the protocol.
 *
 * The first request must be HELLO, which refuses another version than the daemon's (-EPROTO). A
 * body that changes needs a new version, and so does what the steering program writes into packets
 * (bpf/meta.h). */
#ifndef SL_LEASE_PROTO_H
#define SL_LEASE_PROTO_H

#include "base/share/share_watch.h"
#include "ctl/device/port.h"
#include "ctl/lease/image.h"
#include "ctl/umem/memory.h"
#include "steer.h"

#define SL_LEASE_MAGIC   0x4c534c53 /* "SLSL" */
#define SL_LEASE_VERSION 20
#define SL_LEASE_PATH    "/run/sluice/sluiced.sock"

/* The view of a device's policy that PORT_OPEN gives: copies of the maps `rules` and `paces`. */
struct sl_lease_view {
	struct sl_rule rules[SL_MAX_RULES + 1];
	struct sl_pace_rule paces[SL_MAX_PACES];
};

enum sl_lease_op {
	SL_LEASE_OP_0, /* there is none of this number */
#define SL_LEASE(op, ...) SL_LEASE_##op,
#include "ctl/lease/lease.def"
#undef SL_LEASE
	SL_LEASE_OPS
};

/* Flags of an operation. */
#define SL_LEASE_BEFORE (1u << 0) /* no HELLO is needed before */
#define SL_LEASE_LENDS  (1u << 1) /* the answer gives the process something for long */
/* Number of descriptors: one or two for each queue. */
#define SL_LEASE_MANY 255

struct sl_lease_hdr {
	uint32_t magic;
	uint16_t version;
	uint16_t op; /* enum sl_lease_op */
	uint32_t seq;
	int32_t err; /* in an answer: 0 or -errno, and then the body is why[] */
};
#define SL_LEASE_WHY 256 /* bytes; text, with a 0 at the end */

struct sl_lease_hello {
	char group[32]; /* "" or "user": the user's group; "none": this process alone; else a
			   group's name */
	char program[16];
};
struct sl_lease_hello_ok {
	uint32_t member; /* number of the lease */
	uint32_t max_flows, max_lanes;
	uint32_t repair; /* RESTORE, TAKE and INJECT are allowed */
};

struct sl_lease_umem_ok {
	uint32_t nframes, frame_size, headroom, huge;
	uint32_t member; /* its number in the group, whose shared memory came along */
	uint32_t reserved;
	struct sl_share_geometry geometry;
};

struct sl_lease_port { /* also LANE_OPEN, LANE_BIND and LANE_CLOSE */
	uint32_t ifindex;
	uint32_t lane;
};
struct sl_lease_port_ok {
	uint32_t ifindex, mtu, nqueues, flags, max_lanes;
	uint8_t mac[6];
	uint8_t end,
		pad; /* in SHOW_PORT: enum sl_port_end; an older daemon always leaves a zero here */
	char ifname[16], driver[32], pin_dir[64];
};
struct sl_lease_tags_ok {
	uint32_t tags;
};
struct sl_lease_vlan { /* VLAN_LEAVE, and without leave VLAN_PUT; ifindex: of the device below */
	uint32_t ifindex, nr, leave;
};
struct sl_lease_vlan_get {
	uint32_t ifindex, vlan; /* the device below, and the VLAN device */
	uint32_t tag;           /* as the process sees it; the daemon looks for itself */
};
struct sl_lease_vlan_ok {
	uint32_t nr;
};
struct sl_lease_frame { /* VXLAN_SEND; ifindex: of the device below, nr: of the VXLAN device */
	uint32_t ifindex, nr, bytes;
	uint8_t frame[SL_INJECT_MAX];
};
struct sl_lease_alive_ok {
	uint32_t alive;
	uint8_t mac[6];
	uint8_t end, pad; /* enum sl_port_end; an older daemon always leaves 0 here */
};

struct sl_lease_strays {
	uint32_t ifindex, skip;
};
struct sl_lease_strays_ok {
	uint32_t n;
	struct sl_stray_told stray[SL_STRAYS_TOLD];
};

struct sl_lease_queue {
	uint32_t queue, rx_size, tx_size, fill_size, comp_size, zerocopy;
	uint32_t share_queue, share_xsk;
	uint32_t near, reserved; /* as in struct sl_xsk_lease */
};
/* Before Linux 6.4 a bound XSK's rings cannot be mapped (umem/ring.c). There the lane comes
 * unbound: the process maps the XSKs' receive and transmit rings, asks for LANE_BIND, and has the
 * lane when that is answered. With the first lane of a device the queues' anchors follow the XSKs,
 * unbound, too; from these the process maps the fill and completion rings. It must keep those until
 * the device is closed, since they cannot be mapped again. -EAGAIN from LANE_BIND: the lane is
 * closed; the process unmaps its rings and opens it again. */
struct sl_lease_lane_ok {
	uint32_t first, nqueues;
	uint32_t unbound, nanchors; /* 0 or 1; 0 or nqueues */
	uint32_t packet_places;     /* not 0: the last descriptor is the lane's packet socket */
	struct sl_lease_queue queue[SL_MAX_QUEUES];
};

#define SL_LEASE_SPREAD  (1u << 0)
#define SL_LEASE_REPLACE (1u << 1)
struct sl_lease_claim {
	uint32_t ifindex;
	uint32_t flags; /* SL_LEASE_SPREAD, _REPLACE */
	struct sl_flow_key key;
	struct sl_claim claim; /* the daemon fills in pid */
	struct sl_narrow narrow;
};

struct sl_lease_drop {
	uint32_t on;
};

struct sl_lease_buffer {
	int32_t opt; /* SO_SNDBUFFORCE, SO_RCVBUFFORCE */
	uint32_t bytes;
};

struct sl_lease_box {      /* also UNBOX */
	uint32_t listener; /* the process's number of the listener */
};

struct sl_lease_holders_ok {
	uint32_t n; /* without the daemon's own */
};

struct sl_lease_neigh {
	uint32_t ifindex;
	uint8_t addr[16];
};

struct sl_lease_inject {
	uint32_t bytes, scope;
	uint8_t packet[SL_INJECT_MAX];
};

struct sl_lease_show {
	uint32_t n;
};
struct sl_lease_status_ok {
	uint32_t pid, netns, clients, leases, ports, draining;
	uint64_t uptime_ns, requests, refused, broken;
	char version[32];
};
enum sl_lease_device {
	SL_LEASE_DEVICE_OFF,
	SL_LEASE_DEVICE_STEERING,
	SL_LEASE_DEVICE_DOWN,
	SL_LEASE_DEVICE_GONE,
};
struct sl_lease_show_port_ok {
	struct sl_lease_port_ok port;
	uint32_t users, lanes, flows;
	uint32_t state;     /* enum sl_lease_device */
	uint32_t outsiders; /* programs kept off it because others have its queues */
	uint32_t lent_once; /* not 0: these others are processes, else groups */
	char group[32];     /* group that has the device */
};
struct sl_lease_show_lease_ok {
	uint32_t member, pid, uid, lanes, flows, frames;
	uint64_t age_ns;
	char program[16], group[32], devices[64]; /* devices: names with commas between */
};

#endif
