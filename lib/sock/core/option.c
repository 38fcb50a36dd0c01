/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket options that datagrams and streams have in common. */
#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <linux/udp.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/core/errq.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"

void sl_sock_read_reuse(struct sl_sock *sk, int name)
{
	if (name == SO_REUSEPORT)
		sk->reuseport = sl_sock_get_int(sk, SOL_SOCKET, SO_REUSEPORT);
	else
		sk->reuse_addr = sl_sock_get_int(sk, SOL_SOCKET, SO_REUSEADDR);
	sk->reuse = sk->reuseport || sk->reuse_addr;
}

bool sl_sock_read_prio(struct sl_sock *sk)
{
	uint32_t prio = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_PRIORITY);

	sk->prio = (uint8_t)sl_min(prio, (uint32_t)UINT8_MAX);
	return prio <= UINT8_MAX;
}

void sl_sock_want_with(struct sl_sock *sk, uint16_t bit, bool on)
{
	sk->want = (uint16_t)(on ? sk->want | bit : sk->want & ~bit);
}

struct os_stamps {
	bool tx, rx;
};

static void find_os_stamps(struct sl_lane *lane, void *arg)
{
	struct os_stamps *found = arg;

	for (uint32_t i = 0; i < sl_load_acquire(&lane->nlegs); i++) {
		found->tx |= sl_errq_is_os(lane->leg[i]);
		found->rx |= sl_port_os_rx_stamps(lane->leg[i]->port);
	}
}

/* Is there a device in use whose stamps the socket asks for, and only the kernel has them? (Which
 * one a socket takes that is not open yet, is seen when it opens. Datagrams that ask for a stamp of
 * their sending go by the kernel, each.) */
static bool is_os_stamped(const struct sl_sock *sk, uint32_t v)
{
	bool tx = sk->proto == IPPROTO_TCP && v & SL_TS_RECORD && v & SOF_TIMESTAMPING_TX_HARDWARE;
	bool rx = v & SOF_TIMESTAMPING_RAW_HARDWARE && v & SOF_TIMESTAMPING_RX_HARDWARE;
	struct os_stamps found = {0};

	if (tx || rx)
		sl_lane_for_each(find_os_stamps, &found);
	return (tx && found.tx) || (rx && found.rx);
}

/* SO_TIMESTAMPING: what it means for what comes, and for what is sent. Beside a hardware stamp of
 * what comes the kernel tells the device below, or another clock's time: both are its to know. */
static bool set_stamping(struct sl_sock *sk, uint32_t v)
{
	bool filter = v & SL_TS_OPT_RX_FILTER, ours;

	sl_sock_want_with(sk, SL_WANT_STAMPING,
			  v & SOF_TIMESTAMPING_SOFTWARE && v & SOF_TIMESTAMPING_RX_SOFTWARE);
	sl_sock_want_with(sk, SL_WANT_HW_STAMP,
			  v & SOF_TIMESTAMPING_RAW_HARDWARE &&
				  (v & SOF_TIMESTAMPING_RX_HARDWARE || !filter));
	ours = sl_errq_set(sk, v); /* (what leaves takes it along) */
	if (v & SOF_TIMESTAMPING_RAW_HARDWARE &&
	    v & (SOF_TIMESTAMPING_OPT_PKTINFO | SOF_TIMESTAMPING_BIND_PHC))
		return false;
	if (sk->proto == IPPROTO_TCP && v & SL_TS_RECORD && v & SOF_TIMESTAMPING_OPT_STATS)
		return false;
	return ours && !is_os_stamped(sk, v);
}

/* The last of SO_TIMESTAMP and SO_TIMESTAMPNS wins, as in the kernel. */
bool sl_sock_set_stamps(struct sl_sock *sk, int name, int v)
{
	bool new = name == SO_TIMESTAMP_NEW || name == SO_TIMESTAMPNS_NEW ||
		   name == SO_TIMESTAMPING_NEW;
	bool ours = true;

	switch (name) {
	case SO_TIMESTAMP:
	case SO_TIMESTAMP_NEW:
		sl_sock_want_with(sk, SL_WANT_STAMP_NS, false);
		sl_sock_want_with(sk, SL_WANT_STAMP_US, v);
		break;
	case SO_TIMESTAMPNS:
	case SO_TIMESTAMPNS_NEW:
		sl_sock_want_with(sk, SL_WANT_STAMP_US, v);
		sl_sock_want_with(sk, SL_WANT_STAMP_NS, v);
		break;
	default:
		ours = set_stamping(sk, (uint32_t)v);
	}
	sl_sock_want_with(sk, SL_WANT_NEW_STAMP, new);
	return ours;
}

/* The kernel has accepted the value before. As in the kernel a negative time means no wait at all,
 * though getsockopt() then reads 0, as without a time-out. */
static uint64_t timeout_ns(const void *val, socklen_t len)
{
	int64_t tv[2] = {0, 0};

	memcpy(tv, val, sl_min((size_t)len, sizeof(tv)));
	if (tv[0] < 0)
		return SL_TIMEO_NO_WAIT;
	if (tv[0] >= SL_TIMEO_MAX_S)
		return 0;
	return (uint64_t)tv[0] * 1000000000ull + (uint64_t)tv[1] * 1000;
}

/* The kernel rounds a time up to its ticks of 1 to 10 ms. A program that asks for less again and
 * again (SRT asks for 100 us) would wake far more often than by the kernel. */
static uint64_t in_ticks(int fd, int name, uint64_t ns)
{
	return ns <= SL_TIMEO_NO_WAIT ? ns : sl_max(ns, sl_opt_timeout_ns(fd, name));
}

/* SO_RCVTIMEO, SO_SNDTIMEO: kept for a kernel socket, too, since we may take it over. */
bool sl_sock_set_timeout(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	switch (name) {
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		sk->rcvtimeo_ns = in_ticks(sk->fd, name, timeout_ns(val, len));
		return true;
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		sk->sndtimeo_ns = in_ticks(sk->fd, name, timeout_ns(val, len));
		return true;
	}
	return false;
}

bool sl_opt_listens(int fd)
{
	int on = 0;

	return !sl_sys_get_int(fd, SOL_SOCKET, SO_ACCEPTCONN, &on) && on;
}

uint64_t sl_opt_timeout_ns(int fd, int name)
{
	struct timeval tv = {0};
	socklen_t len = sizeof(tv);

	if (sl_sys_getsockopt(fd, SOL_SOCKET, name, &tv, &len) < 0)
		return 0;
	return (uint64_t)tv.tv_sec * 1000000000ull + (uint64_t)tv.tv_usec * 1000;
}

int sl_opt_cpu(void)
{
	unsigned cpu = 0;

	sl_sys(SYS_getcpu, &cpu, NULL, NULL);
	return (int)cpu;
}

int sl_opt_meminfo(int fd, const struct sl_opt_mem *ours, void *val, socklen_t *len)
{
	uint32_t all[SK_MEMINFO_VARS] = {0};
	socklen_t n = sizeof(all);
	int err = (int)*len < 0 ? -EINVAL : sl_sys_getsockopt(fd, SOL_SOCKET, SO_MEMINFO, all, &n);

	if (err < 0)
		return err;
	all[SK_MEMINFO_RMEM_ALLOC] += ours->rmem;
	all[SK_MEMINFO_RCVBUF] = ours->rcvbuf;
	all[SK_MEMINFO_WMEM_ALLOC] += ours->wmem;
	all[SK_MEMINFO_SNDBUF] = ours->sndbuf;
	all[SK_MEMINFO_DROPS] += ours->drops;
	*len = sl_min(*len, n);
	return sl_guard_copy(val, all, *len);
}
