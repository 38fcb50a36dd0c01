/* SPDX-License-Identifier: BSD-2-Clause */
/* Rescues connections that wait to be accepted when a process dies, and others have its listener.
 *
 * Theory of operation: kernel listeners shared by processes have one queue, and no connection is
 * lost when one of the processes dies. Our processes have a queue each. So a connection that waited
 * in the dead one's becomes the kernel's (TCP_REPAIR), with the bytes that have come, and goes into
 * the box from which the others accept (sock/listen/share.c). It is made while its packets are
 * still steered to the dead process, where nothing answers them: a living process, or the kernel,
 * would reset an unknown connection. When the claims are gone the kernel gets its packets, and the
 * connection speaks for the first time.
 *
 * For a handshake that was answered it is unknown whether the peer has heard the answer; the
 * kernel's listener would know. As a connection it is on trial: it asks (the window probe that ends
 * a repair), and a connected peer acknowledges. A peer that is not connected ignores the probe, and
 * sends its SYN again: then, or after a time, the connection is taken back without a word, and the
 * next SYN begins anew.
 *
 * The dead process says how many connections waited, and a rescue has a descriptor, so all of them
 * together have a quarter of those that there may be: the rest is others'. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/closer.h"
#include "base/rights.h"
#include "base/sys.h"
#include "death.h"
#include "sock/repair/repair.h"

#define TRIAL_NS 3000000000ull

struct sl_rescue {
	struct sl_rescue *next; /* next one on trial */
	uint64_t end_ns;
	bool req;
	int fd;
	struct sl_tcp_repair r;
	struct sl_repair_saved saved;
	struct sl_tcp_frames frames; /* while it is made: where its bytes are, */
	struct sl_tcp_unread unread; /* and the next one */
	const struct sl_gone_box *box;
	int box_fd; /* while on trial: a copy of the box's descriptor */
};

static struct sl_rescue *on_trial;
static uint32_t under_way;

/* (A trial takes a second descriptor.) */
static bool is_room(void)
{
	struct rlimit64 files;

	return !sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) &&
	       under_way < files.rlim_cur / 8;
}

static uint32_t no_bytes(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return 0;
}

/* Reads the unread bytes. (`at` is not needed: the caller reads from the first one on, in order.)
 */
static uint32_t unread(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return sl_tcp_unread_copy(arg, buf, n);
}

static struct sl_repair_source source(struct sl_tcp_unread *u)
{
	return (struct sl_repair_source){.sndq = no_bytes, .rcvq = unread, .arg = u, .hurry = true};
}

/* Makes a socket of the listener's family: a server for both families has IPv6 sockets only. */
static int new_socket(const struct sl_gone_box *box)
{
	int fd = sl_sys_socket(box->family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	int one = 1, none = 0;

	if (fd < 0)
		return fd;
	(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (box->family == AF_INET6)
		(void)sl_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none));
	return fd;
}

struct sl_rescue *sl_rescue_begin(const struct sl_tcp_dead *d, bool req,
				  const struct sl_tcp_frames *m, const struct sl_gone_box *box)
{
	struct sl_rescue *r = is_room() ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	r->r = d->r;
	r->req = req;
	r->box = box;
	r->frames = *m;
	r->unread = sl_tcp_unread_of(d, &r->frames);
	r->fd = new_socket(box);
	if (r->fd >= 0 && !sl_repair_start(r->fd, &r->r, &r->saved)) {
		under_way++;
		return r;
	}
	if (r->fd >= 0)
		sl_sys_close(r->fd);
	free(r);
	return NULL;
}

int sl_rescue_fill(struct sl_rescue *r)
{
	const struct sl_repair_source src = source(&r->unread);
	int err = sl_repair_fill(r->fd, &r->r, &src, &r->saved);

	if (err >= 0)
		return err;
	sl_sys_close(r->fd);
	under_way--;
	free(r);
	return err;
}

static void reset_conn(struct sl_rescue *r)
{
	const struct linger l = {.l_onoff = 1};

	(void)sl_sys_setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* The new owner has the socket, and may have set SO_LINGER: closing it may take time. */
static void end_rescue(struct sl_rescue *r)
{
	sl_closer_add(r->fd, SL_CLOSER_NOBODY, false);
	under_way--;
	free(r);
}

static void give_to_box(struct sl_rescue *r, int box_fd)
{
	if (sl_rights_send(box_fd, SL_BOX_BARE, 1, &r->fd, 1, MSG_DONTWAIT) != 1)
		reset_conn(r);
}

void sl_rescue_end(struct sl_rescue *r)
{
	const struct sl_repair_source src = source(NULL);
	int err = sl_repair_finish(r->fd, &r->r, &src, &r->saved);

	if (err)
		reset_conn(r);
	if (!err && r->req) {
		r->box_fd = sl_fd_dup(r->box->fd);
		r->end_ns = sl_now_ns() + TRIAL_NS;
		r->next = on_trial;
		on_trial = r;
		return;
	}
	if (!err)
		give_to_box(r, r->box->fd);
	end_rescue(r);
}

/* On trial ------------------------------------------------------------------------------------- */

/* Closes the socket without telling the peer. */
static void take_conn_back(const struct sl_rescue *r)
{
	(void)sl_broker_repair(r->fd, TCP_REPAIR_ON);
}

/* True: the trial is decided. The peer's window is 0 here until an acknowledgment changes it; a SYN
 * does not. */
static bool judge_trial(struct sl_rescue *r)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (sl_sys_getsockopt(r->fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	    info.tcpi_state == SL_TCP_CLOSED)
		return true;
	if (info.tcpi_snd_wnd) {
		give_to_box(r, r->box_fd);
		return true;
	}
	if (!info.tcpi_segs_in && sl_now_ns() < r->end_ns)
		return false;
	take_conn_back(r);
	return true;
}

bool sl_rescue_look(void)
{
	for (struct sl_rescue **at = &on_trial, *r; (r = *at);) {
		if (!judge_trial(r)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		sl_closer_add(r->box_fd, SL_CLOSER_NOBODY, false);
		end_rescue(r);
	}
	return on_trial;
}
