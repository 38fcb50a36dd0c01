/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's choice among sockets, as the daemon judges claims by it: a table, and the kernel's
 * own answers for the same sockets on the loopback device. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../tools/sluiced/deliver.h"
#include "base/sys.h"
#include "ctl/kern/netlink.h"

static struct sl_addr addr(const char *text)
{
	struct in6_addr a6;
	struct in_addr a4;

	if (inet_pton(AF_INET, text, &a4) == 1)
		return sl_addr_v4(a4.s_addr);
	assert_int_equal(inet_pton(AF_INET6, text, &a6), 1);
	return sl_addr_v6(&a6);
}

#define U IPPROTO_UDP
#define T IPPROTO_TCP

/* A socket: family, address, peer ("": none), device, and whether it is of IPv6 alone. */
struct sock {
	int family;
	const char *local, *remote;
	uint32_t ifindex;
	bool v6only;
};

struct row {
	const char *what;
	int proto;
	const char *local, *remote; /* what is claimed on device 2 */
	struct sock own, other;
	bool reaches, prefers;
};

#define V4(l, r, ...)                                                                              \
	{                                                                                          \
		.family = AF_INET, .local = l, .remote = r, __VA_ARGS__                            \
	}
#define V6(l, r, ...)                                                                              \
	{                                                                                          \
		.family = AF_INET6, .local = l, .remote = r, __VA_ARGS__                           \
	}

static const struct row rows[] = {
	{"equal addresses", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("10.0.0.1", ""), true, true},
	{"another address", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("10.0.0.2", ""), false,
	 false},
	{"a wildcard beside an address", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("0.0.0.0", ""),
	 true, false},
	{"a wildcard of a device beside an address", U, "10.0.0.1", "", V4("10.0.0.1", ""),
	 V4("0.0.0.0", "", 2), true, false},
	{"an address beside a wildcard", U, "0.0.0.0", "", V4("0.0.0.0", ""), V4("10.0.0.1", ""),
	 true, true},
	{"an address of the other family", U, "0.0.0.0", "", V4("0.0.0.0", ""), V6("fd00::1", ""),
	 false, false},
	{"loopback beside a wildcard", U, "0.0.0.0", "", V4("0.0.0.0", ""), V4("127.0.0.53", ""),
	 false, false},
	{"loopback of IPv6", U, "::", "", V6("::", ""), V6("::1", ""), false, false},
	{"a group beside a wildcard", U, "0.0.0.0", "", V4("0.0.0.0", ""), V4("239.1.1.1", ""),
	 false, false},
	{"a connected socket", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("10.0.0.1", "10.0.0.9"),
	 true, true},
	{"a connected socket's flow", U, "10.0.0.1", "10.0.0.9", V4("10.0.0.1", "10.0.0.9"),
	 V4("10.0.0.1", ""), true, false},
	{"another peer's", U, "10.0.0.1", "10.0.0.9", V4("10.0.0.1", "10.0.0.9"),
	 V4("10.0.0.1", "10.0.0.8"), false, false},
	{"another device's", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("10.0.0.1", "", 3), false,
	 false},
	{"the device's", U, "10.0.0.1", "", V4("10.0.0.1", ""), V4("10.0.0.1", "", 2), true, true},
	{"ours is the device's", U, "10.0.0.1", "", V4("10.0.0.1", "", 2), V4("10.0.0.1", ""), true,
	 false},
	{"both families beside IPv4: SO_INCOMING_CPU may decide", U, "0.0.0.0", "",
	 V4("0.0.0.0", ""), V6("::", ""), true, true},
	{"IPv4 beside both families", U, "0.0.0.0", "", V6("::", ""), V4("0.0.0.0", ""), true,
	 true},
	{"IPv6 alone takes no IPv4", U, "0.0.0.0", "", V4("0.0.0.0", ""), V6("::", "", 0, true),
	 false, false},
	{"a mapped address", U, "10.0.0.1", "", V4("0.0.0.0", ""), V6("::ffff:10.0.0.1", ""), true,
	 true},
	{"a mapped address is not IPv6's", U, "::", "", V6("::", ""), V6("::ffff:10.0.0.1", ""),
	 false, false},
	{"IPv6: an address beside a wildcard", U, "::", "", V6("::", ""), V6("fd00::1", ""), true,
	 true},
	{"IPv6: a wildcard beside an address", U, "fd00::1", "", V6("fd00::1", ""), V6("::", "", 2),
	 true, false},
	{"IPv6: a connected socket's flow", U, "fd00::1", "fd00::9", V6("fd00::1", "fd00::9"),
	 V6("fd00::1", ""), true, false},
	{"a group is everybody's who is bound to it", U, "239.1.1.1", "", V4("239.1.1.1", ""),
	 V4("239.1.1.1", ""), true, true},
	{"and everybody's who is bound to nothing", U, "239.1.1.1", "", V4("239.1.1.1", ""),
	 V4("0.0.0.0", ""), true, true},
	{"not theirs who are bound to an address", U, "239.1.1.1", "", V4("239.1.1.1", ""),
	 V4("10.0.0.1", ""), false, false},
	{"nor to another device", U, "239.1.1.1", "", V4("239.1.1.1", ""), V4("0.0.0.0", "", 3),
	 false, false},
	{"a listener's wildcard beside an address", T, "0.0.0.0", "", V4("0.0.0.0", ""),
	 V4("10.0.0.1", ""), true, true},
	{"a listener's address beside a wildcard", T, "10.0.0.1", "", V4("10.0.0.1", ""),
	 V4("0.0.0.0", ""), true, false},
};

static struct sl_diag_sock sock_of(const struct sock *s, uint8_t state)
{
	struct sl_diag_sock out = {
		.local = addr(s->local),
		.local_port = 7000,
		.ifindex = s->ifindex,
		.family = (uint8_t)s->family,
		.v6only = s->v6only,
		.state = state,
	};

	if (*s->remote) {
		out.remote = addr(s->remote);
		out.remote_port = 9;
	}
	return out;
}

static struct sl_deliver_claim claim_of(const struct row *r)
{
	struct sl_deliver_claim c = {
		.local = addr(r->local),
		.ifindex = 2,
		.proto = (uint8_t)r->proto,
	};

	c.to_all = sl_addr_is_multicast(&c.local);
	if (*r->remote) {
		c.remote = addr(r->remote);
		c.remote_port = 9;
	}
	return c;
}

static void test_table(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		uint8_t st = r->proto == T ? SL_DIAG_LISTEN : SL_DIAG_CLOSE;
		struct sl_diag_sock own = sock_of(&r->own, st), other = sock_of(&r->other, st);
		struct sl_deliver_claim c = claim_of(r);

		if (sl_deliver_reaches(&c, &other) != r->reaches ||
		    sl_deliver_prefers(&c, &own, &other) != r->prefers)
			fail_msg("%s", r->what);
	}
}

static void test_listener_goes_before_what_is_only_bound(void **state)
{
	struct sl_diag_sock own = sock_of(&(struct sock)V4("10.0.0.1", ""), SL_DIAG_CLOSE);
	struct sl_diag_sock other = sock_of(&(struct sock)V4("0.0.0.0", ""), SL_DIAG_LISTEN);
	struct sl_deliver_claim c = {.local = addr("10.0.0.1"), .proto = T};

	assert_true(sl_deliver_prefers(&c, &own, &other));
	own.state = SL_DIAG_LISTEN;
	assert_false(sl_deliver_prefers(&c, &own, &other));
}

static void test_who_is_another(void **state)
{
	static struct sl_session s;
	struct sl_proof p = {.own = {.cookie = 5, .uid = 0}};
	struct sl_diag_sock other = {.cookie = 6, .uid = 1002};

	s.cred.uid = 1001;
	assert_true(sl_proof_is_others(&s, &p, &other));
	other.uid = 1001;
	assert_false(sl_proof_is_others(&s, &p, &other));
	other.uid = 0; /* as the socket of the claim, which a worker has from its master */
	assert_true(sl_proof_is_others(&s, &p, &other));
	p.reuseport = true;
	assert_false(sl_proof_is_others(&s, &p, &other));
	other.cookie = 5;
	other.uid = 1002;
	assert_false(sl_proof_is_others(&s, &p, &other));
}

/* The kernel ------------------------------------------------------------------------------------
 */

static int opened(int type, const char *local, uint16_t port, uint64_t *cookie)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, type, 0), one = 1;
	socklen_t len = sizeof(*cookie);

	inet_pton(AF_INET, local, &sin.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &len), 0);
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	getsockname(fd, (struct sockaddr *)&sin, &len);
	return ntohs(sin.sin_port);
}

static void test_kernel_names_the_socket(void **state)
{
	uint64_t any_cookie, bound_cookie, listen_cookie;
	int any = opened(SOCK_DGRAM, "0.0.0.0", 0, &any_cookie);
	uint16_t port = port_of(any);
	int bound = opened(SOCK_DGRAM, "127.0.0.2", port, &bound_cookie);
	int tcp = opened(SOCK_STREAM, "127.0.0.1", 0, &listen_cookie);
	int nl = sl_netlink_open(NETLINK_SOCK_DIAG);
	struct sl_diag_flow f = {
		.local = addr("127.0.0.1"),
		.remote = addr("127.0.0.9"),
		.local_port = port,
		.remote_port = 9,
		.proto = IPPROTO_UDP,
	};
	struct sl_diag_sock found;

	assert_true(nl >= 0);
	if (sl_diag_find(nl, &f, &found) == -ENOENT)
		skip(); /* no udp_diag */
	assert_int_equal(sl_diag_find(nl, &f, &found), 0);
	assert_true(found.cookie == any_cookie);
	assert_int_equal(found.uid, getuid());
	assert_int_equal(found.local_port, port);
	f.local = addr("127.0.0.2");
	assert_int_equal(sl_diag_find(nl, &f, &found), 0);
	assert_true(found.cookie == bound_cookie);
	f.proto = IPPROTO_TCP;
	f.local = addr("127.0.0.1");
	f.local_port = port_of(tcp);
	assert_int_equal(sl_diag_find(nl, &f, &found), -ENOENT);
	assert_int_equal(listen(tcp, 1), 0);
	assert_int_equal(sl_diag_find(nl, &f, &found), 0);
	assert_true(found.cookie == listen_cookie);
	assert_int_equal(found.state, SL_DIAG_LISTEN);
	close(nl);
	close(any);
	close(bound);
	close(tcp);
}

struct count {
	uint64_t cookie;
	unsigned n, all;
};

static void count(const struct sl_diag_sock *s, void *arg)
{
	struct count *c = arg;

	c->all++;
	c->n += s->cookie == c->cookie && s->family == AF_INET && !s->remote_port;
}

static void test_dump_has_the_sockets_of_a_port(void **state)
{
	struct count c = {0};
	int fd = opened(SOCK_DGRAM, "127.0.0.1", 0, &c.cookie);
	int nl = sl_netlink_open(NETLINK_SOCK_DIAG);
	int err = sl_diag_dump(nl, &(struct sl_diag_ask){IPPROTO_UDP, AF_INET, port_of(fd), ~0u},
			       count, &c);

	if (err == -ENOENT)
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.all, 1);
	assert_int_equal(
		sl_diag_dump(nl, &(struct sl_diag_ask){IPPROTO_UDP, AF_INET, 0, ~0u}, count, &c),
		0);
	assert_int_equal(c.n, 2);
	close(nl);
	close(fd);
}

/* A turn of the daemon's loop reads a part, however many there are. */
static void test_a_dump_comes_in_pieces(void **state)
{
	const struct sl_diag_ask all = {IPPROTO_UDP, AF_INET, 0, ~0u};
	struct count c = {0};
	int fd[512], nl = sl_netlink_open(NETLINK_SOCK_DIAG), pieces = 0, err = 0;
	unsigned most = 0;

	for (unsigned i = 0; i < sl_array_len(fd); i++)
		fd[i] = opened(SOCK_DGRAM, "127.0.0.1", 0, &c.cookie);
	assert_int_equal(sl_diag_begin(nl, &all), 0);
	for (; !err; pieces++) {
		unsigned before = c.all;

		err = sl_diag_go_on(nl, 0, count, &c);
		most = sl_max(most, c.all - before);
	}
	if (err == -ENOENT)
		skip();
	assert_int_equal(err, 1);
	assert_int_equal(c.n, 1);
	assert_in_range(c.all, 512, 1 << 20);
	assert_in_range(most, 1, c.all / 2);
	assert_in_range(pieces, 2, 1 << 20);
	close(nl);
	for (unsigned i = 0; i < sl_array_len(fd); i++)
		close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_listener_goes_before_what_is_only_bound),
		cmocka_unit_test(test_who_is_another),
		cmocka_unit_test(test_kernel_names_the_socket),
		cmocka_unit_test(test_dump_has_the_sockets_of_a_port),
		cmocka_unit_test(test_a_dump_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
