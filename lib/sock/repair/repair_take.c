/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a kernel connection out of its socket, to become ours or another socket's.
 *
 * Theory of operation: repair mode does not stop packets. A filter that drops everything does, and
 * when a grace period of RCU is over (membarrier(2)) no processor is still working on a packet that
 * had passed before. The peer sends the dropped packets again.
 *
 * The socket's timers still run, and may send (pacing above all). If we took bytes for unsent that
 * the peer has acknowledged, the connection would stop for good; if we took bytes for sent that
 * never were, they would wait for a retransmission. While the send queue is chosen the kernel takes
 * all of it for sent, without sending: so we choose it before the last look, and leave it chosen
 * until the kernel forgets the connection. SIOCOUTQNSD then no longer tells what had been sent
 * before: first_sent() counts the bytes that really were. */
#include "sock/repair/repair.h"

#include <linux/membarrier.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "ctl/front/broker.h"

#define TS_SLACK_MS 4

/* Freezing --------------------------------------------------------------------------------------
 */

int sl_repair_freeze(int fd)
{
	socklen_t len = 0;
	int err;

	/* len: instructions of the program's filter, which our filter would replace for good. */
	err = sl_sys_getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &len);
	if (err || len)
		return err && err != -ENOENT ? err : -EBUSY;
	err = sl_broker_drop_packets(fd, true);
	if (err)
		return err;
	(void)sl_sysi(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return 0;
}

static void end_repair(int fd, const struct sl_repair_taken *t, int how)
{
	(void)sl_broker_drop_packets(fd, false);
	(void)sl_broker_repair(fd, how);
	if (t->reuse)
		(void)sl_sys_set_int(fd, SOL_SOCKET, SO_REUSEADDR, t->reuse);
}

void sl_repair_cancel(int fd, const struct sl_repair_taken *t)
{
	end_repair(fd, t, TCP_REPAIR_OFF);
}

/* State -----------------------------------------------------------------------------------------
 */

static int get_name(int fd, long nr, struct sl_addr *a, uint16_t *port, uint32_t *scope)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int err = sl_sysi(nr, fd, &ss, &len);

	return err ? err : sl_addr_from_sockaddr((struct sockaddr *)&ss, len, a, port, scope);
}

static int get_key(int fd, struct sl_tcp_repair *r)
{
	int err = get_name(fd, SYS_getsockname, &r->key.local, &r->key.lport, &r->scope_id);

	return err ? err
		   : get_name(fd, SYS_getpeername, &r->key.remote, &r->key.rport, &r->scope_id);
}

static int get_options(int fd, struct sl_tcp_repair *r, const struct tcp_info *info)
{
	int mss, ts = 0, err = sl_sys_get_int(fd, IPPROTO_TCP, TCP_MAXSEG, &mss);

	r->ts_ok = info->tcpi_options & TCPI_OPT_TIMESTAMPS;
	r->sack_ok = info->tcpi_options & TCPI_OPT_SACK;
	r->wscale_ok = info->tcpi_options & TCPI_OPT_WSCALE;
	r->ecn_ok = info->tcpi_options & TCPI_OPT_ECN;
	r->snd_wscale = info->tcpi_snd_wscale;
	r->rcv_wscale = info->tcpi_rcv_wscale;
	if (!err && r->ts_ok)
		err = sl_sys_get_int(fd, IPPROTO_TCP, TCP_TIMESTAMP, &ts);
	r->mss_clamp = (uint16_t)mss;
	/* An acknowledgment may still leave until the socket has gone. */
	r->tsval = (uint32_t)ts + TS_SLACK_MS;
	return err;
}

static int get_buffers(int fd, struct sl_tcp_repair *r)
{
	int snd, rcv, err = sl_sys_get_int(fd, SOL_SOCKET, SO_SNDBUF, &snd);

	if (!err)
		err = sl_sys_get_int(fd, SOL_SOCKET, SO_RCVBUF, &rcv);
	if (err)
		return err;
	r->sndbuf = (uint32_t)snd;
	r->rcvbuf = (uint32_t)rcv;
	return 0;
}

static int get_window(int fd, struct sl_tcp_repair *r)
{
	struct tcp_repair_window w;
	socklen_t len = sizeof(w);
	int err = sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, &len);

	if (err)
		return err;
	r->snd_wl1 = w.snd_wl1;
	r->snd_wnd = w.snd_wnd;
	r->max_window = w.max_window;
	r->rcv_wnd = w.rcv_wnd;
	r->rcv_wup = w.rcv_wup;
	return 0;
}

static void set_fins(struct sl_tcp_repair *r)
{
	r->fin_rcvd = r->state == SL_TCP_CLOSE_WAIT || r->state == SL_TCP_LAST_ACK ||
		      r->state == SL_TCP_CLOSING;
	r->fin_queued = r->state != SL_TCP_ESTABLISHED && r->state != SL_TCP_CLOSE_WAIT;
}

/* No option tells that reading was shut down; poll(2) does, as long as it is not the peer's FIN. */
static bool is_rx_shut(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	struct timespec now = {0, 0};

	return sl_sysi(SYS_ppoll, &p, 1, &now, NULL, 8) == 1 && (p.revents & POLLRDHUP);
}

static int get_state(int fd, struct sl_tcp_repair *r, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);
	int err;

	memset(info, 0, sizeof(*info));
	err = sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len);
	if (err)
		return err;
	r->state = info->tcpi_state;
	if (!sl_tcp_is_synchronised(r->state))
		return -ENOTCONN;
	set_fins(r);
	r->rx_shut = !r->fin_rcvd && is_rx_shut(fd);
	return 0;
}

/* Queues ----------------------------------------------------------------------------------------
 */

/* Bytes that were sent for the first time, ever. */
static uint64_t first_sent(const struct tcp_info *info)
{
	return info->tcpi_bytes_sent - info->tcpi_bytes_retrans;
}

/* Lengths of the queues. The kernel counts FINs in sequence numbers and in the send queue; we do
 * not. */
static int get_lengths(int fd, struct sl_tcp_repair *r, const struct tcp_info *info)
{
	bool fin_in_queue = r->fin_queued && r->state != SL_TCP_FIN_WAIT2;
	int out, in, err = sl_sys_ioctl(fd, SIOCOUTQ, &out);

	if (!err)
		err = sl_sys_ioctl(fd, SIOCINQ, &in);
	if (err)
		return err;
	out -= fin_in_queue;
	r->unsent = info->tcpi_notsent_bytes - (fin_in_queue && info->tcpi_notsent_bytes);
	r->fin_sent = r->fin_queued && !info->tcpi_notsent_bytes;
	if (out < 0 || in < 0 || r->unsent > (uint32_t)out)
		return -EBUSY;
	r->sndq = (uint32_t)out;
	r->rcvq = (uint32_t)in;
	return 0;
}

/* Reads the state again. -EAGAIN: more has changed since `before` than that bytes were sent. */
static int look_again(int fd, struct sl_tcp_repair *r, const struct tcp_info *before)
{
	struct sl_tcp_repair now = *r;
	struct tcp_info info;
	uint64_t sent;
	int err = get_state(fd, &now, &info);

	if (!err)
		err = get_lengths(fd, &now, &info);
	if (err)
		return err;
	if (now.state != r->state || now.sndq != r->sndq || now.rcvq != r->rcvq)
		return -EAGAIN;
	sent = first_sent(&info) - first_sent(before);
	r->unsent -= (uint32_t)sl_min(sent, (uint64_t)r->unsent);
	r->fin_sent = now.fin_sent && !r->unsent;
	return 0;
}

/* Reads all n bytes of a queue in one call: a peek always begins with the first. Asks for one byte
 * more, to see that there is none. *seq: the number after the queue, FIN included. The queue stays
 * chosen. */
static int read_queue(int fd, int queue, uint32_t n, uint32_t *seq, struct sl_repair_bytes *q)
{
	int v, err;
	long ret = 0;

	err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue);
	if (!err)
		err = sl_sys_get_int(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &v);
	if (!err && n)
		ret = sl_sys_recvfrom(fd, q->p, (size_t)n + 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
	if (err || ret < 0)
		return err ? err : (int)ret;
	*seq = (uint32_t)v;
	/* Fewer: an urgent byte stands in the way. */
	return ret == n ? 0 : -EBUSY;
}

int sl_repair_memory(struct sl_repair_bytes *q, uint32_t n)
{
	if (n == 0)
		return 0;
	q->map_bytes = ((size_t)n + 1 + 4095) & ~(size_t)4095;
	q->p = sl_sys_pages(q->map_bytes, MAP_POPULATE);
	return q->p ? 0 : -ENOMEM;
}

static int read_queues(int fd, struct sl_repair_taken *t)
{
	struct sl_tcp_repair *r = &t->r;
	uint32_t rcv_end, snd_end;
	int err = sl_repair_memory(&t->rcvq, r->rcvq);

	if (!err)
		err = sl_repair_memory(&t->sndq, r->sndq);
	if (!err)
		err = read_queue(fd, TCP_RECV_QUEUE, r->rcvq, &rcv_end, &t->rcvq);
	if (!err)
		err = read_queue(fd, TCP_SEND_QUEUE, r->sndq, &snd_end, &t->sndq);
	if (err)
		return err;
	r->rcv_nxt = rcv_end - r->fin_rcvd;
	r->snd_nxt = snd_end - r->fin_queued;
	r->snd_una = r->snd_nxt - r->sndq;
	return 0;
}

static int read_image(int fd, struct sl_repair_taken *t)
{
	struct sl_tcp_repair *r = &t->r;
	struct tcp_info info;
	int off, err = get_state(fd, r, &info);

	if (!err)
		err = get_key(fd, r);
	if (!err)
		err = get_buffers(fd, r);
	if (!err)
		err = get_window(fd, r);
	if (!err)
		err = get_lengths(fd, r, &info);
	if (!err && !sl_sys_get_int(fd, SOL_SOCKET, SO_PEEK_OFF, &off) && off >= 0)
		err = -EBUSY;
	if (!err)
		err = read_queues(fd, t);
	if (!err)
		err = look_again(fd, r, &info);
	if (!err)
		err = get_options(fd, r, &info);
	return err;
}

int sl_repair_read(int fd, struct sl_repair_taken *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	err = sl_sys_get_int(fd, SOL_SOCKET, SO_REUSEADDR, &t->reuse);
	if (!err)
		err = sl_broker_repair(fd, TCP_REPAIR_ON);
	if (err)
		return err;
	err = read_image(fd, t);
	if (err) {
		sl_repair_cancel(fd, t);
		sl_repair_free(t);
	}
	return err;
}

int sl_repair_take(int fd, struct sl_repair_taken *t)
{
	int err = sl_repair_freeze(fd);

	if (err)
		return err;
	err = sl_repair_read(fd, t);
	if (err)
		(void)sl_broker_drop_packets(fd, false);
	return err;
}

void sl_repair_free(struct sl_repair_taken *t)
{
	struct sl_repair_bytes *q[] = {&t->sndq, &t->rcvq};

	for (unsigned i = 0; i < sl_array_len(q); i++) {
		if (q[i]->p)
			(void)sl_sysi(SYS_munmap, q[i]->p, q[i]->map_bytes);
		q[i]->p = NULL;
	}
}

int sl_repair_leave(int fd, const struct sl_repair_taken *t)
{
	struct sockaddr sa = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int err, v;

	err = sl_sys_getsockname(fd, &ss, &len);
	if (!err)
		err = sl_sys_connect(fd, &sa, sizeof(sa));
	if (err)
		return err;
	(void)sl_sys_get_int(fd, SOL_SOCKET, SO_ERROR, &v);
	/* The socket has lost a port number that the kernel had chosen. In repair mode bind(2)
	 * takes the number even if it is in use. */
	err = sl_sys_bind(fd, &ss, len);
	end_repair(fd, t, TCP_REPAIR_OFF_NO_WP);
	return err == -EINVAL ? 0 : err;
}
