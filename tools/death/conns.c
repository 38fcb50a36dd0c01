/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections of a process that is gone: read out of its own memory, told to their peers.
 *
 * What stands there is the word of a process that may have lied, and that died in the middle of
 * anything. It is read, not mapped (a file can be cut while it is mapped), and a connection is
 * believed only if its owner says that the process may have had it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/sys.h"
#include "death.h"

#define PIECE_BYTES 262144u /* read at a time */
#define STRIDE_MAX  4096u
#define CONNS_MAX   (1u << 20)
#define RESCUE_COST 8u /* looks: so long it takes */

/* Does the field end inside an entry? */
static bool inside(const struct sl_conns_layout *l, uint32_t at, uint32_t bytes)
{
	return at < l->stride && bytes <= l->stride - at;
}

static bool sound(const struct sl_conns_layout *l)
{
	return l->stride && l->stride <= STRIDE_MAX && l->max <= CONNS_MAX &&
	       inside(l, l->host, sizeof(void *)) && inside(l, l->dead, 1) &&
	       inside(l, l->state, 1) && inside(l, l->local, 16) && inside(l, l->remote, 16) &&
	       inside(l, l->lport, 2) && inside(l, l->rport, 2) &&
	       inside(l, l->owner, sizeof(void *)) && inside(l, l->oif, 4) &&
	       inside(l, l->listener, 4) && inside(l, l->tcp, 1);
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

/* The connection that an entry is about; false: none whose peer waits for anything. */
static bool key_of(const struct sl_conns_layout *l, const uint8_t *e, struct sl_flow_key *k)
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

/* Room for all there can be: a connection takes `stride` bytes of the file. */
static bool begin(struct sl_gone_conns *c)
{
	struct stat st;
	uint64_t n;

	if (fstat(c->fd, &st))
		return false;
	n = sl_min((uint64_t)st.st_blocks * 512, (uint64_t)st.st_size) / c->layout.stride + 1;
	c->max = (uint32_t)sl_min(n, (uint64_t)c->layout.max);
	c->gone = malloc(c->max * sizeof(*c->gone));
	return c->gone;
}

/* Past what was never written; false: nothing follows. */
static bool skip_hole(struct sl_gone_conns *c)
{
	uint32_t stride = c->layout.stride;
	long at = sl_sys(SYS_lseek, c->fd, c->at, SEEK_DATA);

	if (at < 0 || (uint64_t)at / stride >= c->layout.max)
		return false;
	c->at = sl_max(c->at, (uint64_t)at / stride * stride);
	return true;
}

bool sl_gone_read(struct sl_gone_conns *c, sl_gone_mine_fn *mine, void *arg)
{
	static uint8_t buf[PIECE_BYTES];
	uint32_t stride = c->layout.stride;
	long n = -1;

	if (c->fd < 0 || c->read)
		return false;
	if ((c->gone || begin(c)) && skip_hole(c))
		n = sl_sys(SYS_pread64, c->fd, buf, PIECE_BYTES / stride * stride, c->at);
	for (long at = 0; at + (long)stride <= n && c->n < c->max; at += stride) {
		struct sl_gone *g = &c->gone[c->n];

		g->rescue = NULL;
		g->entry = (uint32_t)((c->at + (uint64_t)at) / stride);
		c->n += key_of(&c->layout, buf + at, &g->key) && mine(arg, &g->key);
	}
	if (n >= (long)stride) {
		c->at += (uint64_t)n / stride * stride;
		if (c->at / stride < c->layout.max)
			return true;
	}
	c->read = true;
	return false;
}

/* Telling -------------------------------------------------------------------------------------- */

/* The entry once more: the file may have been written to meanwhile. */
static bool read_entry(const struct sl_gone_conns *c, const struct sl_gone *g, uint8_t *e)
{
	const struct sl_conns_layout *l = &c->layout;
	struct sl_flow_key k;

	return sl_sys(SYS_pread64, c->fd, e, l->stride, (uint64_t)g->entry * l->stride) ==
		       (long)l->stride &&
	       key_of(l, e, &k) && !memcmp(&k, &g->key, sizeof(k));
}

static uint32_t u32_at(const uint8_t *e, uint32_t at)
{
	uint32_t v;

	memcpy(&v, e + at, sizeof(v));
	return v;
}

/* What it was; of what the process was allowed to have, whatever else stands there. */
static bool state_of(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e,
		     const struct sl_tcp_frames *m, struct sl_tcp_dead *d)
{
	const struct sl_conns_layout *l = &c->layout;

	if (l->form != sl_tcp_repair_form() || !inside(l, l->tcp, SL_TCP_BYTES) ||
	    !sl_tcp_repair_dead(e + l->tcp, sl_now_ns() / 1000, m, d))
		return false;
	d->r.key.local = sl_addr_of(g->key.local);
	d->r.key.remote = sl_addr_of(g->key.remote);
	d->r.key.lport = g->key.local_port;
	d->r.key.rport = g->key.remote_port;
	d->r.scope_id = u32_at(e, l->oif);
	return true;
}

static bool rescue(const struct sl_gone_conns *c, struct sl_gone *g, const struct sl_tcp_frames *m,
		   sl_gone_box_fn *box, void *arg)
{
	const struct sl_gone_box *b;
	uint8_t e[STRIDE_MAX];
	struct sl_tcp_dead d;

	if (!read_entry(c, g, e) || !state_of(c, g, e, m, &d) || !d.queued)
		return false;
	b = box(arg, u32_at(e, c->layout.listener));
	if (!b || b->port != g->key.local_port)
		return false;
	sl_time_wait_forget(&g->key);
	g->rescue = sl_rescue_begin(&d, m, b);
	return true;
}

bool sl_gone_rescue(struct sl_gone_conns *c, uint32_t n, const struct sl_tcp_frames *m,
		    sl_gone_box_fn *box, void *arg)
{
	for (; n && c->looked < c->n; n--)
		if (rescue(c, &c->gone[c->looked++], m, box, arg))
			n -= sl_min(n - 1, RESCUE_COST);
	return c->looked < c->n;
}

/* One that nobody had accepted yet is reset (inet_csk_listen_stop()). */
static bool fin(const struct sl_gone_conns *c, const struct sl_gone *g, const uint8_t *e)
{
	struct sl_tcp_dead d;

	return state_of(c, g, e, NULL, &d) && (d.orphan || is_set(e, c->layout.owner)) &&
	       sl_last_fin(&d.r);
}

static void tell(const struct sl_gone_conns *c, const struct sl_gone *g, bool repair)
{
	uint8_t e[STRIDE_MAX];
	bool there;

	if (g->rescue) {
		sl_rescue_end(g->rescue);
		return;
	}
	there = read_entry(c, g, e);
	sl_time_wait_forget(&g->key);
	if (!repair || !there || !fin(c, g, e))
		sl_farewell(&g->key, there ? u32_at(e, c->layout.oif) : 0);
}

bool sl_gone_tell(struct sl_gone_conns *c, uint32_t n, bool repair)
{
	if (c->fd < 0)
		return false;
	for (; n && c->told < c->n; n--)
		tell(c, &c->gone[c->told++], repair);
	if (c->told < c->n)
		return true;
	free(c->gone);
	c->gone = NULL;
	sl_sys_close(c->fd);
	c->fd = -1;
	return false;
}
