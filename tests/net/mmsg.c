/* SPDX-License-Identifier: BSD-2-Clause */
/* mmsg OWN PEER PORT: sendmmsg and recvmmsg as the manual pages have them; an echo is at PEER
 * PORT. Prints what it sees (compared with the kernel's answers). */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define N 40

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static struct mmsghdr msgs[N];
static struct iovec iov[N][2];
static char data[N][2000];
static union addr names[N], own, to;
static socklen_t to_len;

static socklen_t parse(union addr *a, const char *text, int port)
{
	memset(a, 0, sizeof(*a));
	a->sa.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	a->in.sin_port = htons(port);
	if (inet_pton(a->sa.sa_family, text,
		      a->sa.sa_family == AF_INET ? (void *)&a->in.sin_addr : &a->in6.sin6_addr) !=
	    1)
		exit(2);
	return a->sa.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
}

static const char *result(int ret)
{
	static char text[64];
	if (ret < 0)
		return strerrorname_np(errno);
	snprintf(text, sizeof(text), "%d", ret);
	return text;
}

static void fresh(unsigned n, size_t len)
{
	memset(msgs, 0, sizeof(msgs));
	for (unsigned i = 0; i < n; i++) {
		iov[i][0] = (struct iovec){data[i], len / 2};
		iov[i][1] = (struct iovec){data[i] + len / 2, len - len / 2};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = iov[i],
						  .msg_iovlen = 2,
						  .msg_name = &names[i],
						  .msg_namelen = sizeof(names[i])};
	}
}

/* Numbered datagrams of growing size to the echo. */
static int send_some(int fd, unsigned n)
{
	fresh(n, 0);
	for (unsigned i = 0; i < n; i++) {
		memset(data[i], 'A' + i, 100 + i);
		iov[i][0].iov_len = 50;
		iov[i][1] = (struct iovec){data[i] + 50, 50 + i};
		names[i] = to;
		msgs[i].msg_hdr.msg_namelen = to_len;
	}
	return sendmmsg(fd, msgs, n, 0);
}

/* Until the echo has answered all that was sent: it is asked once more, on another socket, and
 * answers in order. (Bound to the same address the two share a lane. Of two lanes' rings a device
 * takes which it likes first.) */
static void settle(void)
{
	char c = 'z';
	struct timeval tv = {.tv_sec = 10};
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (bind(fd, &own.sa, to_len)) {
		perror("bind");
		exit(1);
	}
	if (sendto(fd, &c, 1, 0, &to.sa, to_len) != 1 || recv(fd, &c, 1, 0) != 1) {
		printf("the echo is silent\n");
		exit(1);
	}
	close(fd);
}

static void show(const char *what, int got)
{
	printf("%s: %s:", what, result(got));
	for (int i = 0; i < got; i++)
		printf(" %u%s%c%c", msgs[i].msg_len,
		       msgs[i].msg_hdr.msg_flags & MSG_TRUNC ? "T" : "", data[i][0],
		       names[i].in.sin_port == to.in.sin_port &&
				       msgs[i].msg_hdr.msg_namelen == to_len
			       ? '+'
			       : '-');
	printf("\n");
}

static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void on_alarm(int sig)
{
}

/* The alarm repeats until alarm_in(0): the first may come before the call that it must end. */
static void alarm_in(unsigned ms)
{
	struct itimerval it = {.it_value = {ms / 1000, ms % 1000 * 1000}};
	it.it_interval = it.it_value;
	setitimer(ITIMER_REAL, &it, NULL);
}

static void blocking(int fd)
{
	printf("sent %s\n", result(send_some(fd, N)));
	printf("lengths %u %u %u\n", msgs[0].msg_len, msgs[1].msg_len, msgs[N - 1].msg_len);
	settle();
	fresh(10, 2000);
	show("ten of them", recvmmsg(fd, msgs, 10, 0, NULL));
	fresh(10, 100);
	show("cut", recvmmsg(fd, msgs, 10, 0, NULL));
	fresh(N, 2000);
	show("wait for one", recvmmsg(fd, msgs, N, MSG_WAITFORONE, NULL));
	fresh(N, 2000);
	show("none, at once", recvmmsg(fd, msgs, N, MSG_DONTWAIT, NULL));
	fresh(N, 2000);
	printf("none asked for: %s\n", result(recvmmsg(fd, msgs, 0, 0, NULL)));
	printf("none to send: %s\n", result(sendmmsg(fd, msgs, 0, 0)));
}

static void timed(int fd)
{
	struct timespec ts = {.tv_nsec = 300000000};
	double start = seconds();
	send_some(fd, 3);
	settle();
	fresh(3, 2000);
	/* The kernel looks at the timeout after each datagram only, so ask for what is there. */
	show("with a timeout", recvmmsg(fd, msgs, 3, 0, &ts));
	printf("time was left: %d\n", ts.tv_sec == 0 && ts.tv_nsec > 0);
	ts = (struct timespec){.tv_nsec = 1000000000};
	fresh(1, 2000);
	printf("wrong timeout: %s\n", result(recvmmsg(fd, msgs, 1, 0, &ts)));
	struct timeval tv = {.tv_usec = 200000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	printf("SO_RCVTIMEO: %s\n", result(recvmmsg(fd, msgs, 1, 0, NULL)));
	send_some(fd, 3);
	settle();
	fresh(N, 2000);
	show("what there was until the time-out", recvmmsg(fd, msgs, N, 0, NULL));
	printf("that took its time: %d\n", seconds() - start > 0.4);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){}, sizeof(tv));
}

static void interrupted(int fd)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &sa, NULL);
	alarm_in(200);
	fresh(4, 2000);
	printf("interrupted: %s\n", result(recvmmsg(fd, msgs, 4, 0, NULL)));
	alarm_in(0);
	send_some(fd, 2);
	settle();
	alarm_in(200);
	fresh(4, 2000);
	show("interrupted after two", recvmmsg(fd, msgs, 4, 0, NULL));
	alarm_in(0);
	/* Linux leaves ERESTARTSYS behind as the socket's error, which is not compared. */
	int err;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &(socklen_t){sizeof(err)});
}

static void wrong(int fd)
{
	fresh(3, 0);
	for (int i = 0; i < 3; i++) {
		names[i] = to;
		msgs[i].msg_hdr.msg_namelen = to_len;
		iov[i][0].iov_len = 10;
	}
	msgs[1].msg_hdr.msg_namelen = 3;
	printf("the second is wrong: %s\n", result(sendmmsg(fd, msgs, 3, 0)));
	msgs[0].msg_hdr.msg_namelen = 3;
	printf("the first is wrong: %s\n", result(sendmmsg(fd, msgs, 3, 0)));
	settle();
	fresh(N, 2000);
	show("what came of it", recvmmsg(fd, msgs, N, MSG_DONTWAIT, NULL));
	printf("bad descriptor: %s ", result(recvmmsg(-1, msgs, 1, 0, NULL)));
	printf("%s\n", result(sendmmsg(-1, msgs, 1, 0)));
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	socklen_t len = parse(&own, argv[1], 0);
	to_len = parse(&to, argv[2], atoi(argv[3]));
	int fd = socket(own.sa.sa_family, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, &own.sa, len))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	settle(); /* the neighbour is known: no datagram waits in a queue of the kernel's */
	blocking(fd);
	timed(fd);
	interrupted(fd);
	wrong(fd);
	if (connect(fd, &to.sa, to_len))
		return 1;
	fresh(5, 0);
	for (int i = 0; i < 5; i++) {
		memset(data[i], 'a' + i, 64);
		iov[i][1] = (struct iovec){data[i], 64};
		msgs[i].msg_hdr.msg_name = NULL;
		msgs[i].msg_hdr.msg_namelen = 0;
	}
	printf("connected: %s\n", result(sendmmsg(fd, msgs, 5, 0)));
	settle();
	fresh(N, 2000);
	show("back", recvmmsg(fd, msgs, N, MSG_DONTWAIT, NULL));
	return 0;
}
