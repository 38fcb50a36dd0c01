/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports the guards' notes: claimed flows whose segments the kernel gets. The owner is told
 * only when it is no accident: segments that were under way when a flow was claimed come within
 * milliseconds, a peer that sends by another way sends again and again. */
#include "ctl/claim/stray.h"

#include "base/clock.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/map.h"
#include "ctl/steer/guard.h"

#define STRAY_NS 50000000ull     /* report a flow that has strayed this long */
#define FRESH_NS 3000000000ull   /* and whose last segment is no older */
#define SAID_NS  10000000000ull  /* this long the peer of a dead process may take to answer */
#define OLD_NS   120000000000ull /* no peer waits for longer before it sends again (RFC 6298) */

/* True: tell that process of the flow. Accepted connections have no claim of their own: every
 * process that asks is told of them. *over: forget the note. */
static bool is_told(const struct sl_attach *a, const struct sl_flow_key *key, uint32_t pid,
		    uint64_t now, struct sl_stray_told *out, bool *over)
{
	struct sl_claim c = {.pid = pid};
	struct sl_stray s;
	uint64_t since_ns;

	*over = true;
	if (bpf_map_lookup_elem(a->map_fd[SL_MAP_STRAYS], key, &s))
		return false;
	since_ns = now > s.last_ns ? now - s.last_ns : 0;
	*over = since_ns > OLD_NS;
	if (s.last_ns - s.first_ns < STRAY_NS || since_ns > FRESH_NS)
		return false;
	bpf_map_lookup_elem(a->map_fd[SL_MAP_FLOWS], key, &c);
	if (c.pid != pid)
		return false;
	*out = (struct sl_stray_told){.key = *key, .n = sl_min(s.n, (uint32_t)SL_STRAY_NOTES)};
	memcpy(out->note, s.note, sizeof(out->note));
	return true;
}

static unsigned look_for(const struct sl_attach *a, uint32_t pid, unsigned skip,
			 struct sl_stray_told *out, unsigned max)
{
	int fd = a->map_fd[SL_MAP_STRAYS];
	struct sl_flow_key at, next;
	uint64_t now = sl_now_ns();
	unsigned n = 0;
	int err = sl_map_next(fd, NULL, &next);

	/* (When one is deleted in between, the walk begins anew.) */
	for (unsigned i = 0; !err && n < max && i < 2 * SL_MAX_STRAYS; i++) {
		bool over;

		at = next;
		if (!is_told(a, &at, pid, now, &out[n], &over))
			;
		else if (skip)
			skip--;
		else
			n++;
		err = sl_map_next(fd, &at, &next);
		if (over)
			bpf_map_delete_elem(fd, &at);
	}
	return n;
}

unsigned sl_embedded_port_strays(uint32_t ifindex, uint32_t pid, unsigned skip,
				 struct sl_stray_told *out, unsigned max)
{
	struct sl_broker_guard g;
	struct sl_device *p;
	unsigned n = 0;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p)
		sl_guard_open_rest(&p->attach, ifindex);
	if (p && p->attach.guard_tried)
		n = look_for(&p->attach, pid, skip, out, max);
	sl_broker_leave(&g);
	return n;
}

/* Notes the flow with first_ns 0, so as known for longer than the guards hold anything back. */
void sl_embedded_let_reset(const struct sl_flow_key *key)
{
	const struct sl_stray s = {.last_ns = sl_now_ns() - OLD_NS + SAID_NS};
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	for (struct sl_device *p = sl_port_first(); p; p = p->next)
		if (p->attach.guard_tried)
			bpf_map_update_elem(p->attach.map_fd[SL_MAP_STRAYS], key, &s, BPF_ANY);
	sl_broker_leave(&g);
}
