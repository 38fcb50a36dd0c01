/* SPDX-License-Identifier: BSD-2-Clause */
/* bare_calls HOW ADDRESS PORT N [LIBRARY [OTHER]]: a server that makes its sockets by the C
 * library, and echoes once to each of N connections. HOW it waits for them: "wait", by the C
 * library's poll(2); "bare", by that system call's own instruction. With a library it calls
 * `wait_bare` of that, which it opens after its first socket; OTHER was open for that, and is
 * closed before. Built with -DWAITS alone: that library; with -DPLAIN: without the instruction. HOW
 * "fork" is "wait" in a child that is made while another thread makes the process's first socket.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(PLAIN)
__attribute__((visibility("default"))) int wait_bare(struct pollfd *p, nfds_t n, int ms);
int wait_bare(struct pollfd *p, nfds_t n, int ms)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_poll), "D"(p), "S"(n), "d"(ms)
			 : "rcx", "r11", "memory");
	return (int)r;
}
#else
#define wait_bare poll
#endif

#ifndef WAITS
static void *first_socket(void *arg)
{
	close(socket(AF_INET, SOCK_STREAM, 0));
	return arg;
}

/* The child goes on; the parent ends with its status. */
static void go_on_in_child(void)
{
	int status = -1;
	pthread_t t;
	pid_t pid;

	if (pthread_create(&t, NULL, first_socket, NULL))
		exit(6);
	usleep(150000);
	pid = fork();
	if (pid == 0) {
		alarm(15);
		return;
	}
	if (waitpid(pid, &status, 0) != pid)
		exit(7);
	pthread_join(t, NULL);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 8);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((in_port_t)atoi(argv[3]))};
	int (*wait)(struct pollfd *, nfds_t, int) = strcmp(argv[1], "bare") ? poll : wait_bare;
	int s, one = 1;

	inet_pton(AF_INET, argv[2], &to.sin_addr);
	if (!strcmp(argv[1], "fork"))
		go_on_in_child();
	if (argc > 5) {
		void *so = argc > 6 ? dlopen(argv[6], RTLD_NOW) : NULL;

		close(socket(AF_INET, SOCK_STREAM, 0));
		if (so)
			dlclose(so);
		so = dlopen(argv[5], RTLD_NOW);
		wait = so ? (int (*)(struct pollfd *, nfds_t, int))dlsym(so, "wait_bare") : NULL;
		if (!wait)
			return 2;
	}
	s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&to, sizeof(to)) || listen(s, 5))
		return 3;
	for (int i = 0; i < atoi(argv[4]); i++) {
		struct pollfd p = {.fd = s, .events = POLLIN};
		char buf[1000];
		ssize_t n;

		if (wait(&p, 1, 5000) != 1)
			return 4;
		p.fd = accept(s, NULL, NULL);
		if (p.fd < 0 || wait(&p, 1, 5000) != 1)
			return 5;
		n = recv(p.fd, buf, sizeof(buf), 0);
		if (n > 0)
			send(p.fd, buf, (size_t)n, MSG_NOSIGNAL);
		close(p.fd);
	}
	puts("ends well");
	return 0;
}
#endif
