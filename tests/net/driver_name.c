/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_name DEV NAME CMD..: runs CMD, to which DEV's driver says (ETHTOOL_GDRVINFO) that it is
 * NAME, a driver that no virtual machine here has. All else is as it is. The kernel hands CMD's
 * SIOCETHTOOL over (seccomp_unotify(2)). */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* True: the question was for the driver's name, which it has now. */
static bool answer(const struct seccomp_notif *n, const char *dev, const char *name)
{
	struct ethtool_drvinfo drv = {0};
	struct ifreq ifr;
	uint64_t at;

	if (!copy(SYS_process_vm_readv, (pid_t)n->pid, n->data.args[2], &ifr, sizeof(ifr)) ||
	    strncmp(ifr.ifr_name, dev, IFNAMSIZ))
		return false;
	at = (uintptr_t)ifr.ifr_data;
	if (!copy(SYS_process_vm_readv, (pid_t)n->pid, at, &drv.cmd, sizeof(drv.cmd)) ||
	    drv.cmd != ETHTOOL_GDRVINFO)
		return false;
	snprintf(drv.driver, sizeof(drv.driver), "%s", name);
	return copy(SYS_process_vm_writev, (pid_t)n->pid, at, &drv, sizeof(drv));
}

static int filter(void)
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

/* Until the last process of CMD has gone. */
static void serve(int fd, const char *dev, const char *name)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP)) {
		struct seccomp_notif n = {0};
		struct seccomp_notif_resp r = {0};

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue;
		r.id = n.id;
		r.flags = answer(&n, dev, name) ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
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
		fd = filter();
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
	serve(fd, argv[1], argv[2]);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
