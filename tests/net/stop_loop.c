/* SPDX-License-Identifier: BSD-2-Clause */
/* Stops the main thread of a process alone, in the middle of what it does when it wakes up from
 * epoll_wait(): its other threads go on.
 *
 * Usage: stop_loop PID   (until it is killed, or the process ends) */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <linux/ptrace.h>

/* Runs it to the next begin or end of a system call; 1: the begin of another one than epoll_wait.
 */
static int at_work(pid_t pid)
{
	struct ptrace_syscall_info info;
	int status;

	if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) || waitpid(pid, &status, __WALL) < 0 ||
	    !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		exit(1);
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr != SYS_epoll_wait &&
	       info.entry.nr != SYS_epoll_pwait;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	int status, entered = 0;

	if (pid <= 0 || ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) < 0) {
		perror("ptrace");
		return 1;
	}
	/* (The first may be the one that it was in.) */
	while (!at_work(pid) || entered++ < 2)
		;
	puts("stopped");
	fflush(stdout);
	waitpid(pid, &status, __WALL);
	return 0;
}
