/* SPDX-License-Identifier: BSD-2-Clause */
/* The attack of a forked child by chance: it writes into all that the library of its parent has
 * left it (shared pages, boxes, mailboxes, eventfds), in any order and form. Nothing is done to the
 * program's own sockets that would harm the parent by the kernel, too. Each run has a seed (SEED),
 * which is printed. */
#ifndef HOSTILE_ANY_H
#define HOSTILE_ANY_H

#include <linux/filter.h>
#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "ways.h"

#define ANY_ROUNDS 6000

static struct {
	uint64_t state;
	int fd[256], nfds; /* the library's descriptors that the child has */
	int bell[64], nbells;
	struct {
		char *at;
		size_t bytes;
		bool writable;
	} page[64];
	int npages;
	unsigned broken; /* pages that could be written though they are for reading */
} any;

static uint32_t chance(uint32_t n)
{
	any.state ^= any.state << 13;
	any.state ^= any.state >> 7;
	any.state ^= any.state << 17;
	return n ? (uint32_t)(any.state >> 32) % n : 0;
}

/* A number of the kind that breaks arithmetic. */
static uint64_t odd_number(void)
{
	static const uint64_t odd[] = {
		0,         1,          2,          UINT32_MAX, UINT64_MAX,    INT32_MAX,
		INT64_MAX, 1ull << 31, 1ull << 32, 0x41414141, UINT64_MAX - 1};

	return chance(3) ? odd[chance(sizeof(odd) / sizeof(odd[0]))]
			 : (uint64_t)chance(0) << 32 | chance(UINT32_MAX);
}

static bool link_is(int fd, const char *what)
{
	char path[64], to[128];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = 0;
	return strstr(to, what);
}

static void find_fds(const int *own, int nown)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name);
		bool is_own = fd < 3 || fd == dirfd(d);

		for (int i = 0; i < nown; i++)
			is_own |= fd == own[i];
		if (is_own || link_is(fd, "pipe:") || link_is(fd, "/"))
			continue;
		if (any.nfds < 256)
			any.fd[any.nfds++] = fd;
		if (link_is(fd, "eventfd") && any.nbells < 64)
			any.bell[any.nbells++] = fd;
	}
	closedir(d);
}

/* (A worker with a lease of its own has packet memory in common with its user's programs.) */
static void find_pages(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], perm[5];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, perm) == 3 && perm[3] == 's' &&
		    (strstr(line, "/dev/zero") || strstr(line, "sluice-board")) &&
		    any.npages < 64) {
			any.page[any.npages].at = (char *)from;
			any.page[any.npages].bytes = to - from;
			any.page[any.npages++].writable = perm[1] == 'w';
		}
	fclose(f);
}

static void any_memory(void)
{
	int i = any.npages ? (int)chance((uint32_t)any.npages) : -1, mem;
	char *at;
	uint64_t v = odd_number();

	if (i < 0)
		return;
	at = any.page[i].at + (chance((uint32_t)any.page[i].bytes) & ~7u);
	if (chance(3) == 0) /* what comes first is used most */
		at = any.page[i].at + (chance(128) & ~7u);
	if (any.page[i].writable) {
		if (chance(100) == 0)
			memset(any.page[i].at, (int)v, any.page[i].bytes);
		*(volatile uint64_t *)at = v;
		return;
	}
	if (chance(20))
		return;
	mem = open("/proc/self/mem", O_RDWR);
	any.broken += pwrite(mem, &v, sizeof(v), (off_t)(uintptr_t)at) > 0;
	any.broken += !raw(SYS_mprotect, any.page[i].at, any.page[i].bytes, PROT_READ | PROT_WRITE);
	close(mem);
}

static void any_bell(void)
{
	int fd = any.nbells ? any.bell[chance((uint32_t)any.nbells)] : -1;
	uint64_t v = chance(2) ? UINT64_MAX - 1 : odd_number();
	int flags;

	if (fd < 0)
		return;
	raw(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
	if (chance(4) == 0)
		raw(SYS_read, fd, &v, sizeof(v));
	else
		raw(SYS_write, fd, &v, sizeof(v));
	flags = chance(2) ? 0 : O_NONBLOCK; /* full, a writer waits */
	raw(SYS_fcntl, fd, F_SETFL, flags);
}

static int any_fd(void)
{
	return any.nfds ? any.fd[chance((uint32_t)any.nfds)] : -1;
}

static void any_flags(void)
{
	static const int flags[] = {0, O_NONBLOCK, O_ASYNC, O_NONBLOCK | O_ASYNC, O_APPEND};
	int fd = any_fd();

	switch (chance(3)) {
	case 0:
		raw(SYS_fcntl, fd, F_SETOWN, chance(2) ? getppid() : getpid());
		raw(SYS_fcntl, fd, F_SETSIG, 0);
		break;
	default:
		raw(SYS_fcntl, fd, F_SETFL, flags[chance(5)] & ~O_ASYNC);
	}
}

static void any_option(void)
{
	static const int names[] = {SO_RCVTIMEO,  SO_SNDTIMEO, SO_PEEK_OFF,  SO_PASSCRED,
				    SO_PASSSEC,   SO_RCVBUF,   SO_SNDBUF,    SO_RCVLOWAT,
				    SO_BUSY_POLL, SO_LINGER,   SO_TIMESTAMP, SO_TIMESTAMPNS,
				    SO_KEEPALIVE, SO_MARK,     76,           77};
	struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, chance(2) ? 0 : chance(40))};
	struct sock_fprog drop = {1, none};
	struct timeval t = {chance(2), chance(1000)};
	uint64_t v[2] = {odd_number(), odd_number()};
	int name = names[chance(sizeof(names) / sizeof(names[0]))], fd = any_fd();

	if (!nways)
		return;
	fd = way[chance((uint32_t)nways)];
	if (chance(50) == 0)
		raw(SYS_setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER, &drop, sizeof(drop));
	else if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
		raw(SYS_setsockopt, fd, SOL_SOCKET, name, &t, sizeof(t));
	else
		raw(SYS_setsockopt, fd, SOL_SOCKET, name, v, chance(17));
}

static void any_letter(const uint64_t *cookies, int ncookies, const int *give, int ngive)
{
	union {
		uint32_t word[64];
		struct sl_letter l;
	} u;
	int fds[8], to = nways ? way[chance((uint32_t)nways)] : -1;
	unsigned n = chance(3) ? 0 : chance(8);
	size_t bytes = chance(4) ? sizeof(u.l) : chance(sizeof(u));

	for (unsigned i = 0; i < 64; i++)
		u.word[i] = (uint32_t)odd_number();
	if (chance(4))
		u.l = (struct sl_letter){
			.magic = SL_LETTER_MAGIC,
			.use = chance(SL_USE_END + 1),
			.sock = (chance(2) ? 1u << 31 : 0) | chance(8),
			.gen = chance(5),
			.cookie = cookies[chance((uint32_t)ncookies)] + (chance(4) ? 0 : chance(9)),
			.ticket = (uint32_t)odd_number(),
		};
	for (unsigned i = 0; i < n; i++)
		fds[i] = give[chance((uint32_t)ngive)];
	if (chance(5) == 0) {
		u.word[0] = (uint32_t) "bxBX"[chance(4)];
		bytes = chance(3);
	}
	if (to >= 0)
		put_letter(to, &u, bytes, fds, n);
}

static void any_receive(void)
{
	char buf[512], space[512];
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};
	struct cmsghdr *h;

	if (!nways || raw(SYS_recvmsg, way[chance((uint32_t)nways)], &m,
			  MSG_DONTWAIT | (chance(2) ? MSG_PEEK : 0)) < 0)
		return;
	for (h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		for (size_t i = 0;
		     h->cmsg_type == SCM_RIGHTS && i < (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		     i++)
			close(((int *)(void *)CMSG_DATA(h))[i]);
}

/* A chain of epoll sets on one of the descriptors; the last may be given away as well. */
static int any_chain(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | (chance(2) ? EPOLLET : 0u)};
	int fd = any_fd(), ep = -1;

	for (unsigned i = chance(5) + 1; i; i--) {
		int next = epoll_create1(0);

		raw(SYS_epoll_ctl, next, EPOLL_CTL_ADD, fd, &ev);
		if (ep >= 0)
			close(ep);
		fd = ep = next;
	}
	return ep;
}

/* own: the program's sockets; give: descriptors to send. */
static void attack_any(const int *own, int nown, const uint64_t *cookies, int ncookies, int *give,
		       int ngive)
{
	const char *seed = getenv("SEED");
	struct rlimit many = {1 << 16, 1 << 16};

	any.state = seed ? strtoull(seed, NULL, 10)
			 : (uint64_t)time(NULL) * 1000 + (unsigned)getpid() % 1000;
	printf("seed %llu\n", (unsigned long long)any.state);
	any.state = any.state * 0x9e3779b97f4a7c15ull + 1;
	setrlimit(RLIMIT_NOFILE, &many);
	find_fds(own, nown);
	find_pages();
	printf("%d descriptors, %d bells, %d shared mappings\n", any.nfds, any.nbells, any.npages);
	for (unsigned i = 0; i < ANY_ROUNDS; i++)
		switch (chance(16)) {
		case 0 ... 3:
			any_memory();
			break;
		case 4 ... 5:
			any_bell();
			break;
		case 6:
			any_flags();
			break;
		case 7:
			any_option();
			break;
		case 8:
			any_receive();
			break;
		case 9:
			if (ngive < 60 && chance(20) == 0)
				give[ngive++] = any_chain();
			break;
		case 10:
			if (i % 64 == 0)
				usleep(1000);
			break;
		default:
			any_letter(cookies, ncookies, give, ngive);
		}
	/* In the end all is as bad as it gets: full, and a writer waits. */
	for (int i = 0; i < any.nbells; i++) {
		uint64_t v = UINT64_MAX - 1;

		raw(SYS_fcntl, any.bell[i], F_SETFL, O_NONBLOCK);
		while (raw(SYS_write, any.bell[i], &v, sizeof(v)) < 0 && v)
			v /= 2;
		raw(SYS_fcntl, any.bell[i], F_SETFL, 0);
	}
	for (int i = 0; i < any.npages; i++)
		if (any.page[i].writable)
			memset(any.page[i].at, 0, any.page[i].bytes);
	if (any.broken)
		printf("%u writes into what is for reading\n", any.broken);
}

#endif
