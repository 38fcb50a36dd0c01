/* SPDX-License-Identifier: BSD-2-Clause */
/* The names, endpoints and claims of a socket. */
#ifndef SL_ENDPOINT_H
#define SL_ENDPOINT_H

#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/port.h"

/* Looks at what the shadow is bound to. 0 or -errno; slow held. */
int sl_sock_read_names(struct sl_sock *sk);
/* Records the name that the socket has just been bound to. */
void sl_sock_set_local(struct sl_sock *sk, const struct sl_addr *local, uint16_t port,
		       uint32_t scope);
/* True: the kernel may have let other sockets be bound to an endpoint that overlaps sk's. */
bool sl_sock_may_be_shared(const struct sl_sock *sk);
/* The search for such sockets (sl_diag_shared). */
struct sl_diag_claim sl_sock_diag_claim(const struct sl_sock *sk);
/* True: a socket of another program receives on our port, too; then the kernel must choose. */
bool sl_sock_is_shared(struct sl_sock *sk);
/* Claims the endpoints of an unconnected socket; slow held. SL_REASON_NONE: it has them. */
enum sl_reason sl_sock_claim_endpoints(struct sl_sock *sk);
/* Claims the endpoints that a TCP socket is about to listen on; slow held. sl_sock_judge_listener()
 * says only whether it may: SL_REASON_NONE. */
enum sl_reason sl_sock_claim_listener(struct sl_sock *sk);
enum sl_reason sl_sock_judge_listener(struct sl_sock *sk);
/* Unless SLUICE_START=wait the keeper begins to open a late device after so long: it takes a
 * core for longer than many a program lives. */
#define SL_LATE_AFTER_NS 10000000
/* Late devices: a call that must not wait leaves them to the keeper, and the kernel serves the
 * socket meanwhile. True: the device (0: one of all) is being opened. Any thread, no lane held. */
bool sl_device_is_late(uint32_t ifindex);
/* sl_device_is_late() of the devices that can bring packets for the socket. */
bool sl_sock_is_late(const struct sl_sock *sk);
/* True: a call of the program for this socket, which is not decided, waits for its devices. */
bool sl_sock_waits(const struct sl_sock *sk);
/* True: a send of the socket that may block waits for them. */
bool sl_sock_send_waits(const struct sl_sock *sk);
/* The calling thread, which is about to make the keeper, gives it its priority. */
void sl_late_begin(void);
/* The thread is about to sleep, so the keeper need not put off a late device any more
 * (sl_late_any). */
void sl_late_hurry(void);
/* True: some socket waits for the keeper to decide it. Atomic; the keeper clears it. */
extern bool sl_late_any;
/* When a listener that was late last got its claims; connections that came before are the kernel's.
 * Atomic. */
extern uint64_t sl_late_listener_ns;
/* Moves a new socket from limbo to a lane. */
bool sl_sock_take_lane(struct sl_sock *sk, uint32_t ifindex);
/* Takes the socket from limbo to that lane; NULL: there is none. False: it stays in limbo. `slow`
 * held. */
bool sl_sock_enter_lane(struct sl_sock *sk, struct sl_lane *lane);
/* Puts the socket on that lane, and releases the lane on which it is, which the caller holds.
 * `slow` held. */
void sl_sock_change_lane(struct sl_sock *sk, struct sl_lane *lane);
/* place_thread.c: attaches the calling thread to a core, once (SLUICE_RING=core_attach). */
void sl_sock_place_thread(void);
void sl_sock_place_child(void); /* after fork, in the child */
/* Claims an unconnected socket's endpoint on a device that came or changed; slow held. */
void sl_sock_claim_device(struct sl_sock *sk, uint32_t ifindex);
uint32_t sl_device_of_addr(const struct sl_addr *addr); /* 0: not ours */
/* claim.c; slow held */
bool sl_sock_add_claim(struct sl_sock *sk, const struct sl_claim_req *req, const char **why);
/* Claims the socket's names on one port, for the packets that its rule allows. */
bool sl_sock_claim_on(struct sl_sock *sk, struct sl_port *port, const struct sl_narrow *rule,
		      const char **why);
/* True: the socket wants packets that come by this port (sl_steer()), and they have here what it
 * asks for: not so if only the kernel has the hardware's stamps of them. */
bool sl_sock_wants_port(const struct sl_sock *sk, struct sl_port *port);
/* A device of the socket's claims that lost its link when we claimed on it; NULL: none. */
struct sl_port *sl_sock_without_link(const struct sl_sock *sk);
void sl_sock_unclaim(struct sl_sock *sk); /* all of them */
/* Ends all sockets' claims on that device, whose steering has ended; no other socket gets them. */
void sl_sock_claims_end(uint32_t ifindex);
/* Has the socket's packets come to that lane; its legs are opened. False: some do not; call it with
 * the socket's own lane then. slow held. */
bool sl_sock_claims_to(struct sl_sock *sk, struct sl_lane *lane);
/* True: another socket of ours claims one of its endpoints. slow held. */
bool sl_sock_has_twin(const struct sl_sock *sk);
/* True: one of its claims is on a device that is steered. slow held. */
bool sl_sock_claims_live(const struct sl_sock *sk);
void sl_claims_child(void); /* after fork, in the child */
/* Gives the caller all claims but those of endpoints that the socket still has; they stay in force
 * until sl_sock_claims_drop() ends those without a successor. */
struct sl_sock_claim *sl_sock_claims_take(struct sl_sock *sk);
void sl_sock_claims_drop(struct sl_sock *sk, struct sl_sock_claim *old);
/* Gives the caller the claims without a peer, still in force; the caller frees each. */
struct sl_sock_claim *sl_sock_endpoints_take(struct sl_sock *sk);
/* Claims carry SL_CLAIM_STAMP or not: tell the steering program. */
void sl_sock_claim_flags(struct sl_sock *sk);
/* Bumped (sl_lane_moved) after any socket of the process has got another lane, so that threads that
 * wait for many sockets look again which lanes to turn. A thread that moves a socket with watchers
 * also tells those: sl_sock_notify(sk, 0). */
extern uint32_t sl_lane_moves;
static inline void sl_lane_moved(void)
{
	__atomic_add_fetch(&sl_lane_moves, 1, __ATOMIC_RELEASE);
}

#endif
