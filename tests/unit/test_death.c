/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read out of the memory of a dead process: only what may be true is said to its peers. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../tools/death/death.h"

struct entry {
	struct sl_tcp tcp;
	void *owner;
	bool dead;
	uint32_t oif;
};

static const struct sl_conns_layout good = {
	.stride = sizeof(struct entry),
	.max = 1000,
	.host = offsetof(struct entry, tcp.host),
	.dead = offsetof(struct entry, dead),
	.state = offsetof(struct entry, tcp.state),
	.local = offsetof(struct entry, tcp.node.key.local),
	.remote = offsetof(struct entry, tcp.node.key.remote),
	.lport = offsetof(struct entry, tcp.node.key.lport),
	.rport = offsetof(struct entry, tcp.node.key.rport),
	.owner = offsetof(struct entry, owner),
	.oif = offsetof(struct entry, oif),
};

static struct entry entry_of(unsigned n)
{
	struct entry e = {.tcp.state = SL_TCP_ESTABLISHED, .owner = &e};

	e.tcp.host = (void *)&e;
	e.tcp.node.key.local = e.tcp.node.key.remote = sl_addr_v4(htonl(0x0a000001));
	e.tcp.node.key.lport = 80;
	e.tcp.node.key.rport = (uint16_t)n;
	e.tcp.mss_clamp = 1460;
	e.tcp.snd_una = e.tcp.snd_nxt = e.tcp.write_seq = 1000;
	e.tcp.rcv_nxt = e.tcp.rcv_wup = 2000;
	e.tcp.rcv_wnd = e.tcp.snd_wnd = e.tcp.max_window = 65535;
	return e;
}

static int file_of(const struct entry *e, unsigned n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, e, n * sizeof(*e)), n * sizeof(*e));
	return fd;
}

static bool even(void *arg, const struct sl_flow_key *k)
{
	return k->remote_port % 2 == 0;
}

static void test_a_layout_must_fit(void **state)
{
	static const size_t fields[] = {
		offsetof(struct sl_conns_layout, host),  offsetof(struct sl_conns_layout, dead),
		offsetof(struct sl_conns_layout, state), offsetof(struct sl_conns_layout, local),
		offsetof(struct sl_conns_layout, rport), offsetof(struct sl_conns_layout, owner),
		offsetof(struct sl_conns_layout, oif),   offsetof(struct sl_conns_layout, tcp),
	};
	struct entry e = entry_of(2);
	int fd = file_of(&e, 1), pipes[2];
	struct sl_gone_conns c;

	assert_int_equal(sl_gone_open(&c, fd, &good), 0);
	for (size_t i = 0; i < sl_array_len(fields); i++) {
		struct sl_conns_layout bad = good;

		*(uint32_t *)((char *)&bad + fields[i]) = bad.stride;
		assert_int_equal(sl_gone_open(&c, fd, &bad), -EINVAL);
		*(uint32_t *)((char *)&bad + fields[i]) = UINT32_MAX;
		assert_int_equal(sl_gone_open(&c, fd, &bad), -EINVAL);
	}
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(sl_gone_open(&c, pipes[0], &good), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_whose_it_was_is_found(void **state)
{
	struct entry e[200];
	struct sl_gone_conns c;

	for (unsigned i = 0; i < sl_array_len(e); i++)
		e[i] = entry_of(i);
	e[4].dead = true;
	e[6].tcp.host = NULL;
	e[8].tcp.state = SL_TCP_CLOSED;
	e[10].tcp.state = TCP_SYN_SENT;
	assert_int_equal(sl_gone_open(&c, file_of(e, sl_array_len(e)), &good), 0);
	while (sl_gone_read(&c, even, NULL))
		;
	assert_int_equal(c.n, sl_array_len(e) / 2 - 4);
	for (unsigned i = 0; i < c.n; i++)
		assert_int_equal(c.gone[i].key.remote_port, c.gone[i].entry);
	c.n = 0; /* nobody is told */
	assert_false(sl_gone_tell(&c, 1, true));
	assert_int_equal(c.fd, -1);
}

static void test_only_what_may_be_is_believed(void **state)
{
	struct entry fresh = entry_of(2), e = fresh;
	struct sl_tcp_repair r;
	bool orphan;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		e = fresh;                                                                         \
		change;                                                                            \
		assert_false(sl_tcp_repair_dead(&e.tcp, 5000, &r, &orphan));                       \
	} while (0)
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, &r, &orphan));
	assert_false(orphan);
	assert_int_equal(r.snd_una, 1000);
	assert_int_equal(r.rcv_nxt, 2000);
	assert_true(r.tsval >= 5);
	REFUSED(e.tcp.write_seq++);
	REFUSED(e.tcp.rx_bytes++);
	REFUSED(e.tcp.rx_tail++);
	REFUSED(e.tcp.state = SL_TCP_CLOSED);
	REFUSED(e.tcp.state = 200);
	REFUSED(e.tcp.frozen = true);
	REFUSED(memset(&e.tcp.fin_rcvd, 2, 1));
	REFUSED(memset(&e.tcp.orphan, 255, 1));
	REFUSED(e.tcp.snd_wscale = 15);
	REFUSED(e.tcp.mss_clamp = 0);
	REFUSED(e.tcp.rcv_wnd = UINT32_MAX);
	/* A FIN that the peer has not acknowledged is no byte. */
	e = fresh;
	e.tcp.state = SL_TCP_FIN_WAIT1;
	e.tcp.fin_queued = e.tcp.fin_sent = true;
	e.tcp.write_seq++;
	e.tcp.snd_nxt++;
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, &r, &orphan));
	assert_true(r.fin_sent);
	assert_int_equal(r.snd_una, 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_layout_must_fit),
		cmocka_unit_test(test_whose_it_was_is_found),
		cmocka_unit_test(test_only_what_may_be_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
