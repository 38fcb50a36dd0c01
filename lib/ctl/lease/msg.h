/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of the lease protocol: the daemon's and the process's side. */
#ifndef SL_LEASE_MSG_H
#define SL_LEASE_MSG_H

#include <sys/socket.h>

#include "ctl/device/conns.h"
#include "ctl/lease/proto.h"

union sl_lease_body {
	char none[0]; /* a packet without a body */
	char why[SL_LEASE_WHY];
	struct sl_lease_hello hello;
	struct sl_lease_hello_ok hello_ok;
	struct sl_lease_umem_ok umem_ok;
	struct sl_lease_port port;
	struct sl_lease_port_ok port_ok;
	struct sl_lease_alive_ok alive_ok;
	struct sl_lease_tags_ok tags_ok;
	struct sl_lease_strays strays;
	struct sl_lease_strays_ok strays_ok;
	struct sl_lease_vlan vlan;
	struct sl_lease_vlan_get vlan_get;
	struct sl_lease_vlan_ok vlan_ok;
	struct sl_lease_frame frame;
	struct sl_lease_lane_ok lane_ok;
	struct sl_lease_claim claim;
	struct sl_lease_restore restore;
	struct sl_lease_restored restored;
	struct sl_lease_take_ok take_ok;
	struct sl_lease_inject inject;
	struct sl_conns_layout conns;
	struct sl_lease_neigh neigh;
	struct sl_lease_drop drop;
	struct sl_lease_buffer buffer;
	struct sl_lease_box box;
	struct sl_lease_holders_ok holders_ok;
	struct sl_lease_show show;
	struct sl_lease_status_ok status_ok;
	struct sl_lease_show_port_ok show_port_ok;
	struct sl_lease_show_lease_ok show_lease_ok;
};

#define SL_LEASE_FDS (2 * SL_MAX_QUEUES + 1)
struct sl_lease_msg {
	struct sl_lease_hdr hdr;
	union sl_lease_body body;
	/* Not part of the packet. */
	uint32_t nfds;
	int fd[SL_LEASE_FDS];
	struct ucred
		from; /* the sender as the kernel names it where SO_PASSCRED is set; else pid 0 */
};

/* Bytes of the body of a packet of this operation; -EPROTO: no such operation. */
int sl_lease_body_bytes(uint32_t op, bool answer);
/* The flags of an operation; 0: no such operation. */
uint32_t sl_lease_flags(uint32_t op);

/* Checks that a packet of n bytes with nfds descriptors is allowed: 0 or -EPROTO. Ends why[] with a
 * 0. */
int sl_lease_check(struct sl_lease_msg *m, size_t n, bool answer);

/* Sends m (in an answer hdr.err selects the body) with its descriptors. MSG_NOSIGNAL is added to
 * flags. 0 or -errno. */
int sl_lease_send(int fd, const struct sl_lease_msg *m, bool answer, int flags);

/* Receives and checks one packet; the caller closes the descriptors m->fd[0 .. nfds). Returns 1; 0:
 * the other end hung up; -EPROTO (nothing is left open), -errno. */
int sl_lease_recv(int fd, struct sl_lease_msg *m, bool answer, int flags);

/* sl_lease_recv(), but after an error, too, the caller closes the descriptors. */
int sl_lease_take(int fd, struct sl_lease_msg *m, bool answer, int flags);

/* Closes the descriptors of a message. */
void sl_lease_close_fds(struct sl_lease_msg *m);

/* sl_lease_described() describes an XSK to its process; sl_lease_of() makes the lease of that
 * description and the descriptor. */
struct sl_lease_queue sl_lease_described(const struct sl_xsk_lease *l);
struct sl_xsk_lease sl_lease_of(const struct sl_lease_queue *q, int fd);

/* The process's side: connects to the daemon at path, with this timeout for each send and answer; a
 * descriptor or -errno. */
int sl_lease_dial(const char *path, unsigned seconds);
/* Sends m as a request of that kind and number, with its descriptors, and receives the answer into
 * m, with the results of sl_lease_recv(). */
int sl_lease_ask(int fd, struct sl_lease_msg *m, enum sl_lease_op op, uint32_t seq);
/* Receives the answer to the request of that number and discards earlier ones. */
int sl_lease_answer(int fd, struct sl_lease_msg *m, uint32_t seq, int flags);

#endif
