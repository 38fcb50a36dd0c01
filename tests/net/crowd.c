/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a crowd of members (tests/net/member.c). Members are killed again and again, while all
 * others are asked and every byte of their answers is looked at.
 *
 *   crowd [-n SECONDS] [-k KILL-MS] [-m STALL-MS] [-c COUNT] ADDRESS PORT [KEEP:PREY:COMMAND]...
 *
 * For each triple KEEP members that live and PREY that are killed are started by `sh -c "COMMAND
 * ADDRESS PORT"`, each on the next port. Each has two TCP connections, one of them idle, and
 * datagrams. COUNT is run when nothing is under way and the prey is dead: with `begin` after some
 * were killed, with `end` at the end. With -m a stall that is longer, and a peer that is told
 * later than 100 ms, are failures. Exit status 0: not a byte was lost or wrong. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS        1000000ull
#define SLOTS     24
#define MESSAGE   4000 /* bytes */
#define PAUSE_NS  (5 * MS)
#define DATAGRAM  400
#define NUMBERS   (1u << 20)
#define RETRY_NS  (10 * MS)
#define TOLD_NS   (5000 * MS)
#define TOLD_MAX  100000
#define START_NS  (60000 * MS)
#define SETTLE_NS (700 * MS)

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct stream {
	int fd; /* -1: none */
	bool up;
	bool idle;
	uint64_t sent, got, goal; /* bytes */
	uint64_t asked_ns;        /* 0: nothing is asked */
	uint64_t next_ns;
};

struct datagrams {
	int fd;
	uint64_t sent, got;
	uint64_t missing; /* before what counts began: when it was not offloaded yet */
	uint64_t next_ns;
	uint64_t *at_ns; /* time of sending by number; 0 once answered */
};

struct slot {
	unsigned port, kind; /* of COMMAND */
	bool keep, known;    /* it was ready once */
	bool started;        /* and has not ended by itself */
	bool running;        /* from its start until it was waited for; its thread ends it */
	pid_t pid;           /* 0: not known yet, or not running */
	uint64_t killed_ns;
	struct stream tcp[2];
	struct datagrams udp;
};

static struct slot slots[SLOTS];
static unsigned nslots, nkinds;
static const char *commands[SLOTS], *host, *counter;
static union addr at;
static bool asking, spawning;
static uint64_t seconds = 5, kill_ns = 100 * MS, stall_max;
static uint64_t kills, ended[2], untold, failures;
static uint64_t stall_ns[SLOTS], bytes[SLOTS], answers[SLOTS]; /* of those kept, by command */
static uint64_t told[TOLD_MAX], ntold;
extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void fail(const struct slot *s, const char *what)
{
	if (failures++ < 20)
		printf("port %u (%s): %s\n", s->port, s->keep ? "kept" : "prey", what);
}

static void answered(const struct slot *s, uint64_t since)
{
	uint64_t ns = now_ns() - since;

	if (s->keep && ns > stall_ns[s->kind])
		stall_ns[s->kind] = ns;
}

static bool is_running(const struct slot *s)
{
	return __atomic_load_n(&s->running, __ATOMIC_ACQUIRE);
}

/* Streams ------------------------------------------------------------------------------------- */

static uint8_t byte_at(const struct slot *s, uint64_t i)
{
	return (uint8_t)((i * 2654435761u >> 16) + s->port);
}

static void stream_close(struct stream *t)
{
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct stream){.fd = -1, .idle = t->idle, .next_ns = now_ns() + RETRY_NS};
}

static union addr name_of(const struct slot *s)
{
	union addr a = at;

	a.in.sin_port = htons((uint16_t)s->port);
	return a;
}

static socklen_t name_len(void)
{
	return at.sa.sa_family == AF_INET ? sizeof(at.in) : sizeof(at.in6);
}

static void stream_connect(const struct slot *s, struct stream *t)
{
	union addr a = name_of(s);

	t->fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connect(t->fd, &a.sa, name_len()) && errno != EINPROGRESS)
		stream_close(t);
}

/* A connection of one that was killed is told so; one of another must not end. */
static void stream_ended(struct slot *s, struct stream *t, bool reset)
{
	if (!t->up) { /* no program listened yet */
		stream_close(t);
		return;
	}
	if (s->killed_ns) {
		ended[reset]++;
		if (ntold < TOLD_MAX)
			told[ntold++] = now_ns() - s->killed_ns;
	} else {
		fail(s, reset ? "a connection was reset" : "a connection has ended");
	}
	stream_close(t);
}

static void stream_send(struct slot *s, struct stream *t)
{
	uint8_t buf[MESSAGE];
	uint64_t n = t->goal - t->sent;
	ssize_t ret;

	for (uint64_t i = 0; i < n; i++)
		buf[i] = byte_at(s, t->sent + i);
	ret = n ? send(t->fd, buf, n, MSG_NOSIGNAL) : 0;
	if (ret > 0)
		t->sent += (uint64_t)ret;
	else if (n && errno != EAGAIN)
		stream_ended(s, t, errno == ECONNRESET || errno == EPIPE);
}

static void stream_ask(struct slot *s, struct stream *t, uint64_t now)
{
	if (t->fd < 0 && is_running(s) && !s->killed_ns && now >= t->next_ns)
		stream_connect(s, t);
	if (t->fd < 0 || !t->up)
		return;
	if (!t->asked_ns && asking && now >= t->next_ns && !s->killed_ns && !(t->idle && t->got)) {
		t->goal += t->idle ? 1 : MESSAGE;
		t->asked_ns = now;
	}
	stream_send(s, t);
}

static void stream_read(struct slot *s, struct stream *t)
{
	uint8_t buf[MESSAGE];
	ssize_t n = recv(t->fd, buf, sizeof(buf), 0);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			stream_ended(s, t, n != 0);
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] != byte_at(s, t->got + (uint64_t)i)) {
			fail(s, "a byte is wrong");
			break;
		}
	t->got += (uint64_t)n;
	if (t->got > t->goal)
		fail(s, "bytes that nobody sent");
	if (s->keep)
		bytes[s->kind] += (uint64_t)n;
	if (t->asked_ns && t->got == t->goal) {
		answered(s, t->asked_ns);
		t->asked_ns = 0;
		t->next_ns = now_ns() + PAUSE_NS;
	}
}

static void stream_event(struct slot *s, struct stream *t, short revents)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (!t->up && revents & (POLLOUT | POLLERR | POLLHUP)) {
		getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &err, &len);
		t->up = !err;
		if (err)
			stream_close(t);
	} else if (revents & (POLLIN | POLLERR | POLLHUP)) {
		stream_read(s, t);
	}
}

/* Datagrams ----------------------------------------------------------------------------------- */

static void udp_open(struct slot *s)
{
	union addr a = name_of(s);

	s->udp.fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->udp.fd < 0 || connect(s->udp.fd, &a.sa, name_len()))
		exit(2);
	s->udp.at_ns = calloc(NUMBERS, sizeof(uint64_t));
}

static void udp_ask(struct slot *s, uint64_t now)
{
	struct datagrams *u = &s->udp;
	uint8_t buf[DATAGRAM];

	if (!asking || now < u->next_ns || !s->tcp[1].got || s->killed_ns)
		return;
	u->next_ns = now + PAUSE_NS;
	memcpy(buf, &u->sent, 8);
	for (unsigned i = 8; i < DATAGRAM; i++)
		buf[i] = byte_at(s, u->sent + i);
	if (send(u->fd, buf, DATAGRAM, 0) == DATAGRAM)
		u->at_ns[u->sent++ % NUMBERS] = now;
}

static void udp_read(struct slot *s)
{
	struct datagrams *u = &s->udp;
	uint8_t buf[DATAGRAM + 1];
	uint64_t nr;
	ssize_t n = recv(u->fd, buf, sizeof(buf), 0);

	if (n < 0)
		return;
	memcpy(&nr, buf, 8);
	for (unsigned i = 8; n == DATAGRAM && i < DATAGRAM; i++)
		if (buf[i] != byte_at(s, nr + i))
			n = 0;
	if (n != DATAGRAM || nr >= u->sent) {
		fail(s, "a datagram is wrong");
	} else if (!u->at_ns[nr % NUMBERS]) {
		fail(s, "a datagram came twice");
	} else {
		answered(s, u->at_ns[nr % NUMBERS]);
		u->at_ns[nr % NUMBERS] = 0;
		u->got++;
	}
}

/* Members ------------------------------------------------------------------------------------- */

/* Runs in a thread of its own: waitpid(2) may take long while other processes read /proc, and must
 * not hold up the threads that ask and count. */
static void *attend(void *arg)
{
	struct slot *s = arg;
	char line[4096];
	char *argv[] = {"sh", "-c", line, NULL};
	pid_t pid;

	snprintf(line, sizeof(line), "exec %s %s %u", commands[s->kind], host, s->port);
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		exit(2);
	__atomic_store_n(&s->pid, pid, __ATOMIC_RELEASE);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	__atomic_store_n(&s->pid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&s->running, false, __ATOMIC_RELEASE);
	return NULL;
}

static void slot_start(struct slot *s)
{
	pthread_t thread;

	s->killed_ns = 0;
	s->running = s->started = true;
	if (pthread_create(&thread, NULL, attend, s) || pthread_detach(thread))
		exit(2);
	for (int i = 0; i < 2; i++)
		stream_close(&s->tcp[i]);
}

static bool is_ready(const struct slot *s)
{
	return is_running(s) && !s->killed_ns && s->tcp[0].got && s->tcp[1].got;
}

static bool is_told(const struct slot *s)
{
	return s->tcp[0].fd < 0 && s->tcp[1].fd < 0;
}

static void slot_kill(struct slot *s)
{
	pid_t pid;

	while (!(pid = __atomic_load_n(&s->pid, __ATOMIC_ACQUIRE)) && is_running(s))
		usleep(100);
	s->killed_ns = now_ns();
	if (pid)
		kill(pid, SIGKILL);
	kills++;
}

/* The dead come again when their peers know. */
static void slot_look(struct slot *s, uint64_t now)
{
	if (!is_running(s) && s->started && !s->killed_ns) {
		fail(s, "a member has ended by itself");
		s->started = false;
	}
	if (s->killed_ns && !is_told(s) && now - s->killed_ns > TOLD_NS) {
		for (int i = 0; i < 2; i++) {
			if (s->tcp[i].fd < 0)
				continue;
			untold++;
			fail(s, i ? "the peer of a killed member, idle, is not told"
				  : "the peer of a killed member is not told");
			stream_close(&s->tcp[i]);
		}
	}
	s->known |= is_ready(s);
	/* The first time one by one: together they would wait for the first one's device. */
	if (spawning && !is_running(s) && is_told(s) && (s == slots || s[-1].known))
		slot_start(s);
}

static void kill_one(void)
{
	unsigned from = (unsigned)rand();

	for (unsigned i = 0; i < nslots; i++) {
		struct slot *s = &slots[(from + i) % nslots];

		if (!s->keep && is_ready(s)) {
			slot_kill(s);
			return;
		}
	}
}

/* The loop ------------------------------------------------------------------------------------ */

static void turn(void)
{
	struct pollfd p[3 * SLOTS];
	uint64_t now = now_ns();

	for (unsigned i = 0; i < nslots; i++) {
		struct slot *s = &slots[i];

		slot_look(s, now);
		for (int k = 0; k < 2; k++) {
			stream_ask(s, &s->tcp[k], now);
			p[3 * i + k] =
				(struct pollfd){s->tcp[k].fd, s->tcp[k].up ? POLLIN : POLLOUT, 0};
		}
		udp_ask(s, now);
		p[3 * i + 2] = (struct pollfd){s->udp.fd, POLLIN, 0};
	}
	poll(p, 3 * nslots, 1);
	for (unsigned i = 0; i < 3 * nslots; i++) {
		struct slot *s = &slots[i / 3];

		if (!p[i].revents)
			continue;
		if (i % 3 == 2)
			udp_read(s);
		else if (p[i].fd == s->tcp[i % 3].fd)
			stream_event(s, &s->tcp[i % 3], p[i].revents);
	}
}

static void turns(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		turn();
}

static bool all(bool (*is)(const struct slot *s), bool prey)
{
	for (unsigned i = 0; i < nslots; i++)
		if ((!prey || !slots[i].keep) && !is(&slots[i]))
			return false;
	return true;
}

static bool is_dead(const struct slot *s)
{
	return !is_running(s) && is_told(s);
}

static void wait_for(bool (*is)(const struct slot *s), bool prey, const char *what)
{
	uint64_t end = now_ns() + START_NS;

	while (!all(is, prey) && now_ns() < end)
		turn();
	if (!all(is, prey)) {
		printf("%s\n", what);
		exit(1);
	}
}

/* Each of the prey dies, and nothing is under way. */
static void rest_and_count(const char *when)
{
	char line[4096];

	spawning = false;
	for (unsigned i = 0; i < nslots; i++)
		if (!slots[i].keep && is_running(&slots[i]) && !slots[i].killed_ns)
			slot_kill(&slots[i]);
	wait_for(is_dead, true, "the prey does not die");
	asking = false;
	turns(SETTLE_NS);
	snprintf(line, sizeof(line), "%s %s", counter ? counter : ":", when);
	if (system(line))
		printf("%s: it cannot be counted\n", when);
	asking = true;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double ms(uint64_t ns)
{
	return (double)ns / MS;
}

static void look_at_kept(void)
{
	for (unsigned i = 0; i < nslots; i++) {
		struct slot *s = &slots[i];

		if (!s->keep)
			continue;
		answers[s->kind] += s->udp.got;
		for (uint64_t n = s->udp.sent - s->udp.got; n != s->udp.missing; n--)
			fail(s, "a datagram is lost");
		if (s->tcp[0].asked_ns)
			fail(s, "bytes are not answered");
	}
}

static int result(void)
{
	uint64_t last;

	look_at_kept();
	qsort(told, ntold, sizeof(told[0]), by_time);
	last = ntold ? told[ntold - 1] : 0;
	printf("%lu killed; %lu connections of theirs ended by FIN, %lu by RST, %lu never; "
	       "after %.1f ms (median), %.1f ms (99 %%), %.1f ms (most)\n",
	       kills, ended[0], ended[1], untold, ms(ntold ? told[ntold / 2] : 0),
	       ms(ntold ? told[ntold * 99 / 100] : 0), ms(last));
	for (unsigned i = 0; i < nkinds; i++) {
		printf("kept ones of command %u: %lu bytes, %lu datagrams, longest stall %.1f ms\n",
		       i + 1, bytes[i], answers[i], ms(stall_ns[i]));
		if (stall_max && stall_ns[i] > stall_max)
			failures++;
	}
	if (stall_max && last > 100 * MS)
		failures++;
	return failures || !kills ? 1 : 0;
}

static void add_slots(unsigned *port, const char *spec)
{
	unsigned keep, prey;
	int n = 0;

	if (sscanf(spec, "%u:%u:%n", &keep, &prey, &n) != 2 || !n || nslots + keep + prey > SLOTS)
		exit(2);
	commands[nkinds] = spec + n;
	for (unsigned i = 0; i < keep + prey; i++) {
		struct slot *s = &slots[nslots++];

		*s = (struct slot){.port = (*port)++, .kind = nkinds, .keep = i < keep};
		s->tcp[0].fd = s->tcp[1].fd = -1;
		s->tcp[1].idle = true;
		udp_open(s);
	}
	nkinds++;
}

static void end_all(void)
{
	for (unsigned i = 0; i < nslots; i++)
		if (slots[i].pid > 0)
			kill(slots[i].pid, SIGKILL);
}

static bool parse(int argc, char **argv)
{
	unsigned port;
	int opt;

	while ((opt = getopt(argc, argv, "n:k:m:c:")) != -1) {
		if (opt == 'n')
			seconds = strtoul(optarg, NULL, 10);
		else if (opt == 'k')
			kill_ns = strtoul(optarg, NULL, 10) * MS;
		else if (opt == 'm')
			stall_max = strtoul(optarg, NULL, 10) * MS;
		else
			counter = optarg;
	}
	if (argc - optind < 3)
		return false;
	host = argv[optind];
	port = (unsigned)atoi(argv[optind + 1]);
	at.sa.sa_family = strchr(host, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(at.sa.sa_family, host,
		      at.sa.sa_family == AF_INET ? (void *)&at.in.sin_addr : &at.in6.sin6_addr) !=
	    1)
		return false;
	for (int i = optind + 2; i < argc; i++)
		add_slots(&port, argv[i]);
	return true;
}

int main(int argc, char **argv)
{
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!parse(argc, argv))
		return 2;
	atexit(end_all);
	spawning = asking = true;
	wait_for(is_ready, false, "not all members have come");
	/* The first reset costs a raw socket, once: members are killed so that it is there when
	 * COUNT runs first. */
	for (int i = 0; i < 50 && !ended[1]; i++) {
		kill_one();
		turns(kill_ns);
	}
	rest_and_count("begin");
	for (unsigned i = 0; i < nslots; i++)
		slots[i].udp.missing = slots[i].udp.sent - slots[i].udp.got;
	memset(stall_ns, 0, sizeof(stall_ns));
	spawning = true;
	for (uint64_t end = now_ns() + seconds * 1000 * MS; now_ns() < end;) {
		kill_one();
		turns(kill_ns);
	}
	rest_and_count("end");
	status = result();
	for (unsigned i = 0; i < nslots; i++)
		if (slots[i].pid > 0)
			kill(slots[i].pid, SIGTERM);
	return status;
}
