/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's counters: private memory first, a shared file mapped over it later.
 *
 * The block always lives at the same address, so entries stay valid when the file comes
 * (sl_stats_open) and when a child goes back to private memory (sl_stats_child). The file's blocks
 * are allocated up front: a hole in a full file system would be a SIGBUS at the first count. */
#include "base/stats.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/stats_dir.h"
#include "base/sys.h"

#define MAX_SOCKS 1024 /* most that SLUICE_STATS_FD_NUM allows */
#if defined(__x86_64__)
#define PAGE 4096
#else
#define PAGE 65536
#endif
#define REGION_RAW  (sizeof(struct sl_stats) + MAX_SOCKS * sizeof(struct sl_sock_stats))
#define REGION_SIZE ((REGION_RAW + PAGE - 1) / PAGE * PAGE)

static union {
	struct sl_stats stats;
	char bytes[REGION_SIZE];
} region __attribute__((aligned(PAGE)));
struct sl_stats *sl_stats = &region.stats;

/* Counters for sockets, lanes, ports and epoll sets that found no entry free. Never shared, never
 * shown. */
static struct sl_sock_stats spill_sock;
static struct sl_lane_stats spill_lane;
static struct sl_port_stats spill_port;
static struct sl_wait_stats spill_wait;

static uint32_t nsocks;    /* entries taken: when all are, the search for a free one is skipped */
static uint32_t max_socks; /* our copy: the file's is for readers */
static char path[256];     /* of the shared file; "" when there is none */

static const char *const reason_texts[] = {
#define SL_REASON(name, text) text,
	SL_REASONS
#undef SL_REASON
};

const char *sl_reason_text(uint32_t reason)
{
	return reason < SL_REASON_COUNT ? reason_texts[reason] : "unknown";
}

static uint32_t file_size(void)
{
	size_t n = sizeof(struct sl_stats) + max_socks * sizeof(struct sl_sock_stats);

	return (uint32_t)((n + PAGE - 1) / PAGE * PAGE);
}

/* Creates the file anew. An old file with our process id is a left-over. (Or it belongs to a live
 * process of another pid namespace with the same directory; `sluice stat` no longer sees that.) */
static int create_file(int dir, const char *name)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = (int)sl_sys(SYS_openat, dir, name, flags, 0600);

	if (fd == -EEXIST && sl_sys(SYS_unlinkat, dir, name, 0) == 0)
		fd = (int)sl_sys(SYS_openat, dir, name, flags, 0600);
	return fd;
}

/* Locks the file, so that processes that cannot see ours know that it is in use
 * (sl_stats_is_held()). The lock is the open file's: the mapping keeps it until this process and
 * those it forked have left it. */
static void hold_file(int fd)
{
	const struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)sl_sys(SYS_fcntl, fd, F_OFD_SETLK, &all);
}

/* Gives the file its size with blocks behind all of it, and the counters so far. (To read memory
 * that was never written takes a page fault for each page.) */
static int fill_file(int fd, uint32_t size)
{
	uint32_t used = sl_load(&nsocks) ? size : sizeof(struct sl_stats);
	long n, err;

	if (!sl_file_fits(size))
		return -EFBIG;
	err = sl_sys(SYS_fallocate, fd, 0, 0L, (long)size);
	if (err && err != -EOPNOTSUPP)
		return (int)err;
	if (err)
		used = size;
	for (uint32_t done = 0; done < used; done += (uint32_t)n) {
		n = sl_sys(SYS_pwrite64, fd, region.bytes + done, (long)(used - done), (long)done);
		if (n <= 0)
			return n ? (int)n : -EIO;
	}
	return 0;
}

static void fill_header(uint32_t size)
{
	sl_stats->magic = SL_STATS_MAGIC;
	sl_stats->version = SL_STATS_VERSION;
	sl_stats->size = size;
	sl_stats->pid = (uint32_t)sl_sys(SYS_getpid);
	sl_stats->max_socks = max_socks;
	sl_stats->start_ns = sl_now_ns();
	sl_stats->log_level = sl_load(&sl_log_level);
	sl_stats->log_details = sl_load(&sl_log_details);
	sl_stats->log_level_want = sl_stats->log_details_want = -1;
	for (unsigned i = 0; i < SL_WAIT_EPOLL; i++) {
		sl_stats->wait[i].fd = -1;
		sl_stats->wait[i].used = 1;
	}
}

/* Not in a child's private memory, where nobody reads it: the file costs 25 us of a fork's 500. */
static void fill_name(void)
{
	sl_read_text("/proc/self/comm", sl_stats->program, sizeof(sl_stats->program));
}

int sl_stats_open(void)
{
	char dir[200], name[sizeof(path)] = "";
	uint32_t size;
	void *same;
	int at, fd, err;

	if (path[0])
		return 0;
	max_socks = sl_min((uint32_t)sl_settings.stats_fd_num, (uint32_t)MAX_SOCKS);
	size = file_size();
	fill_header(size);
	fill_name();
	sl_sys(SYS_madvise, &region, sizeof(region), MADV_DONTDUMP); /* as all of the library's */
	if (!sl_settings.stats_shmem_dir[0])
		return 0;
	fd = at = sl_stats_dir_open(dir, sizeof(dir));
	snprintf(name, sizeof(name), "%s/sluice.%u.stats", dir, sl_stats->pid);
	if (at >= 0) {
		fd = create_file(at, strrchr(name, '/') + 1);
		(void)sl_sys_close(at);
	}
	if (fd < 0) {
		err = fd;
		goto say;
	}
	hold_file(fd);
	err = fill_file(fd, size);
	if (err)
		goto unlink_file;
	err = sl_sys_mmap(&same, &region, size, MAP_SHARED | MAP_FIXED, fd, 0);
	if (err)
		goto unlink_file;
	(void)sl_sys_close(fd);
	__builtin_memcpy(path, name, sizeof(path));
	return 0;

unlink_file:
	(void)sl_sys_close(fd);
	(void)sl_sys(SYS_unlinkat, AT_FDCWD, name, 0);
say:
	sl_info("stats", "%s: %s; `sluice stat` will not see this process%s", name,
		strerrorname_np(-err),
		err == -EFBIG ? "; remedy: a higher limit of files' sizes (ulimit -f)" : "");
	return err;
}

/* Private memory again at the same address, with nothing counted. */
void sl_stats_child(void)
{
	if (!path[0])
		return;
	path[0] = 0;
	(void)sl_sys(SYS_mmap, &region, file_size(), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	sl_store(&nsocks, 0);
	fill_header(file_size());
}

/* Where a report goes. */
struct report {
	int file; /* the statistics file; -1: the log, at that level */
	enum sl_log_level level;
	bool all; /* lines of zeros, too */
};

/* Writes a line of a report. */
SL_PRINTF(2, 3)
static void report(const struct report *to, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	n = sl_min(n, (int)sizeof(line) - 2);
	if (to->file < 0) {
		sl_log(to->level, "stats", "%s", line);
		return;
	}
	line[n] = '\n';
	(void)sl_write_quietly(to->file, line, (size_t)n + 1);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

#define U(x) ((unsigned long long)(x))
/* Bytes, packets, empty and failed calls of one direction. */
static void report_calls(const struct report *to, int fd, const char *what, const uint64_t n[4])
{
	if (to->all || n[1] | n[2] | n[3])
		report(to,
		       "[fd=%d] %s: %llu KB / %llu / %llu / %llu [bytes/packets/eagains/errors]",
		       fd, what, U(n[0] / 1024), U(n[1]), U(n[2]), U(n[3]));
}

/* Layout of the VMA manual, 8.1.1.5. */
static void report_sock(const struct report *to, const struct sl_sock_stats *s)
{
	uint64_t drops = s->rx_drops + s->rx_mem_drops;
	int fd = s->fd;

	report_calls(to, fd, "Tx Offload",
		     (uint64_t[]){s->tx_bytes, s->tx_pkts, s->tx_eagain, s->tx_errors});
	report_calls(to, fd, "Tx OS info",
		     (uint64_t[]){s->tx_os_bytes, s->tx_os_pkts, s->tx_os_eagain, s->tx_os_errors});
	if (s->tx_dummies)
		report(to, "[fd=%d] Tx Dummy messages : %llu", fd, U(s->tx_dummies));
	report_calls(to, fd, "Rx Offload",
		     (uint64_t[]){s->rx_bytes, s->rx_pkts, s->rx_eagain, s->rx_errors});
	report_calls(to, fd, "Rx OS info",
		     (uint64_t[]){s->rx_os_bytes, s->rx_os_pkts, s->rx_os_eagain, s->rx_os_errors});
	if (to->all || s->rx_pkts | drops) {
		report(to, "[fd=%d] Rx byte: max %llu / dropped %llu (%.2f%%) / limit %u", fd,
		       U(s->rx_queue_max_bytes), U(s->rx_drop_bytes),
		       percent(s->rx_drop_bytes, s->rx_drop_bytes + s->rx_bytes), s->rcvbuf);
		report(to, "[fd=%d] Rx pkt : max %llu / dropped %llu (%.2f%%)", fd,
		       U(s->rx_queue_max_pkts), U(drops), percent(drops, drops + s->rx_pkts));
	}
	if (to->all || s->rx_poll_hit | s->rx_poll_miss)
		report(to, "[fd=%d] Rx poll: %llu / %llu (%.2f%%) [miss/hit]", fd,
		       U(s->rx_poll_miss), U(s->rx_poll_hit),
		       percent(s->rx_poll_hit, s->rx_poll_hit + s->rx_poll_miss));
#undef U
}

void sl_stats_log_sock(const struct sl_sock_stats *s, enum sl_log_level level)
{
	report_sock(&(struct report){-1, level, true}, s);
}

/* SLUICE_STATS_FILE, opened for each report: no descriptor is kept. -1: none. */
static int open_report(void)
{
	char name[300];
	const char *pattern = sl_settings.stats_file, *d = strstr(pattern, "%d");
	int fd;

	if (!pattern[0])
		return -1;
	if (d)
		snprintf(name, sizeof(name), "%.*s%u%s", (int)(d - pattern), pattern, sl_stats->pid,
			 d + 2);
	else
		snprintf(name, sizeof(name), "%s", pattern);
	fd = (int)sl_sys(SYS_openat, AT_FDCWD, name,
			 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	if (fd < 0)
		sl_warn_once("stats", "%s: %s; the counters of closed sockets are not kept", name,
			     strerrorname_np(-fd));
	return fd;
}

static void close_report(int file)
{
	if (file >= 0)
		(void)sl_sys_close(file);
}

void sl_stats_close(void)
{
	struct report to = {open_report(), SL_LOG_DEBUG, false};

	for (uint32_t i = 0; i < max_socks; i++)
		if (sl_load(&sl_stats->sock[i].used))
			report_sock(&to, &sl_stats->sock[i]);
	close_report(to.file);
	if (path[0])
		(void)sl_sys(SYS_unlinkat, AT_FDCWD, path, 0);
	path[0] = 0;
}

/* Takes an entry under a busy mark, so that a reader never sees one that is not filled. */
#define ENTRY_BUSY 0x80000000u

struct sl_sock_stats *sl_stats_sock_new(void)
{
	static uint32_t hint; /* entries below it are mostly taken */
	uint32_t max = max_socks;

	if (sl_load(&nsocks) >= max)
		return &spill_sock;
	for (uint32_t k = 0, i = sl_load(&hint); k < max; k++, i++) {
		struct sl_sock_stats *s = &sl_stats->sock[i % max];
		uint32_t unused = 0;

		if (!__atomic_compare_exchange_n(&s->used, &unused, ENTRY_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memset((char *)s + sizeof(s->used), 0, sizeof(*s) - sizeof(s->used));
		s->fd = -1;
		s->since_ns = sl_now_ns();
		__atomic_fetch_add(&nsocks, 1, __ATOMIC_RELAXED);
		sl_store_release(&s->used, 1);
		sl_store(&hint, (i + 1) % max);
		return s;
	}
	return &spill_sock;
}

struct sl_sock_stats *sl_stats_sock_none(void)
{
	return &spill_sock;
}

void sl_stats_sock_free(struct sl_sock_stats *s)
{
	if (s == &spill_sock)
		return;
	if (sl_settings.stats_file[0] || sl_load(&sl_log_level) >= SL_LOG_DEBUG) {
		struct report to = {open_report(), SL_LOG_DEBUG, false};

		report_sock(&to, s);
		close_report(to.file);
	}
	/* In a child the entry may be gone already (sl_stats_child). */
	if (__atomic_exchange_n(&s->used, 0, __ATOMIC_RELEASE))
		__atomic_fetch_sub(&nsocks, 1, __ATOMIC_RELAXED);
}

void sl_stats_sock_for_each(void (*fn)(struct sl_sock_stats *s, void *arg), void *arg)
{
	for (uint32_t i = 0; i < max_socks; i++)
		if (sl_load_acquire(&sl_stats->sock[i].used) == 1)
			fn(&sl_stats->sock[i], arg);
}

struct sl_lane_stats *sl_stats_lane(uint32_t lane)
{
	struct sl_lane_stats *l;

	if (lane >= SL_STATS_LANES)
		return &spill_lane;
	l = &sl_stats->lane[lane];
	sl_store(&l->id, lane);
	sl_store_release(&l->used, 1);
	return l;
}

struct sl_port_stats *sl_stats_port(uint32_t ifindex)
{
	for (unsigned i = 0; i < SL_STATS_PORTS; i++) {
		struct sl_port_stats *p = &sl_stats->port[i];
		uint32_t used = 0;

		if (__atomic_compare_exchange_n(&p->used, &used, ENTRY_BUSY, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			p->ifindex = ifindex;
			sl_store_release(&p->used, 1);
			return p;
		}
		if (used == 1 && p->ifindex == ifindex)
			return p;
	}
	return &spill_port;
}

void sl_stats_port_free(struct sl_port_stats *p)
{
	if (p == &spill_port)
		return;
	sl_store(&p->used, ENTRY_BUSY);
	memset((char *)p + sizeof(p->used), 0, sizeof(*p) - sizeof(p->used));
	sl_store_release(&p->used, 0);
}

struct sl_wait_stats *sl_stats_wait_new(int fd)
{
	for (unsigned i = SL_WAIT_EPOLL; i < SL_STATS_WAITS; i++) {
		struct sl_wait_stats *w = &sl_stats->wait[i];
		uint32_t unused = 0;

		if (!__atomic_compare_exchange_n(&w->used, &unused, ENTRY_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memset((char *)w + sizeof(w->used), 0, sizeof(*w) - sizeof(w->used));
		w->fd = fd;
		sl_store_release(&w->used, 1);
		return w;
	}
	return &spill_wait;
}

struct sl_wait_stats *sl_stats_wait_none(void)
{
	return &spill_wait;
}

void sl_stats_wait_free(struct sl_wait_stats *w)
{
	sl_store_release(&w->used, 0);
}

/* Each counter of a block becomes 0; what the block says about the object stays, and levels are no
 * counts. */
#define SL_STAT(block, name, unit, help) SL_ZERO_##block(name)
#define SL_ZERO_sock(name)
#define SL_ZERO_lane(name)
#define SL_ZERO_port(name)
#define SL_ZERO_wait(name)
#define SL_ZERO_proc(name) sl_store(&sl_stats->name, 0);
static void zero_proc(void)
{
#define SL_LEVEL(block, name, unit, help)
#include "base/stats.def"
}
#undef SL_ZERO_proc
#undef SL_ZERO_lane
#define SL_ZERO_proc(name)
#define SL_ZERO_lane(name) sl_store(&l->name, 0);
static void zero_lane(struct sl_lane_stats *l)
{
#define SL_LEVEL(block, name, unit, help)
#include "base/stats.def"
}
#undef SL_ZERO_lane
#undef SL_ZERO_port
#define SL_ZERO_lane(name)
#define SL_ZERO_port(name) sl_store(&p->name, 0);
static void zero_port(struct sl_port_stats *p)
{
#define SL_LEVEL(block, name, unit, help)
#include "base/stats.def"
}
#undef SL_ZERO_port
#undef SL_ZERO_wait
#define SL_ZERO_port(name)
#define SL_ZERO_wait(name) sl_store(&w->name, 0);
static void zero_wait(struct sl_wait_stats *w)
{
#define SL_LEVEL(block, name, unit, help)
#include "base/stats.def"
}
#undef SL_ZERO_wait
#undef SL_ZERO_sock
#define SL_ZERO_wait(name)
#define SL_ZERO_sock(name) sl_store(&s->name, 0);
static void zero_sock(struct sl_sock_stats *s)
{
#define SL_LEVEL(block, name, unit, help)
#include "base/stats.def"
}
#undef SL_ZERO_sock
#undef SL_STAT

const char *sl_stats_path(void)
{
	return path;
}

static void zero_all(void)
{
	zero_proc();
	for (unsigned i = 0; i < SL_STATS_LANES; i++)
		if (sl_stats->lane[i].used)
			zero_lane(&sl_stats->lane[i]);
	for (unsigned i = 0; i < SL_STATS_PORTS; i++)
		if (sl_stats->port[i].used)
			zero_port(&sl_stats->port[i]);
	for (unsigned i = 0; i < SL_STATS_WAITS; i++)
		if (sl_stats->wait[i].used)
			zero_wait(&sl_stats->wait[i]);
	for (uint32_t i = 0; i < max_socks; i++) {
		if (!sl_stats->sock[i].used)
			continue;
		zero_sock(&sl_stats->sock[i]);
		memset(sl_stats->sock[i].time, 0, sizeof(sl_stats->sock[i].time));
	}
}

void sl_stats_serve(void)
{
	int32_t level, details;
	uint32_t want;

	if (!max_socks && sl_load(&sl_stats->magic) != SL_STATS_MAGIC)
		return; /* not open yet: the header is not filled */
	level = __atomic_exchange_n(&sl_stats->log_level_want, -1, __ATOMIC_RELAXED);
	details = __atomic_exchange_n(&sl_stats->log_details_want, -1, __ATOMIC_RELAXED);
	want = sl_load_acquire(&sl_stats->zero_want);
	if (level == SL_STATS_SILENT)
		sl_store(&sl_log_level, -1);
	else if (level >= SL_LOG_PANIC && level <= SL_LOG_FINE)
		sl_store(&sl_log_level, level);
	if (details >= 0 && details <= 3)
		sl_store(&sl_log_details, details);
	sl_store(&sl_stats->log_level, sl_load(&sl_log_level));
	sl_store(&sl_stats->log_details, sl_load(&sl_log_details));
	if (want != sl_load(&sl_stats->zero_done)) {
		zero_all();
		sl_stats->start_ns = sl_now_ns();
		sl_store_release(&sl_stats->zero_done, want);
	}
}
