/* SPDX-License-Identifier: BSD-2-Clause */
/* siblings ADDRESS PORT ATTACK: a server makes sockets and forks children, one of them becomes
 * another user, is taken over, and attacks all packet sockets of the UNIX family that it has. Then
 * each of the others uses a socket that it has inherited:
 *
 * PORT + 0   UDP, a child forked before the attack
 * PORT + 1   UDP, a child forked after it
 * PORT + 2   UDP, a child whose own child attacks, too
 * PORT + 3   UDP, another child of that child
 * PORT + 4   a TCP connection, a child forked before the attack
 *
 * Each answers "mine" to what comes. ATTACK: shut (each of these sockets is shut down), fill
 * (packets without end, also while the others use theirs), garble (rubbish with descriptors),
 * close (the attacker ends). "same": as shut, but the attackers stay the user that they were. "end"
 * by UDP on PORT + 5 ends all.
 *
 * siblings ADDRESS PORT N: forks N children that live, and a last one that tells how many packet
 * sockets of the UNIX family it has; then all end, and the server tells how many more than before
 * it has. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "ways.h"

/* A user of its own: descriptors in flight count for all of a user, and other tests run as nobody.
 */
#define OTHER 65531

#define UDP_ALL 5

static struct sockaddr_in own;
static int udp[UDP_ALL], conn = -1, done[2];

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(1);
}

static int bound(int type, unsigned more)
{
	struct sockaddr_in a = own;
	int fd = socket(AF_INET, type, 0), one = 1;

	a.sin_port = htons((uint16_t)(ntohs(a.sin_port) + more));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(fd >= 0 && !bind(fd, (void *)&a, sizeof(a)), "bind");
	return fd;
}

/* The attacker -----------------------------------------------------------------------------------
 */

static void fill(void)
{
	uint32_t letter[8] = {0x736c4c33u, 3, 0, 0, 0, 0, 1, 0};
	time_t end = time(NULL) + 5;

	while (time(NULL) < end)
		for (unsigned i = 0; i < 1000; i++)
			for (int k = 0; k < nways; k++) {
				letter[6] = i;
				put_letter(way[k], letter, sizeof(letter), NULL, 0);
			}
}

static void attack(const char *how)
{
	char byte = 1, rubbish[300];
	int itself[200];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (geteuid() == 0 && strcmp(how, "same"))
		must(!setgroups(0, NULL) && !setgid(OTHER) && !setuid(OTHER), "setuid");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	find_ways();
	printf("an attacker with %d ways\n", nways);
	if (!strcmp(how, "fill")) {
		must(write(done[1], &byte, 1) == 1, "write");
		fill();
	}
	for (int k = 0; k < nways; k++) {
		if (!strcmp(how, "shut") || !strcmp(how, "same")) {
			raw(SYS_shutdown, way[k], SHUT_RDWR);
		} else if (!strcmp(how, "garble")) {
			for (unsigned i = 0; i < 200; i++)
				itself[i] = way[k];
			for (unsigned i = 0; i < 300; i++) {
				for (size_t at = 0; at < sizeof(rubbish); at++)
					rubbish[at] = (char)rand();
				put_letter(way[k], rubbish, i % 5 ? i : 0, itself,
					   i % 3 ? 0 : i % 200);
			}
		}
	}
	must(write(done[1], &byte, 1) == 1, "write");
	if (strcmp(how, "close"))
		pause();
	_exit(0);
}

/* The others -------------------------------------------------------------------------------------
 */

static void serve(int fd)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[100];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		len = sizeof(from);
		if (recvfrom(fd, buf, sizeof(buf), 0, (void *)&from, &len) <= 0)
			pause();
		sendto(fd, "mine", 4, MSG_NOSIGNAL, fd == conn ? NULL : (void *)&from,
		       fd == conn ? 0 : len);
	}
}

/* The child begins when a byte comes by `go`. */
static void start(int fd, int go)
{
	char byte;

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(read(go, &byte, 1) == 1, "read");
	serve(fd);
}

static void family(const char *how, int go)
{
	char byte;

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	start(udp[3], go);
	if (fork() == 0)
		attack(how);
	must(read(go, &byte, 1) == 1, "read");
	serve(udp[2]);
}

static void run(const char *how)
{
	int listener = bound(SOCK_STREAM, 4), go[2];
	char buf[100];

	for (unsigned i = 0; i < UDP_ALL; i++)
		udp[i] = bound(SOCK_DGRAM, i < 4 ? i : 5);
	must(!listen(listener, 4) && !pipe(done) && !pipe(go), "listen");
	conn = accept(listener, NULL, NULL);
	must(conn >= 0 && recv(conn, buf, sizeof(buf), 0) > 0, "accept");
	start(udp[0], go[0]);
	start(conn, go[0]);
	if (fork() == 0)
		attack(how);
	family(how, go[0]);
	must(read(done[0], buf, 1) == 1 && read(done[0], buf, 1) == 1, "attackers");
	usleep(200000);
	start(udp[1], go[0]);
	must(write(go[1], "12345", 5) == 5, "write");
	printf("attacked\n");
	recv(udp[4], buf, sizeof(buf), 0);
	exit(0);
}

static void count_all(int n)
{
	int hold[2], before, after, own_socket = bound(SOCK_DGRAM, 0);
	char byte;

	must(own_socket >= 0 && !pipe(hold), "pipe");
	before = find_ways();
	for (int i = 0; i <= n; i++) {
		fflush(stdout);
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(hold[1]);
		if (i == n)
			printf("ways %d\n", find_ways());
		else
			(void)!read(hold[0], &byte, 1);
		fflush(stdout);
		_exit(0);
	}
	close(hold[1]);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < 200 && (after = find_ways()) > before; i++)
		usleep(20000);
	printf("more %d\n", after - before);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	own.sin_family = AF_INET;
	own.sin_port = htons((uint16_t)atoi(argv[2]));
	inet_pton(AF_INET, argv[1], &own.sin_addr);
	if (atoi(argv[3]))
		count_all(atoi(argv[3]));
	else
		run(argv[3]);
	return 0;
}
