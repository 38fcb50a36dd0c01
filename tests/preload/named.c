/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's functions looked up by name in its own file, as the foreign functions of a
 * language do, and an object that prefers them (RTLD_DEEPBIND), as PHP's extensions do: they use
 * sockets of ours as well. named.so is this file, too. */
#include "t.h"

#include <dlfcn.h>

#ifdef SHARED
long plug_talk(int fd);
int plug_open(const struct sockaddr *to, socklen_t len);
void plug_close(int fd);

long plug_talk(int fd)
{
	char b[8];

	if (send(fd, "plugin", 6, MSG_NOSIGNAL) != 6)
		return -errno;
	return recv(fd, b, 6, MSG_WAITALL);
}

int plug_open(const struct sockaddr *to, socklen_t len)
{
	int fd = socket(to->sa_family, SOCK_STREAM, 0);

	return connect(fd, to, len) ? -1 : fd;
}

void plug_close(int fd)
{
	close(fd);
}

/* The first socket, and its device, while the file is being opened. */
static __attribute__((constructor)) void plug_starts(void)
{
	const char *own = getenv("NAMED_OWN");
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	struct sockaddr_in *to4 = (struct sockaddr_in *)&to;
	int fd;

	if (!own)
		return;
	if (inet_pton(AF_INET, own, &to4->sin_addr))
		to.sin6_family = AF_INET;
	else
		inet_pton(AF_INET6, own, &to.sin6_addr);
	fd = socket(to.sin6_family, SOCK_DGRAM, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)))
		abort();
	close(fd);
}
#else
static int tcp(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

/* A number that was closed means the next file. */
static void is_closed(int fd)
{
	int p[2];
	char c = 0;

	CHECK(pipe(p) == 0 && write(p[1], "x", 1) == 1);
	printf("number %s, ", p[0] == fd ? "used again" : "another");
	say("read", read(p[0], &c, 1));
	close(p[0]);
	close(p[1]);
}

static void looked_up(void)
{
	void *c = dlopen("libc.so.6", RTLD_NOW);
	__typeof__(&send) c_send;
	__typeof__(&recv) c_recv;
	__typeof__(&poll) c_poll;
	__typeof__(&close) c_close;
	__typeof__(&getpeername) c_name;
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	struct pollfd p;
	char b[8] = "";
	int fd = tcp();

	CHECK(c);
	*(void **)&c_send = dlsym(c, "send");
	*(void **)&c_recv = dlsym(c, "recv");
	*(void **)&c_poll = dlsym(c, "poll");
	*(void **)&c_close = dlsym(c, "close");
	*(void **)&c_name = dlsym(c, "getpeername");
	CHECK(c_send && c_recv && c_poll && c_close && c_name && !dlerror());
	say("send", c_send(fd, "hello", 5, MSG_NOSIGNAL));
	p = (struct pollfd){fd, POLLIN, 0};
	say("poll", c_poll(&p, 1, 5000));
	say("recv", c_recv(fd, b, 5, MSG_WAITALL));
	say("getpeername", c_name(fd, (struct sockaddr *)&name, &len));
	say("no such function", dlsym(c, "sluice_has_no_such") || !dlerror() ? 0 : -1);
	say("another's", dlsym(c, "strlen") == (void *)dlsym(RTLD_DEFAULT, "strlen") ? 0 : -1);
	c_close(fd);
	is_closed(fd);
}

/* Opens the file beside this program whose name ends so. */
static void *open_plug(const char *end, int how)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 10);
	void *so;

	CHECK(n > 0);
	strcpy(path + n, end);
	so = dlopen(path, how | RTLD_DEEPBIND);
	CHECK(so);
	return so;
}

static void talks(void *so, int fd)
{
	long (*talk)(int);
	int (*open_one)(const struct sockaddr *, socklen_t);
	void (*close_one)(int);

	*(void **)&talk = dlsym(so, "plug_talk");
	*(void **)&open_one = dlsym(so, "plug_open");
	*(void **)&close_one = dlsym(so, "plug_close");
	CHECK(talk && open_one && close_one);
	say("a socket of ours", talk(fd));
	close_one(fd);
	is_closed(fd);
	fd = open_one((struct sockaddr *)&t_peer, t_len);
	say("one of its own", talk(fd));
	dlclose(so);
	close(fd);
}

/* Its constructor's calls are not led here, those afterwards are. */
static void first(void)
{
	char own[INET6_ADDRSTRLEN];
	void *so;

	inet_ntop(t_own.ss_family,
		  t_own.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)&t_own)->sin_addr
					     : (void *)&((struct sockaddr_in6 *)&t_own)->sin6_addr,
		  own, sizeof(own));
	setenv("NAMED_OWN", own, 1);
	so = open_plug(".so", RTLD_NOW);
	unsetenv("NAMED_OWN");
	talks(so, tcp());
}

/* Slots that are filled at their first use, at once, and at once and made read-only. */
static void deep(void)
{
	talks(open_plug(".so", RTLD_LAZY), tcp());
	talks(open_plug(".so", RTLD_NOW), tcp());
	talks(open_plug("_now.so", RTLD_NOW), tcp());
}

/* A library that it needs has a recv() of its own. */
static void own(void)
{
	for (int how = 0; how < 2; how++)
		talks(open_plug("_own.so", how ? RTLD_NOW : RTLD_LAZY), tcp());
}

/* The place of these is the caller's. */
static void callers(void)
{
	static const char *const files[] = {"$ORIGIN/named.so", "named.so"};

	for (int i = 0; i < 2; i++)
		printf("%s: %d\n", files[i], dlopen(files[i], RTLD_NOW | RTLD_DEEPBIND) != NULL);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"first", first},     {"looked_up", looked_up},
					      {"deep", deep},       {"own", own},
					      {"callers", callers}, {NULL, NULL}};

	signal(SIGPIPE, SIG_IGN);
	return t_main(argc, argv, cases);
}
#endif
