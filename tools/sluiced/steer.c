/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims on packets, on behalf of sessions. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/broker/inject.h"
#include "ctl/claim/claim.h"
#include "ctl/claim/group.h"
#include "ctl/claim/stray.h"
#include "ctl/device/device.h"
#include "ctl/front/broker.h"
#include "ctl/kern/say.h"
#include "ctl/lease/proto.h"
#include "ctl/steer/holders.h"
#include "claims.h"
#include "conns.h"
#include "deliver.h"
#include "facts.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "proof.h"
#include "session.h"
#include "vlan.h"

#define VLAN_BITS  SL_CLAIM_VLAN(SL_MAX_VLANS - 1)
#define CENSUS_NS  500000u     /* between two looks for what a thread has read (census.c) */
#define PID_UNSEEN 0x80000000u /* a process of another pid namespace is told apart by its lease */

static bool owns_lane(const struct sl_session_port *p, uint32_t first)
{
	const struct sl_device *d = sl_device_find(p->ifindex);

	for (unsigned i = 0; d && i < SL_SESSION_LANES; i++)
		if (p->lane[i] && (p->lane[i] - 1u) * d->info.nqueues == first)
			return true;
	return false;
}

uint32_t sl_claim_pid(const struct sl_session *s)
{
	return s->cred.pid ? (uint32_t)s->cred.pid : PID_UNSEEN | s->member;
}

/* The broker's form of a request; -EINVAL: it makes no sense, or names something of another
 * session. */
static int to_req(struct sl_session *s, const struct sl_lease_claim *c, struct sl_claim_req *req)
{
	const struct sl_session_port *p = c->ifindex ? sl_session_port(s, c->ifindex) : NULL;

	*req = (struct sl_claim_req){
		.ifindex = c->ifindex,
		.shadow_fd = -1,
		.key = c->key,
		.claim = c->claim,
		.narrow = c->narrow,
		.spread = c->flags & SL_LEASE_SPREAD,
		.replace = c->flags & SL_LEASE_REPLACE,
	};
	memset(req->key.pad, 0, sizeof(req->key.pad));
	req->claim.pid = sl_claim_pid(s);
	if (!p || (c->key.proto != IPPROTO_TCP && c->key.proto != IPPROTO_UDP) ||
	    !c->key.local_port || c->claim.flags & ~(SL_CLAIM_STAMP | SL_CLAIM_PASS | VLAN_BITS) ||
	    c->flags & ~(SL_LEASE_SPREAD | SL_LEASE_REPLACE) || !sl_narrow_is_sound(&c->narrow))
		return -EINVAL;
	return c->claim.flags & SL_CLAIM_PASS || owns_lane(p, c->claim.lane) ? 0 : -EINVAL;
}

static int put_claim(struct sl_session *s, const struct sl_claim_req *req, bool everywhere,
		     uint32_t rule, const char **why)
{
	const struct sl_device *d = sl_device_find(req->ifindex);
	bool guarded = d && d->attach.guard_tried;
	int err = sl_embedded_claim(req, why);

	if (err)
		return err;
	if (d && d->attach.guard_tried != guarded)
		sl_keep_device(req->ifindex);
	err = sl_held_put(&s->held, req, everywhere, rule);
	if (err)
		sl_embedded_unclaim(req);
	return err;
}

/* The NIC's rule comes first: packets steered here without it would go to the kernel. */
static int claim_flow(struct sl_session *s, const struct sl_claim_req *req, bool everywhere,
		      const char **why)
{
	const struct sl_held *h = sl_held_find(&s->held, req);
	uint32_t rule = h ? h->rule : 0, before = rule;
	int err = rule ? 0 : sl_divide_get(s, req, &rule, why);

	if (!err)
		err = put_claim(s, req, everywhere, rule, why);
	if (err && !before)
		sl_divide_put(rule);
	return err;
}

static void unclaim_flow(struct sl_session *s, struct sl_held *h)
{
	uint32_t rule = h->rule;

	if (h->req.key.proto == IPPROTO_TCP && !h->req.key.remote_port) {
		unsigned i = s->nlistened++ % sl_array_len(s->listened);

		s->listened[i].port = h->req.key.local_port;
		s->listened[i].uid = h->uid;
	}
	sl_watch_del(s, &h->req);
	sl_embedded_unclaim(&h->req);
	sl_held_del(&s->held, h);
	sl_divide_put(rule);
}

void sl_claim_take_back(struct sl_session *s, const struct sl_claim_req *req)
{
	struct sl_held *h = sl_held_find(&s->held, req);

	if (h)
		unclaim_flow(s, h);
}

/* From here on the claim is watched, unless it is a flow's. */
static int claim_proved(struct sl_session *s, const struct sl_claim_req *req,
			const struct sl_proof *proof, bool everywhere, const char **why)
{
	bool had = sl_held_find(&s->held, req);
	int err = sl_watch_add(s, req, proof);

	if (!err)
		err = claim_flow(s, req, everywhere, why);
	if (!err && (!req->key.remote_port || req->key.proto == IPPROTO_UDP))
		sl_held_find(&s->held, req)->cookie = proof->own.cookie;
	if (!err)
		sl_held_find(&s->held, req)->uid = proof->own.uid;
	if (err && !had)
		sl_watch_del(s, req);
	return err;
}

int sl_on_claim(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_claim_req req;
	struct sl_proof proof;
	bool covered;
	int err = to_req(s, &m->body.claim, &req);

	if (!err && !sl_vlan_is_sound(s, &req))
		err = -EINVAL;
	covered = !err && sl_restore_covers(s, &req);
	if (!err && !covered)
		err = sl_proof_check(m->fd[0], &req.key, why);
	if (!err && s->held.n >= s->limits.flows) {
		sl_why(why, "the policy gives user %u %u flows", s->cred.uid, s->limits.flows);
		err = -EDQUOT;
	}
	if (!err)
		err = covered ? sl_prove_nothing(m->fd[0], &proof, why)
			      : sl_prove(s, m->fd[0], &req, &proof, why);
	if (err == -EINPROGRESS)
		s->rest_ns = CENSUS_NS;
	return err ? err : claim_proved(s, &req, &proof, sl_proof_is_everywhere(m->fd[0]), why);
}

/* A claim that the session has needs no proof any more; but a flow that passes was not proved. */
int sl_on_claim_update(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_claim_req req;
	int err = to_req(s, &m->body.claim, &req);
	const struct sl_held *h = err ? NULL : sl_held_find(&s->held, &req);

	if (!err && !h)
		err = -ENOENT;
	if (!err && !sl_vlan_is_sound(s, &req))
		err = -EINVAL;
	if (!err && (h->req.claim.flags ^ req.claim.flags) & SL_CLAIM_PASS)
		err = -EINVAL;
	return err ? err : claim_flow(s, &req, h->everywhere, why);
}

int sl_on_unclaim(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_claim_req req;
	struct sl_held *h;
	int err = to_req(s, &m->body.claim, &req);

	h = err ? NULL : sl_held_find(&s->held, &req);
	if (!h)
		return -ENOENT;
	if (req.key.proto == IPPROTO_UDP && !(h->req.claim.flags & SL_CLAIM_PASS))
		s->gave[s->ngave++ % sl_array_len(s->gave)] = h->cookie;
	unclaim_flow(s, h);
	return 0;
}

/* A flow that is none of the connections that the process has left is over, and its claim lasts for
 * late segments: our FIN is acknowledged, and the peer may not have sent its own yet (FIN_WAIT2). A
 * reset would take away what its program has not read. Without the list the peer must be told. */
static bool has_list(const struct sl_session *s)
{
	return s->conns.gone.fd >= 0;
}

uint32_t sl_claims_drop(struct sl_session *s, uint32_t n)
{
	struct sl_held *h;
	bool told;

	while (n-- && (h = sl_held_any(&s->held))) {
		struct sl_claim_req req = h->req;

		unclaim_flow(s, h);
		if (req.key.proto != IPPROTO_TCP || !req.key.remote_port ||
		    req.claim.flags & SL_CLAIM_PASS)
			continue;
		told = sl_conns_will_tell(s, &req.key);
		if (!told && !has_list(s))
			sl_farewell(&req.key, 0, NULL);
		else if (told && req.key.vlan) /* by which it is not known there */
			sl_embedded_let_reset(&req.key);
	}
	return s->held.n;
}

/* Deleting moves others to the free place: go through the table until no UDP claim is left. */
void sl_claims_drop_udp(struct sl_session *s)
{
	bool found;

	do {
		found = false;
		for (uint32_t i = 0; i < s->held.max; i++)
			while (s->held.slot[i].used &&
			       s->held.slot[i].req.key.proto == IPPROTO_UDP) {
				unclaim_flow(s, &s->held.slot[i]);
				found = true;
			}
	} while (found);
}

int sl_on_drop(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	int err = s->limits.repair ? sl_proof_tcp(m->fd[0], why) : -EPERM;

	if (!err)
		err = sl_prove_own(s, m->fd[0], why);
	if (!err)
		err = sl_facts_drop_packets(m->fd[0], m->body.drop.on);
	return err == -ENOENT && s->again ? 0 : err;
}

int sl_on_inject(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_inject *i = &m->body.inject;
	int err;

	if (!s->limits.repair || i->bytes > sizeof(i->packet))
		return -EPERM;
	err = sl_proof_packet(m->fd[0], i->packet, i->bytes, why);
	if (!err)
		err = sl_prove_own(s, m->fd[0], why);
	if (err || !sl_session_begin(s))
		return err;
	err = sl_embedded_inject(i->packet, i->bytes, i->scope);
	if (err == -EADDRNOTAVAIL)
		sl_why(why, "the packet is not for an address of this host");
	return err;
}

/* The kernel's socket must have room for the connection's data. */
int sl_on_buffer(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_buffer *b = &m->body.buffer;
	int v = (int)sl_min(b->bytes, SL_BUFFER_MAX), err;

	if (!s->limits.repair)
		return -EPERM;
	if (b->opt != SO_SNDBUFFORCE && b->opt != SO_RCVBUFFORCE)
		return -EINVAL;
	err = sl_proof_tcp(m->fd[0], why);
	if (!err)
		err = sl_prove_own(s, m->fd[0], why);
	return err ? err : sl_facts_setsockopt(m->fd[0], SOL_SOCKET, b->opt, &v, sizeof(v));
}

int sl_on_holders(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	int n = sl_embedded_holders(m->fd[0]);

	/* Ours, and that of the request, which still lies in the session's socket. */
	m->body.holders_ok.n = (uint32_t)sl_max(n - 2, 0);
	return n < 0 ? n : 0;
}
