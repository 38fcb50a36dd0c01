/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the socket that the kernel would give a packet to: the judge of claims (deliver.c), the
 * proof that a claim needs (prove.c), and the watch over claims that were proved (watch.c). */
#ifndef SL_DELIVER_H
#define SL_DELIVER_H

#include "ctl/kern/diag_sock.h"
#include "session.h"

/* deliver.c: pure functions -------------------------------------------------------------------- */

/* The packets that a claim covers. */
struct sl_deliver_claim {
	struct sl_addr local;  /* any: every address of that family */
	struct sl_addr remote; /* when remote_port is not 0 */
	uint16_t remote_port;  /* 0: any peer */
	uint32_t ifindex;      /* device that the packets arrive by; 0: not known */
	uint8_t proto;
	bool to_all; /* multicast: the kernel gives a copy to every socket that matches */
};

/* True: the kernel may give a packet that the claim covers to that socket, if no other matched. */
bool sl_deliver_reaches(const struct sl_deliver_claim *c, const struct sl_diag_sock *s);
/* True: for some packet that the claim covers, the kernel gives, or may give, `other` a copy, or
 * the packet instead of `own`. */
bool sl_deliver_prefers(const struct sl_deliver_claim *c, const struct sl_diag_sock *own,
			const struct sl_diag_sock *other);

/* prove.c -------------------------------------------------------------------------------------- */

/* The socket that proved a claim. */
struct sl_proof {
	struct sl_diag_sock own; /* cookie 0: the daemon before us saw it */
	bool reuseport;          /* sockets of the same user may share the endpoint with it */
};

struct sl_deliver_claim sl_deliver_claim_of(const struct sl_claim_req *req);
/* True: this other socket counts against the claim, since it is another user's that the session may
 * not speak for. */
bool sl_proof_is_others(const struct sl_session *s, const struct sl_proof *p,
			const struct sl_diag_sock *other);
/* Checks that the kernel would give the claimed packets to that socket, and to no other user's
 * socket. 0 and *proof, or -errno and *why. Some ten microseconds. */
int sl_prove(const struct sl_session *s, int fd, const struct sl_claim_req *req,
	     struct sl_proof *proof, const char **why);
/* Only fills in *proof, for a claim that needs none. 0, or -errno and *why. */
int sl_prove_nothing(int fd, struct sl_proof *proof, const char **why);
/* Checks that the kernel would give a packet with those ends to the socket. */
int sl_prove_packet(int fd, const struct sl_diag_flow *f, const char **why);
/* Checks that the socket is of the session's user, or that the session proved a UDP claim with it:
 * a program with a copy of another user's socket may do no more with it than the kernel allows.
 * Check the descriptor's kind before. 0 or -EPERM. */
int sl_prove_own(const struct sl_session *s, int fd, const char **why);
/* True: a late packet for the session's end may be given to the kernel, since no other user's
 * socket would get it. */
bool sl_prove_late(const struct sl_session *s, const struct sl_diag_flow *f);
/* The netlink socket that the functions of prove.c use; -errno. */
int sl_prove_netlink(void);
/* Closes that socket, which may hold a rest of an answer; the next use opens another one. */
void sl_prove_netlink_close(void);

/* watch.c -------------------------------------------------------------------------------------- */

/* The claim was proved. From now on the daemon checks that the proof still holds; TCP flows
 * need no more than their place in the session's table. -ENOMEM: the claim must not be made. */
int sl_watch_add(struct sl_session *s, const struct sl_claim_req *req, const struct sl_proof *p);
/* The claim is given up. Harmless when it is not watched. */
void sl_watch_del(const struct sl_session *s, const struct sl_claim_req *req);
/* Takes a claim of a session back. */
typedef void sl_take_back_fn(struct sl_session *s, const struct sl_claim_req *req);
/* Checks the watched claims, if it is time, and takes back those whose proof no longer holds.
 * Called at each turn of the loop, which comes round several times a second while there is a lease.
 * True: the check goes on in the next turn, which should come at once. */
bool sl_watch_tick(sl_take_back_fn *take_back);
#define SL_WATCH_MS 250

/* watch_flow.c: looks at the kernel's sockets of TCP flows. sl_watch_tick() makes each look in
 * parts. */
bool sl_watch_has_flows(void);
/* The kernel's sockets that a look needs, and what becomes of each. */
extern const struct sl_diag_ask sl_watch_flows_ask;
void sl_watch_flows_begin(void);
void sl_watch_flows_note(const struct sl_diag_sock *o, void *arg);
/* Judges until that time; true: all are judged. */
bool sl_watch_flows_judge(uint64_t until_ns, sl_take_back_fn *take_back);

#endif
