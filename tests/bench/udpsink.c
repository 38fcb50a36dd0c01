/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives UDP datagrams in one thread and says how fast they came.
 *
 *   udpsink ADDRESS PORT [seconds=1] [count=N] [batch=1] [ports=1] [rcvbuf=4194304] [block=0]
 * [way=0]
 *
 * Spins on non-blocking sockets (block=1: one blocking socket). batch > 1: by recvmmsg. way: 1 by
 * libvma's recvfrom_zcopy, 2 in its packet callback, which drops all, out of recv. Ends after the
 * seconds, counted from the first datagram, or on SIGTERM. Prints: datagrams, datagrams per second
 * from the first to the last, duplicates-or-reorderings, gaps (datagrams missing between two that
 * came), both counted for each of udpblast's sources. */
#include <fcntl.h>
#include <signal.h>

#include "../../lib/compat/vma_extra.h"
#include "load.h"

struct sink {
	unsigned batch, ports, rcvbuf, block, way;
	uint64_t count;
	double seconds;
};

static int fds[LOAD_MAX_SOCKETS];
static uint8_t data[LOAD_MAX_BATCH][65536];
static struct mmsghdr msgs[LOAD_MAX_BATCH];
static struct iovec iov[LOAD_MAX_BATCH];
static uint64_t next_seq[LOAD_MAX_SOCKETS], misordered, gaps;
static volatile sig_atomic_t stopped;
static struct vma_api_t *api;
static int seen; /* by the callback, in one call of recv */

static void on_signal(int sig)
{
	stopped = 1;
}

static void account(const uint8_t *p, size_t len)
{
	uint64_t seq;
	uint32_t source;
	if (len < 12)
		return;
	memcpy(&seq, p, sizeof(seq));
	memcpy(&source, p + sizeof(seq), sizeof(source));
	if (source >= LOAD_MAX_SOCKETS)
		return;
	if (seq < next_seq[source]) {
		misordered++;
		return;
	}
	if (next_seq[source])
		gaps += seq - next_seq[source];
	next_seq[source] = seq + 1;
}

static int take_zcopy(int fd)
{
	struct vma_packets_t *list = (struct vma_packets_t *)data[0];
	int flags = 0, len = api->recvfrom_zcopy(fd, list, sizeof(data[0]), &flags, NULL, NULL);

	if (len < 0)
		return -1;
	if (!(flags & MSG_VMA_ZCOPY)) {
		account(data[0], len);
		return 1;
	}
	account(list->pkts[0].iov[0].iov_base, list->pkts[0].iov[0].iov_len);
	api->free_packets(fd, list->pkts, 1);
	return 1;
}

static vma_recv_callback_retval_t look(int fd, size_t n, struct iovec *part,
				       struct vma_info_t *info, void *arg)
{
	account(part[0].iov_base, part[0].iov_len);
	seen++;
	return VMA_PACKET_DROP;
}

static int take(const struct sink *o, int fd)
{
	if (o->way == 1)
		return take_zcopy(fd);
	seen = 0;
	if (o->batch == 1) {
		ssize_t len = recv(fd, data[0], sizeof(data[0]), 0);
		if (len >= 0)
			account(data[0], len);
		else if (seen)
			return seen;
		return len < 0 ? -1 : 1;
	}
	int n = recvmmsg(fd, msgs, o->batch, MSG_WAITFORONE, NULL);
	for (int i = 0; i < n; i++)
		account(data[i], msgs[i].msg_len);
	return n;
}

static void sink(const struct sink *o)
{
	uint64_t n = 0, first = 0, last = 0, end = 0, idle = 0;
	unsigned i = 0;
	while (!stopped && (!o->count || n < o->count)) {
		int got = take(o, fds[i]);
		i = i + 1 == o->ports ? 0 : i + 1;
		if (got <= 0) {
			if (got < 0 && errno != EAGAIN && errno != EINTR)
				load_die("recv");
			if (end && ++idle % 64 == 0 && load_now_ns() > end)
				break;
			continue;
		}
		if (!first) {
			first = load_now_ns();
			end = first + o->seconds * 1e9;
		}
		n += got;
		if (n % 64 < (unsigned)got && (last = load_now_ns()) > end)
			break;
	}
	if (last <= first)
		last = load_now_ns();
	printf("%lu %.0f %lu %lu\n", n, n && last > first ? n * 1e9 / (last - first) : 0,
	       misordered, gaps);
}

static void parse(struct sink *o, int argc, char **argv)
{
	const struct load_opt opts[] = {
		{"seconds", .f = &o->seconds}, {"count", .u64 = &o->count},
		{"batch", .u = &o->batch},     {"ports", .u = &o->ports},
		{"rcvbuf", .u = &o->rcvbuf},   {"block", .u = &o->block},
		{"way", .u = &o->way},         {0},
	};

	load_options(opts, argc, argv);
	if (!o->batch || o->batch > LOAD_MAX_BATCH || !o->ports || o->ports > LOAD_MAX_SOCKETS)
		exit(2);
}

static int open_port(const struct sink *o, const char *text, unsigned port)
{
	union load_addr addr;
	socklen_t len = load_addr(&addr, text, port);
	int size = o->rcvbuf, fd = socket(addr.sa.sa_family, SOCK_DGRAM, 0);
	if (fd < 0)
		load_die("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, &addr.sa, len))
		load_die("bind");
	if (!o->block)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	if (o->way && !api && !(api = vma_get_api()))
		load_die("vma_get_api");
	if (o->way == 2 && api->register_recv_callback(fd, look, NULL))
		load_die("register_recv_callback");
	return fd;
}

int main(int argc, char **argv)
{
	struct sink o = {.batch = 1, .ports = 1, .seconds = 1, .rcvbuf = 4 << 20};
	struct sigaction sa = {.sa_handler = on_signal};
	if (argc < 3)
		return 2;
	parse(&o, argc, argv);
	sigaction(SIGTERM, &sa, NULL);
	for (unsigned i = 0; i < o.ports; i++)
		fds[i] = open_port(&o, argv[1], atoi(argv[2]) + i);
	for (unsigned i = 0; i < o.batch; i++) {
		iov[i] = (struct iovec){.iov_base = data[i], .iov_len = sizeof(data[i])};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	fprintf(stderr, "ready\n");
	sink(&o);
	return 0;
}
