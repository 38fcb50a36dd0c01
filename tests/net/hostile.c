/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile SOCKET IFNAME MODE: a member of a group that means harm. It asks the daemon for packet
 * memory, the device and a lane, and writes into what it shares until it is killed:
 *
 *   lock      the daemon's own number into every lock
 *   early     as lock, before it opens the device: the daemon takes frames for that
 *   hold      its own number into every lock that is free, and is stopped (SIGSTOP) then
 *   keep      likewise, and waits for a signal
 *   rubbish   anything into everything but the locks: records, lists, rings, again and again
 *   both      anything into everything
 *   once      as rubbish, but once
 *   look      nothing: it ends as soon as it has said what could be written
 *   race      what is nearly right (racer.h), without a pause, while members that it starts one
 *             after the other die in the middle of all they do; and each of these leaves
 *             connections in a file that changes, too
 *   flood     members die as in race, nothing changes, and connections that wait to be accepted,
 *             thousands, have one and the same bytes in as many frames as there are
 *   many      members die with tens of thousands of such connections, without bytes
 *   refused   as flood, with peers to which the kernel makes no connection
 *   heirs     members die with as many connections as a user can leave, whose closed sockets this
 *             process has, too: each with the same bytes, one in each of many frames; bulky: whole
 *             frames
 *   holes     as flood, but the frames with these bytes have no pages any more, and where they were
 *             huge pages this process has all that the system has left
 *
 * Lines: "told WHAT" (could what the daemon tells be written?), "rules WHAT" (could the device's
 * rules?), "writes", then each second "asked N
 * refused N longest MS": how long the daemon took for an answer. "hung up" when it did. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/share/share.h"
#include "ctl/device/conns.h"
#include "ctl/lease/msg.h"
#include "racer.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_dead.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_repair.h"

#define ASK_MS 50
#define BUSY_S 20
#define CUT    (F_SEAL_SHRINK | F_SEAL_SEAL)
#define FAR    ((uint64_t)60000 << 28) /* where frames of 256 MB would lie */

static struct sl_lease_msg m;
static struct sl_share g;
static struct sl_share_geometry geometry;
static int conn, xsk, packets_fd;
static uint32_t seq, ifindex, member;
static char *packets; /* the group's packet memory */
static struct sl_lease_lane_ok lane;
static uint32_t asked, refused;
static double longest;
static struct ring {
	char *map;
	size_t bytes;
} rings[4];
static struct sl_lease_queue queue;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 0 or the daemon's -errno. */
static int ask(enum sl_lease_op op)
{
	double t = now_s();
	int err = sl_lease_ask(conn, &m, op, ++seq);

	if (err != 1) {
		printf("hung up: %s\n", strerror(-err));
		conn = -1;
		return -ENOTCONN;
	}
	longest = sl_max(longest, (now_s() - t) * 1000);
	asked++;
	refused += m.hdr.err != 0;
	return m.hdr.err;
}

static int ask_port(enum sl_lease_op op)
{
	memset(&m.body, 0, sizeof(m.body));
	m.body.port.ifindex = ifindex;
	m.nfds = 0;
	return ask(op);
}

/* Tries to write a file that the daemon alone writes. */
static void say_read_only(const char *what, int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *r = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	char path[64];
	int again, seals;

	if (r == MAP_FAILED)
		err(1, "%s cannot be read", what);
	(void)fchmod(fd, 0666);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	seals = fcntl(fd, F_GET_SEALS);
	printf("%s %s %s %s %s\n", what, p == MAP_FAILED ? "not-mapped" : "mapped",
	       again < 0 ? "not-opened" : "opened",
	       mprotect(r, 4096, PROT_READ | PROT_WRITE) ? "not-changed" : "changed",
	       truncate(path, 0) && (seals & CUT) == CUT ? "not-cut" : "cut");
	munmap(r, 4096);
}

static void take_memory(void)
{
	m.nfds = 0;
	if (ask(SL_LEASE_UMEM))
		errx(1, "UMEM: %s", m.body.why);
	geometry = m.body.umem_ok.geometry;
	member = m.body.umem_ok.member;
	if (sl_share_open(&g, &geometry, m.fd[1], m.fd[2], false))
		errx(1, "the memory cannot be mapped");
	say_read_only("told", m.fd[2]);
	packets_fd = m.fd[0];
	packets = mmap(NULL, (size_t)geometry.nframes << geometry.frame_shift,
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, packets_fd, 0);
	if (packets == MAP_FAILED)
		err(1, "packet memory");
}

static void take_ring(unsigned i, size_t bytes, off_t at)
{
	rings[i].map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, xsk, at);
	rings[i].bytes = bytes;
	if (rings[i].map == MAP_FAILED)
		err(1, "ring %u", i);
}

/* The kernel may still hold the XDP sockets of the process before this one. */
static int open_port(void)
{
	double end = now_s() + BUSY_S;
	int err;

	while ((err = ask_port(SL_LEASE_PORT_OPEN)) == -EBUSY && now_s() < end)
		usleep(ASK_MS * 1000);
	return err;
}

/* False when the daemon has seen the broken locks before it was asked for the lane. */
static bool take_lane(void)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);
	int why = open_port();

	if (!why)
		say_read_only("rules", m.fd[0]);
	if (!why)
		why = ask_port(SL_LEASE_LANE_OPEN);
	if (why == -ESHUTDOWN)
		return false;
	if (why)
		errx(1, "PORT_OPEN, LANE_OPEN: %s", m.body.why);
	lane = m.body.lane_ok;
	queue = lane.queue[0];
	xsk = m.fd[0];
	if (getsockopt(xsk, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len))
		err(1, "XDP_MMAP_OFFSETS");
	take_ring(0, o.rx.desc + queue.rx_size * sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	take_ring(1, o.tx.desc + queue.tx_size * sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	take_ring(2, o.fr.desc + queue.fill_size * sizeof(uint64_t),
		  (off_t)XDP_UMEM_PGOFF_FILL_RING);
	take_ring(3, o.cr.desc + queue.comp_size * sizeof(uint64_t),
		  (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	return true;
}

static uint32_t any(void)
{
	switch (rand() % 4) {
	case 0:
		return (uint32_t)rand() % (2 * g.nframes);
	case 1:
		return ~(uint32_t)(rand() % 100);
	case 2:
		return (uint32_t)member << 24 | (uint32_t)(rand() & 0x3ffff);
	default:
		return (uint32_t)rand() * 2654435761u;
	}
}

/* Each is the first word of its record. */
static bool is_lock(const uint32_t *w)
{
	size_t at = (size_t)((const char *)w - (const char *)g.queue);

	return w == &g.head->lock.word ||
	       (w >= (const uint32_t *)g.queue && w < (const uint32_t *)g.xsk &&
		at % sizeof(*g.queue) == 0);
}

static void write_rubbish(bool locks)
{
	uint32_t *w = (uint32_t *)g.head;
	uint32_t *end = (uint32_t *)((char *)g.head + geometry.bytes);

	for (; w < end; w++)
		if (locks || !is_lock(w))
			sl_store(w, any());
	for (unsigned i = 0; i < 4; i++) {
		w = (uint32_t *)rings[i].map;
		for (; w < (uint32_t *)(rings[i].map + rings[i].bytes); w++)
			sl_store(w, any());
	}
}

/* Writes descriptors into our receive ring that point where only another layout has memory
 * (poc/share). */
static void write_far(void)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);
	struct xdp_desc *d;
	uint32_t *producer, *consumer, at;

	if (getsockopt(xsk, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len))
		return;
	producer = (uint32_t *)(rings[0].map + o.rx.producer);
	consumer = (uint32_t *)(rings[0].map + o.rx.consumer);
	d = (struct xdp_desc *)(rings[0].map + o.rx.desc);
	at = sl_load(consumer);
	for (uint32_t i = 0; i < 8; i++)
		d[(at + i) & (queue.rx_size - 1)] =
			(struct xdp_desc){.addr = (FAR << i % 4) | 256, .len = 100 << i};
	sl_store_release(producer, at + 8);
}

static void write_locks(void)
{
	const uint32_t word = (uint32_t)SL_SHARE_BROKER << SL_RLOCK_SHIFT | 1;

	sl_store(&g.head->lock.word, word);
	for (uint32_t i = 0; i < g.nqueues; i++)
		sl_store(&g.queue[i].lock.word, word);
}

/* Takes each lock as it gets free, and stops this process, as in the middle of a refill. */
static void hold_locks(bool stop)
{
	const uint32_t word = member << SL_RLOCK_SHIFT | (uint32_t)getpid();
	uint32_t left = 1 + g.nqueues, none;

	while (left) {
		left = 0;
		for (uint32_t i = 0; i <= g.nqueues; i++) {
			uint32_t *w = i ? &g.queue[i - 1].lock.word : &g.head->lock.word;

			none = 0;
			left += sl_load(w) != word &&
				!__atomic_compare_exchange_n(w, &none, word, false,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		}
	}
	printf("writes\n");
	if (stop)
		raise(SIGSTOP);
	else
		pause();
}

static void write_as(const char *mode)
{
	if (!strcmp(mode, "hold") || !strcmp(mode, "keep")) {
		hold_locks(!strcmp(mode, "hold"));
		return;
	}
	if (!strcmp(mode, "lock") || !strcmp(mode, "early")) {
		write_locks();
		return;
	}
	write_rubbish(!strcmp(mode, "both"));
	write_far();
}

/* Connections that wait to be accepted -----------------------------------------------------------
 */

#define CONNS   60000u
#define QUEUED  4096u /* of these, where they have bytes */
#define PORT    7790
#define PIECES  40000u /* frames with received bytes, from FIRST on; each connection has all */
#define FIRST   20000u
#define SPARSE  1u /* bytes of a piece */
#define HEIRS   64u
#define NUMBER  7u /* the listener's */
#define FILE_FD 100

struct entry {
	struct sl_tcp tcp;
	void *host, *owner;
	uint8_t dead, state, local[16], remote[16];
	uint16_t lport, rport;
	uint32_t oif, listener;
	int32_t inode;
};

static const struct sl_conns_layout layout = {
	.stride = sizeof(struct entry),
	.max = CONNS,
	.host = offsetof(struct entry, host),
	.dead = offsetof(struct entry, dead),
	.state = offsetof(struct entry, state),
	.local = offsetof(struct entry, local),
	.remote = offsetof(struct entry, remote),
	.lport = offsetof(struct entry, lport),
	.rport = offsetof(struct entry, rport),
	.owner = offsetof(struct entry, owner),
	.oif = offsetof(struct entry, oif),
	.listener = offsetof(struct entry, listener),
	.inode = offsetof(struct entry, inode),
	.tcp = offsetof(struct entry, tcp),
};

static struct sockaddr_in address_of(const char *ifname)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		err(1, "getifaddrs");
	for (a = all; a; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
		    !strcmp(a->ifa_name, ifname))
			memcpy(&at.sin_addr, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr,
			       sizeof(at.sin_addr));
	freeifaddrs(all);
	return at;
}

static void put_v4(uint8_t *to, struct in_addr a)
{
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	memcpy(to + 12, &a, 4);
}

static bool refused_peers;

static void write_entry(struct entry *e, unsigned i, struct in_addr local, uint32_t bytes)
{
	struct in_addr remote = {refused_peers ? INADDR_BROADCAST : local.s_addr ^ htonl(3)};

	*e = (struct entry){
		.tcp = {.state = SL_TCP_ESTABLISHED,
			.child = true,
			.listener = (void *)1,
			.rcv_nxt = 1 + bytes,
			.rcv_wnd = 1000,
			.rcv_wup = 1,
			.snd_una = 1,
			.snd_nxt = 1,
			.write_seq = 1,
			.snd_wnd = 1000,
			.max_window = 1000,
			.mss_clamp = 1460,
			.rcvbuf = 1 << 20,
			.sndbuf = 1 << 20,
			.rx_first = FIRST},
		.host = e,
		.state = SL_TCP_ESTABLISHED,
		.lport = PORT,
		.rport = (uint16_t)(1024 + i),
		.listener = NUMBER,
	};
	put_v4(e->local, local);
	put_v4(e->remote, remote);
}

static struct entry *conns_file(struct in_addr local, bool many, bool heirs)
{
	int fd = memfd_create("conns", 0);
	struct entry *e;

	if (fd < 0 || dup2(fd, FILE_FD) < 0 || ftruncate(FILE_FD, CONNS * sizeof(*e)))
		err(1, "conns");
	close(fd);
	e = mmap(NULL, CONNS * sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED, FILE_FD, 0);
	if (e == MAP_FAILED)
		err(1, "conns");
	for (unsigned i = 0; !heirs && i < (many ? CONNS : QUEUED); i++)
		write_entry(&e[i], i, local, many ? 0 : PIECES * SPARSE);
	return e;
}

/* The notes of received bytes, one piece in a frame. */
static void write_notes(void)
{
	for (uint32_t i = 0; i < PIECES && FIRST + i < g.nframes; i++) {
		struct sl_rx_note *n =
			(void *)(packets + ((size_t)(FIRST + i) << geometry.frame_shift));

		*n = (struct sl_rx_note){
			.seq = 1 + i * SPARSE, .next = FIRST + i + 1, .off = 256, .len = SPARSE};
	}
}

/* Writes a connection whose closed socket this process has; all have the same bytes, sent and not
 * acknowledged. */
static void write_heir(struct entry *e, unsigned i, struct in_addr local, uint32_t bytes)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err(1, "a closed socket");
	write_entry(e, i, local, 0);
	e->tcp.child = false;
	e->tcp.rx_first = 0;
	e->tcp.noted = true;
	e->tcp.copied_seq = e->tcp.rcv_nxt;
	e->tcp.snd_nxt = e->tcp.write_seq = 1 + bytes;
	e->owner = e;
	e->inode = ~(int32_t)(st.st_ino & INT32_MAX);
}

static void write_heirs(struct entry *e, struct in_addr local, bool bulky)
{
	const uint32_t most = (1u << geometry.frame_shift) - 256, bytes = bulky ? most : SPARSE;
	uint32_t pieces = sl_min(PIECES, g.nframes - FIRST);

	for (uint32_t i = 0; i < pieces; i++)
		*(struct sl_tcp_note *)(packets + ((size_t)(FIRST + i) << geometry.frame_shift)) =
			(struct sl_tcp_note){.seq = 1 + i * bytes,
					     .off = 256,
					     .len = (uint16_t)bytes,
					     .id = sl_tcp_note_id(0, 0, true)};
	pieces = bulky ? sl_min(pieces, (60u << 20) / bytes) : pieces;
	for (unsigned i = 0; i < HEIRS; i++)
		write_heir(&e[i], i, local, pieces * bytes);
}

/* Takes the pages of the frames that connections name away, and all huge pages that are left. */
static void make_holes(void)
{
	const size_t huge = 2 << 20;
	off_t from = (off_t)FIRST << geometry.frame_shift;
	off_t end = (off_t)geometry.nframes << geometry.frame_shift;

	from = (from + (off_t)huge - 1) & -(off_t)huge;
	if (fallocate(packets_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, end - from))
		err(1, "holes");
	while (mmap(NULL, huge, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0) != MAP_FAILED)
		;
}

/* Members that die -------------------------------------------------------------------------------
 */

static void ask_with(enum sl_lease_op op, int fd, int second)
{
	m.nfds = 0;
	m.fd[m.nfds++] = fd;
	if (second >= 0)
		m.fd[m.nfds++] = second;
	if (ask(op))
		printf("request %d: %s\n", op, m.body.why);
}

static void claim_port(int listener, struct in_addr local)
{
	memset(&m.body, 0, sizeof(m.body));
	m.body.claim.ifindex = ifindex;
	m.body.claim.claim.lane = lane.first;
	put_v4(m.body.claim.key.local, local);
	m.body.claim.key.local_port = PORT;
	m.body.claim.key.proto = IPPROTO_TCP;
	ask_with(SL_LEASE_CLAIM, listener, -1);
}

static void listen_there(const char *ifname)
{
	struct sockaddr_in at = address_of(ifname);
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2], one = 1;

	at.sin_port = htons(PORT);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&at, sizeof(at)) || listen(fd, 8) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		err(1, "a listener");
	claim_port(fd, at.sin_addr);
	memset(&m.body, 0, sizeof(m.body));
	m.body.box.listener = NUMBER;
	ask_with(SL_LEASE_BOX, pair[0], fd);
}

/* Ends this process with locks, in the middle of a refill, a reaping and a posting. */
static void die_as_member(const char *ifname)
{
	const uint32_t word = member << SL_RLOCK_SHIFT | (uint32_t)getpid();
	const union sl_frame_word mine = {.owner = (uint8_t)member, .refs = 1};
	uint32_t none = 0;

	m.body.conns = layout;
	m.body.conns.form = sl_tcp_repair_form();
	ask_with(SL_LEASE_CONNS, FILE_FD, -1);
	listen_there(ifname);
	for (uint32_t i = 0; i < PIECES && FIRST + i < g.nframes; i++)
		sl_store(&g.word[FIRST + i].all, mine.all);
	if (member & 1)
		__atomic_compare_exchange_n(&g.head->lock.word, &none, word, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	none = 0;
	if (member & 2)
		__atomic_compare_exchange_n(&g.queue[queue.share_queue].lock.word, &none, word,
					    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	sl_store(&g.queue[queue.share_queue].fill_to,
		 sl_load(&g.queue[queue.share_queue].fill_to) + queue.fill_size);
	sl_store(&g.xsk[queue.share_xsk].tx_to,
		 sl_load(&g.xsk[queue.share_xsk].tx_to) + queue.tx_size);
	printf("dies\n");
	_exit(0);
}

/* The next one comes when the one before is dead. */
static void start_victims(char **argv)
{
	char *args[] = {argv[0], argv[1], argv[2], (char *)"victim", NULL};
	static pid_t victim;
	static unsigned n;

	if (victim && waitpid(victim, NULL, WNOHANG) != victim)
		return;
	if (posix_spawn(&victim, "/proc/self/exe", NULL, NULL, args, environ))
		err(1, "posix_spawn");
	printf("member %u comes\n", ++n);
}

/* A lock is free, or a living member has it: any other word would end the group. */
static void race(const char *ifname, const char *mode)
{
	static uint32_t words[4];
	const bool bulky = !strcmp(mode, "bulky"), heirs = bulky || !strcmp(mode, "heirs");
	struct in_addr local = address_of(ifname).sin_addr;
	struct entry *e;

	refused_peers = !strcmp(mode, "refused");
	e = conns_file(local, !strcmp(mode, "many"), heirs);

	words[1] = member << SL_RLOCK_SHIFT | (uint32_t)getpid();
	words[3] = words[1] | SL_RLOCK_SLEEPERS;
	if (heirs)
		write_heirs(e, local, bulky);
	else
		write_notes();
	if (!strcmp(mode, "holes"))
		make_holes();
	if (strcmp(mode, "race"))
		return;
	racer_add_values(&g.head->lock.word, 4, words, 4);
	racer_add(&g.head->nfree, 8);
	racer_add(g.member, SL_SHARE_MEMBERS * sizeof(*g.member));
	for (uint32_t i = 0; i < 4 && i < g.nqueues; i++) {
		racer_add_values(&g.queue[i].lock.word, 4, words, 4);
		racer_add(&g.queue[i].fill_to, sizeof(*g.queue) - sizeof(struct sl_rlock));
	}
	racer_add(g.xsk, 8 * sizeof(*g.xsk));
	racer_add(g.word, g.nframes * sizeof(*g.word));
	racer_add(g.word + FIRST, PIECES * sizeof(*g.word));
	racer_add(g.link, g.nframes * sizeof(*g.link));
	racer_add(g.free, g.nframes * sizeof(*g.free));
	for (unsigned i = 0; i < 4; i++)
		racer_add(rings[i].map, rings[i].bytes);
	racer_add(packets + ((size_t)FIRST << geometry.frame_shift), 4096u << 4);
	racer_add(e, QUEUED * sizeof(*e));
	racer_add(e, 16 * sizeof(*e));
	racer_start(2);
}

int main(int argc, char **argv)
{
	double said;
	bool races;

	if (argc != 4)
		errx(2, "usage: hostile SOCKET IFNAME MODE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	ifindex = if_nametoindex(argv[2]);
	conn = sl_lease_dial(argv[1], 20);
	if (conn < 0 || !ifindex)
		errx(1, "no daemon, or no device");
	m.fd[m.nfds++] = open("/proc/self/ns/net", O_RDONLY);
	if (ask(SL_LEASE_HELLO))
		errx(1, "HELLO: %s", m.body.why);
	take_memory();
	if (!strcmp(argv[3], "early"))
		write_as(argv[3]);
	if (!take_lane() && strcmp(argv[3], "early"))
		errx(1, "no lane: %s", m.body.why);
	if (!strcmp(argv[3], "look"))
		return 0;
	if (!strcmp(argv[3], "victim"))
		die_as_member(argv[2]);
	longest = 0; /* (opening the device takes long) */
	races = !strcmp(argv[3], "race") || !strcmp(argv[3], "flood") || !strcmp(argv[3], "many") ||
		!strcmp(argv[3], "holes") || !strcmp(argv[3], "refused") ||
		!strcmp(argv[3], "heirs") || !strcmp(argv[3], "bulky");
	if (races)
		race(argv[2], argv[3]);
	else
		write_as(argv[3]);
	printf("writes\n");
	for (said = now_s();; usleep(ASK_MS * 1000)) {
		if (races)
			start_victims(argv);
		else if (strcmp(argv[3], "once") && strcmp(argv[3], "hold") &&
			 strcmp(argv[3], "keep"))
			write_as(argv[3]);
		if (conn >= 0)
			(void)ask_port(SL_LEASE_PORT_ALIVE);
		if (now_s() - said < 1)
			continue;
		printf("asked %u refused %u longest %.0f\n", asked, refused, longest);
		said = now_s();
	}
}
