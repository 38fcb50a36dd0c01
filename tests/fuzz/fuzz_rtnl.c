/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzer of the mirror: any bytes as a receive buffer of routing events, and as the answer to a
 * question for a route. No kernel is asked. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "net/rtnl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_link(const struct sl_link *link, bool gone)
{
	(void)gone;
	if (strnlen(link->name, sizeof(link->name)) == sizeof(link->name) ||
	    strnlen(link->kind, sizeof(link->kind)) == sizeof(link->kind))
		abort();
}

static bool add(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	(void)ifindex;
	++*(unsigned *)arg;
	if (!sl_addr_is_local(addr)) /* listed, so it counts */
		abort();
	return true;
}

static void as_answer(const void *buf, size_t size)
{
	const struct nlmsghdr *nlh = buf;
	struct sl_route_key key = {.dst = sl_addr_v4(1)};
	struct sl_route out;

	if (!sl_rtnl_ok(nlh, (int)size))
		return;
	memset(&out, 0, sizeof(out));
	sl_route_parse(nlh, &key, &out);
	key.dst.b[0] = 0x20;
	memset(&out, 0, sizeof(out));
	if (!sl_route_parse(nlh, &key, &out) && out.kind != SL_ROUTE_UNREACHABLE && out.error)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sl_net_events cb = {.link_changed = on_link};
	unsigned n = 0;
	struct sl_neigh *e;
	struct sl_addr a = sl_addr_v4(0x0100000a);
	uint8_t mac[6], *buf;
	uint32_t seq;

	/* A block of exactly the input's size, so that a read behind its end is seen; malloc aligns
	 * it. */
	buf = sl_malloc(size ? size : 1);
	if (!buf)
		return 0;
	memcpy(buf, data, size);
	sl_mirrors_register();
	sl_rtnl_set_events(&cb);
	e = sl_neigh_get(2, &a);
	sl_rtnl_feed(buf, size);
	as_answer(buf, size);
	sl_neigh_read(e, mac, &seq);
	sl_local_for_each(add, &n);
	sl_link_mark();
	sl_link_sweep();
	n = 0;
	sl_local_for_each(add, &n);
	if (n) /* everything was swept */
		abort();
	sl_link_fini();
	sl_neigh_forget();
	sl_free(buf);
	return 0;
}
