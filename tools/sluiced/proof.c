/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the socket that a process passes as a proof. The kernel let its owner bind it, in its
 * namespace: a process with that socket receives packets for its port anyway. */
#include "proof.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/compat.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "deliver.h"
#include "facts.h"
#include "sluiced.h"

/* The value of an option of SOL_SOCKET, or -errno. */
static int option_of(int fd, int opt)
{
	int v = 0, err = sl_sys_get_int(fd, SOL_SOCKET, opt, &v);

	return err ? err : v;
}

uint64_t sl_netns_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) ? 0 : cookie;
}

static int check_kind(int fd, int proto, const char **why)
{
	int domain = option_of(fd, SO_DOMAIN);

	if ((domain != AF_INET && domain != AF_INET6) || option_of(fd, SO_PROTOCOL) != proto) {
		sl_why(why, "the descriptor is not a %s socket",
		       proto == IPPROTO_TCP ? "TCP" : "UDP");
		return -EPERM;
	}
	if (!sluiced.netns_cookie || sl_netns_cookie(fd) != sluiced.netns_cookie) {
		sl_why(why, "the socket is of another network namespace");
		return -EPERM;
	}
	return 0;
}

int sl_proof_tcp(int fd, const char **why)
{
	return check_kind(fd, IPPROTO_TCP, why);
}

/* The groups that a socket has joined cannot be read, but a packet to a group and port goes to
 * every socket on that port that wants it; sock_diag has shown the sockets that must not lose it.
 */
static bool may_receive(int fd, const struct sl_addr *bound, const struct sl_addr *claimed)
{
	if (sl_addr_eq(bound, claimed))
		return true;
	if (!sl_addr_is_any(bound) || sl_addr_is_v4(bound) == sl_addr_is_v4(claimed))
		return sl_addr_is_any(bound);
	/* A wildcard of IPv6 that takes IPv4, too. */
	return !sl_addr_is_v4(bound) && !sl_facts_of(fd)->v6only;
}

/* The socket's own name, or its peer's. */
static bool name_of_end(int fd, bool peer, struct sl_addr *addr, uint16_t *port)
{
	const struct sl_facts *f = sl_facts_of(fd);

	*addr = peer ? f->peer : f->own;
	*port = peer ? f->peer_port : f->own_port;
	return peer ? f->has_peer : f->has_own;
}

int sl_proof_listener(int fd, uint16_t *port, uint8_t *family, const char **why)
{
	struct sl_addr bound;
	int err = check_kind(fd, IPPROTO_TCP, why);

	if (err)
		return err;
	*family = (uint8_t)option_of(fd, SO_DOMAIN);
	if (option_of(fd, SO_ACCEPTCONN) == 1 && name_of_end(fd, false, &bound, port))
		return 0;
	sl_why(why, "the socket does not listen");
	return -EPERM;
}

/* Checks the pair. (A socket with a name could be connected to by other processes.) */
int sl_proof_pair(int fd, const char **why)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_SEQPACKET &&
	    !sl_sys_getpeername(fd, &ss, &len) && len <= sizeof(ss.ss_family))
		return 0;
	sl_why(why, "the descriptor is not of a pair of packet sockets");
	return -EPERM;
}

bool sl_proof_is_everywhere(int fd)
{
	return option_of(fd, SO_BINDTOIFINDEX) == 0;
}

int sl_proof_check(int fd, const struct sl_flow_key *key, const char **why)
{
	struct sl_addr bound, claimed = sl_addr_of(key->local);
	uint16_t port;
	int err = check_kind(fd, key->proto, why);

	if (err)
		return err;
	if (!name_of_end(fd, false, &bound, &port) || !port || port != key->local_port ||
	    !may_receive(fd, &bound, &claimed)) {
		sl_why(why, "the socket is not bound to what it claims");
		return -EPERM;
	}
	return 0;
}

/* Packets -----------------------------------------------------------------------------------------
 */

struct ends {
	struct sl_addr src, dst;
	uint16_t sport, dport;
	int proto;
};

/* The ports stand at the same place in UDP and TCP. */
static bool parse_ends(const uint8_t *p, size_t n, struct ends *e)
{
	size_t l4 = n && p[0] >> 4 == 4 ? 20 : 40;

	if (n < l4 + 8 || (l4 == 20 ? p[0] != 0x45 : p[0] >> 4 != 6))
		return false;
	if (l4 == 20) {
		uint32_t src, dst;

		if ((p[6] & 0x3f) || p[7]) /* a fragment */
			return false;
		memcpy(&src, p + 12, 4);
		memcpy(&dst, p + 16, 4);
		e->src = sl_addr_v4(src);
		e->dst = sl_addr_v4(dst);
		e->proto = p[9];
	} else {
		memcpy(e->src.b, p + 8, 16);
		memcpy(e->dst.b, p + 24, 16);
		e->proto = p[6];
	}
	e->sport = (uint16_t)(p[l4] << 8 | p[l4 + 1]);
	e->dport = (uint16_t)(p[l4 + 2] << 8 | p[l4 + 3]);
	return true;
}

/* Checks that the socket would accept a packet from that source; else the kernel would answer to
 * the source that the packet names. */
static bool may_come(int fd, const struct ends *e)
{
	struct sl_addr a;
	uint16_t port;

	if (!name_of_end(fd, true, &a, &port))
		return e->proto == IPPROTO_UDP;
	return port == e->sport && sl_addr_eq(&a, &e->src);
}

int sl_proof_packet(int fd, const uint8_t *packet, size_t bytes, const char **why)
{
	struct sl_flow_key key = {0};
	struct sl_diag_flow flow;
	struct ends e;
	int err;

	if (!parse_ends(packet, bytes, &e) || (e.proto != IPPROTO_UDP && e.proto != IPPROTO_TCP) ||
	    sl_addr_is_multicast(&e.dst)) {
		sl_why(why, "that is no packet of TCP or UDP to one host");
		return -EPERM;
	}
	memcpy(key.local, e.dst.b, sizeof(key.local));
	key.local_port = e.dport;
	key.proto = (uint8_t)e.proto;
	if (!may_come(fd, &e)) {
		sl_why(why, "the packet is not of the socket's connection");
		return -EPERM;
	}
	flow = (struct sl_diag_flow){
		.local = e.dst,
		.remote = e.src,
		.local_port = e.dport,
		.remote_port = e.sport,
		.proto = key.proto,
	};
	err = sl_proof_check(fd, &key, why);
	/* The kernel finds a TCP socket of exactly these ends first. */
	return err || e.proto == IPPROTO_TCP ? err : sl_prove_packet(fd, &flow, why);
}
