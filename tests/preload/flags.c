/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that send and receive with each single bit of their flags, with all of them, and with all
 * but a few: what the kernel says, what came, and what is left. */
#include "t.h"

#include <sys/uio.h>

#define PROBE 0x10 /* MSG_PROBE of linux/socket.h */

static int s;
static bool stream;
static char b[64];
static struct iovec v = {b, sizeof(b)};

static void open_one(void)
{
	s = t_with_hello(stream);
}

static void told(const char *call, unsigned flags, long n, unsigned given)
{
	char what[64];

	snprintf(what, sizeof(what), "%s %#x", call, flags);
	if (n < 0)
		say(what, n);
	else
		printf("%s: %ld, flags %#x\n", what, n, given);
	fflush(stdout);
}

static void receive(unsigned flags)
{
	struct sockaddr_storage name;
	char control[256];
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	struct mmsghdr mm = {.msg_hdr = m};
	socklen_t len = sizeof(name);
	int f = (int)(flags | MSG_DONTWAIT);

	open_one();
	told("recv", flags, recv(s, b, stream && flags & MSG_WAITALL ? 5 : sizeof(b), f), 0);
	told("  then", 0, recv(s, b, sizeof(b), MSG_DONTWAIT), 0);
	close(s);
	open_one();
	told("recvfrom", flags, recvfrom(s, b, 2, f, (struct sockaddr *)&name, &len), 0);
	told("  then", 0, recv(s, b, sizeof(b), MSG_DONTWAIT), 0);
	close(s);
	open_one();
	v.iov_len = 2;
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	told("recvmsg", flags, recvmsg(s, &m, f), (unsigned)m.msg_flags);
	v.iov_len = sizeof(b);
	told("  then", 0, recv(s, b, sizeof(b), MSG_DONTWAIT), 0);
	close(s);
	open_one();
	told("recvmmsg", flags, recvmmsg(s, &mm, 1, f, NULL), (unsigned)mm.msg_hdr.msg_flags);
	told("  then", 0, recv(s, b, sizeof(b), MSG_DONTWAIT), 0);
	close(s);
}

/* Says what comes back. What waits for more does not, or later; PROBE sends nothing. */
static void comes_back(const char *call, unsigned flags, long sent)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	bool none = sent < 0 || flags & (MSG_MORE | PROBE);
	long n = 0;

	told(call, flags, sent, 0);
	(void)recv(s, b, 5, MSG_DONTWAIT);
	if (!none && poll(&p, 1, 3000) == 1)
		n = recv(s, b, sizeof(b), MSG_DONTWAIT);
	told("  back", 0, n, 0);
	close(s);
}

static void transmit(unsigned flags)
{
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	struct mmsghdr mm;
	int f = (int)(flags | MSG_DONTWAIT | MSG_NOSIGNAL);

	v.iov_len = 4;
	mm.msg_hdr = m;
	open_one();
	comes_back("send", flags, send(s, "four", 4, f));
	open_one();
	comes_back("sendto", flags, sendto(s, "four", 4, f, (struct sockaddr *)&t_peer, t_len));
	open_one();
	comes_back("sendmsg", flags, sendmsg(s, &m, f));
	open_one();
	comes_back("sendmmsg", flags, sendmmsg(s, &mm, 1, f));
	open_one();
	told("send of none", flags, send(s, "", 0, f), 0);
	close(s);
	v.iov_len = sizeof(b);
}

static void all(void)
{
	static const unsigned many[] = {0,
					~0u,
					~(unsigned)MSG_OOB,
					~(unsigned)MSG_ERRQUEUE,
					~(unsigned)(MSG_OOB | MSG_ERRQUEUE),
					~(unsigned)(MSG_OOB | MSG_ERRQUEUE) & 0x7fffffff,
					0x0ff00000,
					0xfff00000};

	for (int i = 0; i < 32; i++) {
		receive(1u << i);
		if (stream || 1u << i != MSG_SYN) /* alone it asks for libvma's dummy send */
			transmit(1u << i);
	}
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		receive(many[i]);
		transmit(many[i]);
	}
}

static void datagrams(void)
{
	stream = false;
	all();
}

static void streams(void)
{
	stream = true;
	all();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"datagrams", datagrams}, {"streams", streams}, {NULL, NULL}};

	signal(SIGPIPE, SIG_IGN);
	return t_main(argc, argv, cases);
}
