/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of `sluice ss`: a socket of either owner, and the user's filter. */
#ifndef SL_TOOL_SS_H
#define SL_TOOL_SS_H

#include <linux/tcp.h>
#include <stdio.h>

#include "base/stats_read.h"

/* States of TCP, as the kernel numbers them; a UDP socket is ESTABLISHED or CLOSE (unconnected). */
enum sl_ss_state {
	SL_SS_ESTABLISHED = 1,
	SL_SS_SYN_SENT,
	SL_SS_SYN_RECV,
	SL_SS_FIN_WAIT1,
	SL_SS_FIN_WAIT2,
	SL_SS_TIME_WAIT,
	SL_SS_CLOSE,
	SL_SS_CLOSE_WAIT,
	SL_SS_LAST_ACK,
	SL_SS_LISTEN,
	SL_SS_CLOSING,
	SL_SS_STATES,
};
#define SL_SS_ALL ((1u << SL_SS_STATES) - 2)

/* skmem as ss(8) names its fields, in the kernel's order (SK_MEMINFO_*). */
enum {
	SL_SS_MEM_R,
	SL_SS_MEM_RB,
	SL_SS_MEM_T,
	SL_SS_MEM_TB,
	SL_SS_MEM_F,
	SL_SS_MEM_W,
	SL_SS_MEM_O,
	SL_SS_MEM_BL,
	SL_SS_MEM_D,
	SL_SS_MEMS
};

struct sl_ss_sock {
	uint8_t proto, family, state; /* IPPROTO_*, AF_*, enum sl_ss_state */
	uint8_t shut;                 /* 1: no more is received, 2: no more is sent */
	bool ours;                    /* offloaded by Sluice */
	bool v6only;
	bool has_v6only;
	uint8_t timer, retrans; /* the kernel's: kind of the timer that runs, expiries in a row */
	uint32_t expires_ms;
	uint16_t local_port, remote_port; /* host order */
	struct sl_addr local, remote;
	uint64_t rq, sq; /* Recv-Q and Send-Q */
	uint32_t ifindex, inode, uid, mark;
	uint64_t cookie; /* 0: not known */
	int pid, fd;     /* ours: the process, and its descriptor */
	uint32_t lane;
	char program[64];
	bool has_mem;
	uint32_t mem[SL_SS_MEMS];
	bool has_info;
	struct tcp_info info;
	char congestion[16];
};

/* ss.c -----------------------------------------------------------------------------------------
 * Reads an offloaded socket's counters; process, program and user are the caller's to add. */
void sl_ss_ours(struct sl_ss_sock *to, const struct sl_sock_stats *k);

/* ss_kernel.c ----------------------------------------------------------------------------------
 * fn gets each socket of that protocol (IPPROTO_TCP, IPPROTO_UDP) that the kernel has in the
 * caller's network namespace. The object is fn's until it returns. 0 or -errno (-ENOENT: this
 * kernel has no such sockets). */
int sl_ss_kernel(int proto, void (*fn)(const struct sl_ss_sock *k, void *arg), void *arg);
/* Ends the kernel's socket as `ss -K` does; needs CAP_NET_ADMIN. 0 or -errno. */
int sl_ss_destroy(const struct sl_ss_sock *k);

/* ss_filter.c ----------------------------------------------------------------------------------
 * An expression of ss(8), read from the words of a command line. */
struct sl_ss_filter;
/* *states: the states to show, changed if `state` or `exclude` is said. NULL: *why (static) says
 * what is wrong, and near the text where; "" is the end. The caller frees the result by free(3). */
struct sl_ss_filter *sl_ss_filter(int n, char *const *words, uint32_t *states, const char **why,
				  char near[64]);
bool sl_ss_fits(const struct sl_ss_filter *f, const struct sl_ss_sock *k);

/* ss_users.c -----------------------------------------------------------------------------------
 * Reads, for each socket, the processes and their descriptors, as far as the caller may. */
void sl_ss_users_read(void);
/* Appends users:(("program",pid=N,fd=N),...) of the inode to buf. False: nobody is known. */
bool sl_ss_users(uint32_t inode, char *buf, size_t len);
/* Copies a program's name; characters that a terminal would obey become '?'. */
void sl_ss_name(char *to, size_t len, const char *name);

/* ss_print.c -----------------------------------------------------------------------------------
 */
struct sl_ss_look {
	bool numeric, processes, extended, info, memory, timers;
	bool netid, state, header, one_line; /* columns and lines to print */
};
/* Prints n sockets as a table. */
void sl_ss_print(FILE *to, const struct sl_ss_sock *socks, size_t n, const struct sl_ss_look *look);

#endif
