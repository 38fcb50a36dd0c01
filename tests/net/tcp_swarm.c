/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections at once with checked bytes both ways; the subject's change sides at random
 * moments: from Sluice to the kernel by sl_hand_back(), and from there by sl_take_over().
 *
 * usage: tcp_swarm listen|connect LOCAL REMOTE PORT CONNS AT_ONCE SEED BYTES MOVES
 *   CONNS    in all           AT_ONCE  of them live at the same time
 *   BYTES    of each connection and way at most; every 16th has six times as many
 *   MOVES    of each connection, the first is a hand-back; 0: it stays as it is (the peer)
 *
 * A connection begins with its number, which says with the seed how much goes each way; every
 * fourth has small buffers, and of those that move every other one is paced, so that the kernel
 * sends by a timer while it moves. SWARM_US in the environment: so many microseconds pass between
 * two events. SWARM_HOLD: says "under way" when bytes of all connections have come, and keeps the
 * last byte of each until there is a file of that name. The moments: any byte of it, before the
 * first, when FIN was sent or has come, and after a while in which nothing was read. Prints one
 * line: "conns N handed N taken N over N refused N bytes N". */
#include <err.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../bench/load.h"
#include "moves.h"

#define MAX_IO    32768
#define PATTERN   65521u /* prime: a shift by any power of two shows */
#define STUCK_NS  60000000000ull
#define STALL_NS  30000000ull
#define HEAD_SIZE 4u
#define PACE      1000000u

struct conn {
	int fd; /* -1: free */
	uint32_t index;
	uint32_t sent, got, to_send, to_get; /* the connector's have the head in front */
	uint32_t moves;                      /* still to be made */
	uint64_t when;                       /* sent + got at which the next is due */
	uint64_t born_ns;
	bool known, eof, fin, stalled, kernels;
	uint8_t head[HEAD_SIZE];
	char story[64]; /* states of TCP_INFO before and after its moves */
};

static union load_addr local, remote;
static socklen_t addr_len;
static uint64_t rng, seed;
static uint8_t pattern[2 * PATTERN];
static struct conn *conns;
static uint32_t nconns, at_once, moves, most;
static uint32_t started, ended, handed, taken, refused, over;
static uint64_t bytes, progress_ns;
static bool listens;
static const char *hold; /* NULL: the end may come */
static int ep, listener = -1;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng >> 33) % below);
}

static uint32_t hash(uint32_t index, uint32_t what)
{
	uint64_t x = (seed * 7919 + index * 16ull + what) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 33);
}

static void make_pattern(void)
{
	uint64_t x = 88172645463325252ull;

	for (uint32_t i = 0; i < PATTERN; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		pattern[i] = pattern[i + PATTERN] = (uint8_t)(x >> 32);
	}
}

static const uint8_t *bytes_at(const struct conn *c, uint32_t at, bool from_listener)
{
	return pattern + ((uint64_t)hash(c->index, 4 + from_listener) + at) % PATTERN;
}

static uint32_t total(const struct conn *c, bool from_listener)
{
	uint32_t n = hash(c->index, from_listener) % (c->index % 16 ? most : 6 * most);

	return from_listener ? n : n + HEAD_SIZE;
}

/* When the next move is due. */
static void plan(struct conn *c)
{
	uint64_t now = (uint64_t)c->sent + c->got, end = (uint64_t)c->to_send + c->to_get;

	if (moves == 1 && c->index % 8 == 0)
		c->when = 0;
	else if (moves == 1 && c->index % 8 == 1)
		c->when = end; /* but for the end of it */
	else
		c->when = now + rnd((uint32_t)((end - now) / c->moves) + 1);
}

static void know(struct conn *c)
{
	c->known = true;
	c->to_send = total(c, listens);
	c->to_get = total(c, !listens);
	c->moves = moves;
	c->stalled = moves && c->index % 4 == 3;
	if (moves)
		plan(c);
}

static bool is_held(const struct conn *c)
{
	return hold && c->sent + 1 >= c->to_send;
}

static void watch(struct conn *c, int op)
{
	struct epoll_event ev = {.data.ptr = c};

	ev.events = (c->eof || c->stalled ? 0 : EPOLLIN) |
		    (c->known && !c->fin && !is_held(c) ? EPOLLOUT : 0);
	if (epoll_ctl(ep, op, c->fd, &ev))
		err(1, "epoll_ctl");
}

static void small_buffers(int fd)
{
	int rcv = 4096, snd = 8192;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcv, sizeof(rcv));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &snd, sizeof(snd));
}

static void pace(int fd)
{
	uint32_t bytes_per_s = PACE;

	setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof(bytes_per_s));
}

static void begin(struct conn *c, int fd, uint32_t index)
{
	*c = (struct conn){.fd = fd, .index = index, .born_ns = load_now_ns()};
	started++;
	if (moves && started % 2)
		pace(fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (!listens) {
		memcpy(c->head, &index, HEAD_SIZE);
		know(c);
	}
	watch(c, EPOLL_CTL_ADD);
}

static void open_conn(struct conn *c)
{
	int fd = socket(remote.sa.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (started % 4 == 2)
		small_buffers(fd);
	if (connect(fd, &remote.sa, addr_len))
		err(1, "connect %u", started);
	begin(c, fd, started);
}

static struct conn *free_conn(void)
{
	for (uint32_t i = 0; i < at_once; i++)
		if (conns[i].fd < 0)
			return &conns[i];
	return NULL;
}

static void open_more(void)
{
	struct conn *c;

	while (started < nconns && (c = free_conn()))
		open_conn(c);
}

static void accept_more(void)
{
	struct conn *c = free_conn();
	int fd;

	while (c && (fd = accept(listener, NULL, NULL)) >= 0) {
		begin(c, fd, UINT32_MAX);
		c = free_conn();
	}
	if (c && errno != EAGAIN)
		err(1, "accept");
}

/* Bytes to send from `at` on: the head, then the pattern. */
static const uint8_t *source(const struct conn *c, uint32_t at, uint32_t *n)
{
	if (!listens && at < HEAD_SIZE) {
		*n = *n < HEAD_SIZE - at ? *n : HEAD_SIZE - at;
		return c->head + at;
	}
	return bytes_at(c, at, listens);
}

static void do_send(struct conn *c)
{
	uint32_t n = 1 + rnd(MAX_IO);
	const uint8_t *p;
	ssize_t ret = 0;

	if (n > c->to_send - c->sent)
		n = c->to_send - c->sent;
	if (n && hold && n == c->to_send - c->sent)
		n--;
	p = source(c, c->sent, &n);
	if (n)
		ret = send(c->fd, p, n, MSG_NOSIGNAL);
	if (ret < 0 && errno != EAGAIN)
		err(1, "conn %u: send after %u of %u (moves%s)", c->index, c->sent, c->to_send,
		    c->story);
	if (ret > 0)
		c->sent += (uint32_t)ret;
	if (c->sent < c->to_send || hold)
		return;
	if (shutdown(c->fd, SHUT_WR))
		err(1, "conn %u: shutdown", c->index);
	c->fin = true;
}

static void check(struct conn *c, const uint8_t *buf, uint32_t n)
{
	uint32_t at = c->got;

	if (listens && at < HEAD_SIZE) {
		uint32_t head = HEAD_SIZE - at < n ? HEAD_SIZE - at : n;

		memcpy(c->head + at, buf, head);
		at += head;
		buf += head;
		n -= head;
		if (at == HEAD_SIZE) {
			memcpy(&c->index, c->head, HEAD_SIZE);
			if (c->index >= nconns)
				errx(1, "a connection says it is %u", c->index);
			know(c);
		}
	}
	for (uint32_t i = 0; n && i < n; i++)
		if (buf[i] != bytes_at(c, at, !listens)[i])
			errx(1, "conn %u: wrong byte at %u of %u (moves%s)", c->index, at + i,
			     c->to_get, c->story);
}

static void do_recv(struct conn *c)
{
	static uint8_t buf[MAX_IO];
	/* The head alone first: what follows it cannot be judged without. */
	uint32_t want = c->known ? 1 + rnd(MAX_IO) : HEAD_SIZE - c->got;
	ssize_t ret = recv(c->fd, buf, want, 0);

	if (ret < 0 && errno == EAGAIN)
		return;
	if (ret < 0)
		err(1, "conn %u: recv after %u of %u, sent %u of %u (moves%s)", c->index, c->got,
		    c->to_get, c->sent, c->to_send, c->story);
	check(c, buf, (uint32_t)ret);
	c->got += (uint32_t)ret;
	c->eof = ret == 0;
}

static unsigned state_of(int fd)
{
	uint8_t info[8] = {0};
	socklen_t len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len);
	return info[0];
}

static void move(struct conn *c)
{
	unsigned before = state_of(c->fd);
	int ret = c->kernels ? sl_moves_take_over(c->fd) : sl_moves_hand_back(c->fd);
	size_t at = strlen(c->story);

	snprintf(c->story + at, sizeof(c->story) - at, " %c%u>%u", c->kernels ? 'T' : 'H', before,
		 state_of(c->fd));

	c->moves--;
	if (ret == -ENOTCONN) { /* both FINs have passed */
		over += 1 + c->moves;
		c->moves = 0;
	} else if (ret < 0) {
		refused++;
		if (getenv("SWARM_SAY"))
			warnx("conn %u: not moved: %s", c->index, strerror(-ret));
	} else {
		*(c->kernels ? &taken : &handed) += 1;
		c->kernels = !c->kernels;
	}
	c->stalled = false;
	if (c->moves)
		plan(c);
}

static void maybe_move(struct conn *c)
{
	uint64_t done = (uint64_t)c->sent + c->got;

	if (c->known && c->moves &&
	    (done >= c->when || (c->stalled && load_now_ns() - c->born_ns > STALL_NS)))
		move(c);
}

static void end(struct conn *c)
{
	if (c->got != c->to_get)
		errx(1, "conn %u: the end came after %u of %u (moves%s)", c->index, c->got,
		     c->to_get, c->story);
	bytes += c->got;
	over += c->moves;
	close(c->fd);
	c->fd = -1;
	ended++;
}

static void serve(struct conn *c, uint32_t events)
{
	uint32_t before = c->sent + c->got;

	maybe_move(c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !c->eof && !c->stalled)
		do_recv(c);
	if (events & (EPOLLOUT | EPOLLERR) && c->known && !c->fin)
		do_send(c);
	maybe_move(c);
	if (c->sent + c->got != before || c->eof)
		progress_ns = load_now_ns();
	if (c->eof && c->fin)
		end(c);
	else
		watch(c, EPOLL_CTL_MOD);
}

/* Connections that do not read have another time limit. */
static void serve_stalled(void)
{
	for (uint32_t i = 0; i < at_once; i++)
		if (conns[i].fd >= 0 && conns[i].stalled)
			serve(&conns[i], 0);
}

static void say_stuck(void)
{
	for (uint32_t i = 0; i < at_once; i++) {
		const struct conn *c = &conns[i];
		struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLOUT};
		int unread = 0;

		if (c->fd < 0)
			continue;
		ioctl(c->fd, FIONREAD, &unread);
		poll(&p, 1, 0);
		warnx("conn %u fd %d: sent %u of %u got %u of %u fin %d eof %d state %u unread %d "
		      "poll %x moves%s",
		      c->index, c->fd, c->sent, c->to_send, c->got, c->to_get, c->fin, c->eof,
		      state_of(c->fd), unread, (unsigned)p.revents, c->story);
	}
	errx(1, "stuck after %u of %u", ended, nconns);
}

/* Are all there, and has something come on each? */
static bool is_under_way(void)
{
	for (uint32_t i = 0; i < at_once; i++)
		if (conns[i].fd < 0 || !conns[i].known ||
		    (conns[i].got <= HEAD_SIZE && conns[i].got < conns[i].to_get))
			return false;
	return started == nconns;
}

static void look_at_hold(void)
{
	static bool said;

	if (!said && is_under_way()) {
		said = true;
		puts("under way");
		fflush(stdout);
	}
	if (!said || access(hold, F_OK))
		return;
	hold = NULL;
	for (uint32_t i = 0; i < at_once; i++)
		if (conns[i].fd >= 0)
			watch(&conns[i], EPOLL_CTL_MOD);
}

static void run(void)
{
	const char *slow = getenv("SWARM_US");
	useconds_t pause = slow ? (useconds_t)atoi(slow) : 0;
	struct epoll_event evs[64];

	progress_ns = load_now_ns();
	while (ended < nconns) {
		int n;

		if (!listens)
			open_more();
		n = epoll_wait(ep, evs, 64, 10);
		for (int i = 0; i < n; i++) {
			if (!evs[i].data.ptr)
				accept_more();
			else
				serve(evs[i].data.ptr, evs[i].events);
			if (pause)
				usleep(pause);
		}
		serve_stalled();
		if (hold)
			look_at_hold();
		if (load_now_ns() - progress_ns > STUCK_NS)
			say_stuck();
	}
}

static void open_listener(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int on = 1;

	listener = socket(local.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, &local.sa, addr_len) || listen(listener, 1024))
		err(1, "listen");
	if (epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev))
		err(1, "epoll_ctl");
}

int main(int argc, char **argv)
{
	if (argc != 10)
		errx(2, "usage: tcp_swarm listen|connect LOCAL REMOTE PORT CONNS AT_ONCE SEED "
			"BYTES MOVES");
	addr_len = load_addr(&local, argv[2], (unsigned)atoi(argv[4]));
	addr_len = load_addr(&remote, argv[3], (unsigned)atoi(argv[4]));
	nconns = (uint32_t)strtoul(argv[5], NULL, 10);
	at_once = (uint32_t)strtoul(argv[6], NULL, 10);
	seed = strtoull(argv[7], NULL, 10);
	most = (uint32_t)strtoul(argv[8], NULL, 10);
	moves = (uint32_t)strtoul(argv[9], NULL, 10);
	rng = seed + (uint64_t)getpid();
	listens = strcmp(argv[1], "listen") == 0;
	hold = getenv("SWARM_HOLD");
	make_pattern();
	conns = calloc(at_once, sizeof(*conns));
	ep = epoll_create1(0);
	if (!conns || ep < 0)
		err(1, "no memory");
	for (uint32_t i = 0; i < at_once; i++)
		conns[i].fd = -1;
	if (listens)
		open_listener();
	run();
	printf("conns %u handed %u taken %u over %u refused %u bytes %llu\n", ended, handed, taken,
	       over, refused, (unsigned long long)bytes);
	return 0;
}
