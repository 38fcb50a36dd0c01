/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrors to which host VXLAN devices send packets.
 *
 * Theory of operation: only stations that were asked for are mirrored, in a table of fixed size
 * whose oldest entry gives way. An event about a station, or about all that the fdb does not name,
 * makes the entry unknown; the keeper reads the fdb again at the next question. (The kernel tells
 * of one remote host at a time, and a station may have several, so the events alone would not
 * do.) Whoever finds an entry unknown leaves the packet to the kernel's device meanwhile. */
#include "net/vxlan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/lock.h"
#include "net/rtnl.h"

#define STATIONS 256

struct station {
	uint32_t ifindex; /* 0: a free place */
	uint32_t events;  /* about it so far */
	uint8_t mac[6];
	bool wanted; /* the keeper is to ask */
	struct sl_fdb fdb;
};

static struct sl_lock lock;
static struct station stations[STATIONS];
static unsigned oldest;
static bool any_wanted;
uint32_t sl_fdb_gen;

static const uint8_t all_others[6]; /* the station that stands for those without an entry */

static bool is_for(const struct station *s, uint32_t ifindex, const uint8_t mac[6])
{
	return s->ifindex == ifindex && memcmp(s->mac, mac, 6) == 0;
}

/* Lock held. */
static struct station *find(uint32_t ifindex, const uint8_t mac[6])
{
	for (unsigned i = 0; i < STATIONS; i++)
		if (is_for(&stations[i], ifindex, mac))
			return &stations[i];
	return NULL;
}

static void raise_gen(void)
{
	__atomic_fetch_add(&sl_fdb_gen, 1, __ATOMIC_RELEASE);
}

struct sl_fdb sl_fdb_get(uint32_t ifindex, const uint8_t mac[6])
{
	struct sl_fdb got = {.state = SL_FDB_UNKNOWN};
	struct station *s;
	bool wake = false;

	if (!ifindex || !sl_lock(&lock))
		return got;
	s = find(ifindex, mac);
	if (!s) {
		s = &stations[oldest++ % STATIONS];
		*s = (struct station){.ifindex = ifindex, .events = s->events + 1};
		memcpy(s->mac, mac, 6);
	}
	got = s->fdb;
	if (got.state == SL_FDB_UNKNOWN && !s->wanted) {
		s->wanted = wake = true;
		sl_store(&any_wanted, true);
	}
	sl_unlock(&lock);
	if (wake)
		sl_rtnl_wake();
	return got;
}

/* An entry of the kernel's fdb. */
struct parsed {
	uint32_t ifindex;
	uint8_t mac[6];
	bool fixed;
	struct sl_fdb fdb;
};

static void parse_remote(const struct nlattr **tb, struct sl_fdb *f)
{
	uint16_t port;

	if (tb[NDA_NH_ID] || (!sl_rtnl_addr(tb[NDA_DST], AF_INET, &f->remote) &&
			      !sl_rtnl_addr(tb[NDA_DST], AF_INET6, &f->remote)))
		return;
	f->state = sl_addr_is_multicast(&f->remote) ? SL_FDB_OTHER : SL_FDB_REMOTE;
	f->ifindex = sl_rtnl_u32(tb[NDA_IFINDEX], 0);
	f->vni = sl_rtnl_u32(tb[NDA_VNI], SL_FDB_NO_VNI);
	if (tb[NDA_PORT] && mnl_attr_get_payload_len(tb[NDA_PORT]) >= sizeof(port)) {
		memcpy(&port, mnl_attr_get_payload(tb[NDA_PORT]), sizeof(port));
		f->port = be16toh(port);
	}
}

static bool parse(const struct nlmsghdr *nlh, struct parsed *p)
{
	const struct nlattr *tb[NDA_MAX + 1];
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_type != RTM_NEWNEIGH && nlh->nlmsg_type != RTM_DELNEIGH)
		return false;
	if (!sl_rtnl_attrs(nlh, sizeof(*ndm), tb, NDA_MAX) || ndm->ndm_family != AF_BRIDGE ||
	    !(ndm->ndm_flags & NTF_SELF))
		return false;
	if (!tb[NDA_LLADDR] || mnl_attr_get_payload_len(tb[NDA_LLADDR]) != 6)
		return false;
	*p = (struct parsed){.ifindex = (uint32_t)ndm->ndm_ifindex, .fdb.state = SL_FDB_OTHER};
	memcpy(p->mac, mnl_attr_get_payload(tb[NDA_LLADDR]), 6);
	p->fixed = (ndm->ndm_state & (NUD_PERMANENT | NUD_NOARP) || tb[NDA_NH_ID]) &&
		   !(p->mac[0] & 1) && memcmp(p->mac, all_others, 6) != 0;
	parse_remote(tb, &p->fdb);
	return true;
}

void sl_fdb_on_msg(const struct nlmsghdr *nlh)
{
	bool changed = false;
	struct sl_link link;
	struct parsed p;

	if (!parse(nlh, &p) || !sl_lock(&lock))
		return;
	for (unsigned i = 0; i < STATIONS; i++) {
		struct station *s = &stations[i];

		if (s->ifindex != p.ifindex ||
		    (memcmp(p.mac, all_others, 6) != 0 && memcmp(p.mac, s->mac, 6) != 0))
			continue;
		s->events++;
		s->fdb.state = SL_FDB_UNKNOWN;
		changed = true;
	}
	sl_unlock(&lock);
	if (changed)
		raise_gen();
	/* (The steering program has the stations that such a device binds to hosts.) */
	if (p.fixed && sl_rtnl_events.link_changed && sl_link_get(p.ifindex, &link) &&
	    link.vxlan.flags & SL_VXLAN_OUT_LEARNS)
		sl_rtnl_events.link_changed(&link, false);
}

/* A dump fills in what it says about a station, and about all others. */
struct answer {
	const struct station *of;
	struct sl_fdb own, others;
	unsigned nown, nothers;
};

static int on_entry(const struct nlmsghdr *nlh, void *arg)
{
	struct answer *a = arg;
	struct parsed p;

	if (!parse(nlh, &p) || p.ifindex != a->of->ifindex)
		return 0;
	if (memcmp(p.mac, a->of->mac, 6) == 0) {
		a->own = p.fdb;
		a->nown++;
	} else if (memcmp(p.mac, all_others, 6) == 0) {
		a->others = p.fdb;
		a->nothers++;
	}
	return 0;
}

static int dump(uint32_t ifindex, sl_rtnl_fn fn, void *arg)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm;

	nlh->nlmsg_type = RTM_GETNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)ifindex;
	return sl_rtnl_ask(nlh, fn, arg);
}

static int ask(const struct station *of, struct sl_fdb *out)
{
	struct answer a = {.of = of};
	int err = dump(of->ifindex, on_entry, &a);

	if (a.nown == 1 || (!a.nown && a.nothers == 1))
		*out = a.nown ? a.own : a.others;
	else
		*out = (struct sl_fdb){.state = SL_FDB_OTHER};
	return err;
}

/* Asks for the station. An answer that an event has overtaken is dropped. */
static void learn(struct station *s)
{
	struct station of;
	struct sl_fdb fdb;
	int err;

	if (!sl_lock(&lock))
		return;
	of = *s;
	s->wanted = false;
	sl_unlock(&lock);
	if (!of.wanted)
		return;
	err = ask(&of, &fdb);
	if (err == -EINTR || !sl_lock(&lock)) /* it changed meanwhile: the next packet asks */
		return;
	if (s->events == of.events) {
		s->fdb = fdb;
		if (err)
			s->fdb.state = SL_FDB_OTHER;
	}
	sl_unlock(&lock);
}

void sl_fdb_work(void)
{
	if (!__atomic_exchange_n(&any_wanted, false, __ATOMIC_ACQ_REL))
		return;
	for (unsigned i = 0; i < STATIONS; i++)
		if (sl_load(&stations[i].wanted))
			learn(&stations[i]);
	raise_gen();
}

void sl_fdb_forget(void)
{
	if (!sl_lock(&lock))
		return;
	for (unsigned i = 0; i < STATIONS; i++) {
		stations[i].events++;
		stations[i].fdb.state = SL_FDB_UNKNOWN;
	}
	sl_unlock(&lock);
	raise_gen();
}

void sl_fdb_child(void)
{
	memset(&lock, 0, sizeof(lock));
	memset(stations, 0, sizeof(stations));
	any_wanted = false;
}
