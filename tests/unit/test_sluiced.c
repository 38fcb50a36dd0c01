/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's pure parts: policy, the table of claims, packets of the lease protocol, proofs. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/addr.h"
#include "base/clock.h"
#include "../../tools/sluiced/facts.h"
#include "ctl/steer/names.h"
#include "../../tools/sluiced/keep.h"
#include "../../tools/sluiced/proof.h"
#include "../../tools/sluiced/session.h"
#include "../../tools/sluiced/sluiced.h"

/* Policy ------------------------------------------------------------------------------------------
 */

static struct sl_policy policy;
static unsigned wrong_line;
static char wrong_found[64];

static void note(void *arg, unsigned line, const char *expected, const char *found)
{
	assert_true(*expected);
	wrong_line = line;
	snprintf(wrong_found, sizeof(wrong_found), "%s", found);
}

static bool name_of(const char *name, bool group, uint32_t *id)
{
	*id = group ? 50 : 1000;
	return !strcmp(name, group ? "traders" : "alice");
}

static unsigned parse(const char *text)
{
	wrong_line = 0;
	return sl_policy_parse(text, strlen(text), &policy, name_of, note, NULL);
}

static const struct sl_limits *limits_of(uint32_t uid, uint32_t gid)
{
	const struct sl_policy_rule *r = sl_policy_find(&policy, uid, &gid, 1);

	return r ? &r->limits : NULL;
}

static void test_policy_first_match(void **state)
{
	assert_int_equal(
		parse("# who may\n"
		      "\n"
		      "deny user 7\n"
		      "allow user alice device eth*,ens1 lanes 3 flows 10 repair no # hers\n"
		      "allow group traders\n"),
		0);
	assert_int_equal(policy.n, 3);
	assert_null(limits_of(7, 50));
	assert_null(limits_of(8, 51));
	assert_non_null(limits_of(8, 50));
	assert_int_equal(limits_of(1000, 50)->lanes, 3);
	assert_int_equal(limits_of(1000, 50)->flows, 10);
	assert_false(limits_of(1000, 50)->repair);
	assert_true(limits_of(8, 50)->repair);
	assert_true(sl_limits_allow_device(limits_of(1000, 0), "eth17"));
	assert_true(sl_limits_allow_device(limits_of(1000, 0), "ens1"));
	assert_false(sl_limits_allow_device(limits_of(1000, 0), "ens12"));
	assert_true(sl_limits_allow_device(limits_of(8, 50), "anything"));
}

static void test_policy_all(void **state)
{
	assert_int_equal(parse("allow user *"), 0);
	assert_non_null(limits_of(12345, 1));
	assert_int_equal(parse("allow user * device veth0\n"), 0);
	assert_string_equal(limits_of(1, 1)->devices, "veth0");
	assert_int_equal(parse(""), 0);
	assert_null(limits_of(0, 0));
}

static void test_policy_groups_with_names(void **state)
{
	assert_int_equal(parse("allow user alice join feed,book-* lanes 2\nallow user *\n"), 0);
	assert_true(sl_limits_allow_group(limits_of(1000, 0), "feed"));
	assert_true(sl_limits_allow_group(limits_of(1000, 0), "book-7"));
	assert_false(sl_limits_allow_group(limits_of(1000, 0), "feeds"));
	assert_int_equal(limits_of(1000, 0)->lanes, 2);
	assert_true(sl_limits_allow_device(limits_of(1000, 0), "eth0"));
	assert_false(sl_limits_allow_group(limits_of(7, 0), "feed")); /* nobody said so */
}

static void test_policy_divide(void **state)
{
	assert_int_equal(parse("divide ens5f*,eth0 3 # the fast ones\nallow user *\n"
			       "divide ens5f1 2\n"),
			 0);
	assert_int_equal(policy.n, 1);
	assert_int_equal(sl_policy_groups(&policy, "ens5f1"), 3); /* the first that fits */
	assert_int_equal(sl_policy_groups(&policy, "eth0"), 3);
	assert_int_equal(sl_policy_groups(&policy, "eth1"), 1);
	assert_int_equal(parse("allow user *"), 0);
	assert_int_equal(sl_policy_groups(&policy, "eth0"), 1);
}

static void test_policy_wrong_lines(void **state)
{
	static const struct {
		const char *text, *found;
	} cases[] = {
		{"permit user 1", "permit"},
		{"divide", ""},
		{"divide eth0", ""},
		{"divide eth0 two", "two"},
		{"divide eth0 1", "1"},
		{"divide eth0 9", "9"},
		{"divide eth0 2 3", "3"},
		{"allow", ""},
		{"allow all", "all"},
		{"allow user", ""},
		{"allow user bob", "bob"},
		{"allow user 1x", "1x"},
		{"allow user *x", "*x"},
		{"allow user 99999999999", "99999999999"},
		{"allow group alice", "alice"},
		{"allow user 1 join", ""},
		{"allow user 1 lanes", ""},
		{"allow user 1 lanes 257", "257"},
		{"allow user 1 lanes -1", "-1"},
		{"allow user 1 flows many", "many"},
		{"allow user 1 repair maybe", "maybe"},
		{"allow user 1 speed 9", "speed"},
	};
	char text[256];

	for (size_t i = 0; i < sl_array_len(cases); i++) {
		snprintf(text, sizeof(text), "allow user 2\n%s\nallow user 3\n", cases[i].text);
		assert_int_equal(parse(text), 1);
		assert_int_equal(wrong_line, 2);
		assert_string_equal(wrong_found, cases[i].found);
		assert_int_equal(policy.n, 2); /* the others hold */
	}
}

/* Claims ------------------------------------------------------------------------------------------
 */

static struct sl_claim_req req_of(uint32_t n)
{
	struct sl_claim_req r = {.ifindex = 1 + n % 3, .key.proto = IPPROTO_TCP};

	r.key.local_port = (uint16_t)(n / 3);
	r.key.remote_port = (uint16_t)(n >> 8);
	r.claim.slot = n;
	return r;
}

static void test_claims_are_found_until_deleted(void **state)
{
	enum { N = 5000 };
	static bool there[N];
	struct sl_held_table t = {0};
	unsigned seed = 1, n = 0;

	for (unsigned i = 0; i < 100000; i++) {
		uint32_t k = (uint32_t)rand_r(&seed) % N;
		struct sl_claim_req r = req_of(k);
		struct sl_held *h = sl_held_find(&t, &r);

		assert_true(!!h == there[k]);
		if (h) {
			assert_int_equal(h->req.claim.slot, k);
			sl_held_del(&t, h);
			n--;
		} else {
			assert_int_equal(sl_held_put(&t, &r, false, 0), 0);
			n++;
		}
		there[k] = !h;
		assert_int_equal(t.n, n);
	}
	for (struct sl_held *h; (h = sl_held_any(&t)); n--) {
		assert_true(there[h->req.claim.slot]);
		there[h->req.claim.slot] = false;
		sl_held_del(&t, h);
	}
	assert_int_equal(n, 0);
	sl_held_free(&t);
}

/* An unkeyed hash that the table had: anybody can find flows that it puts into one place. */
static uint64_t fnv(uint64_t h, const void *p, size_t n)
{
	for (const uint8_t *b = p; n--; b++)
		h = (h ^ *b) * 1099511628211ull;
	return h;
}

static uint32_t place_by_fnv(const struct sl_claim_req *r)
{
	static struct sl_flow_key before; /* all but the peer's last bytes and the ports */
	static uint64_t begun;
	const size_t n = offsetof(struct sl_flow_key, remote) + 12;
	uint64_t h;

	if (memcmp(&before, &r->key, n) || !begun)
		begun = fnv(14695981039346656037ull ^ r->ifindex, &r->key, n);
	before = r->key;
	h = fnv(begun, (const uint8_t *)&r->key + n, sizeof(r->key) - n);
	return (uint32_t)(h ^ h >> 32);
}

static double seconds_to_hold(const struct sl_claim_req *r, unsigned n)
{
	struct sl_held_table t = {0};
	uint64_t from = sl_now_ns();

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sl_held_put(&t, &r[i], false, 0), 0);
	for (struct sl_held *h; (h = sl_held_any(&t));)
		sl_held_del(&t, h);
	sl_held_free(&t);
	return (double)(sl_now_ns() - from) / 1e9;
}

static void test_nobody_knows_which_claims_collide(void **state)
{
	enum { N = 2000 };
	static struct sl_claim_req plain[N], collide[N];
	struct sl_claim_req r = {.ifindex = 1, .key.proto = IPPROTO_TCP, .key.local_port = 80};
	double least = 1e9, most = 1e9;

	for (uint32_t i = 0, n = 0, c = 0; c < N; i++) {
		r.key.remote_port = (uint16_t)i;
		memcpy(r.key.remote + 12, &(uint32_t){i >> 16}, 4);
		if (n < N)
			plain[n++] = r;
		if (!(place_by_fnv(&r) & 4095))
			collide[c++] = r;
	}
	for (unsigned i = 0; i < 3; i++) {
		least = sl_min(least, seconds_to_hold(plain, N));
		most = sl_min(most, seconds_to_hold(collide, N));
	}
	assert_true(most < 10 * least);
}

static void test_claim_of_a_slot_is_replaced(void **state)
{
	struct sl_held_table t = {0};
	struct sl_claim_req r = req_of(9);

	assert_int_equal(sl_held_put(&t, &r, false, 0), 0);
	r.claim.lane = 4;
	assert_int_equal(sl_held_put(&t, &r, false, 0), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(sl_held_find(&t, &r)->req.claim.lane, 4);
	r.claim.slot = 10; /* another slot has not that claim */
	assert_null(sl_held_find(&t, &r));
	sl_held_free(&t);
}

/* The connections of the dead ---------------------------------------------------------------------
 */

struct conn {
	void *host, *owner;
	struct sl_addr local, remote;
	uint32_t oif, listener;
	uint16_t lport, rport;
	uint8_t state, dead, tcp;
};

static const struct sl_conns_layout conns_layout = {
	.stride = sizeof(struct conn),
	.max = 10,
	.host = offsetof(struct conn, host),
	.dead = offsetof(struct conn, dead),
	.state = offsetof(struct conn, state),
	.local = offsetof(struct conn, local),
	.remote = offsetof(struct conn, remote),
	.lport = offsetof(struct conn, lport),
	.rport = offsetof(struct conn, rport),
	.owner = offsetof(struct conn, owner),
	.oif = offsetof(struct conn, oif),
	.listener = offsetof(struct conn, listener),
	.tcp = offsetof(struct conn, tcp),
};

static void test_connection_on_a_vlan_is_its_own(void **state)
{
	struct conn c = {
		.local = sl_addr_v4(htonl(0x0a000001)),
		.remote = sl_addr_v4(htonl(0x0a000002)),
		.lport = 80,
		.state = 1, /* established */
	};
	struct sl_claim_req r = req_of(1);
	struct sl_session s = {0};
	int fd = memfd_create("test", MFD_CLOEXEC);

	memset(&r.key, 0, sizeof(r.key));
	r.key.proto = IPPROTO_TCP;
	r.key.vlan = 5;
	r.key.local_port = c.lport;
	memcpy(r.key.local, c.local.b, 16);
	memcpy(r.key.remote, c.remote.b, 16);
	c.host = &c;
	for (c.rport = 1000; c.rport < 1003; c.rport++) {
		assert_int_equal(write(fd, &c, sizeof(c)), sizeof(c));
		r.key.remote_port = c.rport;
		if (c.rport != 1001) /* another's */
			assert_int_equal(sl_held_put(&s.held, &r, false, 0), 0);
	}
	assert_int_equal(sl_gone_open(&s.conns.gone, fd, &conns_layout), 0);
	while (sl_conns_read(&s))
		;
	assert_int_equal(s.conns.gone.n, 2);
	r.key.remote_port = 1000;
	assert_true(sl_conns_will_tell(&s, &r.key));
	r.key.remote_port = 1001;
	assert_false(sl_conns_will_tell(&s, &r.key));
	free(s.conns.gone.gone);
	free(s.conns.flow);
	sl_held_free(&s.held);
	close(fd);
}

/* Packets of the protocol -------------------------------------------------------------------------
 */

static struct sl_lease_msg msg_of(uint32_t op)
{
	return (struct sl_lease_msg){
		.hdr = {.magic = SL_LEASE_MAGIC, .version = SL_LEASE_VERSION, .op = (uint16_t)op}};
}

static size_t bytes_of(uint32_t op, bool answer)
{
	return sizeof(struct sl_lease_hdr) + (size_t)sl_lease_body_bytes(op, answer);
}

static void test_lengths_and_descriptors_must_fit(void **state)
{
	for (uint32_t op = 1; op < SL_LEASE_OPS; op++) {
		struct sl_lease_msg m = msg_of(op);
		size_t n = bytes_of(op, false);
		int fits = 0;

		for (m.nfds = 0; m.nfds < 4; m.nfds++)
			fits += !sl_lease_check(&m, n, false);
		assert_int_equal(fits, 1); /* exactly one count of descriptors */
		for (m.nfds = 0; sl_lease_check(&m, n, false); m.nfds++)
			;
		assert_int_equal(sl_lease_check(&m, n - 1, false), -EPROTO);
		assert_int_equal(sl_lease_check(&m, n + 1, false), -EPROTO);
		m.hdr.err = -1;
		assert_int_equal(sl_lease_check(&m, n, false), -EPROTO);
		m.hdr.err = 0;
		m.hdr.magic++;
		assert_int_equal(sl_lease_check(&m, n, false), -EPROTO);
	}
	assert_int_equal(sl_lease_body_bytes(0, false), -EPROTO);
	assert_int_equal(sl_lease_body_bytes(SL_LEASE_OPS, true), -EPROTO);
}

static void test_refusal_is_ended_text(void **state)
{
	struct sl_lease_msg m = msg_of(SL_LEASE_CLAIM);

	m.hdr.err = -EPERM;
	memset(m.body.why, 'x', sizeof(m.body.why));
	assert_int_equal(sl_lease_check(&m, sizeof(m.hdr) + SL_LEASE_WHY, true), 0);
	assert_int_equal(strlen(m.body.why), SL_LEASE_WHY - 1);
	m.hdr.err = EPERM; /* errors are negative */
	assert_int_equal(sl_lease_check(&m, sizeof(m.hdr) + SL_LEASE_WHY, true), -EPROTO);
}

static void test_another_version_is_told(void **state)
{
	struct sl_lease_msg m = msg_of(SL_LEASE_HELLO);

	m.hdr.version = SL_LEASE_VERSION + 1;
	m.nfds = 1;
	assert_int_equal(sl_lease_check(&m, 1000, false), 0); /* session.c refuses it in words */
	m.hdr.op = SL_LEASE_CLAIM;
	assert_int_equal(sl_lease_check(&m, bytes_of(SL_LEASE_CLAIM, false), false), -EPROTO);
}

/* Proofs ------------------------------------------------------------------------------------------
 */

static int bound(int type, uint32_t addr, uint16_t *port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(addr)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, type, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return fd;
}

static struct sl_flow_key key_of(uint8_t proto, uint32_t addr, uint16_t port)
{
	struct sl_flow_key k = {.proto = proto, .local_port = port};
	struct sl_addr a = sl_addr_v4(htonl(addr));

	memcpy(k.local, a.b, sizeof(k.local));
	return k;
}

/* The loop does this before it serves a request with these descriptors. */
static void look_at(int one, int two)
{
	static const struct sl_session s = {.cred.uid = 1};
	const int fd[] = {one, two};
	const char *why;

	assert_int_equal(sl_facts_begin(&s, fd, 2, &why), 0);
}

/* The names that are read without the lock are those that the kernel says with it. */
static void compare_names(int fd)
{
	static const struct sl_session s = {.cred.uid = 1};
	struct sl_facts asked;
	const struct sl_facts *f;
	const char *why;

	assert_int_equal(sl_facts_begin(&s, &fd, 1, &why), 0);
	asked = *sl_facts_of(fd);
	assert_int_equal(sl_facts_peek(&s, fd, &why), 0);
	f = sl_facts_of(fd);
	assert_memory_equal(&f->own, &asked.own, sizeof(f->own));
	assert_memory_equal(&f->peer, &asked.peer, sizeof(f->peer));
	assert_int_equal(f->own_port, asked.own_port);
	assert_int_equal(f->peer_port, asked.peer_port);
	assert_int_equal(f->has_own, asked.has_own);
	assert_int_equal(f->has_peer, asked.has_peer);
	assert_int_equal(f->v6only, asked.v6only);
}

/* A socket in each state: bit 0: IPv6, 1: bound to the loopback's address, else to the wildcard, 2:
 * IPV6_V6ONLY, 3: it listens, or is connected (UDP). */
static int in_state(int type, unsigned how, int to)
{
	int domain = how & 1 ? AF_INET6 : AF_INET, fd = socket(domain, type, 0), on = !!(how & 4);
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	if (how & 1)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (how & 2) {
		six.sin6_addr = in6addr_loopback;
		four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	compare_names(fd);
	if (how & 1)
		assert_int_equal(bind(fd, (struct sockaddr *)&six, sizeof(six)), 0);
	else
		assert_int_equal(bind(fd, (struct sockaddr *)&four, sizeof(four)), 0);
	compare_names(fd);
	if (how & 8 && type == SOCK_STREAM) {
		assert_int_equal(listen(fd, 1), 0);
	} else if (how & 8 && to >= 0) {
		assert_int_equal(getsockname(to, (struct sockaddr *)&peer, &len), 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&peer, len), 0);
	}
	compare_names(fd);
	return fd;
}

static void test_names_are_read_without_the_lock(void **state)
{
	struct sl_names n;
	uint16_t port;
	int to = bound(SOCK_DGRAM, INADDR_LOOPBACK, &port), fd;

	sl_names_open();
	if (sl_names_of(to, &n)) {
		print_message("this kernel has no program that reads names\n");
		skip();
	}
	assert_int_equal(ntohs(n.sport), port);
	for (unsigned how = 0; how < 16; how++) {
		close(in_state(SOCK_STREAM, how, -1));
		fd = in_state(SOCK_DGRAM, how & ~8u, -1);
		to = in_state(SOCK_DGRAM, (how & 1) | 2, -1);
		close(fd);
		fd = in_state(SOCK_DGRAM, how, to);
		close(fd);
		close(to);
	}
}

static void test_proof_is_what_the_socket_is_bound_to(void **state)
{
	const char *why = NULL;
	uint16_t port, any_port;
	int fd = bound(SOCK_DGRAM, INADDR_LOOPBACK, &port);
	int any = bound(SOCK_DGRAM, INADDR_ANY, &any_port);
	struct sl_flow_key k = key_of(IPPROTO_UDP, INADDR_LOOPBACK, port);

	sluiced.netns_cookie = sl_netns_cookie(fd);
	look_at(fd, any);
	assert_int_equal(sl_proof_check(fd, &k, &why), 0);
	k.local_port++;
	assert_int_equal(sl_proof_check(fd, &k, &why), -EPERM);
	k = key_of(IPPROTO_TCP, INADDR_LOOPBACK, port);
	assert_int_equal(sl_proof_check(fd, &k, &why), -EPERM);
	k = key_of(IPPROTO_UDP, 0x0a000001, port); /* another address */
	assert_int_equal(sl_proof_check(fd, &k, &why), -EPERM);
	k = key_of(IPPROTO_UDP, 0x0a000001, any_port); /* the wildcard receives for all */
	assert_int_equal(sl_proof_check(any, &k, &why), 0);
	sluiced.netns_cookie++;
	assert_int_equal(sl_proof_check(any, &k, &why), -EPERM);
	assert_non_null(strstr(why, "namespace"));
	close(fd);
	close(any);
}

static void test_unbound_or_no_socket_proves_nothing(void **state)
{
	struct sl_flow_key k = key_of(IPPROTO_UDP, INADDR_LOOPBACK, 0);
	const char *why;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), unix_fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	sluiced.netns_cookie = sl_netns_cookie(fd);
	look_at(fd, unix_fd);
	assert_int_equal(sl_proof_check(fd, &k, &why), -EPERM);
	assert_int_equal(sl_proof_check(unix_fd, &k, &why), -EPERM);
	assert_int_equal(sl_proof_check(STDIN_FILENO, &k, &why), -EPERM);
	close(fd);
	close(unix_fd);
}

/* Records that a new daemon finds in the vault. */
static void test_records_in_bounds(void **state)
{
	static const struct sl_session_kept good = {.ngids = 64, .nboxes = SL_SESSION_BOXES};
	static const struct sl_lane_kept lane = {.port = SL_SESSION_PORTS - 1,
						 .number = SL_SESSION_LANES - 1,
						 .lane = SL_MAX_XSKS - 1,
						 .nqueues = SL_MAX_QUEUES,
						 .packet_places = 1};
	static struct sl_session_kept k;
	struct sl_lane_kept l = lane;

	k = good;
	assert_true(sl_session_is_sound(&k));
	k.ngids++;
	assert_false(sl_session_is_sound(&k));
	k = good;
	k.nboxes++;
	assert_false(sl_session_is_sound(&k));
	k = good;
	memset(k.program, 'x', sizeof(k.program));
	assert_false(sl_session_is_sound(&k));
	k = good;
	memset(k.group, 'x', sizeof(k.group));
	assert_false(sl_session_is_sound(&k));
	k = good;
	memset(k.port[SL_SESSION_PORTS - 1].ifname, 'x', 16);
	assert_false(sl_session_is_sound(&k));

	assert_true(sl_lane_is_sound(&l, SL_MAX_QUEUES + 1));
	assert_false(sl_lane_is_sound(&l, SL_MAX_QUEUES));
	l.port++;
	assert_false(sl_lane_is_sound(&l, SL_MAX_QUEUES + 1));
	l = lane;
	l.number++;
	assert_false(sl_lane_is_sound(&l, SL_MAX_QUEUES + 1));
	l = lane;
	l.lane++;
	assert_false(sl_lane_is_sound(&l, SL_MAX_QUEUES + 1));
	l = lane;
	l.nqueues++;
	assert_false(sl_lane_is_sound(&l, SL_MAX_QUEUES + 2));
}

static void test_packet_must_be_for_the_socket(void **state)
{
	uint16_t port;
	const char *why;
	int fd = bound(SOCK_DGRAM, INADDR_LOOPBACK, &port);
	uint8_t p[28] = {0x45, [9] = IPPROTO_UDP, [12] = 10, [15] = 1, [16] = 127, [19] = 1};

	sluiced.netns_cookie = sl_netns_cookie(fd);
	look_at(fd, -1);
	p[22] = (uint8_t)(port >> 8);
	p[23] = (uint8_t)port;
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), 0);
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p) - 1, &why), -EPERM);
	assert_int_equal(sl_proof_packet(fd, p, 0, &why), -EPERM);
	p[23]++;
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), -EPERM);
	p[23]--;
	p[19]++;
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), -EPERM);
	p[19]--;
	p[9] = IPPROTO_TCP; /* and there is no connection */
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), -EPERM);
	p[9] = IPPROTO_ICMP;
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), -EPERM);
	p[9] = IPPROTO_UDP;
	p[0] = 0x46; /* options */
	assert_int_equal(sl_proof_packet(fd, p, sizeof(p), &why), -EPERM);
	close(fd);
}

static void *told(void *fd)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(*(int *)fd, &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

/* A debugger has stopped the first thread alone: a lock of another one is given back soon. */
static void test_thread_goes_on_beside_one_that_is_stopped(void **state)
{
	int told_by[2];
	struct sl_session s = {.cred.pid = -1};
	pid_t other;
	pthread_t t;

	assert_int_equal(pipe(told_by), 0);
	s.cred.pid = fork();
	if (s.cred.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!pthread_create(&t, NULL, told, &told_by[1]))
			pause();
		_exit(1);
	}
	s.pidfd = (int)syscall(SYS_pidfd_open, s.cred.pid, 0);
	assert_int_equal(read(told_by[0], &other, sizeof(other)), sizeof(other));
	assert_false(sl_thread_is_halted(&s, (uint32_t)s.cred.pid));
	assert_int_equal(ptrace(PTRACE_ATTACH, s.cred.pid, NULL, NULL), 0);
	assert_int_equal(waitpid(s.cred.pid, NULL, __WALL), s.cred.pid);
	assert_true(sl_thread_is_halted(&s, (uint32_t)s.cred.pid));
	assert_false(sl_thread_is_halted(&s, (uint32_t)other));
	kill(s.cred.pid, SIGKILL);
	waitpid(s.cred.pid, NULL, __WALL);
	close(s.pidfd);
	close(told_by[0]);
	close(told_by[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy_first_match),
		cmocka_unit_test(test_policy_all),
		cmocka_unit_test(test_policy_groups_with_names),
		cmocka_unit_test(test_policy_divide),
		cmocka_unit_test(test_policy_wrong_lines),
		cmocka_unit_test(test_claims_are_found_until_deleted),
		cmocka_unit_test(test_nobody_knows_which_claims_collide),
		cmocka_unit_test(test_claim_of_a_slot_is_replaced),
		cmocka_unit_test(test_connection_on_a_vlan_is_its_own),
		cmocka_unit_test(test_lengths_and_descriptors_must_fit),
		cmocka_unit_test(test_refusal_is_ended_text),
		cmocka_unit_test(test_another_version_is_told),
		cmocka_unit_test(test_names_are_read_without_the_lock),
		cmocka_unit_test(test_proof_is_what_the_socket_is_bound_to),
		cmocka_unit_test(test_unbound_or_no_socket_proves_nothing),
		cmocka_unit_test(test_records_in_bounds),
		cmocka_unit_test(test_packet_must_be_for_the_socket),
		cmocka_unit_test(test_thread_goes_on_beside_one_that_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
