/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker in this process: the calls of broker.h, done here even if there is a daemon. sluiced
 * itself uses these. */
#ifndef SL_BROKER_EMBEDDED_H
#define SL_BROKER_EMBEDDED_H

#include "ctl/front/broker.h"

void sl_embedded_init(const struct sl_broker_opts *opts);
int sl_embedded_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		     const char **why);
/* Opens the port with the packet memory of that number. groups: how many must be able to have the
 * device, if it is not open yet and can be divided (else one). -EBUSY, too: others have its queues;
 * -EAGAIN: a queue is in use, or was until a moment ago. */
int sl_embedded_port_open(uint32_t ifindex, uint32_t umem, uint32_t groups,
			  struct sl_port_info *out, const char **why);
void sl_embedded_port_close(uint32_t ifindex, uint32_t umem);
int sl_embedded_lane_open(uint32_t ifindex, uint32_t umem, uint32_t lane,
			  struct sl_xsk_lease *leases, uint32_t *first, const char **why);
/* Binds a lane that was left unbound (sl_xsk_lease.unbound), once the receiving process has mapped
 * its rings. -EAGAIN: a queue is not free yet; close the lane and open it again. */
int sl_embedded_lane_bind(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			  const char **why);
void sl_embedded_lane_close(uint32_t ifindex, uint32_t lane);
int sl_embedded_claim(const struct sl_claim_req *req, const char **why);
int sl_embedded_claim_update(const struct sl_claim_req *req);
/* The claim shares its TCP endpoint (the claim's pid names the member). away: new connections go to
 * the other members, or to the kernel when all are away. -ENOENT: it is not shared. */
int sl_embedded_claim_away(const struct sl_claim_req *req, bool away);
void sl_embedded_unclaim(const struct sl_claim_req *req);
void sl_embedded_local_add(const uint8_t addr[16]);
void sl_embedded_local_del(const uint8_t addr[16]);
enum sl_port_end sl_embedded_port_end(uint32_t ifindex);
bool sl_embedded_port_has_tags(uint32_t ifindex);
void sl_embedded_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);
void sl_embedded_port_unguard(uint32_t ifindex);
/* sl_broker_port_strays() for the claims of that process. */
unsigned sl_embedded_port_strays(uint32_t ifindex, uint32_t pid, unsigned skip,
				 struct sl_flow_key *out, unsigned max);
/* The flow's process is dead: the kernel's answers to its peer are not held back any more. */
void sl_embedded_let_reset(const struct sl_flow_key *key);
/* sl_broker_link_seen(), but returns the number of the device that the new one replaces, 0: none.
 */
uint32_t sl_embedded_link_seen(uint32_t ifindex, const char *name);
int sl_embedded_rules_set(const struct sl_rule *rules, unsigned n);
int sl_embedded_drop_packets(int fd, bool on);
int sl_embedded_inject(const void *packet, size_t bytes, uint32_t scope);
int sl_embedded_may_inject(void);
int sl_embedded_conns(int memfd, const struct sl_conns_layout *layout);
/* Number of references to the file behind a descriptor of this process, or -errno. */
int sl_embedded_holders(int fd);
void sl_embedded_child(void);
void sl_embedded_part(void);
void sl_embedded_fini(void);

#endif
