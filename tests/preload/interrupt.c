/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal without SA_RESTART ends a call that waits, whenever it comes: at each instruction from
 * the time when the call has begun to wait until it sleeps. The processor's trap flag steps through
 * the call; at the n-th step the signal is raised. Before the call has begun to wait the signal may
 * be in vain, as one that comes just before a system call is; so the steps in vain must be the
 * first ones. */
#include <dlfcn.h>
#include <sys/syscall.h>

#include "t.h"

#if defined(__x86_64__)
#include <ucontext.h>

#define STRIDE      67 /* no divisor of the loops' lengths: other rounds hit other instructions */
#define LAST_STRIDE 9
#define LAST_STEPS  250   /* before the sleep */
#define MOST_STEPS  60000 /* of one call */
#define TRAP        0x100

static volatile int at_step, steps, asleep_at, ran, patience_us, raised;

static void *at_ip;

static void on_user(int sig)
{
	ran++;
}

/* The last attempt, for calls that would never end. */
static void on_alarm(int sig)
{
	ran = -1;
}

static bool is_sleep(const greg_t *r)
{
	const unsigned char *ip = (const unsigned char *)r[REG_RIP];

	return ip[0] == 0x0f && ip[1] == 0x05 && r[REG_RAX] == SYS_ppoll;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const struct itimerval rescue = {{0, patience_us}, {0, patience_us}};
	ucontext_t *c = context;
	greg_t *r = c->uc_mcontext.gregs;
	bool last = is_sleep(r) || ++steps > MOST_STEPS;

	if (!last && steps != at_step)
		return;
	r[REG_EFL] &= ~TRAP;
	setitimer(ITIMER_REAL, &rescue, NULL);
	if (last)
		asleep_at = steps;
	at_ip = (void *)r[REG_RIP];
	if (steps == at_step) {
		raised = true;
		raise(SIGUSR1); /* (comes when this handler returns) */
	}
}

static inline void trap(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "cc", "memory");
}
static inline void trap_off(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "cc", "memory");
}

static int u, s, lsn, ep, full;

static long by_recv(void)
{
	return recv(s, (char[8]){0}, 8, 0);
}
static long by_datagram(void)
{
	return recv(u, (char[8]){0}, 8, 0);
}
static long by_accept(void)
{
	return accept(lsn, NULL, NULL);
}
static long by_poll(void)
{
	struct pollfd p[2] = {{.fd = s, .events = POLLIN}, {.fd = u, .events = POLLIN}};

	return poll(p, 2, -1);
}
static long by_epoll(void)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, -1);
}
static long by_send(void)
{
	static char data[65536];

	return send(full, data, sizeof(data), 0);
}

/* Until nothing more goes, for 200 ms. */
static void fill(void)
{
	static char data[4096];

	while (send(full, data, sizeof(data), MSG_DONTWAIT) > 0 || (sleep_ms(200), false) ||
	       send(full, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

/* True: the signal at that step ended the call, or the call slept before that step. */
static bool ends(long (*call)(void), int step, int us)
{
	const struct itimerval never = {{0, 0}, {0, 0}};
	long r;

	ran = steps = asleep_at = raised = 0;
	at_step = step;
	patience_us = us;
	trap();
	r = call();
	trap_off();
	setitimer(ITIMER_REAL, &never, NULL);
	if (r > 0 && call == by_send) { /* the peer's window has grown since */
		fill();
		return ends(call, step, us);
	}
	CHECK(r < 0 && errno == EINTR);
	return ran == 1 || !raised;
}

static void each_step(const char *what, long (*call)(void))
{
	int last, first = 0, after = 0;

	ends(call, 0, 5000); /* (symbols are resolved) */
	ends(call, 0, 5000);
	last = asleep_at;
	CHECK(last > 0 && last <= MOST_STEPS);
	for (int step = 1; step <= last; step += step < last - LAST_STEPS ? STRIDE : LAST_STRIDE) {
		if (ends(call, step, 5000) || (first && ends(call, step, 200000)))
			first = first ? first : step;
		else if (first && ++after)
			fprintf(stderr, "%s: the signal at step %d, %p, is in vain\n", what, step,
				at_ip);
		if (after > 3)
			break;
	}
	CHECK(first);
	fprintf(stderr, "%s: sleeps after %d steps, the first signal that counts is at %d\n", what,
		last, first);
	printf("%s: signals in vain: %d\n", what, after);
	fflush(stdout);
}

static int tcp(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

/* program PEER PORT OWN; the peer takes connections and neither reads nor writes. */
int main(int argc, char **argv)
{
	const struct {
		const char *name;
		long (*call)(void);
	} kinds[] = {
		{"recv", by_recv}, {"datagram", by_datagram}, {"accept", by_accept},
		{"poll", by_poll}, {"epoll_wait", by_epoll},  {"send", by_send},
	};
	struct sigaction user = {.sa_handler = on_user}, alarm = {.sa_handler = on_alarm};
	struct sigaction step = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct epoll_event ev = {.events = EPOLLIN};
	int (*real)(int, const struct sigaction *, struct sigaction *);
	int small = 4096;

	CHECK(argc == 4);
	parse(argv[3], 0, &t_own);
	parse(argv[1], atoi(argv[2]), &t_peer);
	s = tcp();
	full = socket(t_peer.ss_family, SOCK_STREAM, 0);
	setsockopt(full, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	CHECK(connect(full, (struct sockaddr *)&t_peer, t_len) == 0);
	u = udp_bound();
	lsn = socket(t_peer.ss_family, SOCK_STREAM, 0);
	CHECK(bind(lsn, (struct sockaddr *)&t_own, t_len) == 0 && listen(lsn, 5) == 0);
	ep = epoll_create1(0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	fill();
	sigaction(SIGUSR1, &user, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	sigfillset(&step.sa_mask);
	/* Not by the library, which counts the handlers that it sees, and which dlsym() finds. */
	real = dlvsym(dlopen("libc.so.6", RTLD_NOW), "sigaction", "GLIBC_2.2.5");
	CHECK(real && real(SIGTRAP, &step, NULL) == 0);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i += getenv("SHORT") ? 2 : 1)
		each_step(kinds[i].name, kinds[i].call);
	_exit(0);
}
#else
int main(void)
{
	puts("only on x86-64");
}
#endif
