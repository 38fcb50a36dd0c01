/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of the time stamps that the kernel would send on a connection.
 *
 * Theory of operation: a peer that keeps the last connection between two ports in TIME_WAIT takes a
 * new SYN if its time stamp is higher (RFC 6191). The last one may have been the kernel's, of a
 * program that is not preloaded, and so may be the next one. So ours have the kernel's offset,
 * which a secret of the kernel gives for the addresses and ports. A socket that connects with
 * TCP_FASTOPEN_CONNECT and TCP_FASTOPEN_NO_COOKIE has it and sends nothing, for its SYN would wait
 * for data, and TCP_TIMESTAMP tells it.
 *
 * The library keeps one such socket for each family open. The socket gets the port by a range of
 * that port alone (IP_LOCAL_PORT_RANGE, Linux 6.3), so the library asks before it binds the shadow.
 * If the program has bound it, a socket that shares the port is needed (SO_REUSEADDR), and so it is
 * on a kernel without such ranges.
 *
 * An answer costs the kernel as much as a tenth of a connection. Linux before the spring of 2026
 * leaves the ports out of its hash, and tcp_timestamps 2 has no hash at all. Where two answers for
 * different ports are the same, one answer serves the pair of addresses; else it serves those
 * ports. Answers are asked for again after a while, and after tcp_timestamps has changed. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/fds.h"
#include "base/lock.h"
#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/stream/stream.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_tw.h"

#define TFO_CLIENT 1u     /* a bit of tcp_fastopen */
#define SLOW_NS    200000 /* a measurement that took longer is made again */
#define MEASURES   3
#define ANSWERS    128
#define ANSWER_NS  60000000000ull /* how long an answer holds */
#define SAME_MS    2              /* two measurements of one clock are no further apart */

static struct sl_fd_once asker[2]; /* IPv4, IPv6 */
static struct sl_lock asker_lock;  /* for what follows; a leaf */
static struct asker_name {
	struct sl_addr addr; /* which it keeps when it disconnects */
	uint32_t oif;
	int fd; /* 0: it has no address */
} names[2];
static bool never;    /* this kernel cannot be asked; atomic */
static bool no_range; /* nor with a port by range; atomic */

struct answer {
	struct sl_tcp_key key; /* without ports where they do not matter */
	uint32_t offset;
	uint64_t until_ns; /* 0: no answer */
};
static struct {
	struct answer at[ANSWERS]; /* by the key's hash */
	struct answer last;        /* with its ports */
	enum { PORTS_UNKNOWN, PORTS_MATTER, PORTS_ALIKE } ports;
	uint8_t timestamps; /* tcp_timestamps at that time */
} known;

static int new_socket(int family)
{
	int fd = sl_sys_socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	/* Without either of these a SYN would leave. */
	if (fd >= 0 && (sl_sys_set_int(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1) ||
			sl_sys_set_int(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1))) {
		sl_sys_close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

static int open_asker(const char *ipv6)
{
	int fd = new_socket(ipv6 ? AF_INET6 : AF_INET);

	if (fd >= 0 && sl_sys_set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)) {
		sl_sys_close(fd);
		return -EOPNOTSUPP;
	}
	if (fd >= 0 && sl_sys_set_int(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE, 0))
		sl_store(&no_range, true);
	return fd;
}

/* The offset of fd's time stamps to our clock, in milliseconds: the kernel's, or one less, as the
 * lowest bit tells the unit. False: there is none. */
static bool measure(int fd, uint32_t *offset)
{
	for (int i = 0; i < MEASURES; i++) {
		uint64_t before_ns = sl_now_ns();
		uint32_t tsval;
		socklen_t len = sizeof(tsval);

		if (sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_TIMESTAMP, &tsval, &len))
			return false;
		*offset = tsval - (uint32_t)(before_ns / 1000000);
		if (sl_now_ns() - before_ns < SLOW_NS)
			return true;
	}
	return false;
}

static int family_of(const struct sl_tcp_key *key)
{
	return sl_addr_is_v4(&key->remote) ? AF_INET : AF_INET6;
}

/* Binds fd to the key's address. */
static bool bind_to(int fd, const struct sl_tcp_key *key, uint16_t port, uint32_t oif)
{
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);

	sl_addr_to_sockaddr(&key->local, port, oif, family_of(key), (struct sockaddr *)&from, &len);
	return !sl_sys_bind(fd, &from, len);
}

/* The asker, bound to the key's address: most connections come from the same. */
static int asker_at(const struct sl_tcp_key *key, uint32_t oif)
{
	bool ipv6 = !sl_addr_is_v4(&key->remote);
	struct asker_name *is = &names[ipv6];
	int fd;

	if (is->fd && is->oif == oif && sl_addr_eq(&is->addr, &key->local))
		return is->fd;
	is->fd = 0;
	fd = sl_fd_once(&asker[ipv6], open_asker, ipv6 ? "6" : NULL);
	if (fd == -EOPNOTSUPP)
		sl_store(&never, true);
	if (fd < 0 || !bind_to(fd, key, 0, oif))
		return -EADDRNOTAVAIL;
	*is = (struct asker_name){key->local, oif, fd};
	return fd;
}

/* Connects fd, which is bound, without a packet. */
static bool connect_silently(int fd, const struct sl_tcp_key *key, uint32_t oif)
{
	struct sockaddr_storage to = {0};
	socklen_t len = sizeof(to);
	int err;

	sl_addr_to_sockaddr(&key->remote, key->rport, oif, family_of(key), (struct sockaddr *)&to,
			    &len);
	err = sl_sys_connect(fd, &to, len);
	if (sl_unlikely(err == -EINPROGRESS)) /* a SYN has left: that is worse than another clock */
		sl_store(&never, true);
	return err == 0;
}

/* Gives the asker that port (0: any) for its next connection. */
static bool set_port(int fd, uint16_t port)
{
	int range = (int)((uint32_t)port << 16 | port);

	if (sl_load(&no_range))
		return !port;
	return !sl_sys_set_int(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE, range);
}

static bool ask_by_range(const struct sl_tcp_key *key, uint32_t oif, uint32_t *offset)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	int fd = asker_at(key, oif);
	bool got;

	got = fd >= 0 && set_port(fd, key->lport) && connect_silently(fd, key, oif) &&
	      measure(fd, offset);
	if (fd >= 0)
		(void)sl_sys_connect(fd, &nowhere, sizeof(nowhere)); /* the port is free again */
	if (!got)
		names[!sl_addr_is_v4(&key->remote)].fd = 0; /* its address may have gone */
	return got;
}

static bool ask_by_sharing(const struct sl_tcp_key *key, uint32_t oif, uint32_t *offset)
{
	int fd = new_socket(family_of(key));
	bool got;

	if (fd < 0)
		return false;
	got = sl_sys_set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) == 0 &&
	      bind_to(fd, key, key->lport, oif) && connect_silently(fd, key, oif) &&
	      measure(fd, offset);
	sl_sys_close(fd);
	return got;
}

/* The key by which an answer is kept. */
static struct sl_tcp_key kept_by(const struct sl_tcp_key *key)
{
	struct sl_tcp_key k = *key;

	if (known.ports == PORTS_ALIKE)
		k.lport = k.rport = 0;
	return k;
}

static struct answer *answer_at(const struct sl_tcp_host *h, const struct sl_tcp_key *k)
{
	return &known.at[sl_tcp_key_hash(h, k) % ANSWERS];
}

static bool recall(const struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t *offset)
{
	struct sl_tcp_key k = kept_by(key);
	const struct answer *a = answer_at(h, &k);

	if (known.timestamps != sl_tcp_params.timestamps) {
		memset(&known, 0, sizeof(known));
		known.timestamps = sl_tcp_params.timestamps;
		return false;
	}
	*offset = a->offset;
	return sl_tcp_key_eq(&a->key, &k) && sl_now_ns() < a->until_ns;
}

static bool is_same(uint32_t a, uint32_t b)
{
	return a - b + SAME_MS <= 2 * SAME_MS;
}

/* Learns from two answers for one pair of addresses whether the kernel looks at the ports. */
static void compare(const struct sl_tcp_key *key, uint32_t offset)
{
	const struct answer *b = &known.last;
	bool same = is_same(offset, b->offset);

	if (!b->until_ns || !sl_addr_eq(&key->local, &b->key.local) ||
	    !sl_addr_eq(&key->remote, &b->key.remote))
		return;
	if (known.ports == PORTS_ALIKE && !same)
		memset(&known.at, 0, sizeof(known.at)); /* that was chance, or is no more so */
	if (!same)
		known.ports = PORTS_MATTER;
	else if (known.ports == PORTS_UNKNOWN &&
		 (key->lport != b->key.lport || key->rport != b->key.rport))
		known.ports = PORTS_ALIKE;
}

static void remember(const struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t offset)
{
	struct sl_tcp_key k;

	compare(key, offset);
	known.last = (struct answer){*key, offset, sl_now_ns() + ANSWER_NS};
	k = kept_by(key);
	*answer_at(h, &k) = (struct answer){k, offset, known.last.until_ns};
}

/* Asker lock held. bound: the shadow has the key's port. False: the kernel cannot be asked. */
static bool ask(const struct sl_sock *sk, const struct sl_tcp_key *key, uint32_t oif, bool bound,
		uint32_t *offset)
{
	struct sl_tcp_key any = *key;

	if (known.ports == PORTS_ALIKE) {
		any.lport = 0;
		return ask_by_range(&any, oif, offset);
	}
	if (bound && !sk->reuse)
		return false;
	return bound || sl_load(&no_range) ? ask_by_sharing(key, oif, offset)
					   : ask_by_range(key, oif, offset);
}

/* The kernel holds back a SYN only if it sees no black hole for Fast Open, which it does not look
 * for unless told to. */
static bool may_ask(const struct sl_tcp_params *p)
{
	return p->timestamps && p->tfo & TFO_CLIENT && !p->tfo_blackhole_s && !sl_load(&never);
}

uint32_t sl_tcp_stamps_offset(struct sl_sock *sk, const struct sl_tcp_key *key, uint32_t oif,
			      bool bound)
{
	struct sl_tcp_host *h;
	uint32_t offset = 0;
	struct sl_lane *lane;
	bool got;

	if (!may_ask(&sl_tcp_params) || !sl_sock_lock(sk, &lane))
		return 0;
	h = lane->tcp;
	got = sl_tcp_peer_waits(h, key);
	sl_lane_unlock(lane);
	if (!got || !sl_lock(&asker_lock))
		return 0;
	if (!recall(h, key, &offset)) {
		got = ask(sk, key, oif, bound, &offset);
		if (got)
			remember(h, key, offset);
	}
	sl_unlock(&asker_lock);
	return !got ? 0 : offset ? offset : 1;
}

void sl_tcp_stamps_child(void)
{
	memset(&asker_lock, 0, sizeof(asker_lock));
	memset(names, 0, sizeof(names));
	memset(&known, 0, sizeof(known));
}
