/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_name DEV NAME CMD..: runs CMD, to which DEV's driver says (ETHTOOL_GDRVINFO) that it is
 * NAME, a driver that no virtual machine here has. All else is as it is. The kernel hands CMD's
 * SIOCETHTOOL over (seccomp_unotify(2)). */
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ethtool_notif.h"

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
	int fd, status;
	pid_t child;

	if (argc < 4)
		return 2;
	fd = ethtool_run(argv + 3, &child);
	dev = argv[1];
	name = argv[2];
	ethtool_serve(fd, answer);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
