/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker does everything that needs privilege. It runs embedded in the process
 * (broker/embedded.h), or in sluiced on request (lease/client.h); front.c chooses once, at the
 * start. Arguments are therefore plain structs and descriptors, and nothing else is shared.
 *
 * Thread-safe (one mutex inside); never called on the packet path. All functions return 0 or
 * -errno. On failure *why (if not NULL) points to a static or thread-local sentence for the log:
 * what is missing, and the remedy. */
#ifndef SL_BROKER_H
#define SL_BROKER_H

#include "base/base.h"
#include "base/share/share_bury.h"
#include "base/share/share_watch.h"
#include "ctl/claim/claim.h"
#include "ctl/device/claim_req.h"
#include "ctl/device/conns.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"
#include "ctl/umem/memory.h"
#include "steer.h"

/* Sets the options, before the first other call; later calls change what is opened afterwards. The
 * strings must stay. */
void sl_broker_init(const struct sl_broker_opts *opts);

/* Makes the packet memory once; later calls return the same. frame_size 0: as the existing devices
 * need. Call it before the first sl_broker_port_open(), which then refuses a device whose packets
 * do not fit. */
int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why);

/* Loads the libraries by which a device is opened (kern/libbpf.h), unless the daemon opens them.
 * Before sl_broker_port_open(), by a thread that holds no lock. */
void sl_broker_ready(void);

/* Attaches the steering program to the device, or finds it open already. wait: up to 0.6 s
 * for queues that the kernel has not given back yet. -EBUSY: another process
 * has the device; -EOPNOTSUPP: no XDP, not Ethernet, or not with these settings; -EPERM. */
int sl_broker_port_open(uint32_t ifindex, bool wait, struct sl_port_info *out, const char **why);
/* True: another process has the device, so opening it would be in vain. Much cheaper than the
 * attempt. False by the daemon, which lends its devices to many. */
bool sl_broker_port_is_taken(uint32_t ifindex);
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

/* Claims packets on a port: see struct sl_claim_req. */
int sl_broker_claim(const struct sl_claim_req *req, const char **why);
/* Changes the flags (SL_CLAIM_STAMP) or the lane of a claim in place, or adds it. */
int sl_broker_claim_update(const struct sl_claim_req *req);
/* Gives up the claim of that slot; harmless when there is none. */
void sl_broker_unclaim(const struct sl_claim_req *req);
void sl_broker_unclaim_all(const struct sl_claim_req *reqs, unsigned n);

/* Add or remove one of the host's own addresses, as the mirror sees them (for wildcard endpoints),
 * on all ports, also on those opened later. Adding an address twice is adding it once. */
void sl_broker_local_add(const uint8_t addr[16]);
void sl_broker_local_del(const uint8_t addr[16]);

/* SL_PORT_END_STEERED while our program is still attached to the device (somebody may remove it by
 * hand) and the device has the queues that it had. Costs a netlink request; also takes a changed
 * MAC address over.
 */
enum sl_port_end sl_broker_port_end(uint32_t ifindex, uint32_t flags);

/* True: SL_PORT_TAGS still holds for the device. (ethtool -K <device> rxvlan changes it.) */
bool sl_broker_port_has_tags(uint32_t ifindex);

/* Returns the number (SL_CLAIM_VLAN) of the VLAN device `vlan`, which has that tag (as in struct
 * sl_flow_key) over the device `ifindex`. It is the same at each call until sl_broker_vlan_put(),
 * and unique in this process; a daemon gives all its processes the same. Ends
 * sl_broker_vlan_leave(). -EPERM: the daemon's policy does not give the VLAN device; -EOPNOTSUPP:
 * it cannot be offloaded; -ENOSPC: all numbers are in use; -ENODEV. */
int sl_broker_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why);
/* Frees the number when no claim of this process carries it any more. */
void sl_broker_vlan_put(uint32_t ifindex, uint32_t nr);
/* By the daemon: has the kernel's VXLAN device with that number send a frame, with the device's own
 * source address. 0 or -errno; the frame may be lost. -EOPNOTSUPP: there is no daemon, and the
 * process has a packet socket for that. A lane may be held, as for sl_broker_inject(). */
int sl_broker_vxlan_send(uint32_t ifindex, uint32_t nr, const void *frame, size_t bytes);
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
unsigned sl_broker_port_strays(uint32_t ifindex, unsigned skip, struct sl_stray_told *out,
			       unsigned max);
/* A device of that number and name exists. If it replaces a deleted device of ours, peers may
 * retransmit to it before it is steered: the kernel's resets are held back there, too. (A daemon
 * sees its devices for itself.) */
void sl_broker_link_seen(uint32_t ifindex, const char *name);
/* The device of that number has gone. Should it come back: nothing is steered from it any more. */
void sl_broker_link_gone(uint32_t ifindex);

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
int sl_broker_inject(int fd, const void *packet, size_t bytes, uint32_t scope);
/* Checks whether sl_broker_inject() would be allowed: 0 or -errno, usually -EPERM. */
int sl_broker_may_inject(void);

/* Counts the references to the file behind the descriptor: descriptors of this process or another,
 * messages under way that carry one, calls that another thread is making with it. -errno: the
 * kernel does not say. */
int sl_broker_holders(int fd);

/* True: the daemon does the work. It then also tells the kernel which neighbours are in use, for
 * which this process lacks the privilege: sl_broker_neigh_use(), 0 or -errno. */
bool sl_broker_is_leased(void);
/* True: this process, or one that it comes from by fork(2), has used a daemon. */
bool sl_broker_was_leased(void);
/* Asks that daemon for the connection of a parent that was killed; shadow: the child's copy of the
 * parent's socket. The socket, or -errno; -ENOENT: the daemon has none (yet); -EAGAIN: ask again.
 * The call may wait for the daemon. */
int sl_broker_heir(int shadow);
int sl_broker_neigh_use(uint32_t ifindex, const uint8_t addr[16]);

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
/* Writes the n rates of destinations into every open port's `paces` (and those opened later). */
int sl_broker_paces_set(const struct sl_pace_rule *paces, unsigned n);

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
