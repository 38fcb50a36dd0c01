/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a group of processes on the queue of a real device; a process is killed again and again.
 *
 *   share broker DEV ADDR PORT ROUNDS     serves the group; starts the members
 *   share member FD                       answers what comes to its lane with the same packet
 *   share peer ADDR PORT                  asks both, until standard input ends
 *
 * The members have nothing but what came to them over a socket: packet memory, the group's memory,
 * an XSK. The one on PORT lives, the ones on PORT + 1 die by SIGKILL, and all they had is counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/share/share_bury.h"
#include "ctl/claim/bury.h"
#include "ctl/front/broker.h"
#include "io/xsk.h"

#define NFRAMES 16384
#define QUOTA   4096

/* Message to a member, with four descriptors: packet memory, the group's memory, the part that only
 * its owner writes, XSK. */
struct hello {
	uint32_t member;
	struct sl_share_geometry geometry;
	struct sl_xsk_sizes sizes;
};

static void die(const char *what, int err)
{
	printf("%s: %s\n", what, strerrorname_np(-err));
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* A member -------------------------------------------------------------------------------------
 */

static struct sl_frames cache;
static struct sl_xsk_queue queue;
static struct sl_xsk xsk;
static uint32_t wmem;

static void hear(int sock, struct hello *h, int fds[4])
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = {h, sizeof(*h)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != sizeof(*h) || !CMSG_FIRSTHDR(&m))
		die("hello", -errno);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 4 * sizeof(int));
}

static void attach(int sock)
{
	struct sl_xsk_maps maps = {0};
	struct sl_share g;
	struct hello h;
	void *base;
	int fds[4], err;

	hear(sock, &h, fds);
	base = mmap(NULL, (size_t)h.geometry.nframes << h.geometry.frame_shift,
		    PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (base == MAP_FAILED)
		die("mmap", -errno);
	err = sl_share_open(&g, &h.geometry, fds[1], fds[2], false);
	if (!err)
		err = sl_pool_attach(base, 1500, &g, (uint8_t)h.member);
	if (!err)
		err = sl_xsk_open(&xsk, fds[3], &queue, &h.sizes, &maps);
	if (err)
		die("attach", err);
}

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = a[i];

		a[i] = b[i];
		b[i] = c;
	}
}

/* Ethernet, IPv4 without options, UDP: the same back, without a checksum. */
static void answer(const struct sl_rx_desc *d)
{
	struct sl_tx_desc tx = {.frame = d->frame, .off = d->off, .len = d->len};
	uint8_t *p = sl_frame_ptr(d->frame) + d->off;

	swap(p, p + 6, 6);
	swap(p + 26, p + 30, 4);
	swap(p + 34, p + 36, 2);
	p[40] = p[41] = 0;
	if (xsk.tx.ops->post(&xsk.tx, &tx, 1) == 0) {
		sl_frame_put(&cache, d->frame);
		return;
	}
	sl_frame_charge(d->frame, &wmem, d->len);
}

static unsigned turn(void)
{
	static bool again, filled = true;
	struct sl_rx_desc d[16];
	unsigned n = xsk.rx.ops->burst(&xsk.rx, d, 16);

	for (unsigned i = 0; i < n; i++)
		answer(&d[i]);
	/* A busy queue leaves frames on the ring, and a pool that is empty now the fill ring: until
	 * the next turn. */
	if (xsk.tx.posted || again)
		again = xsk.tx.ops->kick(&xsk.tx) == -EAGAIN;
	if (n || !filled)
		filled = xsk.rx.ops->refill(&xsk.rx, &cache);
	if (xsk.tx.unreaped >= 8)
		xsk.tx.ops->reap(&xsk.tx, &cache);
	return n;
}

/* A member that lives gets back all frames that it has sent, also those that another process has
 * found. */
static int member(int sock)
{
	struct pollfd p[2] = {{.fd = sock, .events = POLLIN}, {.events = POLLIN}};
	bool told = false;

	attach(sock);
	p[1].fd = xsk.fd;
	xsk.rx.ops->refill(&xsk.rx, &cache);
	if (write(sock, "r", 1) != 1)
		return 1;
	while (p[0].revents == 0) {
		if (turn() == 0)
			poll(p, 2, 1);
		else if (!told && write(sock, "a", 1) == 1) /* it has answered */
			told = true;
	}
	for (int i = 0; i < 2000 && sl_load(&wmem); i++) {
		turn();
		xsk.tx.ops->reap(&xsk.tx, &cache);
		usleep(1000);
	}
	sl_frames_flush(&cache, 0);
	if (wmem)
		printf("%u bytes have not come back\n", wmem);
	return wmem != 0;
}

/* The broker -----------------------------------------------------------------------------------
 */

struct child {
	pid_t pid;
	int sock, member;
	uint32_t lane;
	struct sl_xsk_lease leases[SL_MAX_QUEUES];
};

static struct sl_umem_info umem;
static struct sl_port_info port;
static const char *self;

static void tell(int sock, const struct child *c)
{
	const struct sl_xsk_lease *l = &c->leases[0];
	struct hello h = {
		.member = (uint32_t)c->member,
		.geometry = umem.geometry,
		.sizes = {l->rx_size, l->tx_size, l->fill_size, l->comp_size, l->share_queue,
			  l->share_xsk},
	};
	int fds[4] = {umem.memfd, umem.share_fd, umem.told_fd, l->fd};
	char control[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec iov = {&h, sizeof(h)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c0 = CMSG_FIRSTHDR(&m);

	*c0 = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(fds))};
	memcpy(CMSG_DATA(c0), fds, sizeof(fds));
	if (sendmsg(sock, &m, 0) != sizeof(h))
		die("sendmsg", -errno);
}

static void start(struct child *c, uint32_t lane)
{
	const char *why = NULL;
	int sv[2], err;
	uint32_t first;
	char ready;

	c->lane = lane;
	c->member = sl_broker_join(0, QUOTA, NFRAMES / 4);
	if (c->member < 0)
		die("join", c->member);
	err = sl_broker_lane_open(port.ifindex, lane, c->leases, &first, &why);
	if (err)
		die(why, err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		die("socketpair", -errno);
	c->sock = sv[0];
	c->pid = fork();
	if (c->pid == 0) {
		char number[12];

		snprintf(number, sizeof(number), "%d", dup(sv[1])); /* without CLOEXEC */
		execl(self, self, "member", number, NULL);
		_exit(127);
	}
	close(sv[1]);
	tell(c->sock, c);
	if (read(c->sock, &ready, 1) != 1)
		die("a member does not start", -EPIPE);
}

static struct sl_share_left bury(struct child *c)
{
	struct sl_broker_lane lane = {port.ifindex, c->lane, c->leases, port.nqueues};
	struct sl_share_left left;
	int err = 0;

	sl_broker_died(0, (uint8_t)c->member);
	sl_broker_mute(&lane, 1);
	sl_broker_grace();
	for (int i = 0; i < 500; i++) { /* (a live member can be in the lock, without a core) */
		err = sl_broker_bury(0, (uint8_t)c->member, &lane, 1, &left);
		if (err != -EBUSY)
			break;
		usleep(10000);
	}
	if (err)
		die("bury", err);
	close(c->sock);
	return left;
}

static void claim(const char *addr, uint16_t number, uint32_t lane)
{
	struct sl_claim_req req = {
		.ifindex = port.ifindex,
		.shadow_fd = -1,
		.key = {.local_port = number, .proto = IPPROTO_UDP},
		.claim = {.lane = lane * port.nqueues, .slot = 7, .gen = 42},
	};
	const char *why = NULL;
	int err;

	req.key.local[10] = req.key.local[11] = 0xff;
	inet_pton(AF_INET, addr, req.key.local + 12);
	err = sl_broker_claim(&req, &why);
	if (err)
		die(why, err);
}

/* All members are gone: each frame is in the pool or in the fill ring. */
static int count(const struct child *c)
{
	const struct sl_xsk_lease *l = &c->leases[0];
	const struct sl_share *g = &umem.share;
	uint32_t owned = 0, filled = g->queue[l->share_queue].fill_to;
	uint32_t all = g->head->nfree, born = g->head->born;
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	int fd = socket(AF_XDP, SOCK_RAW, 0);

	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len) < 0)
		die("offsets", -errno);
	filled -= *(uint32_t *)((char *)l->fill_map + off.fr.consumer);
	for (uint32_t f = 0; f < g->nframes; f++)
		owned += g->word[f].owner || g->word[f].flight;
	printf("frames: %u lost, %u owned\n", born - all - filled, owned);
	return owned || all + filled != born;
}

static int broker(const char *dev, const char *addr, uint16_t number, uint32_t rounds)
{
	const struct sl_broker_opts opts = {.no_huge = true, .serve = true};
	struct sl_share_left left, sum = {0};
	static struct child lives, dies;
	const char *why = NULL;
	int status, err;

	sl_broker_init(&opts);
	err = sl_broker_umem(NFRAMES, 2048, &umem, &why);
	if (!err)
		err = sl_broker_port_open(if_nametoindex(dev), true, &port, &why);
	if (err)
		die(why, err);
	start(&lives, 0);
	claim(addr, number, 0);
	claim(addr, number + 1, 1);
	printf("ready\n");
	fflush(stdout);
	for (uint32_t i = 0; i < rounds; i++) {
		struct pollfd answers = {.events = POLLIN};

		start(&dies, 1);
		/* On a busy machine a member may be killed each time before it answers: every
		 * fourth is not. */
		answers.fd = dies.sock;
		if (i % 4 == 3)
			poll(&answers, 1, 2000);
		usleep(500 + (useconds_t)rand() % 8000);
		kill(dies.pid, SIGKILL);
		waitpid(dies.pid, &status, 0);
		left = bury(&dies);
		sum.frames += left.frames;
		sum.in_flight += left.in_flight;
	}
	printf("%u members died with %u frames, %u in flight\n", rounds, sum.frames, sum.in_flight);
	fflush(stdout);
	while (getchar() != EOF) /* until the peer has finished */
		;
	shutdown(lives.sock, SHUT_WR);
	waitpid(lives.pid, &status, 0);
	left = bury(&lives);
	for (int i = 0; i < 100 && sl_broker_reap() >= 0; i++)
		usleep(5000);
	err = count(&lives);
	printf("the living one ended with %#x and left %u frames, %u in flight\n", status,
	       left.frames, left.in_flight);
	sl_broker_fini();
	return err || status || left.in_flight;
}

/* The peer -------------------------------------------------------------------------------------
 */

#define WINDOW 16
#define SIZE   200

struct flow {
	int fd;
	struct sockaddr_in to;
	uint64_t last_us, gap_us;
	uint32_t sent, got, late, bad;
	uint32_t asked[WINDOW]; /* the request not answered yet, 0: none */
};

static void ask(struct flow *f, unsigned slot)
{
	uint8_t data[SIZE];

	f->asked[slot] = ++f->sent;
	memset(data, (uint8_t)f->sent, sizeof(data));
	memcpy(data, &f->sent, 4);
	data[4] = (uint8_t)slot;
	sendto(f->fd, data, sizeof(data), 0, (struct sockaddr *)&f->to, sizeof(f->to));
}

static void take_answers(struct flow *f)
{
	uint8_t data[SIZE + 1], want[SIZE];
	uint32_t n;

	while (recv(f->fd, data, sizeof(data), MSG_DONTWAIT) == SIZE) {
		unsigned slot = data[4] % WINDOW;

		memcpy(&n, data, 4);
		memset(want, (uint8_t)n, sizeof(want));
		memcpy(want, data, 5);
		f->bad += memcmp(want, data, SIZE) != 0;
		if (f->asked[slot] != n) { /* late, or given up */
			f->late++;
			continue;
		}
		f->gap_us = sl_max(f->gap_us, now_us() - f->last_us);
		f->last_us = now_us();
		f->got++;
		ask(f, slot);
	}
}

static void flow_open(struct flow *f, const char *addr, uint16_t number)
{
	f->fd = socket(AF_INET, SOCK_DGRAM, 0);
	f->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(number)};
	inet_pton(AF_INET, addr, &f->to.sin_addr);
	f->last_us = now_us();
	for (unsigned i = 0; i < WINDOW; i++)
		ask(f, i);
}

/* The dying one's questions are asked again; the living one's are not: none may be lost. */
static int peer(const char *addr, uint16_t number)
{
	struct flow f[2] = {0};
	struct pollfd p[3] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
	uint64_t end = 0;

	for (int i = 0; i < 2; i++) {
		flow_open(&f[i], addr, (uint16_t)(number + i));
		p[i + 1].fd = f[i].fd;
	}
	while (!p[0].revents || now_us() < end) {
		poll(p, 3, 5);
		if (p[0].revents && !end)
			end = now_us() + 20000;
		take_answers(&f[0]);
		take_answers(&f[1]);
		if (now_us() - f[1].last_us > 5000) {
			f[1].last_us = now_us();
			for (unsigned i = 0; i < WINDOW; i++)
				ask(&f[1], i);
		}
	}
	printf("living: %u asked, %u answered, %u bad, longest pause %u us\n", f[0].sent, f[0].got,
	       f[0].bad, (unsigned)f[0].gap_us);
	printf("dying: %u asked, %u answered, %u late, %u bad\n", f[1].sent, f[1].got, f[1].late,
	       f[1].bad);
	return f[0].bad || f[1].bad || f[0].got + WINDOW != f[0].sent ||
	       now_us() - f[0].last_us > 1000000 || !(f[1].got + f[1].late);
}

int main(int argc, char **argv)
{
	self = "/proc/self/exe";
	if (argc == 6 && strcmp(argv[1], "broker") == 0)
		return broker(argv[2], argv[3], (uint16_t)atoi(argv[4]), (uint32_t)atoi(argv[5]));
	if (argc == 3 && strcmp(argv[1], "member") == 0)
		return member(atoi(argv[2]));
	if (argc == 4 && strcmp(argv[1], "peer") == 0)
		return peer(argv[2], (uint16_t)atoi(argv[3]));
	return 2;
}
