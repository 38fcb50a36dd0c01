/* SPDX-License-Identifier: BSD-2-Clause */
/* Drives the broker from the command line: each argument is a step, done in order. For attach.sh.
 *
 *   open DEV       takes the device into use          alive DEV       is our program attached?
 *   lane N         opens lane N on the last device    unlane N        closes it
 *   claim A PORT   endpoint (UDP)                     wild PORT       wildcard endpoint
 *   unclaim A PORT                                    local A         adds to `locals`
 *   recv N         waits for N packets (5 s)          say TEXT        prints a line
 *   fork           a child that holds on for 100 s    execsleep       becomes sleep(1)
 *   wait FD        for a byte there          close DEV
 *   tool PATH      where the reaper is                log LEVEL */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <poll.h>

#include "base/log.h"
#include "ctl/front/broker.h"

struct ring {
	uint32_t *prod, *cons;
	void *desc;
	uint32_t mask;
};

static struct sl_umem_info umem;
static struct sl_port_info port;
static struct sl_xsk_lease lease[SL_MAX_QUEUES];
static struct ring rx[SL_MAX_QUEUES];
static uint32_t first_xsk;

static int fail(const char *what, int err, const char *why)
{
	printf("%s: %s (%s)\n", what, strerrorname_np(-err), why ? why : "-");
	return 1;
}

static void parse_addr(const char *text, uint8_t a[16])
{
	memset(a, 0, 16);
	if (strchr(text, ':')) {
		inet_pton(AF_INET6, text, a);
		return;
	}
	a[10] = a[11] = 0xff;
	inet_pton(AF_INET, text, a + 12);
}

static int do_open(const char *dev)
{
	const char *why = NULL;
	int err = sl_broker_umem(4096, 2048, &umem, &why);

	if (!err)
		err = sl_broker_port_open(if_nametoindex(dev), true, &port, &why);
	if (err)
		return fail("open", err, why);
	printf("open: %s driver %s queues %u flags %#x pins %s\n", port.ifname, port.driver,
	       port.nqueues, port.flags, port.pin_dir);
	return 0;
}

static void map_rx(struct ring *r, const struct sl_xsk_lease *l)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	char *p;

	getsockopt(l->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len);
	p = l->rx_map;
	r->prod = (uint32_t *)(p + off.rx.producer);
	r->cons = (uint32_t *)(p + off.rx.consumer);
	r->desc = p + off.rx.desc;
	r->mask = l->rx_size - 1;
}

static int do_lane(uint32_t lane)
{
	const char *why = NULL;
	int err = sl_broker_lane_open(port.ifindex, lane, lease, &first_xsk, &why);

	if (err)
		return fail("lane", err, why);
	for (uint32_t q = 0; q < port.nqueues; q++) {
		map_rx(&rx[q], &lease[q]);
		printf("lane %u: queue %u xsk %u %s\n", lane, q, first_xsk + q,
		       lease[q].zerocopy ? "zero-copy" : "copy");
	}
	return 0;
}

static struct sl_claim_req request(const char *addr, const char *udp_port)
{
	struct sl_claim_req req = {
		.ifindex = port.ifindex,
		.shadow_fd = -1,
		.key = {.local_port = (uint16_t)atoi(udp_port), .proto = IPPROTO_UDP},
		.claim = {.lane = first_xsk, .slot = 7, .gen = 42},
	};

	parse_addr(addr, req.key.local);
	return req;
}

static int do_claim(const char *addr, const char *udp_port)
{
	struct sl_claim_req req = request(addr, udp_port);
	const char *why = NULL;
	int err = sl_broker_claim(&req, &why);

	if (err)
		return fail("claim", err, why);
	printf("claim: done\n");
	return 0;
}

static bool recv_one(uint32_t q)
{
	struct ring *r = &rx[q];
	uint32_t cons = *r->cons;
	struct xdp_desc *d;
	struct sl_meta m;
	uint8_t *data;

	if (__atomic_load_n(r->prod, __ATOMIC_ACQUIRE) == cons)
		return false;
	d = (struct xdp_desc *)r->desc + (cons & r->mask);
	data = (uint8_t *)umem.base + d->addr;
	memcpy(&m, data - sizeof(m), sizeof(m));
	printf("recv: %u bytes magic %#x proto %u slot %u gen %u l3 %u l4 %u text %.*s\n", d->len,
	       m.magic, m.proto, m.slot, m.gen, m.l3, m.l4, (int)(d->len - m.l4 - 8),
	       data + m.l4 + 8);
	__atomic_store_n(r->cons, cons + 1, __ATOMIC_RELEASE);
	return true;
}

static int do_recv(int n)
{
	for (int ms = 0; ms < 5000; ms++) {
		for (uint32_t q = 0; q < port.nqueues; q++)
			n -= recv_one(q);
		if (n <= 0)
			return 0;
		usleep(1000);
	}
	printf("recv: timeout\n");
	return 1;
}

static int do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		sl_broker_child();
		for (uint32_t q = 0; q < port.nqueues; q++)
			close(lease[q].fd);
		sleep(100);
		_exit(0);
	}
	printf("child %d\n", (int)pid);
	return 0;
}

static void do_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) < 0)
		perror("wait");
}

int main(int argc, char **argv)
{
	static struct sl_broker_opts opts;
	int bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (char **a = argv + 1; *a; a++) {
		if (!strcmp(*a, "tool")) {
			opts.tool = *++a;
			sl_broker_init(&opts);
		} else if (!strcmp(*a, "log")) {
			sl_log_level = atoi(*++a);
		} else if (!strcmp(*a, "open")) {
			bad |= do_open(*++a);
		} else if (!strcmp(*a, "lane")) {
			bad |= do_lane((uint32_t)atoi(*++a));
		} else if (!strcmp(*a, "unlane")) {
			sl_broker_lane_close(port.ifindex, (uint32_t)atoi(*++a));
		} else if (!strcmp(*a, "claim")) {
			bad |= do_claim(a[1], a[2]);
			a += 2;
		} else if (!strcmp(*a, "wild")) {
			bad |= do_claim("0.0.0.0", *++a);
		} else if (!strcmp(*a, "unclaim")) {
			struct sl_claim_req req = request(a[1], a[2]);

			sl_broker_unclaim(&req);
			a += 2;
		} else if (!strcmp(*a, "local")) {
			uint8_t addr[16];

			parse_addr(*++a, addr);
			sl_broker_local_add(addr);
		} else if (!strcmp(*a, "recv")) {
			bad |= do_recv(atoi(*++a));
		} else if (!strcmp(*a, "alive")) {
			printf("alive: %d\n", !sl_broker_port_end(if_nametoindex(*++a), 0));
		} else if (!strcmp(*a, "close")) {
			sl_broker_port_close(if_nametoindex(*++a), NULL);
		} else if (!strcmp(*a, "say")) {
			printf("%s\n", *++a);
		} else if (!strcmp(*a, "fork")) {
			bad |= do_fork();
		} else if (!strcmp(*a, "execsleep")) {
			execlp("sleep", "sleep", "100", NULL);
		} else if (!strcmp(*a, "wait")) {
			do_wait(atoi(*++a));
		} else {
			printf("what is %s?\n", *a);
			return 2;
		}
	}
	sl_broker_fini();
	return bad;
}
