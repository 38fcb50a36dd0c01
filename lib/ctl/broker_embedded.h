/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker in this process: the calls of broker.h, done here whatever there is of daemons.
 * sluiced itself uses these. */
#ifndef SL_BROKER_EMBEDDED_H
#define SL_BROKER_EMBEDDED_H

#include "ctl/broker.h"

void sl_embedded_init(const struct sl_broker_opts *opts);
int sl_embedded_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		     const char **why);
/* With the packet memory of that number; so many groups are to be able to have it, if it is not
 * open yet and can be divided (else one). -EBUSY, too: its queues have others; -EAGAIN: somebody
 * has a queue, or had it until a moment ago. */
int sl_embedded_port_open(uint32_t ifindex, uint32_t umem, uint32_t groups,
			  struct sl_port_info *out, const char **why);
void sl_embedded_port_close(uint32_t ifindex, uint32_t umem);
int sl_embedded_lane_open(uint32_t ifindex, uint32_t umem, uint32_t lane,
			  struct sl_xsk_lease *leases, uint32_t *first, const char **why);
/* One that was left unbound (sl_xsk_lease.unbound), once its rings are mapped by who gets it.
 * -EAGAIN: a queue is not free yet: to be closed, and opened again. */
int sl_embedded_lane_bind(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			  const char **why);
void sl_embedded_lane_close(uint32_t ifindex, uint32_t lane);
int sl_embedded_claim(const struct sl_claim_req *req, const char **why);
int sl_embedded_claim_update(const struct sl_claim_req *req);
/* Of several that share a TCP endpoint (the claim's pid says whose it is): new connections go to
 * the others, or to the kernel when all are away. -ENOENT: it is not shared. */
int sl_embedded_claim_away(const struct sl_claim_req *req, bool away);
void sl_embedded_unclaim(const struct sl_claim_req *req);
void sl_embedded_local_add(const uint8_t addr[16]);
void sl_embedded_local_del(const uint8_t addr[16]);
enum sl_port_end sl_embedded_port_end(uint32_t ifindex);
bool sl_embedded_port_has_tags(uint32_t ifindex);
void sl_embedded_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);
void sl_embedded_port_unguard(uint32_t ifindex);
/* As sl_broker_port_strays(), of the claims of that process. */
unsigned sl_embedded_port_strays(uint32_t ifindex, uint32_t pid, unsigned skip,
				 struct sl_flow_key *out, unsigned max);
/* The flow's process is dead: what the kernel answers its peer with is not held back. */
void sl_embedded_let_reset(const struct sl_flow_key *key);
/* As sl_broker_link_seen(); returns the number of the device that it came for, 0: none. */
uint32_t sl_embedded_link_seen(uint32_t ifindex, const char *name);
int sl_embedded_rules_set(const struct sl_rule *rules, unsigned n);
int sl_embedded_drop_packets(int fd, bool on);
int sl_embedded_inject(const void *packet, size_t bytes, uint32_t scope);
int sl_embedded_may_inject(void);
int sl_embedded_conns(int memfd, const struct sl_conns_layout *layout);
/* How many references the file behind a descriptor of this process has, or -errno. */
int sl_embedded_holders(int fd);
void sl_embedded_child(void);
void sl_embedded_part(void);
void sl_embedded_fini(void);

#endif
