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
#include <linux/tcp.h>
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
