/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes sockets' counters to the program's log, for the program and for `sluice stat`. */
#include "sock/call/dump.h"

#include <errno.h>

#include "base/log.h"
#include "sluice_extra.h"
#include "sock/core/life.h"
#include "sock/core/udp_sock.h"

static void dump(struct sl_sock *sk, void *arg)
{
	enum sl_log_level level = *(const enum sl_log_level *)arg;

	sl_log(level, "stats", "[fd=%d] %s %s", sk->fd, sl_sock_is_udp(sk) ? "UDP" : "TCP",
	       sl_sock_is_served(sk) ? "offloaded" : "not offloaded");
	sl_stats_log_sock(sk->stats, level);
}

SL_API
int sl_dump_fd(int fd, int level)
{
	enum sl_log_level at = level < SL_LOG_PANIC  ? SL_LOG_PANIC
			       : level > SL_LOG_FINE ? SL_LOG_FINE
						     : (enum sl_log_level)level;
	struct sl_sock *sk = fd > 0 ? sl_fd_sock(fd) : NULL;

	if (fd > 0 && !sk)
		return -EBADF;
	if (sk)
		dump(sk, &at);
	else
		sl_sock_for_each(dump, &at);
	return 0;
}

static void start_anew(struct sl_sock *sk, void *arg)
{
	struct sl_lane *lane;

	if (!sl_sock_is_udp(sk) || !sl_sock_lock(sk, &lane))
		return;
	sl_udp_sk(sk)->udp.deepest = 0;
	sl_lane_unlock(lane);
}

void sl_dump_serve(void)
{
	static uint32_t zeroed;
	uint32_t want = sl_load_acquire(&sl_stats->dump_want);

	if (sl_load(&sl_stats->zero_done) != zeroed) {
		zeroed = sl_load(&sl_stats->zero_done);
		sl_sock_for_each(start_anew, NULL);
	}
	if (want == sl_load(&sl_stats->dump_done))
		return;
	if (sl_dump_fd(sl_load(&sl_stats->dump_fd), sl_load(&sl_stats->dump_level)))
		sl_info("stats", "no counters of descriptor %d: it is not a socket of ours",
			sl_load(&sl_stats->dump_fd));
	sl_store_release(&sl_stats->dump_done, want);
}
