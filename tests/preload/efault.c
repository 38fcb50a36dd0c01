/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses where the program has no memory: EFAULT, or what came before, and no death. The
 * program's own handlers of SIGSEGV and SIGBUS stay its own. */
#include "t.h"

#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <netinet/tcp.h>

#define PAGE 4096

static int s, fresh, dgram, ep;
static char *hole; /* a page of memory, and one where there is none */

static int tcp(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

enum call {
	CONNECT,
	SENDMSG,
	RECVMSG,
	SEND,
	RECV,
	POLL,
	EPOLL_WAIT,
	SELECT,
	GETSOCKOPT,
	TCP_INFO_OPT,
	SETSOCKOPT,
	GETPEERNAME,
	GETSOCKNAME,
	UDP_SEND,
	UDP_SENDTO,
	UDP_RECVFROM,
	RECVFROM,
	BIND,
	WRITE,
	READ,
	WRITEV,
	READV,
	EPOLL_CTL,
	SENDMMSG,
	RECVMMSG,
	PEEK,
	FIONREAD_,
	CALLS
};
static const char *const names[] = {
	"connect",     "sendmsg",  "recvmsg",    "send",         "recv",       "poll",
	"epoll_wait",  "select",   "getsockopt", "TCP_INFO",     "setsockopt", "getpeername",
	"getsockname", "udp send", "udp sendto", "udp recvfrom", "recvfrom",   "bind",
	"write",       "read",     "writev",     "readv",        "epoll_ctl",  "sendmmsg",
	"recvmmsg",    "peek",     "FIONREAD"};

static long call(enum call what, void *p)
{
	struct timeval tv = {0, 100000};
	socklen_t l = 4;
	char b[16];

	switch (what) {
	case CONNECT:
		return connect(fresh, p, t_len);
	case SENDMSG:
		return sendmsg(s, p, MSG_NOSIGNAL);
	case RECVMSG:
		return recvmsg(s, p, MSG_DONTWAIT);
	case SEND:
		return send(s, p, 10, MSG_DONTWAIT | MSG_NOSIGNAL);
	case RECV:
		return recv(s, p, 10, MSG_DONTWAIT);
	case POLL:
		return poll(p, 1, 100);
	case EPOLL_WAIT:
		return epoll_wait(ep, p, 1, 100);
	case SELECT:
		return select(s + 1, p, NULL, NULL, &tv);
	case GETSOCKOPT:
		return getsockopt(s, IPPROTO_TCP, TCP_NODELAY, b, p);
	case TCP_INFO_OPT:
		return getsockopt(s, IPPROTO_TCP, TCP_INFO, p, &l);
	case SETSOCKOPT:
		return setsockopt(s, IPPROTO_TCP, TCP_NODELAY, p, 4);
	case GETPEERNAME:
		return getpeername(s, p, &l);
	case GETSOCKNAME:
		return getsockname(s, (struct sockaddr *)b, p);
	case UDP_SEND:
		return sendto(dgram, p, 10, 0, NULL, 0);
	case UDP_SENDTO:
		return sendto(dgram, "x", 1, 0, p, t_len);
	case UDP_RECVFROM:
		return recvfrom(dgram, p, 10, MSG_DONTWAIT, NULL, NULL);
	case RECVFROM:
		return recvfrom(dgram, b, 2, MSG_DONTWAIT, p, &l);
	case BIND:
		return bind(fresh, p, t_len);
	case WRITE:
		return write(s, p, 10);
	case READ:
		return read(s, p, 10);
	case WRITEV:
		return writev(s, p, 2);
	case READV:
		return readv(s, p, 2);
	case EPOLL_CTL:
		return epoll_ctl(ep, EPOLL_CTL_MOD, s, p);
	case SENDMMSG:
		return sendmmsg(dgram, p, 1, 0);
	case RECVMMSG:
		return recvmmsg(dgram, p, 1, MSG_DONTWAIT, NULL);
	case PEEK:
		return recv(s, p, 10, MSG_PEEK | MSG_DONTWAIT);
	case FIONREAD_:
		return ioctl(s, FIONREAD, p);
	case CALLS:
		break;
	}
	return 0;
}

/* Sockets with something to be read. */
static void open_all(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct pollfd p[2];

	s = tcp();
	fresh = socket(t_peer.ss_family, SOCK_STREAM, 0);
	dgram = udp();
	ep = epoll_create1(0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	CHECK(send(s, "data", 4, 0) == 4);
	ask(dgram, 1, 10, 0, 0);
	p[0] = (struct pollfd){s, POLLIN, 0};
	p[1] = (struct pollfd){dgram, POLLIN, 0};
	CHECK(poll(p, 1, 3000) == 1 && poll(p + 1, 1, 3000) == 1);
}

static void close_all(void)
{
	close(s);
	close(fresh);
	close(dgram);
	close(ep);
}

/* Each call once with NULL where no call takes it, with a page that is not there, and with an
 * address of the kernel's. */
static void calls(void)
{
	for (int w = 0; w < CALLS; w++) {
		void *bad[] = {(void *)-64, hole + PAGE};

		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			open_all();
			errno = 0;
			say(names[w], call(w, bad[i]));
			close_all();
		}
	}
}

/* Memory that can be read, and not written: the kernel finds it when it writes the answer, after
 * the wait and when the message is gone. */
static long ask_read_only(int which, char *p)
{
	struct pollfd *list = (struct pollfd *)p;
	fd_set *set = (fd_set *)p;
	struct mmsghdr *m = (struct mmsghdr *)p;
	struct timeval tv = {0, 300000};
	struct timespec *left = (struct timespec *)p;
	struct pollfd one = {s, POLLIN, 0};
	struct iovec *v = (struct iovec *)(p + PAGE / 2);
	static char buf[8];
	fd_set rd;

	FD_ZERO(&rd);
	FD_SET(s, &rd);
	switch (which) {
	case 0: /* what is asked for is there */
		list[0] = one;
		break;
	case 1: /* it is not */
		list[0] = (struct pollfd){s, POLLPRI, 0};
		break;
	case 2:
	case 3:
		memcpy(set, &rd, sizeof(rd));
		break;
	case 4:
	case 5:
	case 6:
		*left = (struct timespec){0, 200000};
		break;
	default:
		*v = (struct iovec){buf, sizeof(buf)};
		m[0].msg_hdr = (struct msghdr){.msg_iov = v, .msg_iovlen = 1};
		m[1].msg_hdr = m[0].msg_hdr;
	}
	CHECK(mprotect(p, PAGE, PROT_READ) == 0);
	errno = 0;
	switch (which) {
	case 0:
		return poll(list, 1, -1);
	case 1:
		return poll(list, 1, 300);
	case 2:
		return select(s + 1, set, NULL, NULL, NULL);
	case 3:
		return select(s + 1, NULL, NULL, set, &tv);
	case 4: /* a time-out that cannot be written is no error */
		return syscall(SYS_ppoll, &one, 1, left, NULL, 8);
	case 5:
		return syscall(SYS_select, s + 1, &rd, NULL, NULL, left);
	case 6:
		return syscall(SYS_pselect6, s + 1, &rd, NULL, NULL, left, NULL);
	case 7:
		return recvmsg(s, &m->msg_hdr, MSG_DONTWAIT);
	case 8:
		return recvmsg(dgram, &m->msg_hdr, MSG_DONTWAIT);
	case 9:
		return recvmmsg(dgram, m, 2, MSG_DONTWAIT, NULL);
	case 10:
		return sendmmsg(dgram, m, 2, 0);
	default:
		return sendmmsg(s, m, 2, MSG_NOSIGNAL);
	}
}

static void read_only(void)
{
	struct timespec a, b;
	char buf[8];

	for (int i = 0; i < 12; i++) {
		char what[20];

		open_all();
		memset(hole, 0, PAGE);
		clock_gettime(CLOCK_MONOTONIC, &a);
		snprintf(what, sizeof(what), "read only %d", i);
		say(what, ask_read_only(i, hole));
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (i == 1 || i == 3)
			printf("waits: %d\n",
			       (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 >=
				       290);
		CHECK(mprotect(hole, PAGE, PROT_READ | PROT_WRITE) == 0);
		say("stream", recv(s, buf, 4, MSG_DONTWAIT));
		say("datagram", recv(dgram, buf, 1, MSG_DONTWAIT | MSG_TRUNC));
		close_all();
	}
}

/* A piece of memory, then none: what the kernel takes of it, we take; the stream goes on. */
static void parts(void)
{
	struct iovec v[2] = {{hole, 4}, {hole + PAGE, 20000}};
	char buf[100];

	s = tcp();
	memset(hole, 'x', PAGE);
	say("writev", writev(s, v, 2));
	say("over the edge", send(s, hole + PAGE - 4, 20, MSG_NOSIGNAL));
	say("good", send(s, "good", 4, MSG_NOSIGNAL));
	say("back", recv(s, buf, 4, MSG_WAITALL));
	printf("%.4s\n", buf);
	CHECK(send(s, "0123456789", 10, 0) == 10);
	CHECK(recv(s, buf, 10, MSG_PEEK | MSG_WAITALL) == 10);
	say("into the edge", recv(s, hole + PAGE - 4, 10, 0));
	say("into memory", recv(s, buf, 10, 0)); /* nothing was lost */
	close(s);
	dgram = udp();
	say("datagram over the edge", send(dgram, hole + PAGE - 4, 20, 0));
	ask(dgram, 2, 10, 0, 0);
	sleep_ms(200);
	say("datagram into the edge", recv(dgram, hole + PAGE - 4, 10, 0));
	say("the next one", recv(dgram, buf, 10, 0)); /* the first is gone, as on the kernel */
	close(dgram);
}

/* A mapping of a file that has become shorter. */
static void truncated(void)
{
	FILE *f = tmpfile();
	char *m;

	CHECK(f && ftruncate(fileno(f), 8 * PAGE) == 0);
	m = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, fileno(f), 0);
	CHECK(m != MAP_FAILED && ftruncate(fileno(f), 0) == 0);
	s = tcp();
	dgram = udp();
	say("send", send(s, m, 20000, MSG_NOSIGNAL));
	say("datagram", send(dgram, m, 1000, 0));
	CHECK(ftruncate(fileno(f), 8 * PAGE) == 0);
	say("again", send(s, m, 1000, MSG_NOSIGNAL));
	close(s);
	close(dgram);
	munmap(m, 8 * PAGE);
	fclose(f);
}

static sigjmp_buf out;
static volatile sig_atomic_t got;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	got = sig * 10 + (info->si_addr == hole + PAGE);
	siglongjmp(out, 1);
}

static void say_action(const char *what, int sig)
{
	struct sigaction sa;

	CHECK(sigaction(sig, NULL, &sa) == 0);
	printf("%s: %s, flags %x\n", what,
	       sa.sa_handler == SIG_DFL      ? "default"
	       : sa.sa_handler == SIG_IGN    ? "ignored"
	       : sa.sa_sigaction == on_fault ? "ours"
					     : "another's",
	       (unsigned)sa.sa_flags & ~0x04000000u /* SA_RESTORER */);
}

/* How a child dies of its own access; by a signal of the kernel's or one that was sent. */
static void die(const char *what, void (*how)(void))
{
	int status;
	pid_t p = fork();

	if (p == 0) {
		how();
		_exit(0);
	}
	CHECK(waitpid(p, &status, 0) == p);
	printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

static void touch(void)
{
	*(volatile char *)(hole + PAGE) = 1;
}

static void raise_it(void)
{
	raise(SIGSEGV);
	for (;;)
		pause();
}

static void handlers(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	static char stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};

	s = tcp();
	say_action("at first", SIGSEGV);
	die("default", touch);
	die("sent", raise_it);
	CHECK(sigaltstack(&alt, NULL) == 0);
	CHECK(sigaction(SIGSEGV, &sa, &old) == 0);
	CHECK(old.sa_handler == SIG_DFL);
	say_action("set", SIGSEGV);
	if (!sigsetjmp(out, 1))
		touch();
	printf("the program's: %d\n", (int)got);
	got = 0;
	say("send", send(s, hole + PAGE, 10, MSG_NOSIGNAL));
	printf("its handler did not run: %d\n", (int)got);
	CHECK(sigaction(SIGSEGV, &dfl, &old) == 0);
	CHECK(old.sa_sigaction == on_fault);
	say_action("back", SIGSEGV);
	die("default again", touch);
	say("send", send(s, hole + PAGE, 10, MSG_NOSIGNAL));
	signal(SIGBUS, SIG_IGN);
	say_action("ignored", SIGBUS);
	signal(SIGBUS, SIG_DFL);
	say_action("default", SIGBUS);
	close(s);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"calls", calls},         {"read_only", read_only}, {"parts", parts},
		{"truncated", truncated}, {"handlers", handlers},   {NULL, NULL},
	};

	hole = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hole == MAP_FAILED || mprotect(hole + PAGE, PAGE, PROT_NONE))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	return t_main(argc, argv, cases);
}
