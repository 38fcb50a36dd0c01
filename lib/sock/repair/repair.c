/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a connection of ours the kernel's (TCP_REPAIR; net/ipv4/tcp.c).
 *
 * Theory of operation: in repair mode a closed socket takes sequence numbers, connect(2) makes it
 * ESTABLISHED without a packet, options and windows can be set, and send(2) puts bytes straight
 * into the queue that TCP_REPAIR_QUEUE has chosen. We send bytes that were never sent after repair
 * mode, as any program does. Leaving the mode sends a window probe (TCP_REPAIR_OFF, not OFF_NO_WP):
 * the peer's answer tells how far it is, so the kernel finds at once what was lost meanwhile.
 *
 * No call sets the round trip, and without one the first time-out is a second. So where nothing is
 * in flight the kernel's socket begins one byte earlier, and this byte, which the peer has
 * acknowledged, is sent once more: the peer acknowledges it again, whatever it says (RFC 1122
 * 4.2.3.6 has the same for keepalives), and the kernel has measured. Not when the way to the peer
 * may be gone: the byte would end a connection that was idle.
 *
 * FINs come last, since only an ESTABLISHED socket sends the probe. For a FIN that we have sent we
 * call shutdown(2) in repair mode, which marks it as sent: otherwise the kernel might hold it back
 * for acknowledgments that it does not take, as they acknowledge the FIN. We cannot say that the
 * peer has acknowledged our FIN (FIN_WAIT2): the kernel stays in FIN_WAIT1 until the peer's next
 * segment. No call sets the peer's FIN: repair_fin.c forges it. */
#include "sock/repair/repair.h"

#include <linux/socket.h>
#include <linux/tcp.h>

#include "base/sys.h"
#include "ctl/front/broker.h"

#define CHUNK       32768u
#define READS       16     /* of the source, in a piece of the work */
#define SLACK_BYTES 65536u /* in the buffers, for the overhead of what is put there */
#define OPT_MSS     2      /* kinds of options (RFC 9293 3.1, 7323, 2018) */
#define OPT_WSCALE  3
#define OPT_SACK_OK 4
#define OPT_TS      8
#define FULL_TRIES  200 /* times 10 ms that we wait for the kernel to take data */

/* The value, or -errno. */
static int option_of(int fd, int level, int opt)
{
	int v = 0, err = sl_sys_get_int(fd, level, opt, &v);

	return err ? err : v;
}

static int family_of(int fd)
{
	return option_of(fd, SOL_SOCKET, SO_DOMAIN);
}

/* The name --------------------------------------------------------------------------------------
 */

static socklen_t to_sockaddr(int fd, const struct sl_addr *a, uint16_t port,
			     const struct sl_tcp_repair *r, struct sockaddr_storage *ss)
{
	socklen_t len = sizeof(*ss);

	sl_addr_to_sockaddr(a, port, sl_addr_is_linklocal(a) ? r->scope_id : 0, family_of(fd),
			    (struct sockaddr *)ss, &len);
	return len;
}

/* 1: fd has the connection's local name; 0: it has none; -EINVAL: another. */
static int local_name(int fd, const struct sl_tcp_key *key)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct sl_addr a;
	uint32_t scope;
	uint16_t port;
	int err = sl_sys_getsockname(fd, &ss, &len);

	if (!err)
		err = sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &a, &port, &scope);
	if (err)
		return err;
	if (port == 0)
		return 0;
	return port == key->lport && (sl_addr_is_any(&a) || sl_addr_eq(&a, &key->local)) ? 1
											 : -EINVAL;
}

static int bind_name(int fd, const struct sl_tcp_repair *r)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int bound = local_name(fd, &r->key);

	if (bound)
		return bound < 0 ? bound : 0;
	len = to_sockaddr(fd, &r->key.local, r->key.lport, r, &ss);
	return sl_sys_bind(fd, &ss, len);
}

/* Sequence numbers, options, windows ----------------------------------------------------------- */

static int choose_queue(int fd, int queue)
{
	return sl_sys_set_int(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue);
}

static int set_seq(int fd, int queue, uint32_t seq)
{
	int err = choose_queue(fd, queue);

	return err ? err : sl_sys_set_int(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, (int)seq);
}

static int set_options(int fd, const struct sl_tcp_repair *r)
{
	struct tcp_repair_opt o[4];
	unsigned n = 0;
	int err;

	o[n++] = (struct tcp_repair_opt){OPT_MSS, r->mss_clamp};
	if (r->sack_ok)
		o[n++] = (struct tcp_repair_opt){OPT_SACK_OK, 0};
	if (r->wscale_ok)
		o[n++] = (struct tcp_repair_opt){OPT_WSCALE,
						 r->snd_wscale | (uint32_t)r->rcv_wscale << 16};
	if (r->ts_ok)
		o[n++] = (struct tcp_repair_opt){OPT_TS, 0};
	err = sl_sys_setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_OPTIONS, o, n * sizeof(o[0]));
	/* Milliseconds: the lowest bit would choose microseconds (6.7). Never behind what the peer
	 * has seen. */
	if (!err && r->ts_ok)
		err = sl_sys_set_int(fd, IPPROTO_TCP, TCP_TIMESTAMP, (int)((r->tsval + 1) & ~1u));
	return err;
}

/* Sets the windows, with room for the FIN that repair_fin.c will forge. */
static int set_window(int fd, const struct sl_tcp_repair *r)
{
	uint32_t max_window = sl_max(r->max_window, r->snd_wnd);
	struct tcp_repair_window w = {
		.snd_wl1 = r->snd_wl1,
		.snd_wnd = r->snd_wnd,
		.max_window = max_window,
		.rcv_wnd = r->rcv_wnd,
		.rcv_wup = r->rcv_wup,
	};
	uint32_t right = w.rcv_wup + w.rcv_wnd;

	if (sl_seq_gt(w.rcv_wup, r->rcv_nxt) || sl_seq_lt(right, r->rcv_nxt + r->fin_rcvd)) {
		w.rcv_wup = r->rcv_nxt;
		w.rcv_wnd = sl_seq_gt(right, r->rcv_nxt) ? right - r->rcv_nxt : r->fin_rcvd;
	}
	if (sl_seq_gt(w.snd_wl1, r->rcv_nxt))
		w.snd_wl1 = r->rcv_nxt;
	return sl_sys_setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, sizeof(w));
}

/* Buffers ---------------------------------------------------------------------------------------
 */

/* locks: which sizes are to look as if the program had chosen them. */
static void set_size(int fd, int opt, uint32_t bytes, int locks)
{
	/* The kernel doubles what it is given. */
	(void)sl_broker_buffer(fd, opt, bytes / 2);
	(void)sl_sys_set_int(fd, SOL_SOCKET, SO_BUF_LOCK, locks);
}

/* Makes room for what the queues hold, and at least as much as the connection had, on which its
 * announced window rests. Call before connect(2), which derives the largest window from it. The
 * sizes do not count as chosen by the program: that would stop auto-tuning for good. */
static void widen_buffers(int fd, const struct sl_tcp_repair *r, struct sl_repair_saved *s)
{
	uint32_t snd = sl_max(r->sndbuf, 2 * r->sndq + SLACK_BYTES);
	uint32_t rcv = sl_max(r->rcvbuf, 2 * r->rcvq + SLACK_BYTES);

	s->locks = sl_max(option_of(fd, SOL_SOCKET, SO_BUF_LOCK), 0);
	s->sndbuf = sl_max(option_of(fd, SOL_SOCKET, SO_SNDBUF), 0);
	s->rcvbuf = sl_max(option_of(fd, SOL_SOCKET, SO_RCVBUF), 0);
	set_size(fd, SO_SNDBUFFORCE, sl_max((uint32_t)s->sndbuf, snd), 0);
	set_size(fd, SO_RCVBUFFORCE, sl_max((uint32_t)s->rcvbuf, rcv), 0);
}

/* Sets the size that the connection had; a size that the program has chosen is as it was before. */
static void restore_rcvbuf(int fd, const struct sl_tcp_repair *r, const struct sl_repair_saved *s)
{
	bool chosen = s->locks & SOCK_RCVBUF_LOCK;

	set_size(fd, SO_RCVBUFFORCE, sl_max(chosen ? 0 : r->rcvbuf, (uint32_t)s->rcvbuf), s->locks);
}

static void restore_sndbuf(int fd, const struct sl_tcp_repair *r, const struct sl_repair_saved *s)
{
	bool chosen = s->locks & SOCK_SNDBUF_LOCK;

	set_size(fd, SO_SNDBUFFORCE, sl_max(chosen ? 0 : r->sndbuf, (uint32_t)s->sndbuf), s->locks);
}

/* The queues ------------------------------------------------------------------------------------
 */

static void sleep_10ms(void)
{
	struct timespec ts = {.tv_nsec = 10 * 1000 * 1000};

	(void)sl_sys(SYS_nanosleep, &ts, NULL);
}

/* The kernel takes all of it, or something is wrong: its buffer is large enough, so it refuses only
 * for lack of memory. */
static int send_all(int fd, const uint8_t *p, uint32_t n, bool hurry)
{
	unsigned tries = 0;

	while (n) {
		long ret = sl_sys_sendto(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

		if (ret > 0) {
			p += ret;
			n -= (uint32_t)ret;
		} else if (ret != -EAGAIN && ret != -ENOMEM && ret != -ENOBUFS && ret != -EINTR) {
			return ret ? (int)ret : -EIO;
		} else {
			if (hurry || ++tries > FULL_TRIES)
				return -ENOMEM;
			sleep_10ms();
		}
	}
	return 0;
}

/* Copies from *at on until the end, or after that many reads of the source. */
static int copy_some(int fd, uint32_t (*read)(void *, uint32_t, void *, uint32_t),
		     const struct sl_repair_source *src, uint32_t *at, uint32_t end)
{
	uint8_t buf[CHUNK];

	for (unsigned i = 0; i < READS && *at < end; i++) {
		uint32_t n = read(src->arg, *at, buf, sl_min(CHUNK, end - *at));
		int err = n ? send_all(fd, buf, n, src->hurry) : -EINVAL;

		if (err)
			return err;
		*at += n;
	}
	return 0;
}

/* Gives the kernel some bytes more: first those of the receive queue. 1: there may be more. */
static int fill_some(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     uint32_t *filled)
{
	const bool rcv = *filled < r->rcvq;
	const uint32_t before = rcv ? 0 : r->rcvq, end = rcv ? r->rcvq : r->sndq - r->unsent;
	uint32_t at = *filled - before;
	int err = choose_queue(fd, rcv ? TCP_RECV_QUEUE : TCP_SEND_QUEUE);

	if (!err)
		err = copy_some(fd, rcv ? src->rcvq : src->sndq, src, &at, end);
	*filled = before + at;
	return err ? err : rcv || at < end;
}

/* After repair mode: gives the kernel some of the bytes that were never sent, and the FIN behind
 * them. 1: there are more. */
static int send_some(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     struct sl_repair_saved *s)
{
	uint32_t first = r->sndq - r->unsent, at = first + s->rest;
	int err = 0;

	if (at < r->sndq) {
		if (s->lowat != -1)
			(void)sl_sys_set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, -1);
		err = copy_some(fd, src->sndq, src, &at, r->sndq);
		if (s->lowat != -1)
			(void)sl_sys_set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, s->lowat);
		s->rest = at - first;
	}
	if (!err && at < r->sndq)
		return 1;
	if (!err && r->fin_queued && !r->fin_sent)
		err = sl_sysi(SYS_shutdown, fd, SHUT_WR);
	return err;
}

/* All together ----------------------------------------------------------------------------------
 */

/* True: the last acknowledged byte may go once more. A stamp that the program wants would be of
 * this byte, too, and TCP_CORK would hold it back. */
static bool may_ask(int fd, const struct sl_tcp_repair *r)
{
	return r->lively && r->state == SL_TCP_ESTABLISHED && !r->sndq && !r->fin_queued &&
	       !r->fin_rcvd && r->snd_wnd && option_of(fd, IPPROTO_TCP, TCP_CORK) == 0 &&
	       option_of(fd, SOL_SOCKET, SO_TIMESTAMPING) == 0;
}

static int establish(int fd, const struct sl_tcp_repair *r, bool asks)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int err = set_seq(fd, TCP_SEND_QUEUE, r->snd_una - asks);

	if (!err)
		err = set_seq(fd, TCP_RECV_QUEUE, r->rcv_nxt - r->rcvq);
	if (err)
		return err;
	/* connect(2) computes the size of segments from TCP_MAXSEG; set_options() is too late. */
	(void)sl_sys_set_int(fd, IPPROTO_TCP, TCP_MAXSEG, r->mss_clamp);
	len = to_sockaddr(fd, &r->key.remote, r->key.rport, r, &ss);
	err = sl_sys_connect(fd, &ss, len);
	/* From the wildcard address the kernel's routing chooses; it may have changed. */
	if (!err && local_name(fd, &r->key) != 1)
		err = -EADDRNOTAVAIL;
	return err;
}

/* While make() runs the socket's state is not complete, so the kernel drops packets for it. (Claims
 * keep most packets away, but not when the steering program is gone.) */

static int make_empty(int fd, const struct sl_tcp_repair *r, bool asks)
{
	int err = bind_name(fd, r);

	if (!err)
		err = establish(fd, r, asks);
	return err ? err : set_options(fd, r);
}

/* When the queues are full. */
static int complete(int fd, const struct sl_tcp_repair *r)
{
	int err = set_window(fd, r);

	return !err && r->rx_shut ? sl_sysi(SYS_shutdown, fd, SHUT_RD) : err;
}

static int make(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src)
{
	uint32_t filled = 0;
	int err = make_empty(fd, r, false);

	if (err)
		return err;
	do
		err = fill_some(fd, r, src, &filled);
	while (err > 0);
	return err ? err : complete(fd, r);
}

/* Closes the socket again without a packet to the peer, and takes the error that this leaves. */
static void unmake(int fd)
{
	struct sockaddr sa = {.sa_family = AF_UNSPEC};

	(void)sl_sys_connect(fd, &sa, sizeof(sa));
	(void)option_of(fd, SOL_SOCKET, SO_ERROR);
	(void)sl_broker_repair(fd, TCP_REPAIR_OFF_NO_WP);
}

static int our_fin(int fd)
{
	int err = choose_queue(fd, TCP_SEND_QUEUE);

	return err ? err : sl_sysi(SYS_shutdown, fd, SHUT_WR);
}

/* The queue is full: ends the connection. Sequence numbers are of no interest any more: no option,
 * an open window. */
static int end_closed(int fd, const struct sl_tcp_repair *r, bool reset, bool hurry)
{
	bool fins = r->fin_rcvd || !reset;
	int err = complete(fd, r);

	if (!err && fins)
		err = sl_repair_fin(fd, r, hurry);
	if (!err && fins && (!reset || r->fin_sent))
		err = our_fin(fd);
	return err ? err : sl_repair_end(fd, r, reset, hurry);
}

static uint32_t no_bytes(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return 0;
}

int sl_repair_time_wait(int fd, const struct sl_tcp_repair *r)
{
	const struct sl_repair_source none = {.sndq = no_bytes, .rcvq = no_bytes, .hurry = true};
	int err = sl_broker_repair(fd, TCP_REPAIR_ON);

	if (err)
		return err;
	err = make(fd, r, &none);
	if (!err)
		err = our_fin(fd);
	if (!err)
		err = sl_repair_fin(fd, r, true);
	if (!err)
		err = sl_repair_end(fd, r, false, true);
	if (err)
		unmake(fd);
	else
		(void)sl_broker_repair(fd, TCP_REPAIR_OFF_NO_WP);
	return err;
}

/* The kernel chooses the port that the connection has not got. */
static int choose_port(int fd, struct sl_tcp_repair *r)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct sl_addr a;
	uint32_t scope;
	int err = bind_name(fd, r);

	if (!err)
		err = sl_sys_getsockname(fd, &ss, &len);
	return err ? err
		   : sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &a, &r->key.lport, &scope);
}

/* Leaving repair mode clears SO_REUSEADDR. */
static void restore_reuse(int fd, const struct sl_repair_saved *s)
{
	if (s->reuse > 0)
		(void)sl_sys_set_int(fd, SOL_SOCKET, SO_REUSEADDR, s->reuse);
}

static void restore_closed(int fd, const struct sl_tcp_repair *r, const struct sl_repair_saved *s)
{
	restore_rcvbuf(fd, r, s);
	restore_sndbuf(fd, r, s);
	restore_reuse(fd, s);
}

int sl_repair_closed_start(int fd, struct sl_tcp_repair *r, struct sl_repair_saved *s)
{
	int err = sl_broker_may_inject();

	*s = (struct sl_repair_saved){.reuse = option_of(fd, SOL_SOCKET, SO_REUSEADDR)};
	if (!err && !r->key.lport)
		err = choose_port(fd, r);
	if (!err)
		err = sl_broker_repair(fd, TCP_REPAIR_ON);
	if (err)
		return err;
	widen_buffers(fd, r, s);
	err = make_empty(fd, r, false);
	if (err) {
		unmake(fd);
		restore_closed(fd, r, s);
	}
	return err;
}

int sl_repair_closed_fill(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
			  struct sl_repair_saved *s, bool reset)
{
	int err = fill_some(fd, r, src, &s->filled);

	if (err > 0)
		return 1;
	if (!err)
		err = end_closed(fd, r, reset, src->hurry);
	if (err)
		unmake(fd);
	else
		(void)sl_broker_repair(fd, TCP_REPAIR_OFF_NO_WP);
	restore_closed(fd, r, s);
	return err;
}

int sl_repair_closed(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     bool reset)
{
	struct sl_tcp_repair own = *r;
	struct sl_repair_saved s;
	int err = sl_repair_closed_start(fd, &own, &s);

	if (err)
		return err;
	do
		err = sl_repair_closed_fill(fd, &own, src, &s, reset);
	while (err > 0);
	return err;
}

/* FINs that stand in the sequence space already. Ours before the peer's makes CLOSING, the peer's
 * before ours LAST_ACK. */
static int restore_fins(int fd, const struct sl_tcp_repair *r, bool hurry)
{
	bool ours_first = r->state != SL_TCP_LAST_ACK;
	int err = 0;

	if (!r->fin_sent && !r->fin_rcvd)
		return 0;
	err = sl_broker_repair(fd, TCP_REPAIR_ON);
	if (!err && r->fin_sent && ours_first)
		err = our_fin(fd);
	if (!err && r->fin_rcvd)
		err = sl_repair_fin(fd, r, hurry);
	if (!err && r->fin_sent && !ours_first)
		err = our_fin(fd);
	(void)sl_broker_repair(fd, TCP_REPAIR_OFF);
	return err;
}

/* The connection is complete: lets packets reach it, leaves repair mode, and then sends the FINs,
 * which repair mode cannot do. */
static int go_live(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		   bool asks)
{
	int err;

	(void)sl_broker_drop_packets(fd, false);
	if (src->live)
		src->live(src->arg);
	err = sl_broker_repair(fd, TCP_REPAIR_OFF);
	if (!err && asks && !sl_repair_is_over(fd))
		err = send_all(fd, (const uint8_t *)"", 1, src->hurry);
	return err ? err : restore_fins(fd, r, src->hurry);
}

static void undo(int fd, const struct sl_tcp_repair *r, const struct sl_repair_saved *s)
{
	restore_rcvbuf(fd, r, s);
	(void)sl_broker_drop_packets(fd, false);
	unmake(fd);
	restore_sndbuf(fd, r, s);
	restore_reuse(fd, s);
}

int sl_repair_start(int fd, const struct sl_tcp_repair *r, struct sl_repair_saved *s)
{
	int err = r->fin_rcvd ? sl_broker_may_inject() : 0;

	*s = (struct sl_repair_saved){
		.reuse = option_of(fd, SOL_SOCKET, SO_REUSEADDR),
		.lowat = option_of(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT),
	};
	if (r->unsent > r->sndq || (r->fin_sent && r->unsent))
		err = -EINVAL;
	if (!err)
		err = sl_broker_repair(fd, TCP_REPAIR_ON);
	if (err)
		return err;
	widen_buffers(fd, r, s);
	(void)sl_broker_drop_packets(fd, true);
	s->asks = may_ask(fd, r);
	err = make_empty(fd, r, s->asks);
	if (err)
		undo(fd, r, s);
	return err;
}

int sl_repair_fill(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		   struct sl_repair_saved *s)
{
	int err = fill_some(fd, r, src, &s->filled);

	if (err > 0)
		return 1;
	if (!err)
		err = complete(fd, r);
	if (err)
		undo(fd, r, s);
	else /* before packets reach it, lest it announce a window that it has no room for */
		restore_rcvbuf(fd, r, s);
	return err;
}

int sl_repair_begin(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		    struct sl_repair_saved *s)
{
	int err = sl_repair_start(fd, r, s);

	if (err)
		return err;
	do
		err = sl_repair_fill(fd, r, src, s);
	while (err > 0);
	return err;
}

int sl_repair_finish_some(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
			  struct sl_repair_saved *s)
{
	int err = s->live ? 0 : go_live(fd, r, src, s->asks);

	s->live = true;
	if (!err && !sl_repair_is_over(fd)) /* a send would take the error */
		err = send_some(fd, r, src, s);
	if (err > 0)
		return 1;
	err = err && sl_repair_is_over(fd) ? 0 : err;
	restore_sndbuf(fd, r, s);
	restore_reuse(fd, s);
	return err;
}

int sl_repair_finish(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     const struct sl_repair_saved *s)
{
	struct sl_repair_saved own = *s;
	int err;

	do
		err = sl_repair_finish_some(fd, r, src, &own);
	while (err > 0);
	return err;
}

int sl_repair_rest(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src)
{
	uint32_t room = sl_max(r->sndbuf, 2 * r->sndq + SLACK_BYTES);
	struct sl_repair_saved s = {.lowat = -1};
	int err;

	if ((!r->unsent && (!r->fin_queued || r->fin_sent)) || sl_repair_is_over(fd))
		return 0;
	s.locks = sl_max(option_of(fd, SOL_SOCKET, SO_BUF_LOCK), 0);
	s.sndbuf = sl_max(option_of(fd, SOL_SOCKET, SO_SNDBUF), 0);
	if (r->unsent)
		set_size(fd, SO_SNDBUFFORCE, sl_max((uint32_t)s.sndbuf, room), 0);
	do
		err = send_some(fd, r, src, &s);
	while (err > 0);
	if (r->unsent)
		restore_sndbuf(fd, r, &s);
	return err && sl_repair_is_over(fd) ? 0 : err;
}

int sl_repair_kernel(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src)
{
	struct sl_repair_saved s;
	int err = sl_repair_begin(fd, r, src, &s);

	return err ? err : sl_repair_finish(fd, r, src, &s);
}

int sl_repair_socket(const struct sl_tcp_key *key)
{
	int family = sl_addr_is_v4(&key->local) ? AF_INET : AF_INET6, one = 1;
	int fd = sl_sys_socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd >= 0)
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}
