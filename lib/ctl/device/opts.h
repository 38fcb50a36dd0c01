/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's options (core.c). */
#ifndef SL_CTL_OPTS_H
#define SL_CTL_OPTS_H

#include "base/base.h"
#include "base/fds.h"

/* How the broker does its work; the defaults are all zero. */
enum sl_broker_xdp { SL_BROKER_XDP_AUTO, SL_BROKER_XDP_NATIVE, SL_BROKER_XDP_GENERIC };
enum sl_broker_rx { SL_BROKER_RX_XDP, SL_BROKER_RX_PACKET, SL_BROKER_RX_AUTO, SL_BROKER_RX_VERBS };
enum sl_broker_zc { SL_BROKER_ZC_AUTO, SL_BROKER_ZC_OFF, SL_BROKER_ZC_FORCE };
struct sl_broker_opts {
	enum sl_broker_xdp xdp;     /* auto: native, and generic where the driver has none */
	enum sl_broker_rx rx;       /* auto: the device decides; packet: wherever it can be */
	enum sl_broker_zc zerocopy; /* auto: tried, then copy mode; force: -EOPNOTSUPP without */
	/* Entries of each receive and transmit ring, rounded up to a power of two; 0: 4096, 2048.
	 * Fill and completion rings of a queue have twice as many. */
	uint32_t rx_ring, tx_ring;
	/* Entries of `flows`, and of `endpoints`. 0: SL_MAX_FLOWS with serve, else what the process
	 * may need (load.c). */
	uint32_t max_flows;
	bool busy_poll;            /* set SO_PREFER_BUSY_POLL on the XSKs */
	uint32_t busy_poll_us;     /* SO_BUSY_POLL, 0: 20 */
	uint32_t busy_poll_budget; /* SO_BUSY_POLL_BUDGET in packets, 0: 64 */
	bool in_frame;             /* records go into the frame, not into XDP metadata */
	bool serve;                /* other processes are the group's members, this one is not */
	bool lend_once;            /* rings are mapped before bind, by one process (umem/ring.c) */
	bool guard_nft;            /* use only the nf_tables guard (steer/guard.c) */
	bool no_huge;              /* ordinary pages only */
	bool want_huge;            /* warn when there are no huge pages */
	const char *tool; /* path of the `sluice` tool (the reaper); NULL: looked for beside
			     the library, in ../bin and in PREFIX/bin */
	/* Socket of sluiced; its broker is used when it answers. NULL: no daemon. */
	const char *daemon;
	bool daemon_wanted; /* warn when it is not there */
	const char
		*group; /* group to join at the daemon (sl_lease_hello.group); NULL: the user's */
};
/* The options that the SLUICE_* settings ask for. */
struct sl_broker_opts sl_broker_opts_set(void);
/* Sets them: before the first other call. Later calls change what is opened afterwards. The
 * strings must stay. */
void sl_embedded_init(const struct sl_broker_opts *opts);
const struct sl_broker_opts *sl_broker_opts(void);
uint32_t sl_broker_pid(void); /* this process */

/* sl_fd_last(), of a device's file. The daemon has no shadows that its files could be in the way
 * of.
 */
static inline void sl_broker_fd_last(int fd, bool steers)
{
	if (!sl_broker_opts()->serve)
		sl_fd_last(fd, steers);
}

#endif
