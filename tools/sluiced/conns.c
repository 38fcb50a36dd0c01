/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections of a process that is gone: read out of its own memory, told to their peers.
 *
 * What stands there is the word of a process that may have lied. It is read, not mapped (a file can
 * be cut while it is mapped), and a connection is believed only if its local end was claimed by the
 * session, which was proved by a socket. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/addr.h"
#include "base/sys.h"
#include "ctl/broker_int.h"
#include "sluiced.h"

#define PIECE_BYTES 262144u /* read at each turn of the loop */
#define STRIDE_MAX  4096u
#define CONNS_MAX   (1u << 20)

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
	       inside(l, l->lport, 2) && inside(l, l->rport, 2);
}

int sl_on_conns(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct stat st;

	if (s->conns.fd >= 0)
		return -EALREADY;
	if (!sound(&m->body.conns) || fstat(m->fd[0], &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	s->conns.fd = sl_fd_dup(m->fd[0]);
	if (s->conns.fd < 0)
		return s->conns.fd;
	s->conns.layout = m->body.conns;
	return 0;
}

/* The local ends that the session had claimed for whoever comes: a few. What was claimed for one
 * peer alone is told when that claim is dropped. */
static void find_ends(struct sl_session *s)
{
	struct sl_conns *c = &s->conns;

	for (uint32_t i = 0; i < s->held.max && c->nends < SL_CONNS_ENDS; i++) {
		const struct sl_held *h = &s->held.slot[i];

		if (h->used && h->req.key.proto == IPPROTO_TCP && !h->req.key.remote_port)
			c->end[c->nends++] = h->req.key;
	}
}

static bool was_claimed(const struct sl_conns *c, const struct sl_flow_key *k)
{
	for (uint32_t i = 0; i < c->nends; i++) {
		struct sl_addr end = sl_addr_of(c->end[i].local);

		if (c->end[i].local_port == k->local_port &&
		    (!memcmp(end.b, k->local, 16) || sl_addr_is_any(&end)))
			return true;
	}
	return false;
}

static void note(struct sl_conns *c, const uint8_t *e)
{
	const struct sl_conns_layout *l = &c->layout;
	struct sl_flow_key k = {.proto = IPPROTO_TCP};
	uint8_t state = e[l->state];
	struct sl_addr local, remote;
	void *host;

	memcpy(&host, e + l->host, sizeof(host));
	if (!host || e[l->dead] || state == TCP_CLOSE || state == TCP_SYN_SENT ||
	    state == TCP_LISTEN || state == TCP_TIME_WAIT || c->n == c->max)
		return;
	memcpy(k.local, e + l->local, 16);
	memcpy(k.remote, e + l->remote, 16);
	memcpy(&k.local_port, e + l->lport, 2);
	memcpy(&k.remote_port, e + l->rport, 2);
	local = sl_addr_of(k.local);
	remote = sl_addr_of(k.remote);
	if (sl_addr_is_v4(&local) == sl_addr_is_v4(&remote) && was_claimed(c, &k))
		c->key[c->n++] = k;
}

/* Room for all there can be: a connection takes `stride` bytes of the file. */
static bool begin(struct sl_session *s)
{
	struct sl_conns *c = &s->conns;
	struct stat st;
	uint64_t n;

	if (fstat(c->fd, &st))
		return false;
	find_ends(s);
	n = sl_min((uint64_t)st.st_blocks * 512, (uint64_t)st.st_size) / c->layout.stride + 1;
	c->max = (uint32_t)sl_min(n, (uint64_t)c->layout.max);
	c->key = malloc(c->max * sizeof(*c->key));
	return c->key;
}

static void finish(struct sl_conns *c)
{
	sl_sys_close(c->fd);
	c->fd = -1;
}

/* True: there is more to read. A process makes connections from the first entry on, so where
 * nothing was ever written is the end. */
bool sl_conns_read(struct sl_session *s)
{
	static uint8_t buf[PIECE_BYTES];
	struct sl_conns *c = &s->conns;
	uint32_t stride = c->layout.stride;
	long n = -1;

	if (c->fd < 0)
		return false;
	if ((c->key || begin(s)) && sl_sys(SYS_lseek, c->fd, c->at, SEEK_DATA) >= 0)
		n = sl_sys(SYS_pread64, c->fd, buf, PIECE_BYTES / stride * stride, c->at);
	for (long at = 0; at + (long)stride <= n; at += stride)
		note(c, buf + at);
	if (n >= (long)stride) {
		c->at += (uint64_t)n / stride * stride;
		if (c->at / stride < c->layout.max)
			return true;
	}
	finish(c);
	return false;
}

bool sl_conns_tell(struct sl_session *s, uint32_t n)
{
	struct sl_conns *c = &s->conns;

	while (n-- && c->n)
		sl_farewell(&c->key[--c->n]);
	if (c->n)
		return true;
	free(c->key);
	c->key = NULL;
	return false;
}
