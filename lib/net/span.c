/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans of addresses that the kernel's routing cannot tell apart.
 *
 * Theory of operation. The kernel tells destinations (and sources, in rules) apart by the prefixes
 * in its tables and rules, and by a few ranges that its code knows. The first and last addresses of
 * all these prefixes, of whatever table, cut the address space into spans. Two addresses of one
 * span are in exactly the same prefixes, so each look-up and each rule finds the same for both,
 * whatever the rest of the question is: policy rules, VRFs, source routing, blackholes, metrics.
 * (The question has to name the source: which one IPv6 chooses depends on the destination's bits.)
 * So the kernel is asked about the first address of the span, and decides all the same; nothing of
 * its rules is decided here. Within a span it can differ only in
 *   - the choice among next hops by a hash: spans in a prefix with several next hops are not used,
 *   - a neighbour as next hop, and exceptions (redirects, path MTU): sl_dst_get_alike() sees them
 *     in the answer. An exception of another address of the span is not seen; so a connection asks
 *     for its own peer, and SYNs use spans only when they come in numbers.
 *
 * The prefixes are read when they are wanted, and are good for one value of sl_route_gen. A route
 * that goes without an event leaves a cut too many, which does no harm. */
#include "net/span.h"

#include <errno.h>
#include <linux/fib_rules.h>

#include "base/clock.h"
#include "base/heap.h"
#include "net/rtnl.h"

#define PREFIXES_MOST 4096         /* of one family */
#define PAUSE_LEAST   100000000ull /* ns between two readings */
#define PAUSE_TIMES   20           /* the part of the keeper's time that reading takes, at most */
#define PAUSE_FAILED  10000000000ull

/* An address as a number. */
struct num {
	uint64_t hi, lo; /* IPv4: hi is 0 */
};

struct prefix {
	struct num first, last;
	bool many; /* its route has several next hops, or may have; or it is of ranges4, ranges6 */
};

/* Spans begin at the cuts, in order; the first one is at 0. */
struct spans {
	uint32_t n;
	struct span {
		struct num first;
		bool many;
	} at[];
};

struct reading {
	int family;
	unsigned n;
	struct prefix *prefix;
};

static struct sl_lock lock;    /* a leaf; protects both sets and their generation */
static struct spans *spans[2]; /* IPv4, IPv6 */
static uint32_t spans_gen;     /* sl_route_gen before they were read; 0: there are none */
static uint64_t next_ns;       /* not to be read again before */
static bool wanted;

/* Ranges that the kernel's code tells apart, or that are nobody's: no span in them is used. */
static const struct {
	uint8_t b[4], bits;
} ranges4[] = {{{0}, 8}, {{127}, 8}, {{224}, 3}};
static const struct {
	uint8_t b[2], bits;
} ranges6[] = {{{0}, 8}, {{0xfe, 0x80}, 10}, {{0xfe, 0xc0}, 10}, {{0xff}, 8}};

/* Numbers ------------------------------------------------------------------------------------ */

static bool num_less(struct num a, struct num b)
{
	return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

static struct num num_of(const struct sl_addr *a)
{
	if (sl_addr_is_v4(a))
		return (struct num){0, __builtin_bswap32(a->w[3])};
	return (struct num){__builtin_bswap64(a->q[0]), __builtin_bswap64(a->q[1])};
}

static struct sl_addr addr_of(struct num n, bool v4)
{
	if (v4)
		return sl_addr_v4(__builtin_bswap32((uint32_t)n.lo));
	return (struct sl_addr){.q = {__builtin_bswap64(n.hi), __builtin_bswap64(n.lo)}};
}

/* The n lowest bits, 0..64. */
static uint64_t low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

/* Reading -------------------------------------------------------------------------------------- */

static int add(struct reading *r, const struct sl_addr *a, unsigned bits, bool many)
{
	unsigned width = r->family == AF_INET ? 32 : 128, host = width - sl_min(bits, width);
	struct prefix *p = &r->prefix[r->n];
	struct num first = num_of(a);

	if (!bits && !many)
		return 0;
	if (r->n == PREFIXES_MOST)
		return -E2BIG;
	first.lo &= ~low_bits(host);
	first.hi &= ~low_bits(host > 64 ? host - 64 : 0);
	p->first = first;
	p->last.lo = first.lo | low_bits(host);
	p->last.hi = first.hi | low_bits(host > 64 ? host - 64 : 0);
	p->many = many;
	r->n++;
	return 0;
}

static int add_attr(struct reading *r, const struct nlattr *a, unsigned bits, bool many)
{
	struct sl_addr addr = r->family == AF_INET ? sl_addr_v4(0) : (struct sl_addr){.q = {0, 0}};

	if (!sl_rtnl_addr(a, r->family, &addr) && bits)
		return -EBADMSG;
	return add(r, &addr, bits, many);
}

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[RTA_MAX + 1];
	struct reading *r = arg;

	if (nlh->nlmsg_type != RTM_NEWROUTE || !sl_rtnl_attrs(nlh, sizeof(*rtm), tb, RTA_MAX) ||
	    rtm->rtm_family != r->family || rtm->rtm_flags & RTM_F_CLONED)
		return 0;
	/* (A next hop object may be a group.) */
	return add_attr(r, tb[RTA_DST], rtm->rtm_dst_len, tb[RTA_MULTIPATH] || tb[RTA_NH_ID]);
}

static int on_rule(const struct nlmsghdr *nlh, void *arg)
{
	const struct fib_rule_hdr *head = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[FRA_MAX + 1];
	struct reading *r = arg;
	int err;

	if (nlh->nlmsg_type != RTM_NEWRULE || !sl_rtnl_attrs(nlh, sizeof(*head), tb, FRA_MAX) ||
	    head->family != r->family)
		return 0;
	err = add_attr(r, tb[FRA_DST], head->dst_len, false);
	return err ? err : add_attr(r, tb[FRA_SRC], head->src_len, false);
}

static int add_ranges(struct reading *r)
{
	struct sl_addr a;
	int err = 0;

	for (unsigned i = 0; !err && r->family == AF_INET && i < sl_array_len(ranges4); i++) {
		a = sl_addr_v4(0);
		memcpy(a.b + 12, ranges4[i].b, 4);
		err = add(r, &a, ranges4[i].bits, true);
	}
	for (unsigned i = 0; !err && r->family == AF_INET6 && i < sl_array_len(ranges6); i++) {
		a = (struct sl_addr){.q = {0, 0}};
		memcpy(a.b, ranges6[i].b, 2);
		err = add(r, &a, ranges6[i].bits, true);
	}
	return err;
}

static int read_prefixes(struct reading *r)
{
	int err = add_ranges(r);

	if (!err)
		err = sl_rtnl_dump(RTM_GETROUTE, r->family, on_route, r);
	if (!err)
		err = sl_rtnl_dump(RTM_GETRULE, r->family, on_rule, r);
	return err == -EOPNOTSUPP || err == -EAFNOSUPPORT ? 0 : err;
}

/* Making spans --------------------------------------------------------------------------------- */

/* Moves at[i] down in a heap of n. (qsort(3) may call the program's malloc.) */
static void sift(struct span *at, uint32_t i, uint32_t n)
{
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		struct span up;

		if (child + 1 < n && num_less(at[child].first, at[child + 1].first))
			child++;
		if (!num_less(at[i].first, at[child].first))
			return;
		up = at[i];
		at[i] = at[child];
		at[child] = up;
	}
}

static void sort(struct span *at, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(at, i, n);
	for (uint32_t end = n; end-- > 1;) {
		struct span last = at[end];

		at[end] = at[0];
		at[0] = last;
		sift(at, 0, end);
	}
}

/* The index of the span that n is in. */
static uint32_t search(const struct spans *s, struct num n)
{
	uint32_t low = 0, high = s->n;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (num_less(n, s->at[mid].first))
			high = mid;
		else
			low = mid;
	}
	return low;
}

static void cut(struct spans *s, struct num at)
{
	s->at[s->n++] = (struct span){.first = at};
}

static void make_spans(const struct reading *r, struct spans *s)
{
	uint32_t n = 1;

	s->n = 0;
	cut(s, (struct num){0, 0});
	for (unsigned i = 0; i < r->n; i++) {
		struct num after = r->prefix[i].last;

		cut(s, r->prefix[i].first);
		after.hi += ++after.lo == 0;
		if (num_less(r->prefix[i].last, after))
			cut(s, after);
	}
	sort(s->at, s->n);
	for (uint32_t i = 1; i < s->n; i++)
		if (num_less(s->at[n - 1].first, s->at[i].first))
			s->at[n++] = s->at[i];
	s->n = n;
	for (unsigned i = 0; i < r->n; i++)
		for (uint32_t k = r->prefix[i].many ? search(s, r->prefix[i].first) : n;
		     k < n && !num_less(r->prefix[i].last, s->at[k].first); k++)
			s->at[k].many = true;
}

static struct spans *read_family(struct reading *r, int *err)
{
	struct spans *s;

	r->n = 0;
	*err = read_prefixes(r);
	if (*err)
		return NULL;
	s = sl_malloc(sizeof(*s) + (2 * r->n + 1) * sizeof(s->at[0]));
	if (s)
		make_spans(r, s);
	else
		*err = -ENOMEM;
	return s;
}

static void set(struct spans *v4, struct spans *v6, uint32_t gen)
{
	struct spans *old[2] = {NULL, NULL};

	if (sl_lock(&lock)) {
		old[0] = spans[0];
		old[1] = spans[1];
		spans[0] = v4;
		spans[1] = v6;
		spans_gen = gen;
		sl_unlock(&lock);
	}
	sl_free(old[0]);
	sl_free(old[1]);
}

int sl_spans_read(void)
{
	struct reading r = {.prefix = sl_malloc(PREFIXES_MOST * sizeof(*r.prefix))};
	uint32_t gen = sl_load_acquire(&sl_route_gen); /* before, so that a change outdates them */
	struct spans *v4 = NULL, *v6 = NULL;
	int err = r.prefix ? 0 : -ENOMEM;

	if (!err) {
		r.family = AF_INET;
		v4 = read_family(&r, &err);
	}
	if (!err) {
		r.family = AF_INET6;
		v6 = read_family(&r, &err);
	}
	sl_free(r.prefix);
	if (err) {
		sl_free(v4);
		set(NULL, NULL, 0);
		return err;
	}
	set(v4, v6, gen);
	return 0;
}

void sl_spans_work(void)
{
	uint64_t begin, pause;
	int err;

	if (!sl_load_acquire(&wanted))
		return;
	begin = sl_now_ns();
	err = sl_spans_read();
	/* -EINTR: a table changed meanwhile. */
	pause = err && err != -EINTR ? PAUSE_FAILED : PAUSE_LEAST;
	pause = sl_max(pause, (sl_now_ns() - begin) * PAUSE_TIMES);
	sl_store(&next_ns, sl_now_ns() + pause);
	sl_store_release(&wanted, false);
}

/* Use ------------------------------------------------------------------------------------------ */

bool sl_span_first(struct sl_addr *addr)
{
	bool v4 = sl_addr_is_v4(addr), found = false;
	const struct spans *s;
	const struct span *at;

	if (sl_load(&spans_gen) != sl_load(&sl_route_gen) || !sl_lock(&lock))
		return false;
	s = spans[!v4];
	if (s && spans_gen == sl_load(&sl_route_gen)) {
		at = &s->at[search(s, num_of(addr))];
		found = !at->many;
		if (found)
			*addr = addr_of(at->first, v4);
	}
	sl_unlock(&lock);
	return found;
}

/* Lets the keeper read the prefixes, if they are of before. */
static void want(uint64_t now_ns)
{
	if (sl_load(&spans_gen) == sl_load(&sl_route_gen) || now_ns < sl_load(&next_ns) ||
	    __atomic_exchange_n(&wanted, true, __ATOMIC_ACQ_REL))
		return;
	sl_rtnl_wake();
}

bool sl_span_use(struct sl_span_asks *asks, uint64_t now_ns, struct sl_addr *addr)
{
	uint64_t window = now_ns >> SL_ASKS_WINDOW_SHIFT;

	if (asks->window != window) {
		asks->window = window;
		asks->made = 0;
	}
	if (asks->made++ < SL_ASKS_WINDOW_MOST)
		return false;
	if (sl_span_first(addr))
		return true;
	want(now_ns);
	return false;
}

void sl_spans_child(void)
{
	memset(&lock, 0, sizeof(lock));
	spans[0] = spans[1] = NULL;
	spans_gen = 0;
	next_ns = 0;
	wanted = false;
}
