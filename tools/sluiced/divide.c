/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of a NIC that is divided among groups (ctl/device/part.c).
 *
 * Theory of operation: packets without a rule go to the first part's queues. A claim of another
 * part gets a rule, unless one for all peers of its local end exists: connections that a listener
 * has accepted use the listener's rule, and cost neither a rule nor the NIC's time. A rule stands
 * as long as any claim counts on it. All packets of one rule come by one queue: where a part has
 * several, its rules take turns. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/nic.h"
#include "ctl/device/part.h"
#include "ctl/kern/say.h"
#include "memory.h"
#include "session.h"

#define HEADS 1024

static struct rule {
	uint32_t ifindex; /* 0: unused */
	uint32_t queue, place, claims;
	struct sl_flow_key key;
	uint32_t next; /* of the same hash, or unused: number + 1 */
} * rules;
static uint32_t nrules, unused, head[HEADS]; /* numbers + 1 */

static uint32_t *head_of(uint32_t ifindex, const struct sl_flow_key *k)
{
	uint32_t h = ifindex * 31 + k->local_port * 65537u + k->remote_port * 257u + k->proto;

	for (unsigned i = 0; i < sizeof(k->remote); i++)
		h = h * 31 + k->remote[i];
	return &head[h % HEADS];
}

static struct rule *find_rule(uint32_t ifindex, const struct sl_flow_key *k)
{
	uint32_t nr = *head_of(ifindex, k);

	while (nr &&
	       (rules[nr - 1].ifindex != ifindex || memcmp(&rules[nr - 1].key, k, sizeof(*k))))
		nr = rules[nr - 1].next;
	return nr ? &rules[nr - 1] : NULL;
}

static int grow_rules(void)
{
	uint32_t n = nrules ? 2 * nrules : 64;
	struct rule *more = realloc(rules, n * sizeof(*rules));

	if (!more)
		return -ENOMEM;
	rules = more;
	for (uint32_t i = nrules; i < n; i++) {
		rules[i] = (struct rule){.next = unused};
		unused = i + 1;
	}
	nrules = n;
	return 0;
}

static struct rule *add_rule(uint32_t ifindex, const struct sl_flow_key *k)
{
	uint32_t *h = head_of(ifindex, k), nr;

	if (!unused && grow_rules())
		return NULL;
	nr = unused;
	unused = rules[nr - 1].next;
	rules[nr - 1] = (struct rule){.ifindex = ifindex, .key = *k, .next = *h};
	*h = nr;
	return &rules[nr - 1];
}

static void del_rule(struct rule *r)
{
	uint32_t *at = head_of(r->ifindex, &r->key), nr = (uint32_t)(r - rules) + 1;

	while (*at != nr)
		at = &rules[*at - 1].next;
	*at = r->next;
	*r = (struct rule){.next = unused};
	unused = nr;
}

/* Makes the rule's key, without the VLAN: a rule names the end that the packet goes to. */
static struct sl_flow_key rule_key(const struct sl_flow_key *k, bool anybody, bool anywhere)
{
	struct sl_flow_key key = {
		.local_port = k->local_port,
		.remote_port = anybody ? 0 : k->remote_port,
		.proto = k->proto,
	};
	struct sl_addr local = sl_addr_of(k->local);
	size_t known = sl_addr_is_v4(&local) ? 12 : 0; /* of a wildcard: the family */

	memcpy(key.local, k->local, anywhere ? known : sizeof(key.local));
	if (!anybody)
		memcpy(key.remote, k->remote, sizeof(key.remote));
	return key;
}

/* Finds an existing rule that brings the claim's packets already. */
static struct rule *find_any(const struct sl_claim_req *req, const struct sl_part *part)
{
	for (unsigned wide = 0; wide < 3; wide++) {
		const struct sl_flow_key k = rule_key(&req->key, wide > 0, wide > 1);
		struct rule *r = find_rule(req->ifindex, &k);

		if (r && r->queue - part->first < part->n)
			return r;
	}
	return NULL;
}

static struct rule *add_nic_rule(struct sl_device *d, const struct sl_part *part,
				 const struct sl_claim_req *req, int *err)
{
	static uint32_t turn;
	const struct sl_flow_key key = rule_key(&req->key, !req->key.remote_port, false);
	struct rule *r;

	*err = -EADDRINUSE;
	if (find_rule(req->ifindex, &key)) /* another part's */
		return NULL;
	*err = -ENOMEM;
	r = add_rule(req->ifindex, &key);
	if (!r)
		return NULL;
	r->queue = part->first + turn++ % part->n;
	*err = sl_nic_rule_add(d, &key, r->queue, &r->place);
	if (!*err)
		return r;
	del_rule(r);
	return NULL;
}

int sl_divide_get(const struct sl_session *s, const struct sl_claim_req *req, uint32_t *rule,
		  const char **why)
{
	struct sl_device *d = sl_device_find(req->ifindex);
	const struct sl_part *part = d && d->nparts > 1 ? sl_part_of(d, s->memory->umem) : NULL;
	struct rule *r;
	int err;

	*rule = 0;
	if (!part || part == d->part || req->claim.flags & SL_CLAIM_PASS)
		return 0;
	r = find_any(req, part);
	if (!r)
		r = add_nic_rule(d, part, req, &err);
	if (!r) {
		sl_why(why,
		       err == -EADDRINUSE ? "%s: another group receives on that port"
					  : "%s takes no more rules for flows",
		       d->info.ifname);
		return err;
	}
	r->claims++;
	*rule = (uint32_t)(r - rules) + 1;
	return 0;
}

static void forget_rule(struct rule *r)
{
	struct sl_device *d = sl_device_find(r->ifindex);

	if (d)
		sl_nic_rule_del(d, r->place);
	del_rule(r);
}

void sl_divide_put(uint32_t rule)
{
	if (rule && --rules[rule - 1].claims == 0)
		forget_rule(&rules[rule - 1]);
}

/* Learns a rule of the daemon before us; it stays if a claim is found for it. */
static bool learn(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place)
{
	const struct sl_device *d = arg;
	struct rule *r = find_rule(d->info.ifindex, key) ? NULL : add_rule(d->info.ifindex, key);

	if (!r)
		return false;
	r->queue = queue;
	r->place = place;
	return true;
}

void sl_divide_begin(struct sl_device *d)
{
	if (d->nparts > 1)
		sl_nic_rules(d, d->part[1].first, learn, d);
}

void sl_divide_end(void)
{
	for (uint32_t i = 0; i < nrules; i++)
		if (rules[i].ifindex && !rules[i].claims)
			forget_rule(&rules[i]);
}
