/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking calls of sockets. */
#ifndef SL_BLOCK_H
#define SL_BLOCK_H

#include <poll.h>
#include <sys/types.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"

struct sl_sock;

/* Attempts the call once, with no lane held. Returns the call's result; -EAGAIN: it must wait. */
typedef ssize_t (*sl_attempt)(void *arg);

/* Calls attempt until it says something else than -EAGAIN, then returns that. deadline_ns 0: none;
 * else any signal handler interrupts (signal(7)). Also -EINTR; -ETIMEDOUT; -EBADF: closed
 * meanwhile. A cancellation point. */
ssize_t sl_sock_block(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
		      void *arg);
/* sl_sock_block() for a call that may have moved some bytes (*done) already. From the first byte on
 * any signal handler ends the wait: the result is then a count, and no error to restart after. */
ssize_t sl_sock_block_counted(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			      void *arg, const size_t *done);
/* sl_sock_block() for a call that sends datagrams: does not wake for data in the kernel's queue. */
ssize_t sl_sock_block_send(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			   void *arg);
/* sl_sock_block() on a socket that the kernel has: sleeps until fd is readable or the socket's
 * watchers are told of something; spins not. */
ssize_t sl_sock_block_kernel(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			     void *arg);

/* When SO_RCVTIMEO or SO_SNDTIMEO, of so many ns, ends a call that begins now; 0: never. */
static inline uint64_t sl_sock_deadline(uint64_t timeo_ns)
{
	return timeo_ns ? sl_now_ns() + timeo_ns : 0;
}

/* The beginning of a call that may open the device before it waits. Its time-out, and the signals
 * that interrupt it, count from then. */
struct sl_begun {
	uint64_t deadline;
	uint32_t ran, intr;
};
struct sl_begun sl_sock_begin(uint64_t timeo_ns);
bool sl_sock_is_interrupted(const struct sl_begun *b);

/* State that a call saves when it begins. sl_call_over() compares it with the present: 0: go on;
 * -EBADF: the socket was closed; -EINTR: a signal handler ran. */
struct sl_call {
	struct sl_sock *sk;
	int fd;
	uint32_t gen, ran, intr, stops;
	bool sends;     /* waits for room */
	bool kernel;    /* the kernel has the socket */
	uint32_t loads; /* for sl_lane_is_led() */
	uint64_t deadline;
	const size_t *done; /* bytes done, or NULL */
};
struct sl_call sl_call_begin(struct sl_sock *sk, int fd, uint64_t deadline_ns);
ssize_t sl_call_over(const struct sl_call *s);
/* ppoll(2) of one descriptor inside such a call: does not sleep past a signal that came since the
 * call began. timeout: NULL waits for ever. Returns 1: it has events; 0: the time is over; -EINTR:
 * a signal handler ran, which may be one with SA_RESTART (ask sl_call_over()). A cancellation
 * point; call with no lock held. */
int sl_call_poll(const struct sl_call *s, struct pollfd *p, const struct timespec *timeout);

#endif
