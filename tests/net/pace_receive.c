/* SPDX-License-Identifier: BSD-2-Clause */
/* The independent receiver of paced flows: takes UDP frames off a network device with the kernel's
 * stamps, a flow for each destination port, whose first four bytes are its count.
 *
 *   pace_receive DEVICE PORT FRAMES KBPS[,KBPS..] [SIZE]    a flow of that rate on PORT, PORT+1, ..
 *
 * With SIZE they are TCP's, of FRAMES of SIZE bytes with 66 bytes of headers.
 *
 * Says "listening"; ends when each flow has FRAMES, or after ten seconds without a frame. Of each
 * flow it prints: port, asked kbit/s, frames, out of order, measured kbit/s, p50 and p99 of the
 * gaps' error in us (against the time that the frame before takes at the rate). */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define MAX_FLOWS 256

struct arrival {
	uint64_t ns, before; /* bytes of those before it */
};

static struct flow {
	double kbps;
	uint32_t frames, disorder, arrivals;
	uint32_t next; /* TCP: sequence number */
	uint64_t bytes, payload;
	struct arrival *at;
} flow[MAX_FLOWS];
static unsigned nflows, port, wanted, tcp_size;

static uint64_t stamp(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct timespec ts;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	}
	return 0;
}

static void arrived(struct flow *f, size_t len, uint64_t ns)
{
	if (f->arrivals < 2 * wanted)
		f->at[f->arrivals++] = (struct arrival){ns, f->bytes};
	f->bytes += len;
}

static void take_udp(struct flow *f, const uint8_t *data, size_t len, uint64_t ns)
{
	uint32_t seq;

	memcpy(&seq, data, 4);
	f->disorder += ntohl(seq) != f->frames;
	arrived(f, len, ns);
	f->frames++;
}

static void take_tcp(struct flow *f, const uint8_t *p, size_t len, uint64_t ns)
{
	size_t payload = (size_t)(p[16] << 8 | p[17]) - 20 - (size_t)(p[46] >> 4) * 4;
	uint32_t seq;

	memcpy(&seq, p + 38, 4);
	seq = ntohl(seq);
	if (!payload)
		return;
	f->disorder += f->payload && seq != f->next;
	f->next = seq + (uint32_t)payload;
	arrived(f, len, ns);
	f->payload += payload;
	f->frames = (uint32_t)(f->payload / (tcp_size - 66));
}

static void take(const uint8_t *f, size_t len, uint64_t ns)
{
	unsigned to;

	if (len < 46 || f[12] != 8 || f[13] != 0 || f[23] != (tcp_size ? IPPROTO_TCP : IPPROTO_UDP))
		return;
	to = (unsigned)(f[36] << 8 | f[37]) - port;
	if (to >= nflows)
		return;
	if (tcp_size)
		take_tcp(&flow[to], f, len, ns);
	else
		take_udp(&flow[to], f + 42, len, ns);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the frames from..to the one that came least late: who is kept from running, here or there,
 * makes frames late, never early. */
static uint32_t most_timely(const struct flow *f, uint32_t from, uint32_t to)
{
	double least = 1e300;
	uint32_t best = from;

	for (uint32_t i = from; i < to; i++) {
		double late = (double)(f->at[i].ns - f->at[0].ns) -
			      (double)f->at[i].before * 8e6 / f->kbps;

		if (late < least) {
			least = late;
			best = i;
		}
	}
	return best;
}

static void report(unsigned n, struct flow *f)
{
	uint32_t i, j, n_at = f->arrivals;
	double *gap;

	printf("%u %.0f %u %u", port + n, f->kbps, f->frames, f->disorder);
	if (n_at < 8 || n_at == 2 * wanted) {
		puts(" - - -");
		return;
	}
	i = most_timely(f, 0, n_at / 4);
	j = most_timely(f, n_at - n_at / 4, n_at);
	gap = malloc(n_at * sizeof(*gap));
	for (uint32_t k = 1; k < n_at; k++) {
		double due = (double)(f->at[k].before - f->at[k - 1].before) * 8e6 / f->kbps;

		gap[k - 1] = (double)(f->at[k].ns - f->at[k - 1].ns) - due;
		gap[k - 1] = gap[k - 1] < 0 ? -gap[k - 1] : gap[k - 1];
	}
	qsort(gap, n_at - 1, sizeof(*gap), by_size);
	printf(" %.1f %.1f %.1f\n",
	       (double)(f->at[j].before - f->at[i].before) * 8e6 /
		       (double)(f->at[j].ns - f->at[i].ns),
	       gap[(n_at - 1) / 2] / 1e3, gap[(n_at - 1) * 99ull / 100] / 1e3);
	free(gap);
}

static bool is_done(void)
{
	for (unsigned i = 0; i < nflows; i++)
		if (flow[i].frames < wanted)
			return false;
	return true;
}

static int listen_on(const char *dev)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IP),
				 .sll_ifindex = (int)if_nametoindex(dev)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, size = 256 << 20;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		perror(dev);
		exit(1);
	}
	return fd;
}

static void *drain(void *arg)
{
	static char buf[1 << 16];
	int fd = accept(*(int *)arg, NULL, NULL);

	while (recv(fd, buf, sizeof(buf), MSG_TRUNC) > 0)
		;
	return NULL;
}

/* So that nobody refuses them; datagrams that the kernel delivers there are not read. */
static void hold_port(unsigned n)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)n)};
	static int fd[MAX_FLOWS];
	int *mine = &fd[n - port], size = 0, one = 1;
	pthread_t thread;

	*mine = socket(AF_INET, tcp_size ? SOCK_STREAM : SOCK_DGRAM, 0);
	setsockopt(*mine, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!tcp_size)
		setsockopt(*mine, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(*mine, (struct sockaddr *)&at, sizeof(at)) < 0) {
		perror("bind");
		exit(1);
	}
	if (tcp_size && (listen(*mine, 1) || pthread_create(&thread, NULL, drain, mine)))
		exit(1);
}

int main(int argc, char **argv)
{
	static uint8_t frame[256], control[256];
	struct pollfd p = {.events = POLLIN};

	if (argc < 5)
		return 2;
	if (argc > 5)
		tcp_size = (unsigned)atoi(argv[5]);
	port = (unsigned)atoi(argv[2]);
	wanted = (unsigned)atoi(argv[3]);
	for (char *s = strtok(argv[4], ","); s && nflows < MAX_FLOWS; s = strtok(NULL, ",")) {
		flow[nflows].kbps = atof(s);
		flow[nflows++].at = calloc(2 * wanted, sizeof(struct arrival));
	}
	for (unsigned i = 0; i < nflows; i++)
		hold_port(port + i);
	p.fd = listen_on(argv[1]);
	puts("listening");
	fflush(stdout);
	while (!is_done() && poll(&p, 1, 10000) > 0) {
		struct iovec iov = {frame, sizeof(frame)};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(p.fd, &m, MSG_TRUNC);

		if (n > 0)
			take(frame, (size_t)n, stamp(&m));
	}
	for (unsigned i = 0; i < nflows; i++)
		report(i, &flow[i]);
	return 0;
}
