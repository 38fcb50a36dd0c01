/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the kernel's neighbours, limited to those that a caller asked for.
 *
 * sl_neigh_get() makes entries, which are never freed. Since peers can cause entries for many
 * addresses, their number is limited: beyond it an entry is reused for another neighbour. A reader
 * that kept the pointer sees seq change, and must check that the entry still has its address.
 * Events change existing entries only. A new entry is put into the table before the kernel is
 * asked, and the answer is dropped if an event came in between, so the kernel's last message
 * always wins. Chains are read without a lock. */
#include <linux/if_arp.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/sys.h"
#include "net/rtnl.h"

#define BUCKETS     4096 /* the kernel's gc_thresh3 is 1024 by default */
#define CHUNK_BYTES 65536
#define MAX_ENTRIES 16384 /* 1.5 MB */

/* State that the packet path reads as two aligned words, in addition to seq. */
union state {
	struct {
		uint8_t mac[6];
		bool valid, wants_probe;
	};
	uint32_t word[2];
};
_Static_assert(offsetof(struct sl_neigh, mac) == 4 && offsetof(struct sl_neigh, valid) == 10 &&
		       offsetof(struct sl_neigh, wants_probe) == 11,
	       "two words are read as one state");

/* An entry with the fields for writers only. */
struct entry {
	struct sl_neigh pub;
	uint32_t events; /* messages about it so far */
	uint32_t mark;   /* last dump that named it */
	bool in_use;     /* on use_stack, waiting for sl_neigh_work() */
	struct entry *use_next;
};

static struct sl_neigh *table[BUCKETS];
static struct sl_lock lock; /* held by writers */
static uint32_t mark;
static char *chunk; /* memory for new entries */
static size_t chunk_left;
static unsigned nentries;
static unsigned hand; /* bucket where the search for an entry to reuse starts */
static struct sl_hash_key *hash_key;
static struct entry *use_stack; /* pushed by any thread, emptied by the keeper */
static sl_neigh_teller teller;
static bool may_use = true;

uint32_t sl_neigh_resolved;

static struct entry *priv(struct sl_neigh *n)
{
	return sl_container_of(n, struct entry, pub);
}

/* The table -------------------------------------------------------------------------------- */

static struct sl_neigh **bucket(const struct sl_hash_key *key, uint32_t ifindex,
				const struct sl_addr *addr)
{
	return &table[sl_hash_addr(key, ifindex, addr) % BUCKETS];
}

static bool is_entry_of(const struct sl_neigh *n, uint32_t ifindex, const struct sl_addr *addr)
{
	return n->ifindex == ifindex && sl_addr_eq(&n->addr, addr);
}

/* A chain may change during the search: at worst the entry is missed, and the caller searches
 * again with the lock. */
static struct sl_neigh *find_entry(uint32_t ifindex, const struct sl_addr *addr)
{
	const struct sl_hash_key *key = sl_load_acquire(&hash_key);
	struct sl_neigh *n;

	if (sl_unlikely(!key || !sl_load_acquire(&key->k[0])))
		return NULL;
	n = sl_load_acquire(bucket(key, ifindex, addr));
	while (n && !is_entry_of(n, ifindex, addr))
		n = sl_load_acquire(&n->hash_next);
	return n;
}

/* Uses own pages, since a signal handler may have interrupted malloc. Lock held. */
static struct sl_neigh *entry_alloc(void)
{
	struct entry *e;

	if (chunk_left < sizeof(*e)) {
		chunk = sl_sys_pages(CHUNK_BYTES, 0);
		chunk_left = chunk ? CHUNK_BYTES : 0;
		if (!chunk)
			return NULL;
	}
	e = (struct entry *)chunk;
	chunk += sizeof(*e);
	chunk_left -= sizeof(*e);
	nentries++;
	return &e->pub;
}

/* Removes from the chain the oldest entry without a MAC address, as invented addresses have; with
 * `any`, the oldest of all. Lock held. */
static struct sl_neigh *take_out(struct sl_neigh **at, bool any)
{
	struct sl_neigh **oldest = NULL, *n;

	for (; (n = *at); at = &n->hash_next)
		if (!sl_load(&priv(n)->in_use) && (any || !n->valid))
			oldest = at;
	if (!oldest)
		return NULL;
	n = *oldest;
	sl_store_release(oldest, n->hash_next);
	return n;
}

static struct sl_neigh *entry_reuse(void)
{
	struct sl_neigh *n = NULL;

	for (unsigned i = 0; i < 2 * BUCKETS && !n; i++)
		n = take_out(&table[hand++ % BUCKETS], i >= BUCKETS);
	return n;
}

/* Assigns the entry to a new neighbour; seq is odd meanwhile. Lock held. */
static void give_entry(struct sl_neigh *n, uint32_t ifindex, const struct sl_addr *addr)
{
	sl_store(&n->seq, n->seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memset(n->mac, 0, sizeof(n->mac));
	n->valid = n->wants_probe = false;
	n->ifindex = ifindex;
	n->addr = *addr;
	priv(n)->events++;
	sl_store_release(&n->seq, n->seq + 1);
}

static struct sl_neigh *find_or_make(uint32_t ifindex, const struct sl_addr *addr, bool *made)
{
	const struct sl_hash_key *key;
	struct sl_neigh **head, *n;

	*made = false;
	if (!sl_lock(&lock))
		return NULL;
	key = sl_hash_key_get(&hash_key);
	head = bucket(key, ifindex, addr);
	n = find_entry(ifindex, addr);
	if (!n && key->k[0] && (n = nentries < MAX_ENTRIES ? entry_alloc() : entry_reuse())) {
		give_entry(n, ifindex, addr);
		sl_store_release(&n->hash_next, *head);
		sl_store_release(head, n); /* partner: find_entry() */
		*made = true;
	}
	sl_unlock(&lock);
	return n;
}

/* State ------------------------------------------------------------------------------------ */

static const uint32_t *words(const struct sl_neigh *n)
{
	return (const uint32_t *)((const char *)n + offsetof(struct sl_neigh, mac));
}

/* Leaves seq alone if nothing changes, so that cached headers stay valid. Partner:
 * sl_neigh_read(). Lock held. */
static void write_state(struct sl_neigh *n, const union state *s)
{
	uint32_t *w = (uint32_t *)((char *)n + offsetof(struct sl_neigh, mac));
	bool resolved = s->valid && !n->valid;

	if (w[0] == s->word[0] && w[1] == s->word[1])
		return;
	sl_store(&n->seq, n->seq + 1);
	sl_store_release(&w[0], s->word[0]);
	sl_store_release(&w[1], s->word[1]);
	sl_store_release(&n->seq, n->seq + 1);
	if (resolved)
		sl_store_release(&sl_neigh_resolved, sl_neigh_resolved + 1);
}

bool sl_neigh_read(const struct sl_neigh *n, uint8_t mac[6], uint32_t *seq)
{
	const uint32_t *w = words(n);
	union state s;
	uint32_t before;

	for (;;) {
		before = sl_load_acquire(&n->seq);
		s.word[0] = sl_load_acquire(&w[0]);
		s.word[1] = sl_load_acquire(&w[1]);
		if (sl_likely(!(before & 1) && sl_load(&n->seq) == before))
			break;
		sl_cpu_relax();
	}
	*seq = before;
	memcpy(mac, s.mac, 6);
	return s.valid;
}

/* Messages --------------------------------------------------------------------------------- */

struct parsed {
	uint32_t ifindex;
	struct sl_addr addr;
	uint16_t nud;
	union state state;
};

static bool parse_entry(const struct nlmsghdr *nlh, struct parsed *out)
{
	const uint16_t usable =
		NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
	const struct nlattr *tb[NDA_MAX + 1];
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_type != RTM_NEWNEIGH && nlh->nlmsg_type != RTM_DELNEIGH)
		return false;
	if (!sl_rtnl_attrs(nlh, sizeof(*ndm), tb, NDA_MAX) || ndm->ndm_flags & NTF_PROXY)
		return false;
	memset(out, 0, sizeof(*out));
	if (!sl_rtnl_addr(tb[NDA_DST], ndm->ndm_family, &out->addr))
		return false;
	out->ifindex = (uint32_t)ndm->ndm_ifindex;
	if (nlh->nlmsg_type == RTM_DELNEIGH || !(ndm->ndm_state & usable))
		return true;
	out->nud = ndm->ndm_state;
	if (!tb[NDA_LLADDR] || mnl_attr_get_payload_len(tb[NDA_LLADDR]) != 6)
		return true;
	memcpy(out->state.mac, mnl_attr_get_payload(tb[NDA_LLADDR]), 6);
	out->state.valid = true;
	out->state.wants_probe = ndm->ndm_state & NUD_STALE;
	return true;
}

void sl_neigh_on_msg(const struct nlmsghdr *nlh)
{
	struct parsed p;
	struct sl_neigh *n;

	if (!parse_entry(nlh, &p))
		return;
	n = find_entry(p.ifindex, &p.addr);
	if (!n || !sl_lock(&lock))
		return;
	if (is_entry_of(n, p.ifindex, &p.addr)) { /* the entry was not reused meanwhile */
		priv(n)->events++;
		priv(n)->mark = mark;
		write_state(n, &p.state);
	}
	sl_unlock(&lock);
}

/* Asking ----------------------------------------------------------------------------------- */

static struct nlmsghdr *build_request(void *buf, uint16_t type, uint16_t flags,
				      const struct sl_neigh *n)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));
	ndm->ndm_family = (uint8_t)sl_rtnl_family(&n->addr);
	if (!(flags & NLM_F_DUMP)) {
		ndm->ndm_ifindex = (int)n->ifindex;
		sl_rtnl_put_addr(nlh, NDA_DST, &n->addr);
	} else {
		mnl_attr_put_u32(nlh, NDA_IFINDEX, n->ifindex);
	}
	return nlh;
}

struct wanted {
	const struct sl_neigh *n;
	struct parsed p;
	bool found;
};

static int on_answer(const struct nlmsghdr *nlh, void *arg)
{
	struct wanted *w = arg;
	struct parsed p;

	if (parse_entry(nlh, &p) && p.ifindex == w->n->ifindex &&
	    sl_addr_eq(&p.addr, &w->n->addr)) {
		w->p = p;
		w->found = true;
	}
	return 0;
}

/* Reads the kernel's entry for w->n. 0, or -errno if the kernel could not be asked. */
static int ask_for_entry(struct wanted *w)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8)));
	int err = sl_rtnl_ask(build_request(buf, RTM_GETNEIGH, 0, w->n), on_answer, w);

	if (err == -EOPNOTSUPP || err == -EINVAL) /* before Linux 5.0 only dumps work */
		err = sl_rtnl_ask(build_request(buf, RTM_GETNEIGH, NLM_F_DUMP, w->n), on_answer, w);
	return err == -ENOENT || err == -EINTR ? 0 : err;
}

/* Updates the entry from the kernel's table. Returns its NUD_* state (0: missing or unusable), or
 * -errno if the kernel could not be asked. */
static int refresh(struct sl_neigh *n)
{
	struct wanted w = {.n = n};
	uint32_t events = sl_load_acquire(&priv(n)->events);
	int err = ask_for_entry(&w);

	if (err)
		return err;
	if (!sl_lock(&lock))
		return -EDEADLK;
	if (priv(n)->events == events)
		write_state(n, &w.p.state);
	sl_unlock(&lock);
	return w.p.nud;
}

struct sl_neigh *sl_neigh_get(uint32_t ifindex, const struct sl_addr *addr)
{
	struct sl_neigh *n = find_entry(ifindex, addr);
	bool made;

	if (n)
		return n;
	n = find_or_make(ifindex, addr, &made);
	if (n && made)
		refresh(n);
	return n;
}

static int tell_kernel(const struct sl_neigh *n)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = build_request(buf, RTM_NEWNEIGH, NLM_F_CREATE, n);

	((struct ndmsg *)mnl_nlmsg_get_payload(nlh))->ndm_flags = NTF_USE;
	return sl_rtnl_tell(nlh);
}

/* True: tell the kernel. Not for a PERMANENT entry, since NTF_USE makes it non-permanent (since
 * Linux 5.15). */
static bool needs_use(int nud)
{
	return nud >= 0 && !(nud & (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE));
}

int sl_neigh_tell(uint32_t ifindex, const struct sl_addr *addr)
{
	struct sl_neigh n = {.ifindex = ifindex, .addr = *addr};
	struct wanted w = {.n = &n};
	int err = ask_for_entry(&w);

	return err || !needs_use(w.p.nud) ? err : tell_kernel(&n);
}

void sl_neigh_set_teller(sl_neigh_teller fn)
{
	teller = fn;
}

static void tell_use(struct sl_neigh *n)
{
	int nud = refresh(n), err;

	__atomic_store_n(&n->wants_probe, false, __ATOMIC_RELAXED);
	if (!needs_use(nud))
		return;
	err = teller ? teller(n->ifindex, &n->addr) : tell_kernel(n);
	if (err == -EPERM) {
		may_use = false;
		sl_details("net", "neighbours in use are not probed: no CAP_NET_ADMIN");
	}
}

/* Leaves the work to the keeper: it waits for the kernel's configuration lock (rtnl), possibly for
 * long, which the packet path must not do. */
void sl_neigh_use(struct sl_neigh *n)
{
	struct entry *e = priv(n);

	__atomic_store_n(&n->wants_probe, false, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&e->in_use, true, __ATOMIC_ACQ_REL))
		return;
	e->use_next = sl_load(&use_stack);
	while (!__atomic_compare_exchange_n(&use_stack, &e->use_next, e, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	sl_rtnl_wake();
}

void sl_neigh_work(void)
{
	struct entry *e = __atomic_exchange_n(&use_stack, NULL, __ATOMIC_ACQUIRE), *next;

	for (; e; e = next) {
		next = e->use_next;
		sl_store_release(&e->in_use, false);
		if (may_use)
			tell_use(&e->pub);
	}
}

/* Everything ------------------------------------------------------------------------------- */

static void each(void (*fn)(struct sl_neigh *n))
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct sl_neigh *n = sl_load_acquire(&table[i]); n; n = n->hash_next)
			fn(n);
}

static void forget_entry(struct sl_neigh *n)
{
	static const union state none;

	priv(n)->events++;
	write_state(n, &none);
}

static void forget_unmarked(struct sl_neigh *n)
{
	if (priv(n)->mark != mark)
		forget_entry(n);
}

static void repair(struct sl_neigh *n)
{
	n->seq &= ~1u;
	priv(n)->in_use = false;
	forget_entry(n);
}

void sl_neigh_mark(void)
{
	if (!sl_lock(&lock))
		return;
	mark++;
	sl_unlock(&lock);
}

void sl_neigh_sweep(void)
{
	if (!sl_lock(&lock))
		return;
	each(forget_unmarked);
	sl_unlock(&lock);
}

void sl_neigh_forget(void)
{
	if (!sl_lock(&lock))
		return;
	each(forget_entry);
	sl_unlock(&lock);
}

/* Puts each entry where a child's own key has it. (The oldest come first, so that they are the last
 * of their chains again.) */
static void move_all(void)
{
	struct sl_neigh *all = NULL, *n, **head;
	const struct sl_hash_key *key;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (; (n = table[i]); all = n) {
			table[i] = n->hash_next;
			n->hash_next = all;
		}
	key = sl_hash_key_get(&hash_key);
	while ((n = all)) {
		all = n->hash_next;
		head = bucket(key, n->ifindex, &n->addr);
		n->hash_next = *head;
		*head = n;
	}
}

void sl_neigh_child(void)
{
	memset(&lock, 0, sizeof(lock));
	use_stack = NULL;
	each(repair);
	if (hash_key)
		move_all();
	/* The fork may have interrupted entry_alloc(): start a new chunk. */
	chunk_left = 0;
}
