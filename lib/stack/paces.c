/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the administrator's rates of destinations from the ports' maps, which others change. */
#include "stack/paces.h"

#include <string.h>

#include "base/hash.h"
#include "ctl/rules/pace_rule.h"

uint32_t sl_paces_used = UINT32_MAX;

static uint64_t seen; /* what the maps said; the keeper's */

static uint32_t used_of(const struct sl_pace_rule *r)
{
	uint32_t n = SL_MAX_PACES;

	while (n && !sl_load(&r[n - 1].rate_kbps))
		n--;
	return n;
}

static void count_used(void)
{
	const struct sl_pace_rule *r;
	uint32_t n = 0;
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		r = sl_load(&p->info.paces);
		if (r)
			n = sl_max(n, used_of(r));
	}
	sl_store(&sl_paces_used, n);
}

/* A hash of the entries without the lines that they come from. bpftool raises no generation. */
static uint64_t said_by(const struct sl_pace_rule *r, uint64_t h)
{
	for (uint32_t i = 0; i < SL_MAX_PACES; i++) {
		struct sl_pace_rule e = r[i];
		uint64_t w[5];

		if (!e.rate_kbps)
			continue;
		e.line = 0;
		_Static_assert(sizeof(w) == sizeof(e), "whole words");
		memcpy(w, &e, sizeof(w));
		for (unsigned k = 0; k < sl_array_len(w); k++)
			h = sl_mix(h + i, w[k]);
	}
	return h;
}

bool sl_paces_changed(void)
{
	const struct sl_pace_rule *r;
	struct sl_port *p;
	uint64_t h = 0;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		r = sl_load(&p->info.paces);
		if (r && used_of(r))
			h = said_by(r, h + i + 1);
	}
	if (h == seen)
		return false;
	seen = h;
	count_used();
	return true;
}

struct sl_pace_ask sl_paces_ask(const struct sl_port *port, const struct sl_addr *dst,
				uint16_t l4_port)
{
	const struct sl_pace_rule *r = port ? sl_load(&port->info.paces) : NULL;
	struct sl_pace_ask ask = {0};

	/* The first path by a port: no look of the keeper may have been since. */
	if (sl_unlikely(sl_load(&sl_paces_used) > SL_MAX_PACES))
		count_used();
	if (r)
		r = sl_pace_rule_find(r, sl_load(&sl_paces_used), dst, l4_port);
	if (!r)
		return ask;
	/* (Another process may change it meanwhile: each value is read once.) */
	ask.bytes_s = sl_min(sl_load(&r->rate_kbps), (uint64_t)1 << 50) * 125;
	ask.burst_bytes = sl_min(sl_load(&r->burst_bytes), 1u << 30);
	return ask;
}
