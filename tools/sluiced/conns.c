/* SPDX-License-Identifier: BSD-2-Clause */
/* Picks the session's own connections out of the TCP connections that a dead process has left
 * (tools/death): the session had claimed their local end or their flow, and had proved that claim
 * by a socket. */
#include "conns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/sys.h"
#include "ctl/umem/umem.h"
#include "foreign.h"
#include "handlers.h"
#include "memory.h"
#include "keep.h"
#include "sluiced.h"

#define TELL 32  /* looked at in a turn of the loop: takes some milliseconds */
#define LOOK 256 /* likewise */
/* Connections of one user that are listed at a time, 64 bytes each: beyond these a list waits until
 * the others are done. (The files may be one and the same, and have a million entries.) */
#define LISTED 65536

int sl_on_conns(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	int fd, err;

	if (s->conns.gone.fd >= 0)
		return s->again ? 0 : -EALREADY;
	fd = sl_fd_dup(m->fd[0]);
	if (fd < 0)
		return fd;
	err = sl_gone_open(&s->conns.gone, fd, &m->body.conns);
	if (err)
		sl_foreign_close(s, fd);
	else
		sl_keep_session(s);
	return err;
}

/* Claimed ends and flows -------------------------------------------------------------------------
 */

static int by_key(const void *a, const void *b)
{
	return memcmp(&((const struct sl_own_flow *)a)->key, &((const struct sl_own_flow *)b)->key,
		      sizeof(struct sl_flow_key));
}

static bool is_flow(const struct sl_claim_req *req)
{
	return req->key.remote_port && !(req->claim.flags & SL_CLAIM_PASS);
}

/* A connection does not say by which VLAN its packets come, and no two of a host differ in that
 * alone. */
static struct sl_flow_key without_vlan(const struct sl_flow_key *k)
{
	struct sl_flow_key out = *k;

	out.vlan = 0;
	return out;
}

/* Reads the session's claims. It has few ends that were claimed for any peer. */
static void look_at_claims(struct sl_session *s)
{
	struct sl_conns *c = &s->conns;

	c->looked = true;
	c->flow = calloc(s->held.n + 1, sizeof(*c->flow));
	for (uint32_t i = 0; i < s->held.max; i++) {
		const struct sl_held *h = &s->held.slot[i];

		if (!h->used || h->req.key.proto != IPPROTO_TCP)
			continue;
		if (!h->req.key.remote_port && c->nends < SL_CONNS_ENDS)
			c->end[c->nends++] = (struct sl_own_end){h->req.key, h->everywhere};
		else if (is_flow(&h->req) && c->flow)
			c->flow[c->nflows++].key = without_vlan(&h->req.key);
	}
	if (c->flow)
		qsort(c->flow, c->nflows, sizeof(*c->flow), by_key);
}

static struct sl_own_flow *find_flow(const struct sl_conns *c, const struct sl_flow_key *k)
{
	struct sl_own_flow want = {.key = without_vlan(k)};

	return c->nflows ? bsearch(&want, c->flow, c->nflows, sizeof(want), by_key) : NULL;
}

const struct sl_own_end *sl_conns_end(const struct sl_conns *c, const uint8_t local[16],
				      uint16_t port)
{
	for (uint32_t i = 0; i < c->nends; i++) {
		struct sl_addr end = sl_addr_of(c->end[i].key.local);

		if (c->end[i].key.local_port == port &&
		    (!memcmp(end.b, local, 16) || sl_addr_is_any(&end)))
			return &c->end[i];
	}
	return NULL;
}

static bool was_claimed(void *arg, const struct sl_flow_key *k)
{
	const struct sl_conns *c = arg;
	struct sl_own_flow *f = find_flow(c, k);

	if (f)
		f->told = true;
	return f || sl_conns_end(c, k->local, k->local_port);
}

/* The end ----------------------------------------------------------------------------------------
 */

static bool must_wait(const struct sl_session *s)
{
	uint64_t listed = 0;

	for (const struct sl_session *o = sluiced.sessions; o; o = o->next)
		if (o != s && o->cred.uid == s->cred.uid && o->conns.gone.gone)
			listed += o->conns.gone.max;
	return listed > LISTED;
}

bool sl_conns_read(struct sl_session *s)
{
	if (s->conns.gone.fd >= 0 && !s->conns.gone.gone && !s->conns.gone.read && must_wait(s))
		return true;
	if (!s->conns.looked)
		look_at_claims(s);
	return sl_gone_read(&s->conns.gone, was_claimed, &s->conns);
}

static bool read_frames(const void *arg, uint64_t at, void *to, uint32_t n)
{
	return sl_umem_read(arg, at, to, n);
}

bool sl_conns_rescue(struct sl_session *s, bool dead)
{
	const struct sl_umem *u = s->share && s->memory ? sl_umem_find(s->memory->umem) : NULL;
	struct sl_tcp_frames m = {.owner = s->share};

	if (!u || !dead || !s->limits.repair || !s->boxes.n)
		return false;
	m.read = read_frames;
	m.arg = &u->info;
	m.word = u->info.share.word;
	m.nframes = u->info.nframes;
	m.shift = u->info.share.shift;
	m.counted = &s->conns.gone.pieces;
	return sl_gone_rescue(&s->conns.gone, LOOK, &m, sl_box_find, s);
}

bool sl_conns_will_tell(const struct sl_session *s, const struct sl_flow_key *k)
{
	const struct sl_own_flow *f = find_flow(&s->conns, k);

	return f && f->told;
}

bool sl_conns_tell(struct sl_session *s, bool dead)
{
	if (sl_gone_tell(&s->conns.gone, TELL, dead && s->limits.repair))
		return true;
	free(s->conns.flow);
	s->conns.flow = NULL;
	s->conns.nflows = 0;
	return false;
}
