/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile_worker ADDRESS PORT STYLE ATTACK: a server that forks a worker, which becomes the user
 * NOBODY, is taken over by an attacker, and then attacks the server by all memory and descriptors
 * that it has of it. TCP echo on PORT, UDP echo on
 * PORT (inherited by the worker) and PORT + 1 (made after the fork).
 *
 * STYLE is how the server accepts: epoll (it does not block) or block. ATTACK:
 *
 * letters    forged letters to the keeper's mailbox: every field, every length
 * rights     descriptors of every kind to the mailbox
 * kinds      letters that are right, with descriptors that are not: the UDP socket that the
 *            worker inherited stays the server's
 * box        descriptors of every kind into the listener's box, and packets of other forms
 * options    socket options and flags of what both have
 * flood      letters and packets without end, for a while
 * shut       all that both have is shut down
 * crowd      rubbish in the counters that both have
 * any        all of it by chance, and more (hostile_any.h)
 * race       threads write right letters with mailboxes and ends of pairs, which other threads
 *            change, fill and close before the keeper has read the letter or while it uses them;
 *            all shared memory that can be written changes meanwhile (racer.h)
 * locks      threads that hold the locks of the sockets that both have, for good, and letters that
 *            have the server's keeper use these
 * same       as any, but the worker stays the server's user
 *
 * The worker says "attacked" when it is done and ends with the server. "end" by UDP has the
 * server start a program, which inherits the listener, and ends it: with status 3 when accept() has
 * returned what is no connection of the listener's. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ways.h"
#include "sock/core/mail.h"
#include "hostile_any.h"
#include "racer.h"
#include "strange.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

/* A user of the test's own: descriptors that it leaves in each other's queues stay under way for
 * good where the kernel misses such a circle (6.18 does), and count against what this user may
 * send. */
#define NOBODY 60732

static struct sockaddr_in own;
static int listener, udp[2] = {-1, -1};
static unsigned served, strange;

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(1);
}

static int bound(int type, unsigned more, int flags)
{
	struct sockaddr_in a = own;
	int fd = socket(AF_INET, type | flags, 0), one = 1;

	a.sin_port = htons((uint16_t)(ntohs(a.sin_port) + more));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(fd >= 0 && !bind(fd, (void *)&a, sizeof(a)), "bind");
	return fd;
}

/* The server -------------------------------------------------------------------------------------
 */

/* A server that has itself replaced does the same. */
static void start_a_program(void)
{
	char *argv[] = {(char *)"true", NULL}, *envp[] = {NULL};
	pid_t pid;

	must(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp), "posix_spawn");
	waitpid(pid, NULL, 0);
}

static void *serve_udp(void *arg)
{
	struct pollfd p[2] = {{udp[0], POLLIN, 0}, {udp[1], POLLIN, 0}};
	struct sockaddr_in from;
	char buf[2048];

	for (;;) {
		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			socklen_t len = sizeof(from);
			ssize_t n = recvfrom(udp[i], buf, sizeof(buf), MSG_DONTWAIT, (void *)&from,
					     &len);

			if (n == 3 && !memcmp(buf, "end", 3)) {
				start_a_program();
				printf("served %u, strange %u\n", served, strange);
				exit(strange ? 3 : 0);
			}
			if (n >= 0)
				sendto(udp[i], buf, (size_t)n, 0, (void *)&from, len);
		}
	}
	return arg;
}

/* By bare system calls: the state that the kernel reports. */
static bool is_own_connection(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(int);
	int type = 0, proto = 0;

	if (raw(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
	    raw(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &proto, &len) || proto != IPPROTO_TCP)
		return false;
	len = sizeof(a);
	if (getsockname(fd, (void *)&a, &len) || a.sin_port != own.sin_port ||
	    a.sin_addr.s_addr != own.sin_addr.s_addr)
		return false;
	len = sizeof(a);
	return !getpeername(fd, (void *)&a, &len);
}

static int take(void)
{
	int fd = accept(listener, NULL, NULL);

	if (fd >= 0 && !is_own_connection(fd)) {
		strange++;
		fd = -1; /* (closing it might block) */
	}
	return fd;
}

static bool echo(int fd)
{
	static char buf[65536];
	ssize_t n = recv(fd, buf, sizeof(buf), 0), sent = 0, r = 0;

	for (; sent < n && (r = send(fd, buf + sent, (size_t)(n - sent), MSG_NOSIGNAL)) > 0;)
		sent += r;
	return n > 0 && r > 0;
}

static void serve_block(void)
{
	for (;;) {
		int fd = take();

		if (fd < 0)
			continue;
		served++;
		while (echo(fd))
			;
		close(fd);
	}
}

static void serve_epoll(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = listener}, evs[16];

	epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
	for (;;) {
		int n = epoll_wait(ep, evs, 16, -1);

		for (int i = 0; i < n; i++) {
			int fd = evs[i].data.fd;

			if (fd == listener) {
				fd = take();
				ev.data.fd = fd;
				if (fd >= 0)
					served++;
				if (fd >= 0)
					epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
			} else if (!echo(fd)) {
				close(fd);
			}
		}
	}
}

/* The worker, taken over -------------------------------------------------------------------------
 */

static int thing[64], nthings;

static bool full[1 << 16]; /* its peer never reads */

static long put(int to, const void *data, size_t bytes, const int *fd, unsigned n)
{
	for (int i = 0; !full[to]; i++) {
		long r = put_letter(to, data, bytes, fd, n);

		if (r >= 0 || errno != EAGAIN)
			return r;
		full[to] = i > 200;
		usleep(1000);
	}
	return -1;
}

static void put_all(const void *data, size_t bytes, const int *fd, unsigned n)
{
	for (int i = 0; i < nways; i++)
		put(way[i], data, bytes, fd, n);
}

static int plain(int domain, int type)
{
	return (int)raw(SYS_socket, domain, type, 0);
}

/* A connection by loopback whose close waits: its peer reads nothing, and much is unsent. */
static int lingering(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger l = {1, 60};
	socklen_t len = sizeof(a);
	int to = plain(AF_INET, SOCK_STREAM), fd = plain(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
	static char much[65536];

	raw(SYS_bind, to, &a, sizeof(a));
	raw(SYS_listen, to, 1);
	raw(SYS_getsockname, to, &a, &len);
	raw(SYS_connect, fd, &a, sizeof(a));
	while (raw(SYS_sendto, fd, much, sizeof(much), MSG_NOSIGNAL, NULL, 0) > 0)
		;
	raw(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	return fd;
}

/* A connection to the server's address and port, in a network of the worker's own. */
static int elsewhere(void)
{
	struct sockaddr_in a = own;
	struct ifreq lo = {.ifr_name = "lo"};
	int pair[2], fd = -1, to;
	pid_t pid;

	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	pid = fork();
	if (pid == 0) {
		alarm(5);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(0);
		to = plain(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
		fd = plain(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
		memcpy(&lo.ifr_addr, &a, sizeof(a));
		ioctl(to, SIOCSIFADDR, &lo);
		lo.ifr_flags = IFF_UP;
		ioctl(to, SIOCSIFFLAGS, &lo);
		raw(SYS_bind, to, &a, sizeof(a));
		raw(SYS_listen, to, 1);
		raw(SYS_connect, fd, &a, sizeof(a));
		usleep(50000);
		fd = (int)raw(SYS_accept4, to, NULL, NULL, SOCK_NONBLOCK);
		put(pair[1], "x", 1, &fd, fd >= 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0}, c;
	struct iovec iov = {&c, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};

	if (raw(SYS_recvmsg, pair[0], &m, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void add_thing(int fd)
{
	if (fd >= 0)
		thing[nthings++] = fd;
}

static void find_things(void)
{
	int pair[2];

	add_thing(open("/dev/null", O_RDWR));
	add_thing(open("/proc/self/maps", O_RDONLY));
	add_thing(open("/tmp", O_TMPFILE | O_RDWR, 0600));
	must(!pipe(pair), "pipe");
	add_thing(pair[0]);
	add_thing(pair[1]);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	add_thing(pair[0]);
	add_thing(plain(AF_UNIX, SOCK_DGRAM));
	add_thing(plain(AF_INET, SOCK_DGRAM));
	add_thing(plain(AF_INET, SOCK_STREAM)); /* not connected */
	add_thing(plain(AF_NETLINK, SOCK_RAW));
	add_thing(epoll_create1(0));
	add_thing(lingering()); /* connected, to another port */
	add_thing(listener);
	add_thing(udp[0]);
	add_thing(elsewhere());
	for (int i = 0; i < nways && i < 8; i++)
		add_thing(way[i]);
}

static uint64_t cookie_of(int fd)
{
	uint64_t c = 0;
	socklen_t len = sizeof(c);

	raw(SYS_getsockopt, fd, SOL_SOCKET, SO_COOKIE, &c, &len);
	return c;
}

static void letters(void)
{
	struct sl_letter good = {.magic = SL_LETTER_MAGIC, .cookie = cookie_of(listener)};
	uint64_t near = cookie_of(plain(AF_INET, SOCK_DGRAM));
	char bytes[256];

	/* every field of a right one, with what is near it and with rubbish */
	for (uint32_t use = 0; use < 7; use++)
		for (uint32_t ref = 0; ref < 12; ref++)
			for (uint32_t gen = 0; gen < 4; gen++)
				for (unsigned k = 0; k < 4; k++) {
					struct sl_letter l = good;

					l.use = use;
					l.sock = (ref & 1) << 31 | ref / 2;
					l.gen = gen;
					l.cookie = k == 0   ? cookie_of(listener)
						   : k == 1 ? cookie_of(udp[0])
						   : k == 2 ? near + ref
							    : 0;
					put_all(&l, sizeof(l), NULL, 0);
				}
	for (unsigned i = 0; i < 500; i++) {
		struct sl_letter l = good;

		for (size_t at = i % 2 ? 4 : 0; at < sizeof(l); at += 4)
			if (rand() % 2)
				((uint32_t *)&l)[at / 4] = (uint32_t)rand() * 3u;
		put_all(&l, sizeof(l), NULL, 0);
		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = i % 3 ? (char)rand() : 0x41; /* also as a pointer */
		put_all(bytes, (size_t)rand() % sizeof(bytes), NULL, 0);
		put_all(bytes, 16, NULL, 0); /* the form that letters once had */
	}
	/* all cookies near: the socket that is younger than the worker is among them */
	for (uint32_t ref = 0; ref < 8; ref++)
		for (uint32_t gen = 1; gen < 3; gen++)
			for (uint64_t c = near > 40 ? near - 40 : 1; c < near + 10; c++) {
				struct sl_letter l = {
					SL_LETTER_MAGIC, SL_USE_ANY, ref, gen, c, 1, 0};

				put(way[0], &l, sizeof(l), NULL, 0);
			}
}

static void with_things(const void *data, size_t bytes)
{
	int many[253];

	for (int i = 0; i < 253; i++)
		many[i] = thing[i % nthings];
	for (int i = 0; i < nthings; i++)
		put_all(data, bytes, &thing[i], 1);
	for (unsigned n = 2; n < 7; n++)
		put_all(data, bytes, many + n, n);
	put_all(data, bytes, many, 253);
}

static void box(void)
{
	with_things("", 1);
	with_things("b", 1);
	with_things("x", 1);
	with_things("bb", 2);
	with_things("", 0);
	put_all("b", 1, NULL, 0);
	put_all("", 0, NULL, 0);
}

static void rights(void)
{
	struct sl_letter l = {.magic = SL_LETTER_MAGIC, .use = SL_USE_LEFT};

	with_things(&l, sizeof(l));
	with_things(&l, 16);
}

static void kinds(void)
{
	int pair[2], many[2];

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
	many[0] = pair[0];
	many[1] = thing[0];
	for (uint32_t ref = 0; ref < 12; ref++)
		for (uint32_t gen = 0; gen < 4; gen++) {
			struct sl_letter l = {
				.magic = SL_LETTER_MAGIC,
				.use = SL_USE_ANY,
				.sock = (ref & 1) << 31 | ref / 2,
				.gen = gen,
				.cookie = cookie_of(udp[0]),
				.ticket = 1,
			};

			put_all(&l, sizeof(l), many, 2);
			for (int i = 0; i < nthings && i < 12; i++) /* (no way is among them) */
				put_all(&l, sizeof(l), &thing[i], 1);
		}
}

static void options(void)
{
	static const int names[] = {SO_PASSCRED,    SO_PASSSEC, SO_PASSPIDFD,
				    SO_TIMESTAMPNS, SO_SNDBUF,  SO_RCVBUF};
	const int one = 1;

	for (int i = 0; i < nways; i++) {
		fcntl(way[i], F_SETFL, 0);
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			raw(SYS_setsockopt, way[i], SOL_SOCKET, names[k], &one, sizeof(one));
	}
	box();
	letters();
}

static void flood(void)
{
	struct sl_letter l = {SL_LETTER_MAGIC, SL_USE_ANY, 0, 1, 1, 1, 0};
	time_t end = time(NULL) + 2;

	while (time(NULL) <= end)
		for (unsigned i = 0; i < 1000; i++) {
			struct msghdr m = {0};
			struct iovec iov = {&l, i % 3 ? sizeof(l) : 0};

			m.msg_iov = &iov;
			m.msg_iovlen = 1;
			l.use = i % 6;
			l.ticket = i;
			for (int k = 0; k < nways; k++)
				raw(SYS_sendmsg, way[k], &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
}

static void shut(void)
{
	for (int i = 0; i < nways; i++) {
		shutdown(way[i], i % 2 ? SHUT_WR : SHUT_RD);
		shutdown(way[i], SHUT_RDWR);
	}
}

static void crowd(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	unsigned n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "rw-s") && strstr(line, "/dev/zero") &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2) {
			memset((void *)from, 0xff, to - from);
			n++;
		}
	printf("%u mappings are rubbish\n", n);
}

static void by_chance(void)
{
	const int mine[] = {listener, udp[0]};
	const uint64_t cookies[] = {cookie_of(listener), cookie_of(udp[0]),
				    cookie_of(plain(AF_INET, SOCK_DGRAM))};

	attack_any(mine, 2, cookies, 3, thing, nthings);
}

/* The kernel reads the filter with the socket's lock held, and the page never comes. */
static struct sock_fprog waiting_filter = {1, NULL};

static void *hold_lock(void *fd)
{
	raw(SYS_setsockopt, (int)(intptr_t)fd, SOL_SOCKET, SO_ATTACH_FILTER, &waiting_filter,
	    sizeof(waiting_filter));
	return fd;
}

static void locks(void)
{
	char dir[] = "/tmp/fuseXXXXXX";
	int held[32], n = 0, file;
	pthread_t t;
	pid_t server;

	file = strange_file(&server, dir);
	waiting_filter.filter = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	held[n++] = udp[0];
	held[n++] = listener;
	for (int i = 0; i < nways && n < 32; i++)
		held[n++] = way[i];
	for (int i = 0; i < n; i++)
		pthread_create(&t, NULL, hold_lock, (void *)(intptr_t)held[i]);
	usleep(300000);
	letters();
	kinds();
}

#define RACE_PAIRS   64
#define RACE_SECONDS 3
static int race_pair[RACE_PAIRS][2]; /* plus 1; 0: none */
static unsigned raced;

/* Makes pairs and sends an end of each, by a letter that is right but for its number. */
static void *race_letters(void *seed)
{
	uint64_t s = (uintptr_t)seed, cookies[] = {cookie_of(listener), cookie_of(udp[0])};
	int fd[2], *at;

	for (;;) {
		struct sl_letter l = {
			.magic = SL_LETTER_MAGIC,
			.use = racer_chance(&s, 2) ? SL_USE_BOX : racer_chance(&s, SL_USE_END),
			.sock = racer_chance(&s, 2) << 31 | racer_chance(&s, 4),
			.gen = racer_chance(&s, 3),
			.cookie = cookies[racer_chance(&s, 2)],
			.ticket = racer_chance(&s, UINT32_MAX),
		};

		at = race_pair[racer_chance(&s, RACE_PAIRS)];
		if (raw(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd))
			continue;
		fd[0] = __atomic_exchange_n(&at[0], fd[0] + 1, __ATOMIC_RELAXED) - 1;
		fd[1] = __atomic_exchange_n(&at[1], fd[1] + 1, __ATOMIC_RELAXED) - 1;
		for (int i = 0; i < 2; i++)
			if (fd[i] >= 0)
				raw(SYS_close, fd[i]);
		fd[0] = at[0] - 1;
		put_letter(way[racer_chance(&s, (uint32_t)nways)], &l, sizeof(l), fd, fd[0] >= 0);
		__atomic_fetch_add(&raced, 1, __ATOMIC_RELAXED);
	}
	return seed;
}

/* Does to the ends of the pairs what their maker can do at any moment. */
static void *race_ends(void *seed)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX}, none = {.sun_family = AF_UNSPEC};
	struct sl_letter l = {.magic = SL_LETTER_MAGIC, .cookie = cookie_of(udp[0])};
	uint64_t s = (uintptr_t)seed;

	for (;;) {
		int fd = race_pair[racer_chance(&s, RACE_PAIRS)][racer_chance(&s, 2)] - 1;
		int size = (int)racer_chance(&s, 5000), on = (int)racer_chance(&s, 2);

		switch (racer_chance(&s, 8)) {
		case 0:
			raw(SYS_shutdown, fd, racer_chance(&s, 3));
			break;
		case 1: /* an abstract name of the kernel's choice */
			raw(SYS_bind, fd, &name, sizeof(name.sun_family));
			break;
		case 2:
			raw(SYS_connect, fd, &none, sizeof(none.sun_family));
			break;
		case 3:
			raw(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
			break;
		case 4:
			raw(SYS_setsockopt, fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
			break;
		case 5:
			for (int i = 0; i < 300 && put_letter(fd, &l, sizeof(l), NULL, 0) > 0; i++)
				;
			break;
		default:
			l.use = racer_chance(&s, SL_USE_END);
			l.sock = racer_chance(&s, 4);
			put_letter(fd, &l, sizeof(l), &thing[racer_chance(&s, 9)],
				   !racer_chance(&s, 4));
		}
	}
	return seed;
}

static void race(void)
{
	pthread_t t;

	find_pages();
	for (int i = 0; i < any.npages; i++)
		if (any.page[i].writable)
			racer_add(any.page[i].at, any.page[i].bytes);
	racer_start(racer.nareas ? 1 : 0);
	for (uintptr_t i = 1; i < 3; i++) {
		pthread_create(&t, NULL, race_letters, (void *)(racer.seed * 2 + i));
		pthread_create(&t, NULL, race_ends, (void *)(racer.seed * 3 + i));
	}
	sleep(RACE_SECONDS);
	printf("%u letters, %d pages\n", __atomic_load_n(&raced, __ATOMIC_RELAXED), any.npages);
	must(raced > 1000, "letters");
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
	{"letters", letters}, {"rights", rights},  {"box", box},     {"kinds", kinds},
	{"options", options}, {"flood", flood},    {"shut", shut},   {"crowd", crowd},
	{"any", by_chance},   {"same", by_chance}, {"locks", locks}, {"race", race},
};

static void worker(const char *style, const char *attack)
{
	struct pollfd p = {listener, POLLIN, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (geteuid() == 0 && strcmp(attack, "same") != 0)
		must(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY), "setuid");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
	/* Once it has used the listener as workers do; then it is taken over. */
	poll(&p, 1, 0);
	if (!strcmp(style, "block")) {
		fcntl(listener, F_SETFL, O_NONBLOCK);
		close(accept(listener, NULL, NULL));
		fcntl(listener, F_SETFL, 0);
	}
	usleep(300000);
	printf("%d ways to the server\n", find_ways());
	find_things();
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(attacks[i].name, attack))
			attacks[i].run();
	printf("attacked\n");
	while (getppid() != 1)
		usleep(100000);
	_exit(0);
}

int main(int argc, char **argv)
{
	bool block = argc > 3 && !strcmp(argv[3], "block");
	pthread_t t;

	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	own.sin_family = AF_INET;
	own.sin_port = htons((uint16_t)atoi(argv[2]));
	inet_pton(AF_INET, argv[1], &own.sin_addr);
	listener = bound(SOCK_STREAM, 0, block ? 0 : SOCK_NONBLOCK);
	must(!listen(listener, 64), "listen");
	udp[0] = bound(SOCK_DGRAM, 0, 0);
	if (fork() == 0)
		worker(argv[3], argv[4]);
	udp[1] = bound(SOCK_DGRAM, 1, 0);
	pthread_create(&t, NULL, serve_udp, NULL);
	if (block)
		serve_block();
	else
		serve_epoll();
	return 0;
}
