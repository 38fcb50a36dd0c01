/* SPDX-License-Identifier: BSD-2-Clause */
/* vforked HOW HOST PORT: serves one connection, with a child in the parent's memory, or a program
 * that posix_spawn(3) starts with actions on the socket. The parent reads 4 bytes, then the child
 * reads 4 and answers, then the parent does.
 *
 * HOW: use: a child of vfork(2) reads and writes; msg: by recvmsg(2) and sendmsg(2); shut: it shuts
 * the socket down for writing; dup: it moves the socket to 0 and 1 and executes cat; spawn:
 * posix_spawn with dup2 to 0 and 1 and a close of the socket; same: dup2 onto itself of a socket
 * that is closed on exec; closes: the child closes it and no more. */
#include <arpa/inet.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int serve(const char *host, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	struct sockaddr_in6 b = {.sin6_family = AF_INET6, .sin6_port = a.sin_port};
	int v6 = !inet_pton(AF_INET, host, &a.sin_addr), one = 1;
	int srv = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	inet_pton(AF_INET6, host, &b.sin6_addr);
	setsockopt(srv, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(srv, v6 ? (void *)&b : (void *)&a, v6 ? sizeof(b) : sizeof(a)) || listen(srv, 8))
		exit(1);
	fd = accept4(srv, NULL, NULL, SOCK_CLOEXEC);
	close(srv);
	return fd;
}

static void get(int fd, char *buf)
{
	for (int n = 0, r; n < 4; n += r)
		if ((r = (int)read(fd, buf + n, (size_t)(4 - n))) <= 0)
			_exit(3);
}

/* In the parent's memory: nothing but calls. */
static void child(const char *how, int fd)
{
	char buf[8];
	struct iovec iov = {buf, 4};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (!strcmp(how, "dup")) {
		dup2(fd, 0);
		dup2(fd, 1);
		execl("/bin/head", "head", "-c", "4", NULL);
		_exit(4);
	}
	if (!strcmp(how, "closes"))
		_exit(close(fd));
	if (!strcmp(how, "msg")) {
		if (recvmsg(fd, &m, MSG_WAITALL) != 4 || sendmsg(fd, &m, 0) != 4)
			_exit(5);
		_exit(0);
	}
	get(fd, buf);
	if (write(fd, buf, 4) != 4)
		_exit(6);
	if (!strcmp(how, "shut"))
		_exit(shutdown(fd, SHUT_WR) ? 7 : 0);
	_exit(0);
}

static pid_t spawn(const char *how, int fd)
{
	char *argv[] = {"head", "-c", "4", NULL}, path[40];
	char *same[] = {"sh", "-c", path, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	if (!strcmp(how, "same")) {
		snprintf(path, sizeof(path), "head -c 4 <&%d >&%d", fd, fd);
		posix_spawn_file_actions_adddup2(&actions, fd, fd);
		posix_spawn(&pid, "/bin/sh", &actions, NULL, same, environ);
	} else {
		posix_spawn_file_actions_adddup2(&actions, fd, 0);
		posix_spawn_file_actions_adddup2(&actions, fd, 1);
		posix_spawn_file_actions_addclose(&actions, fd);
		posix_spawn(&pid, "/usr/bin/head", &actions, NULL, argv, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

int main(int argc, char **argv)
{
	int fd = argc == 4 ? serve(argv[2], argv[3]) : -1, status = -1;
	const char *how = argv[1];
	char buf[8] = "";
	pid_t pid;

	if (fd < 0)
		return 2;
	get(fd, buf);
	pid = !strcmp(how, "spawn") || !strcmp(how, "same") ? spawn(how, fd) : vfork();
	if (!pid)
		child(how, fd);
	waitpid(pid, &status, 0);
	if (strcmp(how, "shut") && (dprintf(fd, "|%d %s", status, buf) < 0))
		return 8;
	if (!strcmp(how, "closes"))
		get(fd, buf);
	close(fd);
	return 0;
}
