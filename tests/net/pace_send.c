/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends UDP flows with SO_MAX_PACING_RATE, as fast as the socket takes them.
 *
 *   pace_send ADDR PORT FRAMES SIZE KBPS[,KBPS..] [WORD..]    flows to PORT, PORT+1, ..
 *
 * SIZE is a frame's, KBPS 0 is no rate. Words:
 *   poll            non-blocking sockets, poll(2) when full (the way with several flows)
 *   mmsg            sendmmsg(2) of 16
 *   gso             UDP_SEGMENT, 8 in one
 *   tcp             streams of FRAMES full segments instead
 *   burst=BYTES     by the value of three {kbit/s, burst, packet size}
 *   sndbuf=BYTES    SO_SNDBUFFORCE
 *   then=KBPS       another rate after half of the frames
 *   hold            goes on slowly from half of the frames, until there is a line of input
 *   leave           ends with its last call: what waits is left to the library
 *   info            says at the end what TCP_INFO does
 * It prints the system calls' results that are not as they should be, how often it slept while it
 * sent, and "sent FRAMES". */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_FLOWS   256
#define HEADERS     42
#define TCP_HEADERS 66
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

static unsigned frames, size, nflows;
static uint32_t burst;
static int sndbuf;
static int64_t then_kbps = -1;
static bool use_poll, use_mmsg, use_gso, use_tcp, hold, leave, info;
static struct flow {
	int fd;
	int64_t kbps;
	unsigned sent;
	unsigned part; /* TCP: bytes of the next */
} flow[MAX_FLOWS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void set_rate(int fd, int64_t kbps)
{
	struct {
		uint32_t rate, max_burst_sz;
		uint16_t typical_pkt_sz;
	} three = {(uint32_t)kbps, burst, (uint16_t)size};
	uint64_t rate = kbps ? (uint64_t)kbps * 125 : UINT64_MAX;

	if (burst ? setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &three, sizeof(three))
		  : setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)))
		die("SO_MAX_PACING_RATE");
}

static void open_flow(struct flow *f, const char *addr, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, addr, &to.sin_addr);
	f->fd = socket(AF_INET, use_tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (f->fd < 0 || connect(f->fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	if (use_tcp && then_kbps >= 0) /* the change must not come after all was sent */
		setsockopt(f->fd, SOL_SOCKET, SO_SNDBUF, &(int){20000}, sizeof(int));
	if (sndbuf)
		setsockopt(f->fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf));
	if (use_poll)
		fcntl(f->fd, F_SETFL, O_NONBLOCK);
	if (f->kbps)
		set_rate(f->fd, f->kbps);
}

/* TCP takes what fits: how many whole ones that makes. */
static int took(struct flow *f, int bytes, unsigned payload)
{
	f->part += (unsigned)bytes;
	if (f->part < payload)
		return 0;
	f->part = 0;
	return 1;
}

/* Up to n datagrams in one call; how many went, 0: full. */
static unsigned send_some(struct flow *f, unsigned n)
{
	static uint8_t buf[16][65536];
	struct mmsghdr m[16] = {0};
	struct iovec iov[16];
	unsigned payload = size - (use_tcp ? TCP_HEADERS : HEADERS);
	int r = -1;

	n = n > 16 ? 16 : n;
	n = use_gso ? (n > 8 ? 8 : n) : use_mmsg ? n : 1;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *at = use_gso ? buf[0] + i * payload : buf[i];
		uint32_t seq = htonl(f->sent + i);

		memcpy(at, &seq, 4);
		iov[i] = (struct iovec){buf[i], payload};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	if (use_mmsg)
		r = sendmmsg(f->fd, m, n, 0);
	else if (use_tcp)
		r = (r = (int)send(f->fd, buf[0], payload - f->part, 0)) < 0 ? r
									     : took(f, r, payload);
	else
		r = send(f->fd, buf[0], payload * n, 0) == (ssize_t)(payload * n) ? (int)n : -1;
	if (r < 0 && (errno != EAGAIN || !use_poll))
		die("send");
	return r < 0 ? 0 : (unsigned)r;
}

/* Sends a frame of each flow now and then, so that each flow finds its way, until a line of the
 * input says to go on. */
static void wait_line(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	hold = false;
	while (poll(&p, 1, 50) == 0)
		for (unsigned i = 0; i < nflows; i++)
			if (flow[i].sent < frames - 1)
				flow[i].sent += send_some(&flow[i], 1);
	while (getchar() != '\n')
		if (feof(stdin))
			die("the line to go on");
}

static void advance(struct flow *f)
{
	unsigned half = frames / 2, most = frames - f->sent;

	if (then_kbps >= 0 && f->sent < half && most > half - f->sent)
		most = half - f->sent;
	if (hold && f->sent >= half)
		wait_line();
	else
		f->sent += send_some(f, most);
	if (then_kbps >= 0 && f->sent == half)
		set_rate(f->fd, then_kbps);
}

static void run(void)
{
	static struct pollfd p[MAX_FLOWS];
	unsigned left = nflows;

	while (left) {
		left = 0;
		for (unsigned i = 0; i < nflows; i++) {
			p[i] = (struct pollfd){.fd = -1, .events = POLLOUT};
			if (flow[i].sent == frames)
				continue;
			left++;
			p[i].fd = flow[i].fd;
		}
		if (left && use_poll && poll(p, nflows, 10000) <= 0)
			die("poll");
		for (unsigned i = 0; i < nflows; i++) {
			if (p[i].fd < 0 || (use_poll && !(p[i].revents & POLLOUT)))
				continue;
			for (unsigned before = ~0u;
			     flow[i].sent < frames && before != flow[i].sent;) {
				before = flow[i].sent;
				advance(&flow[i]);
				if (nflows > 1 && !use_poll)
					break;
			}
		}
	}
}

/* Until all has left: an empty send buffer says so (SIOCOUTQ). */
static void wait_left(void)
{
	struct timespec some = {0, 2000000};

	for (unsigned i = 0; i < nflows; i++) {
		struct pollfd p = {.fd = flow[i].fd};

		/* (The receiver of a stream may have what it wanted, and be gone.) */
		for (int n = 1; n > 0 && poll(&p, 1, 0) == 0; nanosleep(&some, NULL))
			if (ioctl(p.fd, TIOCOUTQ, &n))
				die("SIOCOUTQ");
	}
}

static void show_sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	printf("slept %ld, ran %ld ms\n", u.ru_nvcsw,
	       (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
		       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000);
}

static void show_info(void)
{
	for (unsigned i = 0; i < nflows; i++) {
		struct tcp_info t = {0};
		socklen_t len = sizeof(t);

		getsockopt(flow[i].fd, IPPROTO_TCP, TCP_INFO, &t, &len);
		printf("info: cwnd %u ssthresh %u unacked %u rtt %u/%u us, wnd %u, retrans %u\n",
		       t.tcpi_snd_cwnd, t.tcpi_snd_ssthresh, t.tcpi_unacked, t.tcpi_rtt,
		       t.tcpi_min_rtt, t.tcpi_snd_wnd, t.tcpi_total_retrans);
	}
}

static void word(const char *w)
{
	use_poll |= !strcmp(w, "poll");
	use_mmsg |= !strcmp(w, "mmsg");
	use_gso |= !strcmp(w, "gso");
	use_tcp |= !strcmp(w, "tcp");
	hold |= !strcmp(w, "hold");
	leave |= !strcmp(w, "leave");
	info |= !strcmp(w, "info");
	if (!strncmp(w, "burst=", 6))
		burst = (uint32_t)atoi(w + 6);
	if (!strncmp(w, "sndbuf=", 7))
		sndbuf = atoi(w + 7);
	if (!strncmp(w, "then=", 5))
		then_kbps = atoll(w + 5);
}

int main(int argc, char **argv)
{
	unsigned port;

	if (argc < 6)
		return 2;
	port = (unsigned)atoi(argv[2]);
	frames = (unsigned)atoi(argv[3]);
	size = (unsigned)atoi(argv[4]);
	for (int i = 6; i < argc; i++)
		word(argv[i]);
	for (char *s = strtok(argv[5], ","); s && nflows < MAX_FLOWS; s = strtok(NULL, ","))
		flow[nflows++].kbps = atoll(s);
	for (unsigned i = 0; i < nflows; i++)
		open_flow(&flow[i], argv[1], port + i);
	if (use_gso) {
		int seg = (int)(size - HEADERS);

		for (unsigned i = 0; i < nflows; i++)
			if (setsockopt(flow[i].fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof(seg)))
				die("UDP_SEGMENT");
	}
	run();
	show_sleeps();
	if (info)
		show_info();
	if (!leave)
		wait_left();
	printf("sent %u\n", frames);
	return 0;
}
