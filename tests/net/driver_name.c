/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_name DEV NAME CMD..: runs CMD, to which DEV's driver says (ETHTOOL_GDRVINFO) that it is
 * NAME, a driver that no virtual machine here has. All else is as it is. The kernel hands CMD's
 * SIOCETHTOOL over (seccomp_unotify(2)). */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ethtool_notif.h"

static void die(const char *what)
{
	fprintf(stderr, "driver_name: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Copies between CMD's memory and ours. */
static bool copy(long call, pid_t pid, uint64_t at, void *here, size_t n)
{
	struct iovec local = {here, n}, remote = {(void *)(uintptr_t)at, n};

	return syscall(call, pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static const char *dev, *name;

/* Answers the question for the driver's name. */
static int answer(const struct seccomp_notif *n)
{
	struct ethtool_drvinfo drv = {0};
	struct ifreq ifr;
	uint64_t at;

	if (!copy(SYS_process_vm_readv, (pid_t)n->pid, n->data.args[2], &ifr, sizeof(ifr)) ||
	    strncmp(ifr.ifr_name, dev, IFNAMSIZ))
		return NOT_OURS;
	at = (uintptr_t)ifr.ifr_data;
	if (!copy(SYS_process_vm_readv, (pid_t)n->pid, at, &drv.cmd, sizeof(drv.cmd)) ||
	    drv.cmd != ETHTOOL_GDRVINFO)
		return NOT_OURS;
	snprintf(drv.driver, sizeof(drv.driver), "%s", name);
	return copy(SYS_process_vm_writev, (pid_t)n->pid, at, &drv, sizeof(drv)) ? 0 : NOT_OURS;
}

int main(int argc, char **argv)
{
	int pair[2], fd = -1, status;
	pid_t child;

	if (argc < 4)
		return 2;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	child = fork();
	if (child == 0) {
		fd = ethtool_filter();
		if (fd < 0)
			die("seccomp");
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		send(pair[1], &fd, sizeof(fd), 0);
		recv(pair[1], &fd, 1, 0); /* it has it */
		execvp(argv[3], argv + 3);
		die(argv[3]);
	}
	close(pair[1]); /* a child that dies is the end of it */
	if (recv(pair[0], &fd, sizeof(fd), 0) != sizeof(fd))
		die("no filter");
	fd = (int)syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, child, 0), fd, 0);
	if (fd < 0)
		die("pidfd_getfd");
	send(pair[0], &fd, 1, 0);
	dev = argv[1];
	name = argv[2];
	ethtool_serve(fd, answer);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
