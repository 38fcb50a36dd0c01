/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that the C library itself reads, writes and closes: streams of stdio on 0, 1 and 2, POSIX
 * asynchronous I/O; and the other public names of its functions. */
#include "t.h"

#include <aio.h>
#include <execinfo.h>
#include <spawn.h>
#include <sys/ioctl.h>

/* sigset(3) is deprecated, and must work. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;

ssize_t __read(int fd, void *buf, size_t len);
ssize_t __write(int fd, const void *buf, size_t len);
ssize_t __send(int fd, const void *buf, size_t len, int flags);
int __connect(int fd, const struct sockaddr *addr, socklen_t len);
int __close(int fd);
int __dup2(int fd, int fd2);
int __fcntl(int fd, int cmd, ...);
int __poll(struct pollfd *fds, nfds_t n, int ms);
int __select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv);
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);

static int out; /* where to print while 1 is a socket */

static int tcp(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

static void answer(const char *what, int fd, size_t n)
{
	struct timeval tv = {5, 0};
	char b[200] = "";

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	dprintf(out, "%s: %zd ", what, recv(fd, b, n, MSG_WAITALL));
	dprintf(out, "%s\n", b);
}

/* Streams by dup2(2), dup(2) and F_DUPFD; the socket goes on by its other number. */
static void replaced(void)
{
	for (int how = 0; how < 4; how++) {
		int fd = how == 3 ? udp() : tcp();

		if (how == 0)
			dup2(fd, 1);
		else if (how == 1)
			(close(1), dup(fd));
		else if (how == 2)
			(close(1), fcntl(fd, F_DUPFD, 1));
		else
			dup3(fd, 1, 0);
		printf("way %d\n", how);
		fflush(stdout);
		if (how == 3)
			answer("datagram", fd, 6);
		else
			answer("printed", fd, 6);
		puts("again");
		fflush(stdout);
		dup2(out, 1);
		answer("restored", fd, 6);
		close(fd);
	}
}

/* Bytes that were there before, and those that come, are the stream's. */
static void input(void)
{
	int fd = tcp(), in = dup(0);
	char line[20] = "";

	say("send", send(fd, "first\nsecond\n", 13, 0));
	recv(fd, line, 1, 0);
	dup2(fd, 0);
	say("send", send(fd, "third\n", 6, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(fgets(line, sizeof(line), stdin));
		printf("%s", line);
	}
	say("closed", fclose(stdin));
	say("0 is free", fcntl(0, F_GETFD));
	say("send", send(fd, "x", 1, 0));
	answer("goes on", fd, 1);
	close(fd);
	dup2(in, 0);
	close(in);
}

/* The end of a stream is the end of the connection, by any call. */
static void ends(void)
{
	int p[2];

	{
		int fd, err = dup(2);
		FILE *f;

		close(2);
		fd = socket(t_peer.ss_family, SOCK_STREAM, 0); /* the number of stderr */
		CHECK(fd == 2);
		setvbuf(stderr, NULL, _IONBF, 0);
		CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
		fprintf(stderr, "to stderr");
		answer("stderr", 2, 9);
		f = freopen("/dev/null", "w", stderr);
		printf("freopen: %d\n", f == stderr);
		say("a file now", write(2, "x", 1));
		dup2(err, 2);
		close(err);
	}
	/* The number means another file then. */
	for (int how = 0; how < 2; how++) {
		int fd = tcp();
		FILE *f = fdopen(fd, "w+");

		fprintf(f, "stream");
		fclose(f);
		CHECK(pipe(p) == 0);
		printf("used again: %d\n", p[0] == fd);
		say("write", write(p[1], "y", 1));
		say("read", read(p[0], (char[1]){0}, 1));
		close(p[0]);
		close(p[1]);
	}
}

static void asynchronous(void)
{
	char b[10] = "";
	int fd = tcp();
	struct aiocb w = {.aio_fildes = fd, .aio_buf = (void *)"async", .aio_nbytes = 5};
	struct aiocb r = {.aio_fildes = fd, .aio_buf = b, .aio_nbytes = 5};
	struct aiocb *list[1] = {&w};
	const struct aiocb *wait[1] = {&w};

	say("aio_write", aio_write(&w));
	say("aio_suspend", aio_suspend(wait, 1, NULL));
	say("aio_return", aio_return(&w));
	wait[0] = &r;
	say("aio_read", aio_read(&r));
	say("aio_suspend", aio_suspend(wait, 1, NULL));
	say("aio_return", aio_return(&r));
	printf("%s\n", b);
	close(fd);
	w.aio_fildes = fd = tcp();
	w.aio_lio_opcode = LIO_WRITE;
	say("lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
	answer("listed", fd, 5);
	close(fd);
}

static void spawned(void)
{
	char *const argv[] = {"sh", "-c", "read l; echo \"child: $l\"", NULL};
	posix_spawn_file_actions_t fa;
	int fd = tcp(), status;
	pid_t pid;

	say("send", send(fd, "a line\n", 7, 0));
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, fd, 0);
	posix_spawn_file_actions_adddup2(&fa, fd, 1);
	posix_spawn_file_actions_addclose(&fa, fd);
	say("posix_spawn", posix_spawnp(&pid, "sh", &fa, NULL, argv, environ));
	CHECK(waitpid(pid, &status, 0) == pid);
	answer("echo", fd, 14);
	close(fd);
	fd = tcp();
	pid = fork();
	if (pid == 0) {
		dup2(fd, 1);
		printf("by a child\n");
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	answer("fork", fd, 11);
	close(fd);
}

static void names(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);
	struct pollfd p = {fd, POLLIN, 0};
	struct timeval tv = {5, 0};
	struct sigaction act = {.sa_handler = SIG_IGN};
	char b[10] = "";
	fd_set rd;

	say("__connect", __connect(fd, (struct sockaddr *)&t_peer, t_len));
	say("__write", __write(fd, "abc", 3));
	say("__poll", __poll(&p, 1, 5000));
	CHECK(recv(fd, b, 3, MSG_WAITALL | MSG_PEEK) == 3);
	say("__read", __read(fd, b, 3));
	printf("%s\n", b);
	say("__send", __send(fd, "def", 3, 0));
	FD_ZERO(&rd);
	FD_SET(fd, &rd);
	say("__select", __select(fd + 1, &rd, NULL, NULL, &tv));
	say("__fcntl", __fcntl(fd, F_SETFL, O_NONBLOCK));
	say("__dup2", __dup2(fd, 150));
	say("__close", __close(fd));
	say("closed", write(fd, "x", 1));
	say("__read", __read(150, b, 3));
	say("nothing", __read(150, b, 3));
	say("__close", __close(150));
	say("__sigaction", __sigaction(SIGUSR2, &act, NULL));
	say("sigset", sigset(SIGUSR2, SIG_DFL) == SIG_IGN);
	say("SIG_HOLD", sigset(SIGUSR2, SIG_HOLD) == SIG_DFL);
	say("held", sigset(SIGUSR2, SIG_IGN) == SIG_HOLD);
}

/* A backtrace, which the C library writes itself. */
static void traced(void)
{
	void *at[4];
	int fd = tcp(), n = backtrace(at, 4);
	char b[200] = "";

	backtrace_symbols_fd(at, n, fd);
	shutdown(fd, SHUT_WR);
	while (recv(fd, b, sizeof(b) - 1, 0) > 0)
		n -= strchr(b, '[') != NULL;
	dprintf(out, "backtrace: %s\n", n < 4 && b[0] ? "came back" : "nothing");
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"replaced", replaced}, {"input", input},
		{"ends", ends},         {"asynchronous", asynchronous},
		{"spawned", spawned},   {"names", names},
		{"traced", traced},     {NULL, NULL},
	};

	signal(SIGPIPE, SIG_IGN);
	out = dup(1);
	return t_main(argc, argv, cases);
}
