/* SPDX-License-Identifier: BSD-2-Clause */
/* Another file behind a TCP socket's numbers.
 *
 * Theory of operation: some things cannot be taken from a socket of the kernel: a name that it was
 * bound to (SOCK_BINDPORT_LOCK), repair mode's marks. So a new one gets the options of the old
 * (those that need no privileges, and that the library knows) and takes its place with dup3(2). */
#include "sock/stream/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/shadow.h"
#include "sock/core/sock.h"
#include "sock/stream/stream.h"

#define KERNEL_CLOSE 7 /* net/tcp_states.h: TCP_CLOSE */

/* Options ---------------------------------------------------------------------------------------
 */

struct option {
	int level, name;
};

/* Options that need no privileges and that a connection can still set. (The daemon has copied those
 * that need privileges.) */
static const struct option options[] = {
	{SOL_SOCKET, SO_REUSEADDR},
	{SOL_SOCKET, SO_REUSEPORT},
	{SOL_SOCKET, SO_KEEPALIVE},
	{SOL_SOCKET, SO_OOBINLINE},
	{SOL_SOCKET, SO_RCVLOWAT},
	{SOL_SOCKET, SO_ZEROCOPY},
	{SOL_SOCKET, SO_TIMESTAMP},
	{SOL_SOCKET, SO_TIMESTAMPNS},
	{SOL_SOCKET, SO_MAX_PACING_RATE},
	{SOL_SOCKET, SO_LINGER},
	{SOL_SOCKET, SO_RCVTIMEO},
	{SOL_SOCKET, SO_SNDTIMEO},
	{SOL_SOCKET, SO_TIMESTAMPING},
	{SOL_SOCKET, SO_PREFER_BUSY_POLL},
	{SOL_SOCKET, SO_DONTROUTE},
	{SOL_SOCKET, SO_BROADCAST},
	{SOL_SOCKET, SO_NO_CHECK},
	{SOL_SOCKET, SO_RXQ_OVFL},
	{SOL_SOCKET, SO_SELECT_ERR_QUEUE},
	{SOL_SOCKET, SO_TXREHASH},
	{IPPROTO_TCP, TCP_NODELAY},
	{IPPROTO_TCP, TCP_KEEPIDLE},
	{IPPROTO_TCP, TCP_KEEPINTVL},
	{IPPROTO_TCP, TCP_KEEPCNT},
	{IPPROTO_TCP, TCP_SYNCNT},
	{IPPROTO_TCP, TCP_LINGER2},
	{IPPROTO_TCP, TCP_WINDOW_CLAMP},
	{IPPROTO_TCP, TCP_USER_TIMEOUT},
	{IPPROTO_TCP, TCP_NOTSENT_LOWAT},
	{IPPROTO_TCP, TCP_INQ},
	{IPPROTO_TCP, TCP_TX_DELAY},
	{IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS},
	{IPPROTO_TCP, TCP_CORK},
	{IPPROTO_IP, IP_TOS},
	{SOL_SOCKET, SO_PRIORITY}, /* IP_TOS sets it, too */
	{IPPROTO_IP, IP_TTL},
	{IPPROTO_IP, IP_MTU_DISCOVER},
	{IPPROTO_IP, IP_RECVERR},
	{IPPROTO_IP, IP_RECVTOS},
	{IPPROTO_IP, IP_RECVTTL},
	{IPPROTO_IP, IP_PKTINFO},
	{IPPROTO_IP, IP_MINTTL},
	{IPPROTO_IP, IP_FREEBIND},
	{IPPROTO_IP, IP_OPTIONS},
	{IPPROTO_IP, IP_RECVOPTS},
	{IPPROTO_IP, IP_RETOPTS},
	{IPPROTO_IP, IP_RECVORIGDSTADDR},
	{IPPROTO_IP, IP_CHECKSUM},
	{IPPROTO_IP, IP_RECVFRAGSIZE},
	{IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT},
	{IPPROTO_IP, IP_LOCAL_PORT_RANGE},
	{IPPROTO_IP, IP_MULTICAST_TTL},
	{IPPROTO_IP, IP_MULTICAST_LOOP},
	{IPPROTO_IP, IP_MULTICAST_ALL},
	{IPPROTO_IP, IP_UNICAST_IF},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS},
	{IPPROTO_IPV6, IPV6_TCLASS},
	{IPPROTO_IPV6, IPV6_MTU_DISCOVER},
	{IPPROTO_IPV6, IPV6_RECVERR},
	{IPPROTO_IPV6, IPV6_RECVPKTINFO},
	{IPPROTO_IPV6, IPV6_RECVHOPLIMIT},
	{IPPROTO_IPV6, IPV6_RECVTCLASS},
	{IPPROTO_IPV6, IPV6_DONTFRAG},
	{IPPROTO_IPV6, IPV6_MINHOPCOUNT},
	{IPPROTO_IPV6, IPV6_AUTOFLOWLABEL},
	{IPPROTO_IPV6, IPV6_FREEBIND},
	{IPPROTO_IPV6, IPV6_RECVORIGDSTADDR},
	{IPPROTO_IPV6, IPV6_RECVFRAGSIZE},
	{IPPROTO_IPV6, IPV6_FLOWINFO_SEND},
	{IPPROTO_IPV6, IPV6_MULTICAST_HOPS},
	{IPPROTO_IPV6, IPV6_MULTICAST_LOOP},
	{IPPROTO_IPV6, IPV6_MULTICAST_ALL},
	{IPPROTO_IPV6, IPV6_ADDR_PREFERENCES},
};

static long read_option(int fd, const struct option *o, void *value, socklen_t len)
{
	long err = sl_sys_getsockopt(fd, o->level, o->name, value, &len);

	return err ? err : (long)len;
}

/* Only what differs: some values that can be read cannot be set. */
void sl_swap_options(int from, int to, int family)
{
	uint8_t have[64], want[64];

	for (unsigned i = 0; i < sl_array_len(options); i++) {
		const struct option *o = &options[i];
		long n;

		if (o->level == IPPROTO_IPV6 && family != AF_INET6)
			continue;
		n = read_option(from, o, want, sizeof(want));
		if (n <= 0 || (read_option(to, o, have, sizeof(have)) == n &&
			       memcmp(have, want, (size_t)n) == 0))
			continue;
		(void)sl_sys_setsockopt(to, o->level, o->name, want, (socklen_t)n);
	}
}

/* The socket's numbers --------------------------------------------------------------------------
 */

static void copy_flags(int from, int to)
{
	struct f_owner_ex owner;
	int flags = sl_sys_fcntl(from, F_GETFL, 0), sig = sl_sys_fcntl(from, F_GETSIG, 0);

	if (!sl_sys(SYS_fcntl, from, F_GETOWN_EX, &owner) && owner.pid)
		(void)sl_sys(SYS_fcntl, to, F_SETOWN_EX, &owner);
	if (sig > 0)
		(void)sl_sys_fcntl(to, F_SETSIG, sig);
	if (flags >= 0)
		(void)sl_sys_fcntl(to, F_SETFL, flags);
}

int sl_swap_on(int file, int number)
{
	int flags = sl_sys_fcntl(number, F_GETFD, 0);

	if (flags < 0)
		return flags;
	return sl_sysi(SYS_dup3, file, number, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
}

int sl_swap_file(struct sl_sock *sk, int file)
{
	uint32_t end = sk->nfds > 1 ? sl_load(&sl_fdtab_end) : 0;
	int err;

	copy_flags(sk->fd, file);
	err = sl_swap_on(file, sk->fd);
	for (uint32_t fd = 0; fd < end && err >= 0; fd++)
		if ((int)fd != sk->fd && sl_fd_sock((int)fd) == sk)
			err = sl_swap_on(file, (int)fd);
	sl_store(&sk->inode, sl_inode_of(file));
	sk->stats->inode = sk->inode;
	return sl_min(err, 0);
}

int sl_swap_new(const struct sl_sock *sk)
{
	int fd = sl_sys_socket(sk->family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd >= 0)
		sl_swap_options(sk->fd, fd, sk->family);
	return fd;
}

/* A socket like the shadow, without a name. */
static int unnamed(const struct sl_sock *sk)
{
	int fd = sl_swap_new(sk);

	if (fd < 0)
		return fd;
	sl_tcp_opt_give(sk, fd);
	if (sk->family == AF_INET6)
		sl_sys_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, sk->v6only);
	if (sk->bound_if)
		sl_sys_set_int(fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)sk->bound_if);
	if (sk->shut) /* is noted, though there is no connection */
		(void)sl_sysi(SYS_shutdown, fd, sk->shut - 1);
	return fd;
}

bool sl_swap_is_closed(int fd)
{
	uint8_t state = 0; /* the first field of struct tcp_info */
	socklen_t len = sizeof(state);

	return sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 &&
	       state == KERNEL_CLOSE;
}

bool sl_swap_is_fresh(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_state == KERNEL_CLOSE && !info.tcpi_segs_in && !info.tcpi_segs_out;
}

void sl_swap_unname(struct sl_sock *sk)
{
	int fd = -1;

	if ((sk->named || sk->port_over) && !sl_tcp_sock_is_named(sk) && sl_swap_is_closed(sk->fd))
		fd = unnamed(sk);
	if (fd >= 0 && sl_swap_file(sk, fd) == 0) {
		sk->named = sk->any_port = sk->port_over = false;
		sl_shadow_watch(sk, sk->fd);
		(void)sl_sock_read_names(sk);
	}
	if (fd >= 0)
		sl_sys_close(fd);
}
