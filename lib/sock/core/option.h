/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket options that datagrams and streams have in common. */
#ifndef SL_OPTION_H
#define SL_OPTION_H

#include "sock/core/sock.h"

/* core/option.c */
/* The int that the program gave, or the part of it. */
static inline int sl_given_int(const void *val, socklen_t len)
{
	int v = 0;

	memcpy(&v, val, sl_min((size_t)len, sizeof(v)));
	return v;
}
int sl_opt_cpu(void); /* SO_INCOMING_CPU: the calling thread turns the lane */
/* Bytes that we hold for a socket beside its shadow, and datagrams that we dropped. */
struct sl_opt_mem {
	uint32_t rmem, rcvbuf; /* received bytes that wait, and their limit */
	uint32_t wmem, sndbuf; /* bytes on their way out, and their limit */
	uint32_t drops;
};
/* SO_MEMINFO as getsockopt(2): ours is added to what the shadow fd has; the limits are ours. */
int sl_opt_meminfo(int fd, const struct sl_opt_mem *ours, void *val, socklen_t *len);
void sl_sock_want_with(struct sl_sock *sk, uint16_t bit, bool on); /* a bit of sk->want */
bool sl_opt_listens(int fd);                                       /* the kernel's socket does */
/* Reads SO_RCVTIMEO or SO_SNDTIMEO of the kernel's socket. 0: none, or SL_TIMEO_NO_WAIT. */
uint64_t sl_opt_timeout_ns(int fd, int name);
/* SO_RCVTIMEO, SO_SNDTIMEO. False: another option. */
bool sl_sock_set_timeout(struct sl_sock *sk, int name, const void *val, socklen_t len);
/* Reads what the kernel made of SO_REUSEADDR or SO_REUSEPORT. */
void sl_sock_read_reuse(struct sl_sock *sk, int name);
/* Reads the priority of its packets, which SO_PRIORITY and IP_TOS have set on the shadow. False: it
 * is above 255, as a class of a queueing discipline (TC_H_MAKE()), which only the kernel's packets
 * pass. */
bool sl_sock_read_prio(struct sl_sock *sk);
/* core/reuseprog.c; without locks */
static inline bool sl_reuseprog_is_option(int level, int name)
{
	return level == SOL_SOCKET &&
	       (name == SO_ATTACH_REUSEPORT_CBPF || name == SO_ATTACH_REUSEPORT_EBPF ||
		name == SO_DETACH_REUSEPORT_BPF);
}
/* The kernel has done that option on sk: all sockets of its group follow, to the kernel if it has a
 * program now. They may be handed back here, so no `slow` may be held. */
void sl_reuseprog_set(struct sl_sock *sk, int name);
/* True: the group that the bound socket is in has a program, as far as this process knows. */
bool sl_reuseprog_has(struct sl_sock *sk);
/* SO_TIMESTAMP*, _NS*, ING*. False: an offloaded socket cannot do it. */
bool sl_sock_set_stamps(struct sl_sock *sk, int name, int v);

#endif
