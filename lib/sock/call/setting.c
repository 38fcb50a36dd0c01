/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that set and ask for what a socket is like. */
#include <errno.h>
#include <linux/tcp.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/guard.h"
#include "base/log.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
#include "sock/core/told.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/stream/stream.h"
#include "sock/stream/tcp_cc.h"
#include "sock/stream/tconn.h"

/* Bytes of an option that are looked at beforehand: no option of ours is longer. */
#define MOST 512

static int set_rate(struct sl_sock *sk, int fd, const void *val, socklen_t len)
{
	int err = sl_sock_pace_set(sk, fd, val, len);

	if (err || sk->state == SL_STATE_KERNEL)
		return err;
	if (sl_sock_is_udp(sk))
		sl_sock_pace(sk);
	else
		sl_tcp_opt_track(sk, SOL_SOCKET, SO_MAX_PACING_RATE);
	return 0;
}

static int set_membership(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
{
	int err = sl_mcast_setsockopt(sk, level, name, val, len);

	if (err == 0 &&
	    ((sl_sock_is_steered(sk) && sl_udp_sk(sk)->members) || sl_mcast_is_unwanted(sk)))
		sl_sock_kernel(sk, SL_REASON_OPTION);
	if (err == 0 && sl_load(&sk->state) != SL_STATE_KERNEL)
		sl_sock_wait_links(sk, 0);
	return err;
}

static int set_option(int fd, int level, int name, const void *val, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_lane *lane;
	bool tcp;
	int err = 0;

	if (sl_guard_touch(val, sl_min(len, (socklen_t)MOST)))
		return sl_sys_setsockopt(fd, level, name, val, len);
	sl_sock_change(sk);
	if (sk && sk->proto == IPPROTO_UDP && sl_mcast_is_membership(level, name))
		return set_membership(sk, level, name, val, len);
	if (sk && level == SOL_SOCKET && name == SO_MAX_PACING_RATE)
		return set_rate(sk, fd, val, len);
	if (sl_unlikely(sk && level == SOL_SOCKET && name == SL_SO_STEER))
		return sl_sock_steer(sk, fd, val, len);
	tcp = sl_sock_is_tcp(sk);
	if (tcp) {
		if (level == SOL_SOCKET)
			err = sl_tcp_opt_set_stamping(sk, name, val, len);
		if (level == SOL_SOCKET && err != -EREMOTE)
			return err;
		err = sl_tcp_opt_may_set(sk, level, name, val, len);
	}
	if (err == 0)
		err = sl_sys_setsockopt(fd, level, name, val, len);
	if (sl_unlikely(err == -ENOENT) && tcp && level == IPPROTO_TCP && name == TCP_CONGESTION)
		return sl_tcp_cc_set(sk, val, len);
	if (err == -ENOTCONN && tcp && sl_tcp_opt_leave(sk))
		err = sl_sys_setsockopt(fd, level, name, val, len);
	if (err == 0 && sk && sl_unlikely(sl_reuseprog_is_option(level, name)))
		sl_reuseprog_set(sk, name);
	if (err < 0 || !sk || (level == SOL_SOCKET && sl_sock_set_timeout(sk, name, val, len)) ||
	    sk->state == SL_STATE_KERNEL)
		return err;
	if (!(tcp ? sl_tcp_opt_track(sk, level, name)
		  : sl_dgram_opt_track(sk, level, name, val, len))) {
		sl_details("sock", "fd %d: option %d of level %d is the kernel's", fd, name, level);
		/* (An offset counts from what the kernel's queue has.) */
		sl_sock_kernel(sk, level == SOL_SOCKET && name == SO_PEEK_OFF ? SL_REASON_PASSED
									      : SL_REASON_OPTION);
		/* The way back took a filter of the library's off, or gave the number a new file.
		 */
		if (tcp && level == SOL_SOCKET)
			sl_sys_setsockopt(fd, level, name, val, len);
	} else if (sl_sock_lock(sk, &lane)) {
		sl_sock_path_changed(sk);
		sl_lane_unlock(lane);
	}
	return err;
}

SL_API
int sl_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	return sl_told(set_option(fd, level, name, val, len), "setsockopt(%d, %d, %d, %u bytes)",
		       fd, level, name, len);
}

SL_API
int sl_steer(int fd, const struct sl_steer *to)
{
	return sl_fd_sock(fd) ? sl_setsockopt(fd, SOL_SOCKET, SL_SO_STEER, to, sizeof(*to))
			      : -EOPNOTSUPP;
}

static int get_option(int fd, int level, int name, void *val, socklen_t *len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err;

	if (sl_guard_touch_out(len, sizeof(*len)) ||
	    sl_guard_touch_out(val, sl_min(*len, (socklen_t)MOST)))
		return sl_sys_getsockopt(fd, level, name, val, len);
	if (sk && level == SOL_SOCKET && name == SO_MAX_PACING_RATE &&
	    sl_sock_pace_get(sk, val, len) == 0)
		return 0;
	if (sl_sock_is_tcp(sk)) {
		err = sl_tcp_opt_get(sk, level, name, val, len);
		return err == -EREMOTE ? sl_sys_getsockopt(fd, level, name, val, len) : err;
	}
	if (sk && level == SOL_SOCKET && name == SO_ERROR && sl_load(&sk->os) & SL_OS_ERR) {
		int kept = sl_sock_kept_error(sk), now = 0;

		sl_sock_take_error(sk);
		err = sl_sys_getsockopt(fd, level, name, val, len);
		if (err == 0 && kept) {
			memcpy(&now, val, sl_min(*len, (socklen_t)sizeof(now)));
			now = now ? now : kept;
			memcpy(val, &now, sl_min(*len, (socklen_t)sizeof(now)));
		}
		sl_sock_look_error(sk, fd); /* (the queue of errors is another matter) */
		return err;
	}
	if (sk && sk->proto == IPPROTO_UDP &&
	    (err = sl_dgram_opt_get(sk, level, name, val, len)) != -EREMOTE)
		return err;
	return sl_sys_getsockopt(fd, level, name, val, len);
}

SL_API
int sl_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	return sl_told(get_option(fd, level, name, val, len), "getsockopt(%d, %d, %d)", fd, level,
		       name);
}

/* SIGIO comes from the kernel's queue only. By the daemon the number has a new file then, and the
 * signal would tell the number that this file had first (si_fd): the kernel notes it where the flag
 * is set. */
static void signal_by_kernel(struct sl_sock *sk, int fd)
{
	int flags = sl_sys_fcntl(fd, F_GETFL, 0);

	if (flags < 0)
		return;
	sl_sys_fcntl(fd, F_SETFL, flags & ~O_ASYNC); /* bytes that wait are no news */
	sl_sock_kernel(sk, SL_REASON_OPTION);
	sl_sys_fcntl(fd, F_SETFL, flags | O_ASYNC);
}

static int control_file(int fd, int cmd, long arg)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int ret = sl_sys_fcntl(fd, cmd, arg);

	/* The bare instruction has closed it; but a command for pipes is EBADF for an open socket,
	 * too. */
	if (ret == -EBADF && sk && sl_sock_is(sk, fd) && sl_sys_fcntl(fd, F_GETFD, 0) == -EBADF)
		sl_sock_drop_number(sk, fd);
	if (ret < 0)
		return ret;
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		sl_dup_done(fd, ret);
	} else if (cmd == F_SETFL && sk) {
		sk->nonblock = arg & O_NONBLOCK;
		sk->stats->blocking = !sk->nonblock;
		if (arg & O_ASYNC && sl_load(&sk->state) != SL_STATE_KERNEL)
			signal_by_kernel(sk, fd);
	}
	return ret;
}

SL_API
int sl_fcntl(int fd, int cmd, long arg)
{
	return sl_told(control_file(fd, cmd, arg), "fcntl(%d, %d, %#lx)", fd, cmd,
		       (unsigned long)arg);
}

static int control_device(int fd, unsigned long request, void *arg)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int ret;

	if (sl_tcp_sock(fd) && (ret = sl_tcp_sock_ioctl(sk, request, arg)) != -EREMOTE)
		return ret;
	ret = sk && sk->proto == IPPROTO_UDP ? sl_dgram_ioctl(sk, fd, request, arg)
					     : sl_sys_ioctl(fd, request, arg);
	if (ret < 0 || !sk)
		return ret;
	if (request == FIONBIO) {
		sk->nonblock = sl_given_int(arg, sizeof(int)) != 0;
		sk->stats->blocking = !sk->nonblock;
	} else if (request == FIOASYNC && sl_given_int(arg, sizeof(int)) &&
		   sl_load(&sk->state) != SL_STATE_KERNEL) {
		signal_by_kernel(sk, fd);
	}
	return ret;
}

SL_API
int sl_ioctl(int fd, unsigned long request, void *arg)
{
	return sl_told(control_device(fd, request, arg), "ioctl(%d, %#lx)", fd, request);
}
