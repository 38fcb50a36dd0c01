/* SPDX-License-Identifier: BSD-2-Clause */
/* Which calls are cancellation points: each call is made by a thread that another one has cancelled
 * before, with arguments for which it need not wait. A cancellation point ends the thread, and any
 * other call returns. */
#include "t.h"

#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define MANY (16 << 20)

static char big[1 << 16];
static int s, other, lsn, ep, file, pipes[2];
static char b[64];
static struct iovec v = {b, 5};
static struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
static struct mmsghdr mm = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
static struct epoll_event ev;
static struct pollfd p;
static fd_set set;
static struct timeval no_time;
static const struct timespec zero;
static struct sockaddr_storage name;
static socklen_t len;
static int one = 1;

static void spawn(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	if (!posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
		while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT | WNOHANG) < 0)
			;
}

/* A stream of the descriptor that is closed again. */
static void stream(void)
{
	FILE *f = fdopen(dup(s), "r+");

	if (f)
		fclose(f);
}

#define CALLS                                                                                      \
	X(accept, accept(lsn, NULL, NULL))                                                         \
	X(accept4, accept4(lsn, NULL, NULL, SOCK_CLOEXEC))                                         \
	X(connect, connect(s, (struct sockaddr *)&t_peer, t_len))                                  \
	X(read, read(s, b, 5))                                                                     \
	X(readv, readv(s, &v, 1))                                                                  \
	X(preadv2, preadv2(s, &v, 1, -1, 0))                                                       \
	X(preadv2_nowait, preadv2(s, &v, 1, -1, RWF_NOWAIT))                                       \
	X(recv, recv(s, b, 5, 0))                                                                  \
	X(recv_dontwait, recv(s, b, 5, MSG_DONTWAIT))                                              \
	X(recvfrom, recvfrom(s, b, 5, MSG_PEEK, (struct sockaddr *)&name, &len))                   \
	X(recvmsg, recvmsg(s, &m, 0))                                                              \
	X(recvmmsg, recvmmsg(s, &mm, 1, MSG_WAITFORONE, NULL))                                     \
	X(write, write(s, b, 5))                                                                   \
	X(writev, writev(s, &v, 1))                                                                \
	X(pwritev2, pwritev2(s, &v, 1, -1, 0))                                                     \
	X(send, send(s, b, 5, MSG_NOSIGNAL))                                                       \
	X(sendto, sendto(s, b, 5, MSG_NOSIGNAL, NULL, 0))                                          \
	X(sendmsg, sendmsg(s, &m, MSG_NOSIGNAL))                                                   \
	X(sendmmsg, sendmmsg(s, &mm, 1, MSG_NOSIGNAL))                                             \
	X(sendfile, sendfile(s, file, NULL, 5))                                                    \
	X(sendfile_of_file, sendfile(pipes[1], file, NULL, 5))                                     \
	X(splice, splice(pipes[0], NULL, s, NULL, 1, SPLICE_F_NONBLOCK))                           \
	X(splice_of_pipes, splice(file, NULL, pipes[1], NULL, 1, SPLICE_F_NONBLOCK))               \
	X(tee, tee(pipes[0], pipes[0], 1, SPLICE_F_NONBLOCK))                                      \
	X(poll, poll(&p, 1, 0))                                                                    \
	X(poll_none, poll(NULL, 0, 0))                                                             \
	X(ppoll, ppoll(&p, 1, &zero, NULL))                                                        \
	X(select, select(s + 1, NULL, &set, NULL, &no_time))                                       \
	X(pselect, pselect(s + 1, NULL, &set, NULL, &zero, NULL))                                  \
	X(epoll_wait, epoll_wait(ep, &ev, 1, 0))                                                   \
	X(epoll_pwait, epoll_pwait(ep, &ev, 1, 0, NULL))                                           \
	X(epoll_pwait2, epoll_pwait2(ep, &ev, 1, &zero, NULL))                                     \
	X(epoll_create, epoll_create(1))                                                           \
	X(epoll_create1, epoll_create1(EPOLL_CLOEXEC))                                             \
	X(epoll_ctl, epoll_ctl(ep, EPOLL_CTL_MOD, s, &ev))                                         \
	X(socket_tcp, socket(t_peer.ss_family, SOCK_STREAM, 0))                                    \
	X(socket_udp, socket(t_peer.ss_family, SOCK_DGRAM, 0))                                     \
	X(bind, bind(s, (struct sockaddr *)&t_own, t_len))                                         \
	X(listen, listen(lsn, 5))                                                                  \
	X(shutdown, shutdown(other, SHUT_WR))                                                      \
	X(getsockname, getsockname(s, (struct sockaddr *)&name, &len))                             \
	X(getpeername, getpeername(s, (struct sockaddr *)&name, &len))                             \
	X(getsockopt, getsockopt(s, SOL_SOCKET, SO_ERROR, &one, &len))                             \
	X(setsockopt, setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)))                  \
	X(dup, dup(s))                                                                             \
	X(dup2, dup2(s, other))                                                                    \
	X(dup3, dup3(s, other, O_CLOEXEC))                                                         \
	X(getfl, fcntl(s, F_GETFL))                                                                \
	X(setfl, fcntl(s, F_SETFL, O_RDWR))                                                        \
	X(dupfd, fcntl(s, F_DUPFD_CLOEXEC, 100))                                                   \
	X(setlkw, fcntl(s, F_SETLKW, &(struct flock){.l_type = F_UNLCK}))                          \
	X(ioctl, ioctl(s, FIONREAD, &one))                                                         \
	X(close, close(dup(s)))                                                                    \
	X(close_bad, close(-1))                                                                    \
	X(close_range, close_range(900, 901, 0))                                                   \
	X(fdopen, stream())                                                                        \
	X(prctl, prctl(PR_GET_DUMPABLE))                                                           \
	X(setrlimit, setrlimit(RLIMIT_CORE, &(struct rlimit){0}))                                  \
	X(sigaction, sigaction(SIGUSR2, NULL, &(struct sigaction){0}))                             \
	X(system, system("true"))                                                                  \
	X(popen, pclose(popen("true", "r")))                                                       \
	X(spawn, spawn())

enum {
#define X(word, call) CALL_##word,
	CALLS
#undef X
		CALLS_MAX
};
static const char *const words[] = {
#define X(word, call) #word,
	CALLS
#undef X
};

static pthread_barrier_t cancelled;
static int now_errno;

static void *make_call(void *arg)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_barrier_wait(&cancelled); /* it runs */
	pthread_barrier_wait(&cancelled); /* it is cancelled */
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	switch ((int)(intptr_t)arg) {
#define X(word, call)                                                                              \
	case CALL_##word:                                                                          \
		(void)call;                                                                        \
		break;
		CALLS
#undef X
	}
	now_errno = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return arg;
}

static void open_all(bool tcp)
{
	s = tcp ? socket(t_peer.ss_family, SOCK_STREAM, 0) : udp();
	if (tcp)
		CHECK(connect(s, (struct sockaddr *)&t_peer, t_len) == 0);
	CHECK(send(s, "hello", 5, 0) == 5);
	p = (struct pollfd){.fd = s, .events = POLLIN};
	CHECK(poll(&p, 1, 3000) == 1);
	len = sizeof(name);
	FD_ZERO(&set);
	FD_SET(s, &set);
	ev = (struct epoll_event){.events = EPOLLIN};
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	other = socket(t_peer.ss_family, SOCK_STREAM, 0);
	m.msg_iov = mm.msg_hdr.msg_iov = &v;
}

static void try_all(bool tcp)
{
	void *result;
	pthread_t t;

	for (intptr_t i = 0; i < CALLS_MAX; i++) {
		open_all(tcp);
		CHECK(!pthread_create(&t, NULL, make_call, (void *)i));
		pthread_barrier_wait(&cancelled);
		CHECK(!pthread_cancel(t));
		pthread_barrier_wait(&cancelled);
		CHECK(!pthread_join(t, &result));
		printf("%s: %s\n", words[i],
		       result == PTHREAD_CANCELED ? "a cancellation point" : "none");
		fflush(stdout);
		close(s);
		close(other);
	}
}

static void *send_file(void *arg)
{
	int fd = (int)(intptr_t)arg;
	off_t at = 0;

	while (at < MANY && sendfile(s, fd, &at, (size_t)(MANY - at)) > 0)
		;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return at == MANY ? "all" : "some";
}

/* The peer takes no more, since nobody reads what it sends back. */
static void send_file_asleep(void)
{
	int fd = memfd_create("many", MFD_CLOEXEC), left = 1;
	long got = 0, was = -1;
	void *result;
	pthread_t t;
	ssize_t n;

	CHECK(!ftruncate(fd, MANY));
	s = socket(t_peer.ss_family, SOCK_STREAM, 0);
	CHECK(connect(s, (struct sockaddr *)&t_peer, t_len) == 0);
	CHECK(!pthread_create(&t, NULL, send_file, (void *)(intptr_t)fd));
	while (!ioctl(s, TIOCOUTQ, &left) && (left == 0 || left != was)) {
		was = left;
		sleep_ms(100);
	}
	CHECK(!pthread_cancel(t));
	sleep_ms(20);
	while (got < MANY && (n = recv(s, big, sizeof(big), got ? MSG_DONTWAIT : 0)) != 0) {
		if (n > 0)
			got += n;
		else if (!pthread_tryjoin_np(t, &result))
			break;
		else
			sleep_ms(1);
	}
	if (got == MANY)
		CHECK(!pthread_join(t, &result));
	say("sendfile asleep", result == PTHREAD_CANCELED);
	close(fd);
	close(s);
}

static void streams(void)
{
	try_all(true);
}

static void datagrams(void)
{
	try_all(false);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"streams", streams},
		{"datagrams", datagrams},
		{"send_file_asleep", send_file_asleep},
		{NULL, NULL},
	};
	struct sockaddr_storage own;

	if (argc < 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	parse(argv[3], 0, &own);
	pthread_barrier_init(&cancelled, NULL, 2);
	lsn = socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(bind(lsn, (struct sockaddr *)&own, t_len) == 0 && listen(lsn, 5) == 0);
	ep = epoll_create1(0);
	file = open("/etc/passwd", O_RDONLY);
	CHECK(file >= 0 && !pipe(pipes) && write(pipes[1], "hello", 5) == 5);
	return t_main(argc, argv, cases);
}
