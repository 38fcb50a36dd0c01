/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters in shared memory with a versioned layout: written by the process with plain stores,
 * read by `sluice stat` while it runs. The file is $SLUICE_STATS_SHMEM_DIR/sluice.<pid>.stats
 * (see sl_stats_open); its layout is described by the structs below and stats.def. */
#ifndef SL_STATS_H
#define SL_STATS_H

#include <errno.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/base.h"
#include "base/log.h"
#include "base/times.h"

#define SL_STATS_MAGIC   0x534c53544154u /* "SLSTAT" */
#define SL_STATS_VERSION 10
#define SL_STATS_LANES   128
#define SL_STATS_PORTS   32
#define SL_STATS_TAPS    4
#define SL_STATS_WAITS   64
#define SL_STATS_SILENT  (-2) /* log_level_want */

#define SL_STAT(block, name, unit, help) SL_STAT_##block##_(name)
#define SL_STAT_sock_(name)              uint64_t name;
#define SL_STAT_lane_(name)
#define SL_STAT_port_(name)
#define SL_STAT_wait_(name)
#define SL_STAT_proc_(name)
/* An offloadable socket. */
struct sl_sock_stats {
	uint32_t used; /* 0: free entry; set last */
	int32_t fd;
	uint32_t inode; /* of the shadow */
	uint8_t proto;  /* IPPROTO_UDP... */
	uint8_t family; /* AF_INET, AF_INET6 */
	uint8_t state;  /* enum sl_stat_state */
	uint8_t blocking;
	uint32_t reason; /* why it is not offloaded: enum sl_reason, 0 when it is */
	uint32_t lane;
	uint32_t rcvbuf, sndbuf; /* bytes, limits in force */
	uint16_t local_port, remote_port;
	struct sl_addr local, remote;
	uint32_t ngroups; /* multicast memberships, the first 8 listed */
	uint32_t mc_loop;
	uint32_t mc_ifindex;           /* IP(V6)_MULTICAST_IF, 0: not set */
	uint32_t rx_thread, tx_thread; /* the last to read and send, SLUICE_LATENCY_STATS */
	struct sl_addr group[8];
	struct sl_addr mc_if; /* the address that IP_MULTICAST_IF set */
	char congestion[16];  /* TCP: the algorithm's name */
	/* `sluice flow` writes both: enum sl_stat_move, for the socket with that inode. 0: done. */
	uint32_t move_want, move_inode;
	uint64_t since_ns;    /* CLOCK_MONOTONIC: when the socket was made */
	uint64_t answered_us; /* TCP: the send whose answer was counted last */
	struct sl_times time[SL_TIMES];
#include "base/stats.def"
};
#undef SL_STAT_sock_
#undef SL_STAT_lane_
#define SL_STAT_sock_(name)
#define SL_STAT_lane_(name) uint64_t name;
struct sl_lane_stats {
	uint32_t used;
	uint32_t id;
	uint32_t tid;   /* the thread that it is for; 0: for several */
	uint32_t nlegs; /* ports it is open on */
#include "base/stats.def"
} SL_ALIGNED;
#undef SL_STAT_lane_
#undef SL_STAT_port_
#define SL_STAT_lane_(name)
#define SL_STAT_port_(name) uint64_t name;
struct sl_port_stats {
	uint32_t used;
	uint32_t ifindex;
	char ifname[16];
	char driver[32];
	uint32_t flags; /* SL_PORT_* of ctl/device/port.h */
	uint32_t nqueues;
	uint32_t mtu;
	uint32_t alive; /* steering program attached */
#include "base/stats.def"
};
#undef SL_STAT_port_
#undef SL_STAT_wait_
#define SL_STAT_port_(name)
#define SL_STAT_wait_(name) uint64_t name;
/* Calls that wait. The first two entries are those of select and of poll, and always in use; each
 * other one is of an epoll set, from its first member of ours on. */
enum sl_stat_wait { SL_WAIT_SELECT, SL_WAIT_POLL, SL_WAIT_EPOLL };
struct sl_wait_stats {
	uint32_t used;
	int32_t fd; /* the first descriptor of the epoll set, else -1 */
#include "base/stats.def"
} SL_ALIGNED;
#undef SL_STAT_wait_
#undef SL_STAT_proc_
#define SL_STAT_wait_(name)
#define SL_STAT_proc_(name) uint64_t name;
struct sl_stats {
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* of the whole file */
	uint32_t pid;
	uint32_t max_socks; /* entries after this struct: SLUICE_STATS_FD_NUM */
	uint64_t start_ns;  /* CLOCK_MONOTONIC: since when the counters count */
	char program[64];
	int32_t log_level; /* in force; sluice stat -l writes log_level_want */
	int32_t log_details;
	int32_t log_level_want; /* -1: leave; SL_STATS_SILENT: no line at all */
	int32_t log_details_want;
	uint32_t zero_want; /* raised by sluice stat -z; the process zeroes and sets zero_done */
	uint32_t zero_done;
	uint32_t move_want; /* raised by sluice flow, when sockets' move_want were written */
	uint32_t move_done;
	/* Written by sluice capture: a request in the socket sluice.<pid>.<number>.tap beside this
	 * file (sock/proc/capture.c). 0: none; the process takes it and writes 0. */
	uint32_t tap_want[SL_STATS_TAPS];
	/* Written by sluice stat -S: the counters of descriptor dump_fd (0: of all) go to the log
	 * at dump_level; dump_want is raised last, and the process makes dump_done equal. */
	int32_t dump_fd, dump_level;
	uint32_t dump_want, dump_done;
	uint32_t kernels; /* why all sockets are the kernel's, which lists them: enum sl_reason */
#include "base/stats.def"
	struct sl_lane_stats lane[SL_STATS_LANES];
	struct sl_port_stats port[SL_STATS_PORTS];
	struct sl_wait_stats wait[SL_STATS_WAITS];
	struct sl_sock_stats sock[];
};
#undef SL_STAT_proc_
#undef SL_STAT

enum sl_stat_state {
	SL_STATE_NEW, /* not decided yet */
	SL_STATE_OFFLOADED,
	SL_STATE_KERNEL,
};

/* How a socket's packets are held to its rate (pace_how). */
enum sl_stat_pace { SL_PACE_NONE, SL_PACE_SOFTWARE, SL_PACE_HARDWARE };

/* KILL ends a TCP connection; other sockets are handed back, and the kernel ends them. */
enum sl_stat_move { SL_MOVE_NONE, SL_MOVE_HAND_BACK, SL_MOVE_TAKE_OVER, SL_MOVE_KILL };

/* Why a socket is with the kernel: SL_REASON(name, text). */
#define SL_REASONS                                                                                 \
	SL_REASON(NONE, "offloaded")                                                               \
	SL_REASON(UNDECIDED, "not bound, connected or used yet")                                   \
	SL_REASON(RULE, "a rule of the configuration says os")                                     \
	SL_REASON(THREAD, "created as not offloaded (SLUICE_OFFLOADED_SOCKETS=0)")                 \
	SL_REASON(NO_DEVICE, "no device it can use is offloaded")                                  \
	SL_REASON(LOCAL, "the address is local or loopback")                                       \
	SL_REASON(SHARED, "another program of the host receives on the same address and port")     \
	SL_REASON(OPTION, "a socket option that is not done in user space")                        \
	SL_REASON(FORKED, "shared with a child process")                                           \
	SL_REASON(PASSED,                                                                          \
		  "passed to another process, or to the kernel itself (io_uring, BPF, stdio)")     \
	SL_REASON(NETNS, "created in another network namespace")                                   \
	SL_REASON(CLAIM, "the steering rule could not be added")                                   \
	SL_REASON(MEMORY, "out of memory or lanes")                                                \
	SL_REASON(RUNTIME, "given back at run time")                                               \
	SL_REASON(GIVEN, "made by another program, which has it still")                            \
	SL_REASON(STRAY, "its peer sends to another device, or in fragments")                      \
	SL_REASON(GROUP, "bound to a multicast group and connected")                               \
	SL_REASON(CHILD, "used in a child process, whose parent has the device; remedy: start "    \
			 "sluiced(8), which serves children, too")                                 \
	SL_REASON(PERMISSION, "no permission to offload (EPERM); remedy: start sluiced(8), or "    \
			      "give the program CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW")           \
	SL_REASON(THREADS, "no thread is allowed for the library; remedy: a higher limit of "      \
			   "processes (RLIMIT_NPROC, or pids.max of the control group)")
enum sl_reason {
#define SL_REASON(name, text) SL_REASON_##name,
	SL_REASONS
#undef SL_REASON
		SL_REASON_COUNT
};
const char *sl_reason_text(uint32_t reason);

/* The process's block: always valid. Before sl_stats_open(), or when the file cannot be made, it
 * is private memory, so that counting needs no test. */
extern struct sl_stats *sl_stats;

/* Makes the shared file, takes over what was counted. Returns 0 or -errno (counting goes on). */
int sl_stats_open(void);
void sl_stats_close(void); /* at exit: prints to SLUICE_STATS_FILE if set, unlinks */
void sl_stats_child(void); /* after fork: private memory again */
/* An entry for a socket; never NULL (a common spill-over entry when all are taken). */
struct sl_sock_stats *sl_stats_sock_new(void);
struct sl_sock_stats *sl_stats_sock_none(void); /* counters that are not shown */
void sl_stats_sock_free(struct sl_sock_stats *s);
/* Writes the socket's counters to the log, in the layout of the report at its close. */
void sl_stats_log_sock(const struct sl_sock_stats *s, enum sl_log_level level);
/* Count a call that the kernel served: n is what it returned, bytes or -errno. peek: the bytes stay
 * where they are, and the call that takes them counts them. */
static inline void sl_stats_rx_os(struct sl_sock_stats *s, ssize_t n, bool peek)
{
	if (n >= 0) {
		s->rx_os_pkts += !peek;
		s->rx_os_bytes += peek ? 0 : (uint64_t)n;
	} else if (n == -EAGAIN) {
		s->rx_os_eagain++;
	} else {
		s->rx_os_errors++;
	}
}
static inline void sl_stats_tx_os(struct sl_sock_stats *s, ssize_t n)
{
	if (n >= 0) {
		s->tx_os_pkts++;
		s->tx_os_bytes += (uint64_t)n;
	} else if (n == -EAGAIN) {
		s->tx_os_eagain++;
	} else if (n != -EINPROGRESS) { /* TCP: the connection is being opened */
		s->tx_os_errors++;
	}
}

/* Calls fn for each entry in use. */
void sl_stats_sock_for_each(void (*fn)(struct sl_sock_stats *s, void *arg), void *arg);
struct sl_lane_stats *sl_stats_lane(uint32_t lane);    /* never NULL */
struct sl_port_stats *sl_stats_port(uint32_t ifindex); /* finds or makes; never NULL */
void sl_stats_port_free(struct sl_port_stats *p);      /* another port may have the place */
/* An entry for an epoll set, fd is its descriptor; never NULL (a common one that is not shown when
 * all are taken: its `used` is 0). */
struct sl_wait_stats *sl_stats_wait_new(int fd);
struct sl_wait_stats *sl_stats_wait_none(void); /* the common one */
void sl_stats_wait_free(struct sl_wait_stats *w);
/* The shared file, "" when there is none. */
const char *sl_stats_path(void);
/* Removes the files that killed programs of this user have left beside it (stats_sweep.c): once,
 * and some, in less than a millisecond. Call it in the program's thread: another one would take a
 * descriptor's number away from the program for a moment. */
void sl_stats_sweep(void);
/* True: a live process, of any pid namespace, uses the file, or that cannot be asked. */
bool sl_stats_is_held(int dir, const char *name);
/* The pid in the name of a counter file (without directory), 0: it is no such name. */
uint32_t sl_stats_pid_of(const char *name);
/* The keeper calls this about once a second while it is awake, and at each of its wake-ups: does
 * what the reader asked for (log level, zeroing). */
void sl_stats_serve(void);

#endif
