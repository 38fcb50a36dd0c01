/* SPDX-License-Identifier: BSD-2-Clause */
/* io_uring: its requests name sockets by number, in memory that the program shares with the kernel.
 *
 * Theory of operation: before a call that submits, its entries are looked through, and sockets of
 * ours in them become the kernel's. A program that makes the calls by syscall(2) has the rings
 * mapped at addresses that the library does not know, so the library maps the ring again, until the
 * program closes it. liburing makes its calls by the bare instruction: its functions are wrapped,
 * and its struct (the same since 2.0) tells the entries. Where no call shows what is submitted (a
 * thread of the kernel looks at the ring, or the ring was made out of sight) all sockets of the
 * process become the kernel's, and stay so.
 *
 * A change of an epoll set (libuv batches them) takes nothing from a program's calls, so the
 * library makes it as epoll_ctl(2) would, and the entry becomes a NOP that completes with its
 * result (IORING_NOP_INJECT_RESULT, since Linux 6.10; before, one that fails goes the other way).
 *
 * A listener may have connections in the library's queue, which the ring's accept would never find:
 * as long as there are any, an accept is changed to such a NOP, with the descriptor of one. A
 * multishot accept ends by it, and the program makes another. Where NOPs have no results, a
 * listener that begins to listen when there is a ring stays with the kernel, unless the rings have
 * been used for files alone (MariaDB's); elsewhere only if the rings have been used for sockets. */
#include "real.h"

#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/syscall.h>

/* From linux/io_uring.h, which may be older than the kernel. */
struct sqe {
	uint8_t op, flags;
	uint16_t prio;
	int32_t fd;
	uint64_t off, addr;
	uint32_t len, op_flags;
	uint64_t user_data;
	uint16_t buf, personality;
	int32_t splice_fd;
	uint64_t rest[2];
};
_Static_assert(sizeof(struct sqe) == 64 && offsetof(struct sqe, splice_fd) == 44, "the kernel's");

struct params {
	uint32_t sq_entries, cq_entries, flags, cpu, idle, features, wq_fd, reserved[3];
	struct {
		uint32_t head, tail, mask, entries, flags, dropped, array, reserved;
		uint64_t user_addr; /* NO_MMAP: the entries */
	} sq;
	struct {
		uint32_t head, tail, mask, entries, overflow, cqes, flags, reserved;
		uint64_t user_addr; /* NO_MMAP: the rings */
	} cq;
};
_Static_assert(sizeof(struct params) == 120, "the kernel's");

enum {
	SETUP_SQPOLL = 1u << 1,
	SETUP_SQE128 = 1u << 10,
	SETUP_NO_MMAP = 1u << 14,
	SETUP_NO_SQARRAY = 1u << 16,
	ENTER_REGISTERED_RING = 1u << 4,
	SQE_FIXED_FILE = 1u << 0,
	SQE_IO_DRAIN = 1u << 1,
	SQE_IO_LINK = 1u << 2,
	SQE_IO_HARDLINK = 1u << 3,
	SQE_CQE_SKIP_SUCCESS = 1u << 6,
	SPLICE_FIXED = 1u << 31,
	OFF_SQES = 0x10000000,
};

enum {
	OP_NOP = 0,
	OP_ACCEPT = 13,
	NOP_INJECT_RESULT = 1,
};

enum {
	REGISTER_FILES = 2,
	REGISTER_FILES_UPDATE = 6,
	REGISTER_FILES2 = 13,
	REGISTER_FILES_UPDATE2 = 14,
	REGISTER_RESIZE = 33,
	REGISTER_BY_INDEX = 1u << 31,
};

enum {
	OP_SENDMSG = 9,
	OP_CONNECT = 16,
	OP_CLOSE = 19,
	OP_FILES_UPDATE = 20,
	OP_EPOLL_CTL = 29,
	OP_SPLICE = 30,
	OP_TEE = 33,
	OP_SENDMSG_ZC = 48,
	OP_LAST = 63, /* later ones may use a socket */
};

/* Operations up to OP_LAST whose descriptor may be a socket or an epoll set: reading, writing,
 * waiting, the calls of sockets, and commands. */
static const uint64_t uses_socket =
	1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 9 | 1ull << 10 |
	1ull << 13 | 1ull << 16 | 1ull << 19 | 1ull << 22 | 1ull << 23 | 1ull << 26 | 1ull << 27 |
	1ull << 29 | 1ull << 30 | 1ull << 33 | 1ull << 34 | 1ull << 46 | 1ull << 47 | 1ull << 48 |
	1ull << 49 | 1ull << 56 | 1ull << 57 | 1ull << 58 | 1ull << 59 | 1ull << 60 | 1ull << 61;

/* Operations for sockets alone, and those that wait for any descriptor. */
static const uint64_t is_network = 1ull << 6 | 1ull << 9 | 1ull << 10 | 1ull << 13 | 1ull << 16 |
				   1ull << 26 | 1ull << 27 | 1ull << 34 | 1ull << 45 | 1ull << 47 |
				   1ull << 48 | 1ull << 56 | 1ull << 57 | 1ull << 58 | 1ull << 59;

bool sl_uring_seen;
static bool has_files, has_network; /* what was submitted so far; atomic */

static const char by_thread[] = "a thread of the kernel reads an io_uring (IORING_SETUP_SQPOLL)";
static const char out_of_sight[] = "an io_uring was made out of the library's sight";

/* Entries ---------------------------------------------------------------------------------------
 */

static void pass_close(int fd)
{
	sl_given_forget((unsigned)fd, (unsigned)fd);
	(void)sl_pass(fd);
	if (ours(fd))
		lib.replace(fd);
}

static bool nops_have_results(void)
{
	unsigned major, minor;
	struct utsname u;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 10));
}

static void complete_with(volatile struct sqe *shared, int result)
{
	shared->prio = 0;
	shared->off = shared->addr = 0;
	shared->len = (uint32_t)result;
	shared->op_flags = result ? NOP_INJECT_RESULT : 0;
	shared->op = OP_NOP;
}

/* False: the kernel makes the change, in the entry's turn where it waits for others. */
static bool epoll_ctl_made(volatile struct sqe *shared, const struct sqe *e, bool waits)
{
	if (!lib_is_there() || waits || e->flags & (uint8_t)~SQE_CQE_SKIP_SUCCESS)
		return false;
	if (!epoll_ctl(e->fd, (int)e->len, (int)e->off, (struct epoll_event *)e->addr))
		complete_with(shared, 0);
	else if (nops_have_results())
		complete_with(shared, -errno);
	else
		return false;
	return true;
}

/* The listener e.fd is the kernel's by now, or drains. */
static void accept_left(volatile struct sqe *shared, const struct sqe *e)
{
	int fd;

	if (!ours(e->fd) || e->splice_fd || !nops_have_results()) /* splice_fd: a registered file */
		return;
	fd = lib.accept_left(e->fd, (struct sockaddr *)e->addr, (socklen_t *)e->off,
			     (int)e->op_flags);
	if (fd >= 0)
		complete_with(shared, fd);
}

/* waits: the kernel begins the entry when earlier ones are complete. */
static void look_at(volatile struct sqe *shared, bool waits)
{
	const struct sqe e = *shared; /* the program may change it meanwhile */

	if (e.op > OP_LAST || is_network >> e.op & 1)
		sl_store(&has_network, true);
	else if (e.op != OP_NOP)
		sl_store(&has_files, true);
	if (e.op <= OP_LAST && !(uses_socket >> e.op & 1) && e.op != OP_FILES_UPDATE)
		return;
	switch (e.op) {
	case OP_FILES_UPDATE:
		(void)sl_pass_list((const int *)e.addr, e.len);
		return;
	case OP_CLOSE:
		if (!e.splice_fd) /* else an index of registered files */
			pass_close(e.fd);
		return;
	case OP_EPOLL_CTL:
		if (epoll_ctl_made(shared, &e, waits))
			return;
		(void)sl_pass((int)e.off);
		break;
	case OP_SPLICE:
	case OP_TEE:
		if (!(e.op_flags & SPLICE_FIXED))
			(void)sl_pass(e.splice_fd);
		break;
	case OP_SENDMSG:
	case OP_SENDMSG_ZC:
		sl_pass_rights((const struct msghdr *)e.addr);
		break;
	case OP_CONNECT:
		(void)sl_pass_by_address((const struct sockaddr *)e.addr, (socklen_t)e.off);
		break;
	}
	if (e.flags & SQE_FIXED_FILE)
		return;
	(void)sl_pass(e.fd);
	if (e.op == OP_ACCEPT)
		accept_left(shared, &e);
}

/* Looks at one entry of several. waits: flags of earlier ones for which it waits. Returns those
 * for which the next one waits; a chain's last entry has none of its own. */
static unsigned look_at_one(volatile struct sqe *e, unsigned waits)
{
	unsigned flags = e->flags & (SQE_IO_DRAIN | SQE_IO_LINK | SQE_IO_HARDLINK);

	look_at(e, waits);
	return (waits & SQE_IO_DRAIN) | flags;
}

/* Rings made by system calls ----------------------------------------------------------------------
 */

#define RINGS_MAX 256

struct ring {
	int fd; /* -1: free; atomic */
	uint32_t mask;
	const uint32_t *head, *tail, *array; /* array: NULL if entries are in the ring's order */
	char *sqes;
	unsigned shift; /* of an entry's size */
	void *map[2];
	size_t len[2]; /* 0: not mapped by us */
};
static struct ring rings[RINGS_MAX] = {[0 ... RINGS_MAX - 1] = {.fd = -1}};
static unsigned nrings;                                  /* the first so many have been used */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of changes */

static struct ring *find(int fd)
{
	unsigned n = sl_load_acquire(&nrings);

	for (unsigned i = 0; i < n; i++)
		if (sl_load_acquire(&rings[i].fd) == fd)
			return &rings[i];
	return NULL;
}

static void unmap(struct ring *r)
{
	sl_store_release(&r->fd, -1);
	for (unsigned i = 0; i < 2; i++)
		if (r->len[i])
			sl_raw(SYS_munmap, r->map[i], r->len[i]);
	r->len[0] = r->len[1] = 0;
}

static bool map(struct ring *r, unsigned i, int fd, size_t len, off_t at)
{
	long p = sl_raw(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (p == -1)
		return false;
	r->map[i] = (void *)p;
	r->len[i] = len;
	return true;
}

static bool fill(struct ring *r, int fd, const struct params *p)
{
	size_t len = p->sq.array + p->sq_entries * sizeof(uint32_t);

	r->shift = p->flags & SETUP_SQE128 ? 7 : 6;
	r->mask = p->sq_entries - 1;
	if (p->flags & SETUP_NO_MMAP) {
		r->map[0] = (void *)p->cq.user_addr;
		r->map[1] = (void *)p->sq.user_addr;
	} else if (!map(r, 0, fd, sl_max(len, (size_t)4096), 0) ||
		   !map(r, 1, fd, (size_t)p->sq_entries << r->shift, OFF_SQES)) {
		return false;
	}
	r->head = (const uint32_t *)((char *)r->map[0] + p->sq.head);
	r->tail = (const uint32_t *)((char *)r->map[0] + p->sq.tail);
	r->array = p->flags & SETUP_NO_SQARRAY
			   ? NULL
			   : (const uint32_t *)((char *)r->map[0] + p->sq.array);
	r->sqes = r->map[1];
	sl_store_release(&r->fd, fd);
	return true;
}

/* A place for the ring fd; lock held. NULL: too many. */
static struct ring *place(int fd)
{
	struct ring *r = find(fd);

	if (r) {
		unmap(r);
		return r;
	}
	r = find(-1);
	if (!r && nrings < RINGS_MAX) {
		r = &rings[nrings];
		sl_store_release(&nrings, nrings + 1);
	}
	return r;
}

/* The ring fd exists from now on. */
static void note(int fd, const struct params *p)
{
	int saved = errno;
	bool is_noted;
	struct ring *r;

	sl_store(&sl_uring_seen, true);
	if (p->flags & SETUP_SQPOLL) {
		sl_leave_all(by_thread);
		return;
	}
	pthread_mutex_lock(&lock);
	r = place(fd);
	is_noted = r && fill(r, fd, p);
	if (r && !is_noted)
		unmap(r);
	pthread_mutex_unlock(&lock);
	if (!is_noted)
		sl_leave_all(out_of_sight);
	errno = saved;
}

void sl_uring_listens(int fd)
{
	if (sl_load(&has_network) || (!sl_load(&has_files) && !nops_have_results()))
		(void)sl_pass(fd);
}

void sl_uring_forget(unsigned first, unsigned last)
{
	int saved = errno;

	if (sl_likely(!sl_load(&nrings)) || sl_in_vfork)
		return;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < nrings; i++)
		if (rings[i].fd >= 0 && (unsigned)rings[i].fd >= first &&
		    (unsigned)rings[i].fd <= last)
			unmap(&rings[i]);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* Looks at the next `most` entries. */
static void look_through(const struct ring *r, unsigned most)
{
	uint32_t head = sl_load_acquire(r->head), n = sl_load_acquire(r->tail) - head;
	unsigned waits = 0;

	n = sl_min(n, most);
	n = sl_min(n, r->mask + 1);
	for (uint32_t i = head; i != head + n; i++) {
		uint32_t at = r->array ? sl_load(&r->array[i & r->mask]) : i & r->mask;

		if (at <= r->mask)
			waits = look_at_one((struct sqe *)(r->sqes + ((size_t)at << r->shift)),
					    waits);
	}
}

static void before_enter(int fd, unsigned to_submit, unsigned flags)
{
	int saved = errno;
	const struct ring *r;

	if (!to_submit || sl_in_vfork || sl_load(&sl_all_left))
		return;
	if (flags & ENTER_REGISTERED_RING) { /* fd is an index into a table of the kernel's */
		for (unsigned i = 0; i < sl_load_acquire(&nrings); i++)
			if (sl_load_acquire(&rings[i].fd) >= 0)
				look_through(&rings[i], UINT32_MAX);
	} else if ((r = find(fd))) {
		look_through(r, to_submit);
	} else {
		sl_leave_all(out_of_sight);
	}
	errno = saved;
}

static void before_register(unsigned op, const void *arg, unsigned n)
{
	struct {
		uint32_t offset, reserved;
		uint64_t fds;
	} update;
	struct {
		uint32_t n, flags;
		uint64_t reserved, fds, tags;
	} files;
	struct {
		uint32_t offset, reserved;
		uint64_t fds, tags;
		uint32_t n, reserved2;
	} update2;

	if (!sl_may_have_ours())
		return;
	switch (op & ~REGISTER_BY_INDEX) {
	case REGISTER_FILES:
		(void)sl_pass_list(arg, n);
		break;
	case REGISTER_FILES_UPDATE:
		if (sl_get(&update, arg, sizeof(update)))
			(void)sl_pass_list((const int *)update.fds, n);
		break;
	case REGISTER_FILES2:
		if (sl_get(&files, arg, sizeof(files)) && files.fds)
			(void)sl_pass_list((const int *)files.fds, files.n);
		break;
	case REGISTER_FILES_UPDATE2:
		if (sl_get(&update2, arg, sizeof(update2)))
			(void)sl_pass_list((const int *)update2.fds, update2.n);
		break;
	}
}

/* The ring has other memory now. */
static void after_register(int fd, unsigned op, const struct params *p)
{
	if (op == REGISTER_RESIZE)
		note(fd, p);
	else if (op == (REGISTER_RESIZE | REGISTER_BY_INDEX))
		sl_leave_all(out_of_sight);
}

#if defined(__x86_64__)
SL_SYS(io_uring_setup)
{
	long fd;

	SL_SYS_UNUSED;
	fd = sl_raw(SYS_io_uring_setup, a, b);
	if (fd >= 0)
		note((int)fd, (const struct params *)b);
	return fd;
}

SL_SYS(io_uring_enter)
{
	before_enter((int)a, (unsigned)b, (unsigned)d);
	return sl_raw(SYS_io_uring_enter, a, b, c, d, e, f);
}

SL_SYS(io_uring_register)
{
	long r;

	SL_SYS_UNUSED;
	before_register((unsigned)b, (const void *)c, (unsigned)d);
	r = sl_raw(SYS_io_uring_register, a, b, c, d);
	if (r >= 0)
		after_register((int)a, (unsigned)b, (const struct params *)c);
	return r;
}
#endif

/* liburing --------------------------------------------------------------------------------------
 */

/* The head of its struct io_uring, which programs are compiled with. */
struct io_uring {
	struct {
		uint32_t *head, *tail, *mask, *entries, *flags, *dropped, *array;
		char *sqes;
		uint32_t sqe_head, sqe_tail; /* entries that are prepared, not submitted yet */
		size_t len;
		void *ring;
		uint32_t reserved[4];
	} sq;
	struct {
		uint32_t *head, *tail, *mask, *entries, *flags, *overflow;
		void *cqes;
		size_t len;
		void *ring;
		uint32_t reserved[4];
	} cq;
	uint32_t flags;
	int fd;
};
_Static_assert(sizeof(void *) != 8 || offsetof(struct io_uring, fd) == 196, "liburing's");

static int note_liburings(int err, const struct io_uring *ring)
{
	int saved = errno;
	struct ring *r;

	if (err < 0)
		return err;
	sl_store(&sl_uring_seen, true);
	if (ring->flags & SETUP_SQPOLL) {
		sl_leave_all(by_thread);
		return err;
	}
	pthread_mutex_lock(&lock);
	r = place(ring->fd);
	if (r) {
		r->mask = *ring->sq.mask;
		r->shift = ring->flags & SETUP_SQE128 ? 7 : 6;
		r->head = ring->sq.head;
		r->tail = ring->sq.tail;
		r->array = ring->flags & SETUP_NO_SQARRAY ? NULL : ring->sq.array;
		r->sqes = ring->sq.sqes;
		sl_store_release(&r->fd, ring->fd);
	}
	pthread_mutex_unlock(&lock);
	if (!r)
		sl_leave_all(out_of_sight);
	errno = saved;
	return err;
}

static void before_submit(const struct io_uring *ring)
{
	unsigned shift = ring->flags & SETUP_SQE128 ? 7 : 6, waits = 0;
	uint32_t mask = *ring->sq.mask;
	int saved = errno;

	if (sl_in_vfork || sl_load(&sl_all_left))
		return;
	for (uint32_t i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++)
		waits = look_at_one((struct sqe *)(ring->sq.sqes + ((size_t)(i & mask) << shift)),
				    waits);
	errno = saved;
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	return note_liburings(REAL(io_uring_queue_init)(entries, ring, flags), ring);
}

int io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct params *p)
{
	return note_liburings(REAL(io_uring_queue_init_params)(entries, ring, p), ring);
}

int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring, struct params *p, void *buf,
			    size_t size)
{
	return note_liburings(REAL(io_uring_queue_init_mem)(entries, ring, p, buf, size), ring);
}

int io_uring_queue_mmap(int fd, struct params *p, struct io_uring *ring)
{
	return note_liburings(REAL(io_uring_queue_mmap)(fd, p, ring), ring);
}

void io_uring_queue_exit(struct io_uring *ring)
{
	sl_uring_forget((unsigned)ring->fd, (unsigned)ring->fd);
	REAL(io_uring_queue_exit)(ring);
}

int io_uring_submit(struct io_uring *ring)
{
	before_submit(ring);
	return REAL(io_uring_submit)(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	before_submit(ring);
	return REAL(io_uring_submit_and_wait)(ring, n);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	before_submit(ring);
	return REAL(io_uring_submit_and_get_events)(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, void *cqe, unsigned n, void *ts,
				     void *mask)
{
	before_submit(ring);
	return REAL(io_uring_submit_and_wait_timeout)(ring, cqe, n, ts, mask);
}

int io_uring_submit_and_wait_min_timeout(struct io_uring *ring, void *cqe, unsigned n, void *ts,
					 unsigned min, void *mask)
{
	before_submit(ring);
	return REAL(io_uring_submit_and_wait_min_timeout)(ring, cqe, n, ts, min, mask);
}

int io_uring_submit_and_wait_reg(struct io_uring *ring, void *cqe, unsigned n, int reg)
{
	before_submit(ring);
	return REAL(io_uring_submit_and_wait_reg)(ring, cqe, n, reg);
}

/* These submit, too, on kernels without timeouts in io_uring_enter(2). */
int io_uring_wait_cqes(struct io_uring *ring, void *cqe, unsigned n, void *ts, void *mask)
{
	before_submit(ring);
	return REAL(io_uring_wait_cqes)(ring, cqe, n, ts, mask);
}

int io_uring_wait_cqe_timeout(struct io_uring *ring, void *cqe, void *ts)
{
	before_submit(ring);
	return REAL(io_uring_wait_cqe_timeout)(ring, cqe, ts);
}

int io_uring_register_files(struct io_uring *ring, const int *fds, unsigned n)
{
	(void)sl_pass_list(fds, n);
	return REAL(io_uring_register_files)(ring, fds, n);
}

int io_uring_register_files_tags(struct io_uring *ring, const int *fds, const void *tags,
				 unsigned n)
{
	(void)sl_pass_list(fds, n);
	return REAL(io_uring_register_files_tags)(ring, fds, tags, n);
}

int io_uring_register_files_update(struct io_uring *ring, unsigned at, const int *fds, unsigned n)
{
	(void)sl_pass_list(fds, n);
	return REAL(io_uring_register_files_update)(ring, at, fds, n);
}

int io_uring_register_files_update_tag(struct io_uring *ring, unsigned at, const int *fds,
				       const void *tags, unsigned n)
{
	(void)sl_pass_list(fds, n);
	return REAL(io_uring_register_files_update_tag)(ring, at, fds, tags, n);
}

int io_uring_setup(unsigned entries, struct params *p)
{
	int fd = REAL(io_uring_setup)(entries, p);

	if (fd >= 0)
		note(fd, p);
	return fd;
}

int io_uring_enter(unsigned fd, unsigned n, unsigned least, unsigned flags, void *mask)
{
	before_enter((int)fd, n, flags);
	return REAL(io_uring_enter)(fd, n, least, flags, mask);
}

int io_uring_enter2(unsigned fd, unsigned n, unsigned least, unsigned flags, void *arg, size_t size)
{
	before_enter((int)fd, n, flags);
	return REAL(io_uring_enter2)(fd, n, least, flags, arg, size);
}

int io_uring_register(unsigned fd, unsigned op, const void *arg, unsigned n)
{
	int r;

	before_register(op, arg, n);
	r = REAL(io_uring_register)(fd, op, arg, n);
	if (r >= 0)
		after_register((int)fd, op, arg);
	return r;
}
