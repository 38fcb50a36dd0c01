/* SPDX-License-Identifier: BSD-2-Clause */
/* Has the kernel connect by a SYN that we sent before (net/ipv4/tcp_output.c: tcp_connect()).
 *
 * Theory of operation: the peer may have taken the data of our SYN (RFC 7413) and answered it. If
 * the kernel sent another SYN from the same port, the peer would reset that connection and begin a
 * new one, and its program would read the data twice. A SYN with the same sequence number counts as
 * our SYN sent again: the peer repeats its answer. The kernel keeps a number that was set in repair
 * mode when connect(2) follows. The kernel's SYN carries all the data, too, even without a cookie
 * (TCP_FASTOPEN_NO_COOKIE): otherwise the answer would acknowledge bytes that the kernel has not
 * sent. The peer ignores the second copy. For a peer that the kernel does not know it assumes the
 * least segment size that there is, so TCP_MAXSEG tells it ours.
 *
 * The timestamps must go on from those of our SYN, which the answer echoes, but connect(2) chooses
 * others. So the kernel drops the answer to its first SYN, then we set the timestamps, and the
 * answer to its second SYN, a second later, gets through. */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/repair/repair.h"

static int set_first(int fd, uint32_t iss)
{
	int err = sl_broker_repair(fd, TCP_REPAIR_ON);

	if (err)
		return err;
	err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE);
	if (!err)
		err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, (int)iss);
	(void)sl_broker_repair(fd, TCP_REPAIR_OFF_NO_WP);
	return err;
}

/* The lowest bit would choose microseconds (6.7). What is a little older than our SYN is refused
 * by its echo, what is newer is not. */
static int set_clock(int fd, uint32_t tsval)
{
	int err = sl_broker_repair(fd, TCP_REPAIR_ON);

	if (err)
		return err;
	err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_TIMESTAMP, (int)(tsval & ~1u));
	(void)sl_broker_repair(fd, TCP_REPAIR_OFF_NO_WP);
	return err;
}

/* Sends the SYN with its data. TCP_MAXSEG is syn->mss while the kernel makes the SYN, so that the
 * data fit; then it is the program's own value again. */
static int begin(int fd, const struct sl_tcp_key *key, uint32_t scope,
		 const struct sl_tcp_repair_syn *syn, const void *data)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int family = 0;
	long n;

	(void)sl_sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &(socklen_t){sizeof(family)});
	sl_addr_to_sockaddr(&key->remote, key->rport,
			    sl_addr_is_linklocal(&key->remote) ? scope : 0, family,
			    (struct sockaddr *)&ss, &len);
	(void)sl_sys_set_int(fd, IPPROTO_TCP, TCP_MAXSEG, syn->mss);
	n = sl_sys_sendto(fd, data, syn->bytes, MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL, &ss,
			  len);
	(void)sl_sys_set_int(fd, IPPROTO_TCP, TCP_MAXSEG, syn->user_mss);
	if (n < 0)
		return n == -EINPROGRESS ? -EOPNOTSUPP : (int)n; /* the data stayed behind */
	return n == (long)syn->bytes ? 0 : -EMSGSIZE;
}

void sl_repair_unsyn(int fd)
{
	struct sockaddr sa = {.sa_family = AF_UNSPEC};

	(void)sl_sys_connect(fd, &sa, sizeof(sa));
	(void)sl_broker_drop_packets(fd, false);
}

int sl_repair_syn(int fd, const struct sl_tcp_key *key, uint32_t scope,
		  const struct sl_tcp_repair_syn *syn, const void *data)
{
	int reuse = 0, err;

	(void)sl_sys_getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, &(socklen_t){sizeof(reuse)});
	err = set_first(fd, syn->iss);
	if (!err)
		err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1);
	if (!err)
		err = sl_broker_drop_packets(fd, true);
	if (err)
		return err;
	err = begin(fd, key, scope, syn, data);
	if (!err && syn->ts_ok)
		err = set_clock(fd, syn->tsval);
	if (err)
		sl_repair_unsyn(fd);
	if (reuse) /* leaving repair mode clears it */
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
	return err;
}

/* The socket's own address, with a port that is nobody's business: the discard service's. An
 * address that the kernel may choose is the loopback device's. */
static int own_address(int fd, struct sockaddr_storage *ss, socklen_t *len)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	int err = sl_sys_getsockname(fd, ss, len);

	if (err)
		return err;
	in->sin_port = htons(9); /* where sin6_port is */
	if (ss->ss_family == AF_INET && !in->sin_addr.s_addr)
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (ss->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
		in6->sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
	return 0;
}

/* A socket that sends its first SYN and disconnects has this error (tcp_disconnect()). The answer
 * is dropped, lest it leaves another one. */
int sl_repair_error(int fd)
{
	char device[IFNAMSIZ];
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss), n = sizeof(device);
	int flags = sl_sys_fcntl(fd, F_GETFL, 0), err;

	if (!sl_sys_getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &n) && n > 1)
		return -EOPNOTSUPP;
	err = own_address(fd, &ss, &len);
	if (!err)
		err = sl_broker_drop_packets(fd, true);
	if (err)
		return err;
	sl_sys_fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	err = sl_sys_connect(fd, &ss, len);
	sl_sys_fcntl(fd, F_SETFL, flags);
	sl_repair_unsyn(fd);
	return err == -EINPROGRESS ? 0 : err ? err : -EISCONN;
}
