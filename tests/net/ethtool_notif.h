/* SPDX-License-Identifier: BSD-2-Clause */
/* The SIOCETHTOOLs of a program come to another process, which answers in the driver's place
 * (seccomp_unotify(2)). */
#ifndef TESTS_NET_ETHTOOL_NOTIF_H
#define TESTS_NET_ETHTOOL_NOTIF_H

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOT_OURS 1

/* From here on the SIOCETHTOOLs of the process come to the returned descriptor; -1: errno. (The
 * number of the request is in the lower half of its argument: the machines are little-endian.) */
static int ethtool_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCETHTOOL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &prog);
}

static void ethtool_die(const char *what)
{
	fprintf(stderr, "ethtool: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Runs CMD as a child, whose SIOCETHTOOLs come to the returned descriptor. */
static int ethtool_run(char **cmd, pid_t *child)
{
	int pair[2], fd = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		ethtool_die("socketpair");
	*child = fork();
	if (*child == 0) {
		fd = ethtool_filter();
		if (fd < 0)
			ethtool_die("seccomp");
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		send(pair[1], &fd, sizeof(fd), 0);
		recv(pair[1], &fd, 1, 0); /* it has it */
		execvp(cmd[0], cmd);
		ethtool_die(cmd[0]);
	}
	close(pair[1]); /* a child that dies is the end of it */
	if (recv(pair[0], &fd, sizeof(fd), 0) != sizeof(fd))
		ethtool_die("no filter");
	fd = (int)syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, *child, 0), fd, 0);
	if (fd < 0)
		ethtool_die("pidfd_getfd");
	send(pair[0], &fd, 1, 0);
	close(pair[0]);
	return fd;
}

/* Answers until the last process of the program has gone. answer(): 0, -errno, or NOT_OURS: the
 * kernel is to do the call. */
static void ethtool_serve(int fd, int (*answer)(const struct seccomp_notif *n))
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP)) {
		struct seccomp_notif n = {0};
		struct seccomp_notif_resp r = {0};
		int err;

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue;
		err = answer(&n);
		r.id = n.id;
		r.error = err == NOT_OURS ? 0 : err;
		r.flags = err == NOT_OURS ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}

#endif
