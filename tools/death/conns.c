/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections of a process that is gone: reads them out of its memory and tells their
 * peers.
 *
 * The process may have lied, and may have died in the middle of anything. So its memory is read,
 * not mapped (a file can be cut while it is mapped), and a connection is believed only if its owner
 * says that the process may have had it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/closer.h"
#include "base/sys.h"
#include "death.h"
#include "tcp/listen/tcp_listen.h"

#define PIECE_BYTES 262144u /* read at a time */
#define STRIDE_MAX  4096u
#define CONNS_MAX   (1u << 20)
#define FILL_NS     1000000ull /* for bytes in a call; a piece begun goes on */
#define RESCUE_COST 8u         /* looks that take as long as one rescue */

/* True: the field ends inside an entry. */
static bool inside(const struct sl_conns_layout *l, uint32_t at, uint32_t bytes)
{
	return at < l->stride && bytes <= l->stride - at;
}

static bool reqs_sound(const struct sl_conns_layout *l)
{
	return !l->req_max || (l->req_max <= CONNS_MAX && l->req_stride >= SL_TCP_REQ_BYTES &&
			       l->req_stride <= STRIDE_MAX &&
			       l->req_listener <= l->req_stride - 4 && l->req_at <= INT64_MAX / 2);
}

static bool sound(const struct sl_conns_layout *l)
{
	return reqs_sound(l) && l->stride && l->stride <= STRIDE_MAX && l->max <= CONNS_MAX &&
	       inside(l, l->host, sizeof(void *)) && inside(l, l->dead, 1) &&
	       inside(l, l->state, 1) && inside(l, l->local, 16) && inside(l, l->remote, 16) &&
	       inside(l, l->lport, 2) && inside(l, l->rport, 2) &&
	       inside(l, l->owner, sizeof(void *)) && inside(l, l->oif, 4) &&
	       inside(l, l->listener, 4) && inside(l, l->inode, 4) && inside(l, l->tcp, 1);
}

int sl_gone_open(struct sl_gone_conns *c, int fd, const struct sl_conns_layout *layout)
{
	struct stat st;

	if (!sound(layout) || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	*c = (struct sl_gone_conns){.fd = fd, .layout = *layout};
	return 0;
}

/* Reading -------------------------------------------------------------------------------------- */

static bool is_set(const uint8_t *e, uint32_t at)
{
	void *p;

	memcpy(&p, e + at, sizeof(p));
	return p != NULL;
}

/* Reads the connection of an entry. False: there is none, or its peer waits for nothing. */
static bool key_of_entry(const struct sl_conns_layout *l, const uint8_t *e, struct sl_flow_key *k)
{
	uint8_t state = e[l->state];
	struct sl_addr local, remote;

	*k = (struct sl_flow_key){.proto = IPPROTO_TCP};
	if (!is_set(e, l->host) || e[l->dead] || state == TCP_CLOSE || state == TCP_SYN_SENT ||
	    state == TCP_LISTEN || state == TCP_TIME_WAIT)
		return false;
	memcpy(k->local, e + l->local, 16);
	memcpy(k->remote, e + l->remote, 16);
	memcpy(&k->local_port, e + l->lport, 2);
	memcpy(&k->remote_port, e + l->rport, 2);
	local = sl_addr_of(k->local);
	remote = sl_addr_of(k->remote);
	return sl_addr_is_v4(&local) == sl_addr_is_v4(&remote);
}

/* Reads a handshake that the dead process had answered. */
static bool key_of_req(const struct sl_conns_layout *l, const uint8_t *e, struct sl_flow_key *k)
{
	struct sl_tcp_dead d;

	if (l->form != sl_tcp_repair_form() || !sl_tcp_repair_dead_req(e, 0, &d))
		return false;
	*k = (struct sl_flow_key){.proto = IPPROTO_TCP};
	memcpy(k->local, d.r.key.local.b, 16);
	memcpy(k->remote, d.r.key.remote.b, 16);
	k->local_port = d.r.key.lport;
	k->remote_port = d.r.key.rport;
	return sl_addr_is_v4(&d.r.key.local) == sl_addr_is_v4(&d.r.key.remote);
}

/* Where entries of a kind lie. */
struct table {
	uint64_t at;
	uint32_t stride, max;
};

static struct table table_of(const struct sl_conns_layout *l, bool req)
{
	return req ? (struct table){l->req_at, l->req_stride, l->req_max}
		   : (struct table){0, l->stride, l->max};
}

/* Makes room for all there can be: each takes at least so many bytes of the file. */
static bool begin_list(struct sl_gone_conns *c)
{
	const struct sl_conns_layout *l = &c->layout;
	uint32_t least = l->req_max ? sl_min(l->stride, l->req_stride) : l->stride;
	struct stat st;
	uint64_t n;

	if (fstat(c->fd, &st))
		return false;
	n = sl_min((uint64_t)st.st_blocks * 512, (uint64_t)st.st_size) / least + 2;
	c->max = (uint32_t)sl_min(n, (uint64_t)l->max + l->req_max);
	c->gone = malloc(c->max * sizeof(*c->gone));
	return c->gone;
}

/* Moves past a part that was never written; false: nothing follows. */
static bool skip_hole(struct sl_gone_conns *c, const struct table *t)
{
	long at = sl_sys(SYS_lseek, c->fd, t->at + c->at, SEEK_DATA);
	uint64_t to;

	if (at < 0)
		return false;
	to = (uint64_t)at - t->at;
	if (to / t->stride >= t->max)
		return false;
	c->at = sl_max(c->at, to / t->stride * t->stride);
	return true;
}

static void look_at_entry(struct sl_gone_conns *c, const struct table *t, const uint8_t *e,
			  uint64_t at, sl_gone_mine_fn *mine, void *arg)
{
	struct sl_gone *g = &c->gone[c->n];

	*g = (struct sl_gone){.entry = (uint32_t)(at / t->stride), .req = c->in_reqs};
	c->n += (c->in_reqs ? key_of_req(&c->layout, e, &g->key)
			    : key_of_entry(&c->layout, e, &g->key)) &&
		mine(arg, &g->key);
}

/* Reads a piece of a table; false: that was all. */
static bool read_piece(struct sl_gone_conns *c, sl_gone_mine_fn *mine, void *arg)
{
	static uint8_t buf[PIECE_BYTES];
	const struct table t = table_of(&c->layout, c->in_reqs);
	uint32_t bytes = PIECE_BYTES / t.stride * t.stride;
	long n = -1;

	if (skip_hole(c, &t))
		n = sl_sys(SYS_pread64, c->fd, buf, bytes, t.at + c->at);
	for (long at = 0; at + (long)t.stride <= n && c->n < c->max; at += t.stride)
		if ((c->at + (uint64_t)at) / t.stride < t.max)
			look_at_entry(c, &t, buf + at, c->at + (uint64_t)at, mine, arg);
	if (n < (long)t.stride)
		return false;
	c->at += (uint64_t)n / t.stride * t.stride;
	return c->at / t.stride < t.max;
}

bool sl_gone_read(struct sl_gone_conns *c, sl_gone_mine_fn *mine, void *arg)
{
	if (c->fd < 0 || c->read)
		return false;
	if (!c->gone && !begin_list(c)) {
		c->read = true;
		return false;
	}
	if (read_piece(c, mine, arg))
		return true;
	if (!c->in_reqs && c->layout.req_max) {
		c->in_reqs = true;
		c->at = 0;
		return true;
	}
	c->read = true;
	return false;
}

/* Telling -------------------------------------------------------------------------------------- */

/* Reads the entry once more: the file may have been written to meanwhile. */
static bool read_entry(const struct sl_gone_conns *c, const struct sl_gone *g, uint8_t *e)
{
	const struct table t = table_of(&c->layout, g->req);
	struct sl_flow_key k;

	return sl_sys(SYS_pread64, c->fd, e, t.stride, t.at + (uint64_t)g->entry * t.stride) ==
		       (long)t.stride &&
	       (g->req ? key_of_req(&c->layout, e, &k) : key_of_entry(&c->layout, e, &k)) &&
	       !memcmp(&k, &g->key, sizeof(k));
}

static uint32_t u32_at(const uint8_t *e, uint32_t at)
{
	uint32_t v;

	memcpy(&v, e + at, sizeof(v));
	return v;
}

/* True: the connections are in the form that this library knows. */
static bool has_states(const struct sl_conns_layout *l)
{
	return l->form == sl_tcp_repair_form() && inside(l, l->tcp, SL_TCP_BYTES);
}

/* Puts in what this process knows in place of the dead one's words. It makes the kernel give the
 * buffers (SO_RCVBUFFORCE), whoever gets the connection. */
static void correct(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e,
		    struct sl_tcp_dead *d)
{
	d->r.key.local = sl_addr_of(g->key.local);
	d->r.key.remote = sl_addr_of(g->key.remote);
	d->r.key.lport = g->key.local_port;
	d->r.key.rport = g->key.remote_port;
	d->r.scope_id = u32_at(e, c->layout.oif);
	d->r.sndbuf = sl_min(d->r.sndbuf, SL_BUFFER_MAX);
	d->r.rcvbuf = sl_min(d->r.rcvbuf, SL_BUFFER_MAX);
}

/* Reads the connection's state; only for a connection that the process was allowed to have, since
 * it can have written anything there. */
static bool state_of(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e,
		     const struct sl_tcp_frames *m, struct sl_tcp_dead *d)
{
	const struct sl_conns_layout *l = &c->layout;
	uint64_t now_us = sl_now_ns() / 1000;

	if (g->req)
		return sl_tcp_repair_dead_req(e, now_us, d);
	if (!has_states(l) || !sl_tcp_repair_dead(e + l->tcp, now_us, m, d))
		return false;
	correct(c, g, e, d);
	return true;
}

/* True: it was tried. (The kernel may have refused it.) */
static bool rescue(const struct sl_gone_conns *c, struct sl_gone *g, const struct sl_tcp_frames *m,
		   sl_gone_box_fn *box, void *arg)
{
	const struct sl_gone_box *b;
	uint8_t e[STRIDE_MAX];
	struct sl_tcp_dead d;

	if (!read_entry(c, g, e) || !state_of(c, g, e, m, &d) || !d.queued)
		return false;
	b = box(arg, u32_at(e, g->req ? c->layout.req_listener : c->layout.listener));
	if (!b || b->port != g->key.local_port)
		return false;
	sl_time_wait_forget(&g->key);
	g->rescue = sl_rescue_begin(&d, g->req, m, b);
	return true;
}

static void fill(struct sl_gone_conns *c, struct sl_gone *g)
{
	int err = sl_rescue_fill(g->rescue);

	c->filling = err > 0;
	if (err < 0)
		g->rescue = NULL;
}

bool sl_gone_rescue(struct sl_gone_conns *c, uint32_t n, const struct sl_tcp_frames *m,
		    sl_gone_box_fn *box, void *arg)
{
	uint64_t end = sl_now_ns() + FILL_NS;
	struct sl_gone *g;

	for (; n && (c->filling || c->looked < c->n); n--) {
		if (c->filling) {
			fill(c, &c->gone[c->looked - 1]);
			if (sl_now_ns() >= end)
				break;
			continue;
		}
		g = &c->gone[c->looked++];
		if (rescue(c, g, m, box, arg))
			n -= sl_min(n - 1, RESCUE_COST);
		c->filling = g->rescue;
	}
	return c->filling || c->looked < c->n;
}

uint32_t sl_gone_inode(const struct sl_gone_conns *c, const struct sl_gone *g)
{
	const struct sl_conns_layout *l = &c->layout;
	uint8_t e[STRIDE_MAX];
	uint32_t inode;

	if (g->req || !l->inode || !read_entry(c, g, e) || !is_set(e, l->owner))
		return 0;
	inode = ~u32_at(e, l->inode);
	return inode <= INT32_MAX ? inode : 0;
}

bool sl_gone_is_noted(const struct sl_gone_conns *c, const struct sl_gone *g)
{
	uint8_t e[STRIDE_MAX];

	return !g->req && has_states(&c->layout) && read_entry(c, g, e) &&
	       sl_tcp_dead_is_noted(e + c->layout.tcp);
}

bool sl_gone_state(const struct sl_gone_conns *c, const struct sl_gone *g, struct sl_tcp_dead *d,
		   struct sl_tcp_noted *from)
{
	const struct sl_conns_layout *l = &c->layout;
	uint8_t e[STRIDE_MAX];

	if (g->req || !has_states(l) || !read_entry(c, g, e) ||
	    !sl_tcp_repair_dead_noted(e + l->tcp, sl_now_ns() / 1000, d, from) || d->orphan)
		return false;
	correct(c, g, e, d);
	return true;
}

/* Ends a connection by a FIN. A connection that was not accepted yet is reset instead, as the
 * kernel does (inet_csk_listen_stop()). */
static bool fin(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e)
{
	struct sl_tcp_dead d;

	return state_of(c, g, e, NULL, &d) && (d.orphan || is_set(e, c->layout.owner)) &&
	       sl_last_fin(&d.r);
}

/* Resets a connection, since the data in its queues has died with the process. */
static void reset_conn(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e)
{
	const struct sl_conns_layout *l = &c->layout;
	struct sl_tcp_ends ends;
	bool known = e && has_states(l) && sl_tcp_dead_ends(e + l->tcp, &ends);

	sl_farewell(&g->key, e ? u32_at(e, l->oif) : 0, known ? &ends : NULL);
}

static void tell_peer(const struct sl_gone_conns *c, const struct sl_gone *g, bool repair)
{
	uint8_t e[STRIDE_MAX];
	bool there;

	if (g->kept)
		return;
	if (g->rescue) {
		sl_rescue_end(g->rescue);
		return;
	}
	if (g->req) /* without a SYN-ACK a peer repeats its SYN; else its next segment is reset */
		return;
	there = read_entry(c, g, e);
	sl_time_wait_forget(&g->key);
	if (!repair || !there || !fin(c, g, e))
		reset_conn(c, g, there ? e : NULL);
}

bool sl_gone_tell(struct sl_gone_conns *c, uint32_t n, bool repair)
{
	if (c->fd < 0)
		return false;
	for (; n && c->told < c->n; n--)
		tell_peer(c, &c->gone[c->told++], repair);
	if (c->told < c->n)
		return true;
	free(c->gone);
	c->gone = NULL;
	sl_closer_add(c->fd, SL_CLOSER_NOBODY, false);
	c->fd = -1;
	return false;
}
