/* SPDX-License-Identifier: BSD-2-Clause */
/* A client of sluiced that passes what cannot be closed soon, asks for nothing, or says nothing.
 *
 * Usage: sluiced_stuck SOCKET WHAT [N]
 *   linger    a TCP socket with unsent data and SO_LINGER, in requests that may have one, and not
 *   queued    such sockets in requests that are never served, as the connection is closed
 *   nested    such sockets in the queue of a UNIX socket, and that in another's
 *   epoll     an epoll descriptor that watches another, which watches it
 *   box       a pair with such sockets in its queue, kept by the daemon until the lease ends
 *   empty     a packet without a byte, on a lease
 *   idle N    N connections that say nothing: how many are closed after 4 s
 *   slow      a connection that sends HELLO after 3 s
 *   fuse      a file of a file system that never answers
 *   locked D  sockets whose lock a thread holds that waits for such a file's page: in a claim on
 *             device D, and in every other request that takes a socket
 *   dying N   N leases that end at once, each with 65,536 connections
 *   honest D  a lease, and a claim on device D: how many ms that took; 0 if 2,000 at most
 *   reuse D   a process whose number is that of a lease's owner, which is dead, has the owner's
 *             connection, and asks by it without a pause for two seconds (as root); the
 *             daemon, process D, is stopped until the first request is there
 * Says what became of it; 0 if that was as it has to be. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "strange.h"
#include "ctl/lease/client.h"
#include "ctl/lease/msg.h"

#define LINGER_SECONDS 600
#define MANY           64

static const char *path;
static bool keep; /* descriptors that are passed: our own close would wait, too */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = 20};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
		die("connect");
	return fd;
}

static void *close_it(void *arg)
{
	close((int)(intptr_t)arg);
	return NULL;
}

/* We would linger ourselves, if the daemon was the first to close it. */
static void close_soon(int fd)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, close_it, (void *)(intptr_t)fd))
		pthread_detach(thread);
}

/* Bytes and descriptors, which are closed here, unless keep. Less than 0: it could not be sent. */
static long pass(int to, const void *data, size_t bytes, const int *fd, unsigned n, int flags)
{
	char space[CMSG_SPACE(MANY * sizeof(int))] = {0};
	struct iovec iov = {(void *)data, bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *h = (struct cmsghdr *)space;
	long sent;

	if (n) {
		msg.msg_control = space;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fd, n * sizeof(int));
	}
	sent = sendmsg(to, &msg, MSG_NOSIGNAL | flags);
	while (n && !keep)
		close_soon(fd[--n]);
	return sent;
}

static long request(int conn, enum sl_lease_op op, const void *body, size_t bytes, const int *fd,
		    unsigned n)
{
	struct {
		struct sl_lease_hdr hdr;
		char body[512];
	} m = {.hdr = {SL_LEASE_MAGIC, SL_LEASE_VERSION, (uint16_t)op, 1, 0}};

	if (bytes)
		memcpy(m.body, body, bytes);
	return pass(conn, &m, sizeof(m.hdr) + bytes, fd, n, 0);
}

/* 1: hung up on; -errno: a refusal; 0: a good answer. lane: the first number of its body. */
static int answer_lane(int conn, uint32_t *lane)
{
	static char buf[65536];
	const struct sl_lease_hdr *h = (const struct sl_lease_hdr *)buf;
	long n = recv(conn, buf, sizeof(buf), 0);

	if (n < 0 && errno == EAGAIN)
		die("no answer");
	if (n >= (long)(sizeof(*h) + sizeof(*lane)))
		memcpy(lane, h + 1, sizeof(*lane));
	return n < (long)sizeof(*h) ? 1 : h->err;
}

static int answer(int conn)
{
	uint32_t lane;

	return answer_lane(conn, &lane);
}

static int greet(int conn)
{
	const struct sl_lease_hello h = {.group = "", .program = "stuck"};
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	request(conn, SL_LEASE_HELLO, &h, sizeof(h), &fd, 1);
	return answer(conn);
}

/* Sockets that linger ----------------------------------------------------------------------------
 */

static int lingering(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger lg = {1, LINGER_SECONDS};
	static char data[65536];
	socklen_t len = sizeof(sin);
	int l = socket(AF_INET, SOCK_STREAM, 0), small = 4096, a;

	setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(l, (struct sockaddr *)&sin, sizeof(sin)) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&sin, &len))
		die("listen");
	a = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(a, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	while (send(a, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	setsockopt(a, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg));
	return a; /* l stays open, and accepts nothing */
}

static void linger(void)
{
	const struct sl_lease_buffer b = {SO_SNDBUFFORCE, 4096};
	int fd = lingering(), conn = dial(), many[MANY];

	/* Where none belongs, in place of a namespace, and where one belongs. */
	request(conn, SL_LEASE_STATUS, NULL, 0, &fd, 1);
	printf("in STATUS: %d\n", answer(conn));
	conn = dial();
	fd = lingering();
	request(conn, SL_LEASE_HELLO, &(struct sl_lease_hello){0}, sizeof(struct sl_lease_hello),
		&fd, 1);
	printf("in HELLO: %d\n", answer(conn));
	conn = dial();
	printf("HELLO: %d\n", greet(conn));
	fd = lingering();
	request(conn, SL_LEASE_BUFFER, &b, sizeof(b), &fd, 1);
	printf("in BUFFER: %d\n", answer(conn));
	for (unsigned i = 0; i < MANY; i++)
		many[i] = lingering();
	request(conn, SL_LEASE_BUFFER, &b, sizeof(b), many, MANY);
	printf("%d in BUFFER: %d\n", MANY, answer(conn));
}

static void queued(void)
{
	int conn = dial(), fd;

	for (unsigned i = 0; i < 8; i++) {
		fd = lingering();
		request(conn, SL_LEASE_STATUS, NULL, 0, &fd, 1);
	}
	close(conn);
	conn = dial();
	greet(conn);
	for (unsigned i = 0; i < 8; i++) {
		fd = lingering();
		request(conn, SL_LEASE_HOLDERS, NULL, 0, &fd, 1);
	}
	close(conn);
}

/* A UNIX socket with n of these descriptors in its queue. */
static int nest(int (*what)(void), unsigned n)
{
	int pair[2], fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		die("socketpair");
	while (n--) {
		fd = what();
		if (pass(pair[0], "x", 1, &fd, 1, MSG_DONTWAIT) != 1)
			die("pass");
	}
	close(pair[0]);
	return pair[1];
}

static int nested_once(void)
{
	return nest(lingering, 4);
}

static void nested(void)
{
	int conn = dial(), fd;

	greet(conn);
	for (unsigned i = 0; i < 4; i++) {
		fd = nest(nested_once, 3);
		request(conn, SL_LEASE_HOLDERS, NULL, 0, &fd, 1);
		printf("in HOLDERS: %d\n", answer(conn));
	}
}

static void epolls(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int conn = dial(), fd[2];

	greet(conn);
	for (unsigned i = 0; i < 3; i++) {
		fd[0] = epoll_create1(0);
		fd[1] = nest(lingering, 2);
		epoll_ctl(fd[0], EPOLL_CTL_ADD, fd[1], &ev);
		epoll_ctl(fd[0], EPOLL_CTL_ADD, conn, &ev);
		request(conn, SL_LEASE_HOLDERS, NULL, 0, fd, 1);
		printf("in HOLDERS: %d\n", answer(conn));
	}
}

static void box(void)
{
	const struct sl_lease_box b = {7};
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int conn = dial(), pair[2], fd[2], l;

	greet(conn);
	for (unsigned i = 0; i < 4; i++) {
		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
		for (unsigned n = 0; n < 3; n++) {
			l = lingering();
			pass(pair[0], "x", 1, &l, 1, MSG_DONTWAIT);
		}
		l = socket(AF_INET, SOCK_STREAM, 0);
		bind(l, (struct sockaddr *)&sin, sizeof(sin));
		listen(l, 1);
		fd[0] = pair[1];
		fd[1] = l;
		close(pair[0]);
		request(conn, SL_LEASE_BOX, &b, sizeof(b), fd, 2);
		printf("BOX: %d\n", answer(conn));
	}
}

/* Clients that say nothing ------------------------------------------------------------------------
 */

static int empty(void)
{
	int conn = dial(), ret;

	if (greet(conn))
		return 1;
	send(conn, "", 0, 0);
	ret = answer(conn);
	printf("after an empty packet: %s\n", ret == 1 ? "hung up" : "?");
	return ret != 1;
}

static bool is_closed(int conn)
{
	struct pollfd p = {.fd = conn};

	poll(&p, 1, 0);
	return p.revents & POLLHUP;
}

static int idle(unsigned n)
{
	int *conn = calloc(n, sizeof(int));
	unsigned at_once = 0, after = 0;

	for (unsigned i = 0; i < n; i++)
		conn[i] = dial();
	sleep(1);
	for (unsigned i = 0; i < n; i++)
		at_once += is_closed(conn[i]);
	sleep(3);
	for (unsigned i = 0; i < n; i++)
		after += is_closed(conn[i]);
	printf("%u connections: %u open after a second, %u after four\n", n, n - at_once,
	       n - after);
	return n - at_once > 16 || after != n;
}

static int slow(void)
{
	int conn = dial(), ret;

	sleep(3);
	ret = greet(conn);
	printf("HELLO after 3 s: %s\n", ret == 1 ? "hung up" : "answered");
	return ret != 1;
}

/* Many leases of one user
 * --------------------------------------------------------------------------
 */

/* Entries of 64 bytes, each a connection; all leases have the same file. */
static int conns_file(struct sl_conns_layout *l)
{
	uint8_t e[64];
	int fd = memfd_create("conns", MFD_CLOEXEC);
	static char text[1 << 20];

	*l = (struct sl_conns_layout){
		.stride = sizeof(e), .max = 1 << 16, .dead = 63, .local = 8, .remote = 24};
	memset(e, 1, sizeof(e));
	e[63] = 0;
	for (size_t at = 0; at < sizeof(text); at += sizeof(e))
		memcpy(text + at, e, sizeof(e));
	for (unsigned i = 0; i < 4; i++)
		if (write(fd, text, sizeof(text)) != (long)sizeof(text))
			die("write");
	return fd;
}

static void dying(unsigned n)
{
	struct sl_conns_layout layout;
	int *conn = calloc(n, sizeof(*conn)), file = conns_file(&layout), fd;

	for (unsigned i = 0; i < n; i++) {
		conn[i] = dial();
		fd = dup(file);
		if (greet(conn[i]))
			die("greet");
		request(conn[i], SL_LEASE_CONNS, &layout, sizeof(layout), &fd, 1);
		if (answer(conn[i]))
			die("conns");
	}
	puts("ready");
}

static unsigned ms_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)((now.tv_sec - t->tv_sec) * 1000 + (now.tv_nsec - t->tv_nsec) / 1000000);
}

/* Asks for all that the first socket of a program needs. */
static int honest(const char *device)
{
	struct sl_lease_port port = {.ifindex = if_nametoindex(device)};
	struct sl_lease_claim claim = {.ifindex = port.ifindex};
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	struct timespec start;
	unsigned greeted;
	int conn, fd = socket(AF_INET, SOCK_DGRAM, 0), err;

	bind(fd, (struct sockaddr *)&sin, sizeof(sin));
	getsockname(fd, (struct sockaddr *)&sin, &len);
	claim.key.local[10] = claim.key.local[11] = 0xff;
	claim.key.local_port = ntohs(sin.sin_port);
	claim.key.proto = IPPROTO_UDP;
	clock_gettime(CLOCK_MONOTONIC, &start);
	conn = dial();
	err = greet(conn);
	greeted = ms_since(&start);
	for (enum sl_lease_op op = SL_LEASE_UMEM; !err && op <= SL_LEASE_LANE_OPEN; op++) {
		if (op != SL_LEASE_UMEM && op != SL_LEASE_PORT_OPEN && op != SL_LEASE_PORT_ALIVE &&
		    op != SL_LEASE_PORT_TAGS && op != SL_LEASE_LANE_OPEN)
			continue;
		request(conn, op, &port, op == SL_LEASE_UMEM ? 0 : sizeof(port), NULL, 0);
		err = answer_lane(conn, &claim.claim.lane);
	}
	if (!err) {
		request(conn, SL_LEASE_CLAIM, &claim, sizeof(claim), &fd, 1);
		err = answer(conn);
	}
	printf("HELLO took %u ms, all %u ms (%d)\n", greeted, ms_since(&start), err);
	return err || ms_since(&start) > 2000;
}

/* A file system
 * ------------------------------------------------------------------------------------
 */

static int fuse(void)
{
	const struct sl_lease_hello h = {.group = "", .program = "stuck"};
	const struct sl_conns_layout layout = {0};
	char dir[] = "/tmp/fuseXXXXXX";
	pid_t server;
	int conn, held = strange_file(&server, dir);

	keep = true;
	for (unsigned i = 0; i < 6; i++) {
		conn = dial();
		request(conn, SL_LEASE_HELLO, &h, sizeof(h), &held, 1);
		printf("in HELLO: %d\n", answer(conn));
		conn = dial();
		printf("HELLO: %d\n", greet(conn));
		request(conn, SL_LEASE_CONNS, &layout, sizeof(layout), &held, 1);
		printf("in CONNS: %d\n", answer(conn));
		conn = dial();
		request(conn, SL_LEASE_STATUS, NULL, 0, &held, 1);
		printf("in STATUS: %d\n", answer(conn));
	}
	sleep(2);
	end_files(server, dir);
	return 0;
}

/* Sockets with a lock that is held ---------------------------------------------------------------
 */

static struct {
	int fd;
	const void *page;
} locker;

/* The kernel copies with the socket's lock held, and the page never comes. */
static void *hold_lock(void *arg)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(9),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	sendto(locker.fd, locker.page, 100, MSG_MORE, (struct sockaddr *)&to, sizeof(to));
	return arg;
}

static int lease_lane(int conn, struct sl_lease_port *port, uint32_t *lane)
{
	static const enum sl_lease_op ops[] = {SL_LEASE_UMEM, SL_LEASE_PORT_OPEN,
					       SL_LEASE_LANE_OPEN};
	int err = greet(conn);

	for (unsigned i = 0; !err && i < 3; i++) {
		request(conn, ops[i], port, i ? sizeof(*port) : 0, NULL, 0);
		err = answer_lane(conn, lane);
	}
	return err;
}

static int locked(const char *device)
{
	static const struct {
		enum sl_lease_op op;
		size_t bytes;
		unsigned fds;
	} asks[] = {
		{SL_LEASE_BUFFER, sizeof(struct sl_lease_buffer), 1},
		{SL_LEASE_DROP, sizeof(struct sl_lease_drop), 1},
		{SL_LEASE_TAKE, 0, 1},
		{SL_LEASE_HOLDERS, 0, 1},
		{SL_LEASE_BOX, sizeof(struct sl_lease_box), 2},
	};
	struct sl_lease_port port = {.ifindex = if_nametoindex(device)};
	struct sl_lease_claim claim = {.ifindex = port.ifindex};
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	char dir[] = "/tmp/fuseXXXXXX";
	int conn, file, fds[2];
	pthread_t thread;
	pid_t server;

	file = strange_file(&server, dir);
	locker.page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	locker.fd = socket(AF_INET, SOCK_DGRAM, 0);
	bind(locker.fd, (struct sockaddr *)&sin, sizeof(sin));
	getsockname(locker.fd, (struct sockaddr *)&sin, &len);
	pthread_create(&thread, NULL, hold_lock, NULL);
	usleep(300000);
	keep = true;
	conn = dial();
	printf("lane: %d\n", lease_lane(conn, &port, &claim.claim.lane));
	claim.key.local[10] = claim.key.local[11] = 0xff;
	claim.key.local_port = ntohs(sin.sin_port);
	claim.key.proto = IPPROTO_UDP;
	request(conn, SL_LEASE_CLAIM, &claim, sizeof(claim), &locker.fd, 1);
	printf("CLAIM: %d\n", answer(conn));
	for (unsigned i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		static char zeros[512];

		fds[0] = fds[1] = locker.fd;
		conn = dial();
		greet(conn);
		request(conn, asks[i].op, zeros, asks[i].bytes, fds, asks[i].fds);
		printf("request %u: %d\n", asks[i].op, answer(conn));
	}
	puts("asked");
	sleep(2);
	end_files(server, dir);
	return 0;
}

/* Another process with the owner's number -------------------------------------------------------
 */

#define USER 65533

static void become_user(void)
{
	if (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		die("setresuid");
}

static pid_t fork_as(pid_t number)
{
	struct clone_args a = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

/* Asks for the packet memory of the owner's group. */
static void ask_as_owner(int conn)
{
	struct timespec start;
	unsigned asked = 0, good = 0;
	int err = 0;

	become_user();
	for (clock_gettime(CLOCK_MONOTONIC, &start); err != 1 && ms_since(&start) < 2000; asked++) {
		if (request(conn, SL_LEASE_UMEM, NULL, 0, NULL, 0) < 0)
			break;
		err = answer(conn);
		good += !err;
	}
	printf("asked %u times, %u answered, %u ms until it was hung up on\n", asked, good,
	       ms_since(&start));
	fflush(stdout);
	_exit(good || ms_since(&start) >= 2000);
}

static int reuse(pid_t daemon)
{
	int ways[2], conn, status = 1;
	pid_t owner, other;
	char c;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ways))
		die("socketpair");
	owner = fork();
	if (!owner) {
		become_user();
		conn = dial();
		if (greet(conn))
			die("greet");
		pass(ways[1], "c", 1, &conn, 1, 0);
		pause();
	}
	{
		char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
		struct iovec iov = {&c, 1};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = space,
				   .msg_controllen = sizeof(space)};

		if (recvmsg(ways[0], &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
			die("no connection");
		memcpy(&conn, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(conn));
	}
	kill(daemon, SIGSTOP);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	other = fork_as(owner);
	if (!other)
		ask_as_owner(conn);
	usleep(200000);
	kill(daemon, SIGCONT);
	if (other != owner) {
		printf("no process of that number: %s\n", strerror(errno));
		return 77;
	}
	waitpid(other, &status, 0);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	static const struct {
		const char *name;
		void (*run)(void);
	} attacks[] = {
		{"linger", linger}, {"queued", queued}, {"nested", nested},
		{"epoll", epolls},  {"box", box},
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	path = argv[1];
	for (unsigned i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
		if (!strcmp(what, attacks[i].name)) {
			attacks[i].run();
			/* A lingering socket lingers as long as its peer is there. */
			sleep(2);
			_exit(0);
		}
	if (!strcmp(what, "empty"))
		return empty();
	if (!strcmp(what, "reuse") && argc > 3)
		return reuse(atoi(argv[3]));
	if (!strcmp(what, "idle") && argc > 3)
		return idle((unsigned)atoi(argv[3]));
	if (!strcmp(what, "slow"))
		return slow();
	if (!strcmp(what, "dying") && argc > 3) {
		dying((unsigned)atoi(argv[3]));
		return 0;
	}
	if (!strcmp(what, "locked") && argc > 3)
		return locked(argv[3]);
	if (!strcmp(what, "honest") && argc > 3)
		return honest(argv[3]);
	if (!strcmp(what, "fuse"))
		return fuse();
	fprintf(stderr, "usage: see the head of %s\n", __FILE__);
	return 2;
}
