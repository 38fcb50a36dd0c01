/* SPDX-License-Identifier: BSD-2-Clause */
/* Is what another process has put into a listener's box what accept(2) may return?
 *
 * Theory of operation: any process that has the box can put any descriptor into it. The program
 * takes the one that accept(2) returns for a new connection of its listener, so it must be one, by
 * what the kernel says of it: a TCP socket of the listener's network namespace (in one of its own a
 * process makes connections from any address), connected, with the listener's port and an address
 * of it, and no socket that this process has already. Or its peer has reset it meanwhile: accept(2)
 * returns such a connection, too. The daemon may have made it on another port, since it gives no
 * process the port of a listener that the process has left (sluiced/restore.c). (A process that
 * puts a closed socket into the box gains nothing: it could close or reconnect a connection after
 * this look, too.) */
#include <netinet/tcp.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/listen/box.h"
#include "sock/stream/tconn.h"

static bool is_int(int fd, int name, int wanted)
{
	int v = -1;

	return !sl_sys_get_int(fd, SOL_SOCKET, name, &v) && v == wanted;
}

static bool is_tcp(int fd)
{
	return (is_int(fd, SO_DOMAIN, AF_INET) || is_int(fd, SO_DOMAIN, AF_INET6)) &&
	       is_int(fd, SO_TYPE, SOCK_STREAM) && is_int(fd, SO_PROTOCOL, IPPROTO_TCP);
}

static uint64_t netns_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	/* (Before Linux 5.14 there is none, of any socket.) */
	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) ? 0 : cookie;
}

/* TCP_LISTEN: unknown. */
static uint8_t state_of(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ? TCP_LISTEN
									 : info.tcpi_state;
}

/* True: the socket was a connection, or was shut down; a new one is neither. */
static bool is_over(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	const struct timespec zero = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0 && p.revents & POLLRDHUP;
}

struct name {
	struct sl_addr addr;
	uint16_t port;
};

static bool name_of_fd(int fd, struct name *n)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint32_t scope;

	return !sl_sys_getsockname(fd, &ss, &len) &&
	       !sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &n->addr, &n->port, &scope);
}

static bool came_by(int fd, int listener, bool over)
{
	struct name own, has;

	return name_of_fd(listener, &own) && name_of_fd(fd, &has) &&
	       (over || has.port == own.port) &&
	       (sl_addr_is_any(&own.addr) || sl_addr_eq(&own.addr, &has.addr));
}

static bool has_inode(struct sl_sock *sk, void *arg)
{
	return sk->inode == *(const uint32_t *)arg;
}

static bool inode_is_known(int fd)
{
	struct stat st;
	uint32_t inode;

	if (sl_sys(SYS_fstat, fd, &st) < 0)
		return true;
	inode = (uint32_t)st.st_ino;
	return sl_sock_find(has_inode, &inode);
}

bool sl_tbox_is_connection(const struct sl_sock *listener, int fd)
{
	int own = sl_sock_shadow(listener);
	uint8_t state;

	if (!is_tcp(fd) || netns_of(fd) != netns_of(own))
		return false;
	/* (A Fast Open child is used before its handshake is complete.) */
	state = state_of(fd);
	return state != TCP_LISTEN && state != TCP_SYN_SENT &&
	       (state != TCP_CLOSE || is_over(fd)) && came_by(fd, own, state == TCP_CLOSE) &&
	       !inode_is_known(fd);
}
