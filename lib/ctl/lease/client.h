/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls as requests to sluiced: the process's side, called by front.c only, with the
 * broker entered. */
#ifndef SL_LEASE_CLIENT_H
#define SL_LEASE_CLIENT_H

#include "ctl/device/claim_req.h"
#include "ctl/device/conns.h"
#include "ctl/device/port.h"
#include "ctl/lease/msg.h"
#include "ctl/umem/memory.h"

/* conn.c ------------------------------------------------------------------------------------- */

/* Connects to the daemon at path and joins that group (sl_lease_hello.group). -ENOENT,
 * -ECONNREFUSED: no daemon; -EACCES and others: it refused, and *why says the reason. */
int sl_lease_open(const char *path, const char *group, const char **why);
bool sl_lease_on(void);
/* True: this process, or one that it comes from by fork(2), has used a daemon. */
bool sl_lease_was_on(void);
/* Asks the daemon at path for the connection of a dead process whose shadow this process has. The
 * socket, or -errno; -ENOENT: the daemon has none; -EAGAIN: it has no time, ask again. It waits for
 * the daemon, seconds at most. */
int sl_lease_heir(const char *path, int shadow);
void sl_lease_fini(void);
/* Sends m, and receives the answer into m. 0, -errno of the daemon's, -ENOTCONN: it is gone. */
int sl_lease_request(struct sl_lease_msg *m, enum sl_lease_op op, const char **why);
/* Asks without waiting, for the keeper, which must not wait for a daemon that is being started
 * again: -EAGAIN when there is no answer yet. Only for requests that may fail. */
int sl_lease_request_soon(struct sl_lease_msg *m, enum sl_lease_op op);
/* Closes the connection: the process does without the daemon from now on. */
void sl_lease_end(void);
/* True: the policy lets connections move between the kernel and this process. */
bool sl_lease_may_repair(void);
/* sl_lease_request() that closes m's descriptors in this process before the daemon acts on them. */
int sl_lease_give(struct sl_lease_msg *m, enum sl_lease_op op, const char **why);
/* Makes a request about a device, or a lane of it. 0, the daemon's -errno, -ENOTCONN: the daemon is
 * gone. */
int sl_lease_ask_port(struct sl_lease_msg *m, enum sl_lease_op op, uint32_t ifindex, uint32_t lane,
		      const char **why);

/* lease.c -------------------------------------------------------------------------------------- */

void sl_lease_child(void);
void sl_lease_part(void);
int sl_lease_port_open(uint32_t ifindex, struct sl_port_info *out, const char **why);
void sl_lease_port_close(uint32_t ifindex, const struct sl_rule *rules);
enum sl_port_end sl_lease_port_end(uint32_t ifindex, uint32_t flags);
bool sl_lease_port_has_tags(uint32_t ifindex);
int sl_lease_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why);
void sl_lease_vlan_put(uint32_t ifindex, uint32_t nr);
void sl_lease_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);
int sl_lease_vxlan_send(uint32_t ifindex, uint32_t nr, const void *frame, size_t bytes);
void sl_lease_port_unguard(uint32_t ifindex);
unsigned sl_lease_port_strays(uint32_t ifindex, unsigned skip, struct sl_stray_told *out,
			      unsigned max);
int sl_lease_claim(const struct sl_claim_req *req, bool update, const char **why);
void sl_lease_unclaim(const struct sl_claim_req *req);
void sl_lease_unclaim_all(const struct sl_claim_req *reqs, unsigned n);
int sl_lease_drop_packets(int fd, bool on);
int sl_lease_holders(int fd);
int sl_lease_buffer(int fd, int opt, uint32_t bytes);
int sl_lease_inject(int fd, const void *packet, size_t bytes, uint32_t scope);
int sl_lease_may_inject(void);
int sl_lease_neigh_use(uint32_t ifindex, const uint8_t addr[16]);
int sl_lease_conns(int memfd, const struct sl_conns_layout *layout);
int sl_lease_box(uint32_t listener, int out, int fd);
void sl_lease_unbox(uint32_t listener);

/* lease_umem.c --------------------------------------------------------------------------------- */

int sl_lease_umem(struct sl_umem_info *out, const char **why);
/* Puts the memory that the daemon will register with that device on huge pages, if this is the
 * group's first member. It takes tens of milliseconds (half a second for all of it, where the host
 * must give the pages), which the thread that opens a device has. */
void sl_lease_umem_pages(uint32_t ifindex);
/* The packet memory. */
const struct sl_umem_info *sl_lease_memory(void);
/* See sl_lease_part(), sl_lease_child(). */
void sl_lease_umem_part(void);
void sl_lease_umem_child(void);

/* lease_lane.c --------------------------------------------------------------------------------- */

int sl_lease_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
		       uint32_t *first, const char **why);
void sl_lease_lane_close(uint32_t ifindex, uint32_t lane);
/* Drops the rings kept for a device without lanes; in a child, all of them. */
void sl_lease_rings_drop(uint32_t ifindex);
void sl_lease_rings_child(void);

#endif
