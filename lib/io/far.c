/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending from far frames.
 *
 * Theory of operation: the kernel allocates and locks all memory that is registered with an XSK,
 * and the registration can never grow. Where packets come by packet sockets only the first
 * megabytes of the pool are registered (SL_UMEM_NEAR_BYTES), so a process that has little to do is
 * small. The pool hands out the other frames only when these are all in use. A packet in such a
 * frame is sent by a packet socket, one call a packet; the call returns when the kernel is done
 * with the bytes. A process that the daemon serves may have no such socket: it copies the packet
 * into registered frames that the group keeps for that. */
#include "io/far.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fds.h"
#include "base/heap.h"
#include "base/share/share_bounce.h"
#include "base/sys.h"

#define HELD 64u /* frames that were sent, until they are released */

struct sl_far {
	int fd; /* -1: it bounces, or calls send() */
	sl_far_fn *send;
	void *arg;
	uint32_t n;
	struct sl_frames *frames;
	uint32_t held[HELD];
};

struct sl_far *sl_far_open(uint32_t ifindex, struct sl_frames *frames)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	int fd = sl_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), err;
	struct sl_far *f = NULL;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	err = sl_sys_bind(fd, &at, sizeof(at));
	if (!err) /* as AF_XDP does in copy mode */
		err = sl_sys_set_int(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	if (!err) {
		f = sl_calloc(1, sizeof(*f));
		err = f ? 0 : -ENOMEM;
	}
	if (err) {
		sl_sys_close(fd);
		errno = -err;
		return NULL;
	}
	f->fd = sl_fd_keep(fd);
	sl_fd_last(f->fd, false);
	f->frames = frames;
	return f;
}

struct sl_far *sl_far_open_by(sl_far_fn *send, void *arg, struct sl_frames *frames)
{
	struct sl_far *f = sl_calloc(1, sizeof(*f));

	if (!f) {
		errno = ENOMEM;
		return NULL;
	}
	f->fd = -1;
	f->send = send;
	f->arg = arg;
	f->frames = frames;
	return f;
}

struct sl_far *sl_far_open_bounce(struct sl_frames *frames)
{
	return sl_far_open_by(NULL, NULL, frames);
}

bool sl_far_bounces(const struct sl_far *f)
{
	return f->fd < 0 && !f->send;
}

struct sl_frames *sl_far_frames(const struct sl_far *f)
{
	return f->frames;
}

/* Remembers frames that are sent. */
static void hold(struct sl_far *f, const struct sl_tx_desc *descs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		f->held[f->n++] = descs[i].frame;
}

bool sl_far_bounce(struct sl_far *f, const struct sl_tx_desc *descs, struct sl_tx_desc *copy,
		   unsigned n)
{
	struct sl_share *g = &sl_pool.share;
	unsigned got = 0;

	if (f->n + n > HELD)
		sl_far_release(f);
	for (; got < n; got++) {
		copy[got] = descs[got];
		copy[got].frame = sl_share_bounce_get(g, sl_pool.me);
		if (copy[got].frame == SL_NO_FRAME)
			break;
		memcpy(sl_frame_ptr(copy[got].frame) + copy[got].off,
		       sl_frame_ptr(descs[got].frame) + descs[got].off, descs[got].len);
	}
	if (got == n) {
		hold(f, descs, n);
		return true;
	}
	while (got--)
		sl_share_bounce_put(g, copy[got].frame);
	return false;
}

bool sl_far_send(struct sl_far *f, const struct sl_tx_desc *descs, unsigned n)
{
	struct iovec iov[SL_TX_BUFS];
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
	long err;

	if (f->n + n > HELD)
		sl_far_release(f);
	if (f->send) {
		f->send(f->arg, sl_frame_ptr(descs->frame) + descs->off, descs->len);
		hold(f, descs, n);
		return true;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct sl_tx_desc *d = &descs[i];

		iov[i] = (struct iovec){sl_frame_ptr(d->frame) + d->off, d->len};
	}
	err = sl_sys_sendmsg(f->fd, &m, MSG_DONTWAIT);
	if (err == -EAGAIN || err == -ENOBUFS)
		return false;
	hold(f, descs, n);
	return true;
}

unsigned sl_far_release(struct sl_far *f)
{
	unsigned n = f->n;

	f->n = 0;
	for (unsigned i = 0; i < n; i++)
		sl_frame_sent(f->frames, f->held[i]);
	return n;
}

void sl_far_close(struct sl_far *f)
{
	sl_far_release(f);
	if (f->fd >= 0)
		sl_sys_close(f->fd);
	sl_free(f);
}

void sl_far_child(const struct sl_far *f)
{
	if (f->fd >= 0)
		sl_sys_close(f->fd);
}
