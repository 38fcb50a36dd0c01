/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors: doubled, replaced, closed in ranges, read and written in every way there is. */
#include "t.h"

#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* Does the socket still speak with the peer? */
static void alive(const char *what, int fd)
{
	struct timeval tv = {2, 0};
	char buf[100] = "";
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (send(fd, what, strlen(what), 0) < 0) {
		say(what, -1);
		return;
	}
	n = recv(fd, buf, sizeof(buf), 0);
	printf("%s: %s\n", what, n > 0 ? buf : strerrorname_np(errno));
	tv.tv_sec = 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static void doubles(void)
{
	int fd = udp(), d = dup(fd), e, f;

	alive("socket", fd);
	alive("dup", d);
	close(fd);
	alive("dup, first closed", d);
	e = fcntl(d, F_DUPFD, 100);
	printf("F_DUPFD: %d, close-on-exec %d\n", e, fcntl(e, F_GETFD));
	f = fcntl(d, F_DUPFD_CLOEXEC, 100);
	printf("F_DUPFD_CLOEXEC: %d, close-on-exec %d\n", f, fcntl(f, F_GETFD));
	alive("F_DUPFD", e);
	alive("F_DUPFD_CLOEXEC", f);
	close(d);
	close(e);
	alive("the last", f);
	nonblock(f);
	d = dup(f);
	printf("the flag is shared: %d\n", !!(fcntl(d, F_GETFL) & O_NONBLOCK));
	close(f);
	close(d);
	say("closed", close(d));
	say("closed", send(d, "x", 1, 0));
}

static void replaces(void)
{
	int a = udp(), b = udp(), null = open("/dev/null", O_RDWR);

	say("dup2 to itself", dup2(a, a) == a);
	alive("still there", a);
	say("dup2 over a socket", dup2(a, b) == b);
	alive("now the same", b);
	close(a);
	alive("the other closed", b);
	a = udp();
	say("dup3 over a socket", dup3(a, b, O_CLOEXEC) == b);
	printf("close-on-exec: %d %d\n", fcntl(a, F_GETFD), fcntl(b, F_GETFD));
	alive("dup3", b);
	say("dup3 to itself", dup3(a, a, 0));
	say("dup3, bad flags", dup3(a, b, 1));
	alive("unharmed", b);
	say("dup2 of nothing", dup2(900, b));
	alive("unharmed", b);
	say("dup2 of a file", dup2(null, b) == b);
	say("a file now", send(b, "x", 1, 0));
	say("written", write(b, "x", 1));
	say("dup2 over a file", dup2(a, null) == null);
	alive("a socket now", null);
	say("beyond the limit", dup2(a, 1 << 30));
	close(a);
	close(b);
	close(null);
}

static void ranges(void)
{
	int fd[6];

	for (int i = 0; i < 6; i++) {
		fd[i] = udp();
		CHECK(dup2(fd[i], 200 + i) == 200 + i);
		close(fd[i]);
	}
	say("close-on-exec", close_range(200, 201, CLOSE_RANGE_CLOEXEC));
	printf("%d %d %d\n", fcntl(200, F_GETFD), fcntl(201, F_GETFD), fcntl(202, F_GETFD));
	alive("first", 200);
	say("close_range", close_range(201, 203, 0));
	say("inside", send(202, "x", 1, 0));
	alive("below", 200);
	alive("above", 204);
	say("backwards", close_range(205, 204, 0));
	alive("unharmed", 204);
	closefrom(204);
	say("inside", send(205, "x", 1, 0));
	alive("below", 200);
	close(200);
	alive("new", udp());
}

static void single_datagrams(int fd)
{
	int v = 0;
	char a[4], b[100] = "";
	struct iovec iov[2] = {{a, sizeof(a)}, {b, sizeof(b)}};

	say("write", write(fd, "hello world", 11));
	wait_in(fd);
	say("FIONREAD", ioctl(fd, FIONREAD, &v));
	printf("%d bytes\n", v);
	say("readv", readv(fd, iov, 2));
	printf("%.4s|%s\n", a, b);
	iov[0] = (struct iovec){"abc", 3};
	iov[1] = (struct iovec){"def", 3};
	say("writev", writev(fd, iov, 2));
	say("peek", recv(fd, b, 2, MSG_PEEK));
	say("peek, cut", recv(fd, b, 2, MSG_PEEK | MSG_TRUNC));
	memset(b, 0, sizeof(b));
	say("read", read(fd, b, sizeof(b)));
	printf("%s\n", b);
	say("nothing asked", read(fd, b, 0));
	say("nothing sent", write(fd, "", 0));
	say("nothing comes back", read(fd, b, sizeof(b)));
	say("nothing gathered", writev(fd, iov, 0));
	say("pread", pread(fd, b, 1, 0));
	say("pwrite", pwrite(fd, b, 1, 0));
	say("lseek", lseek(fd, 0, SEEK_SET));
	say("listen", listen(fd, 1));
	say("accept", accept(fd, NULL, NULL));
}

static void several_datagrams(int fd)
{
	struct mmsghdr mm[4];
	char text[4][20];
	struct iovec one[4];

	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 4; i++) {
		snprintf(text[i], sizeof(text[i]), "message %d", i);
		one[i] = (struct iovec){text[i], 9};
		mm[i].msg_hdr.msg_iov = &one[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	say("sendmmsg", sendmmsg(fd, mm, 4, 0));
	for (int i = 0; i < 4; i++) {
		wait_in(fd);
		printf("%u ", mm[i].msg_len);
		one[i].iov_len = sizeof(text[i]);
	}
	sleep_ms(50);
	memset(text, 0, sizeof(text));
	say("recvmmsg", recvmmsg(fd, mm, 4, MSG_WAITFORONE, NULL));
	for (int i = 0; i < 4; i++)
		printf("%.*s ", (int)mm[i].msg_len, text[i]);
	printf("\n");
}

static void blocking_or_not(int fd)
{
	int v;
	char b[100];

	v = 1;
	say("FIONBIO", ioctl(fd, FIONBIO, &v));
	say("empty", read(fd, b, sizeof(b)));
	v = 0;
	say("FIONBIO", ioctl(fd, FIONBIO, &v));
	printf("blocking again: %d\n", !(fcntl(fd, F_GETFL) & O_NONBLOCK));
}

static void spliced(int fd)
{
	int p[2];
	char b[100];

	/* The kernel moves data by itself. */
	CHECK(pipe(p) == 0);
	CHECK(write(p[1], "through a pipe", 14) == 14);
	say("splice out", splice(p[0], NULL, fd, NULL, 14, 0));
	memset(b, 0, sizeof(b));
	say("read", read(fd, b, sizeof(b)));
	printf("%s\n", b);
	close(p[0]);
	close(p[1]);
}

static void calls(void)
{
	int fd = udp();

	single_datagrams(fd);
	several_datagrams(fd);
	blocking_or_not(fd);
	spliced(fd);
	close(fd);
}

/* Commands for other files than sockets, with any error: the socket is still there. */
static void wrong_commands(void)
{
	static const int cmds[] = {F_GETPIPE_SZ, F_SETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS,
				   F_NOTIFY,     F_GETLEASE,   F_SETLEASE,  9999};
	int fd = udp(), tcp = tcp_said();

	for (unsigned i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		say("datagrams", fcntl(fd, cmds[i], 4096));
		say("stream", fcntl(tcp, cmds[i], 4096));
	}
	alive("after wrong commands", fd);
	echo_said(tcp);
	close(fd);
	close(tcp);
}

/* accept(2) takes the connection before it looks at where the name goes. */
static void accept_names(void)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to), lens[] = {(socklen_t)-1, 0, 1, 0x80000000u, 2, sizeof(to)};
	int l = socket(t_own.ss_family, SOCK_STREAM, 0), c[6];
	char b[1];

	CHECK(bind(l, (struct sockaddr *)&t_own, t_len) == 0 && listen(l, 10) == 0);
	CHECK(getsockname(l, (struct sockaddr *)&to, &len) == 0);
	for (int i = 0; i < 6; i++) {
		c[i] = socket(t_own.ss_family, SOCK_STREAM, 0);
		CHECK(connect(c[i], (struct sockaddr *)&to, len) == 0);
	}
	for (int i = 0; i < 6; i++) {
		int fd = accept(l, (struct sockaddr *)&to, &lens[i]);

		say("accepted", fd < 0 ? -1 : 1);
		printf("length %d\n", (int)lens[i]);
		if (fd >= 0)
			close(fd);
		say("its peer", recv(c[i], b, 1, 0));
		close(c[i]);
	}
	close(l);
}

static void files(void)
{
	char name[] = "/tmp/sluice-fd.XXXXXX", b[100] = "";
	int fd = udp(), file = mkstemp(name);
	off_t off = 2;
	FILE *f;

	CHECK(file >= 0 && write(file, "0123456789", 10) == 10);
	unlink(name);
	say("sendfile", sendfile(fd, file, &off, 5));
	printf("offset %ld\n", (long)off);
	say("read", read(fd, b, sizeof(b)));
	printf("%s\n", b);
	close(file);
	alive("goes on", fd);
	close(fd);
	fd = udp();
	say("dprintf", dprintf(fd, "%s %d", "formatted", 42));
	memset(b, 0, sizeof(b));
	say("read", read(fd, b, sizeof(b)));
	printf("%s\n", b);
	close(fd);
	fd = udp();
	f = fdopen(fd, "r+");
	CHECK(f);
	setvbuf(f, NULL, _IOLBF, 0);
	fprintf(f, "a stream\n");
	fflush(f);
	memset(b, 0, sizeof(b));
	printf("fgets: %s", fgets(b, sizeof(b), f));
	fclose(f);
	say("closed with the stream", send(fd, "x", 1, 0));
	/* The number is free for something else. */
	file = open("/dev/zero", O_RDONLY);
	printf("same number: %d\n", file == fd);
	say("a file now", read(file, b, 10));
	close(file);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"doubles", doubles},
		{"replaces", replaces},
		{"ranges", ranges},
		{"calls", calls},
		{"files", files},
		{"wrong_commands", wrong_commands},
		{"accept_names", accept_names},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
