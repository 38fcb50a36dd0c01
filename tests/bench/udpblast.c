/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends UDP datagrams as fast as it can, or at a rate, and says how fast that was.
 *
 *   udpblast ADDRESS PORT [size=64] [seconds=1] [count=N] [batch=1] [ports=1] [sources=1]
 *            [rate=0] [connect=0]
 *
 * batch > 1: by sendmmsg. ports: destination ports PORT.. in turn; sources: sockets in turn.
 * rate: datagrams per second, 0 all out; what could not be sent in time is not made up for by more
 * than BURST_MAX at once (a veth holds 256, so that a test on a busy machine lost more than it
 * meant to). Each datagram begins with a 64-bit sequence number and
 * the source's number. Prints: datagrams sent, datagrams per second, failed calls. */
#include <stdbool.h>

#include "load.h"

#define BURST_MAX 64

struct blast {
	unsigned size, batch, ports, sources, connected;
	uint64_t count, rate;
	double seconds;
};

static union load_addr dest[LOAD_MAX_SOCKETS];
static int fds[LOAD_MAX_SOCKETS];
static socklen_t addrlen;
static uint8_t payload[LOAD_MAX_BATCH][65536];
static struct mmsghdr msgs[LOAD_MAX_BATCH];
static struct iovec iov[LOAD_MAX_BATCH];

static int send_batch(const struct blast *o, int fd, unsigned n)
{
	if (o->batch == 1) {
		ssize_t ret = o->connected ? send(fd, payload[0], o->size, 0)
					   : sendto(fd, payload[0], o->size, 0,
						    msgs[0].msg_hdr.msg_name, addrlen);
		return ret < 0 ? -1 : 1;
	}
	return sendmmsg(fd, msgs, n, 0);
}

static void stamp(unsigned i, uint64_t seq, uint32_t source)
{
	memcpy(payload[i], &seq, sizeof(seq));
	memcpy(payload[i] + sizeof(seq), &source, sizeof(source));
}

/* Is it time for n more? due: when, in ns. */
static bool is_due(const struct blast *o, double *due, uint64_t now, unsigned n)
{
	double each = 1e9 / o->rate;
	if (now < *due)
		return false;
	if (now - *due > BURST_MAX * each)
		*due = now - BURST_MAX * each;
	*due += n * each;
	return true;
}

static void blast(const struct blast *o)
{
	static uint64_t seq[LOAD_MAX_SOCKETS];
	uint64_t sent = 0, failed = 0, start = load_now_ns(), now = start;
	uint64_t end = start + o->seconds * 1e9;
	double due = start;
	unsigned source = 0, port = 0;
	while (o->count ? sent < o->count : now < end) {
		unsigned n = o->batch;
		if (o->count && o->count - sent < n)
			n = o->count - sent;
		if (o->rate && !is_due(o, &due, now, n)) {
			now = load_now_ns();
			continue;
		}
		for (unsigned i = 0; i < n; i++) {
			stamp(i, seq[source] + i, source);
			if (!o->connected)
				msgs[i].msg_hdr.msg_name = &dest[port].sa;
			port = port + 1 == o->ports ? 0 : port + 1;
		}
		int done = send_batch(o, fds[source], n);
		if (done > 0) {
			sent += done;
			seq[source] += done;
		} else {
			failed++;
		}
		source = source + 1 == o->sources ? 0 : source + 1;
		if (o->rate || (sent + failed) % 256 < n)
			now = load_now_ns();
	}
	printf("%lu %.0f %lu\n", sent, sent * 1e9 / (load_now_ns() - start), failed);
}

static void parse(struct blast *o, int argc, char **argv)
{
	const struct load_opt opts[] = {
		{"size", .u = &o->size},
		{"seconds", .f = &o->seconds},
		{"count", .u64 = &o->count},
		{"batch", .u = &o->batch},
		{"ports", .u = &o->ports},
		{"sources", .u = &o->sources},
		{"rate", .u64 = &o->rate},
		{"connect", .u = &o->connected},
		{0},
	};

	load_options(opts, argc, argv);
	if (o->size < 12 || o->size > 65000 || !o->batch || o->batch > LOAD_MAX_BATCH ||
	    !o->ports || o->ports > LOAD_MAX_SOCKETS || !o->sources ||
	    o->sources > LOAD_MAX_SOCKETS)
		exit(2);
}

int main(int argc, char **argv)
{
	struct blast o = {.size = 64, .batch = 1, .ports = 1, .sources = 1, .seconds = 1};
	if (argc < 3)
		return 2;
	parse(&o, argc, argv);
	for (unsigned i = 0; i < o.ports; i++)
		addrlen = load_addr(&dest[i], argv[1], atoi(argv[2]) + i);
	for (unsigned i = 0; i < o.sources; i++) {
		fds[i] = socket(dest[0].sa.sa_family, SOCK_DGRAM, 0);
		if (fds[i] < 0)
			load_die("socket");
		if (o.connected && connect(fds[i], &dest[i % o.ports].sa, addrlen))
			load_die("connect");
	}
	for (unsigned i = 0; i < o.batch; i++) {
		memset(payload[i], 'x', o.size);
		iov[i] = (struct iovec){.iov_base = payload[i], .iov_len = o.size};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
						  .msg_iovlen = 1,
						  .msg_name = o.connected ? NULL : &dest[0].sa,
						  .msg_namelen = o.connected ? 0 : addrlen};
	}
	blast(&o);
	return 0;
}
