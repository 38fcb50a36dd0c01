/* SPDX-License-Identifier: BSD-2-Clause */
/* Send times from completions: the device's counter when a packet left, converted to a time.
 *
 * Theory of operation: while a stamp is waited for each request is signalled, so that each has
 * a completion of its own. The completion queue's stamps are always the free-running counter's
 * (asked for as wall-clock time, some devices would give another format, and some none); they are
 * converted when they are read, as SLUICE_HW_TS_CONVERSION says: by the parameters that the driver
 * keeps up to date for its PHC (a page that is mapped), or by readings of the counter beside
 * CLOCK_REALTIME, which are renewed when they have grown old. */
#if __has_include(<infiniband/verbs.h>)
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "io/verbs_int.h"

#define READINGS 5

/* Converts by the parameters of the device's PHC. False: the driver does not tell them. */
static bool by_phc(const struct sl_verbs_clock *k, uint64_t raw, uint64_t *ns)
{
	struct mlx5dv_clock_info info;
	struct sl_timecounter c;

	if (!k->dev->mlx5 || k->dev->mlx5->get_clock_info(k->dev->ctx, &info))
		return false;
	c = (struct sl_timecounter){.ns = info.nsec,
				    .raw = info.last_cycles,
				    .frac = info.frac,
				    .mask = info.mask,
				    .mult = info.mult,
				    .shift = info.shift};
	*ns = sl_timecounter_ns(&c, raw);
	return true;
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Reads the counter and CLOCK_REALTIME together: takes the fastest of a few readings. */
static bool read_pair(const struct sl_verbs_dev *dev, uint64_t *raw, uint64_t *ns)
{
	struct verbs_context *ops = verbs_get_ctx_op(dev->ctx, query_rt_values);
	uint64_t best = UINT64_MAX;

	for (int i = 0; ops && i < READINGS; i++) {
		struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
		uint64_t before = real_ns(), took;

		if (ops->query_rt_values(dev->ctx, &values))
			return false;
		took = real_ns() - before;
		if (took >= best)
			continue;
		best = took;
		*raw = (uint64_t)values.raw_clock.tv_sec * 1000000000ull +
		       (uint64_t)values.raw_clock.tv_nsec;
		*ns = before + took / 2;
	}
	return best != UINT64_MAX;
}

static bool by_system(struct sl_verbs_clock *c, uint64_t raw, uint64_t *ns)
{
	uint64_t now = sl_now_ns(), counter, at_ns;

	if (!c->map.pairs || now - c->paired_ns > sl_timemap_good_ns(&c->map)) {
		if (!read_pair(c->dev, &counter, &at_ns))
			return false;
		sl_timemap_pair(&c->map, counter, at_ns);
		c->paired_ns = now;
	}
	*ns = sl_timemap_ns(&c->map, raw);
	return true;
}

static bool by_nothing(const struct sl_verbs_clock *c, uint64_t raw, uint64_t *ns)
{
	*ns = (uint64_t)((unsigned __int128)raw * 1000000 / c->dev->clock_khz);
	return true;
}

static bool convert(struct sl_verbs_clock *c, uint64_t raw, uint64_t *ns)
{
	switch (sl_settings.hw_ts_conversion) {
	case SL_HW_TS_RAW:
		return by_nothing(c, raw, ns);
	case SL_HW_TS_BEST:
		return by_system(c, raw, ns) || by_nothing(c, raw, ns);
	case SL_HW_TS_SYSTEM:
		return by_system(c, raw, ns);
	case SL_HW_TS_PTP:
	case SL_HW_TS_RTC:
		return by_phc(c, raw, ns);
	}
	return false;
}

bool sl_verbs_clock_ns(struct sl_verbs_clock *c, uint64_t raw, uint64_t *ns)
{
	return convert(c, raw & c->dev->clock_mask, ns);
}

void sl_verbs_query_clock(struct sl_verbs_dev *dev, const struct ibv_device_attr_ex *attr)
{
	dev->clock_khz = attr->hca_core_clock;
	dev->clock_mask = attr->completion_timestamp_mask;
}

bool sl_verbs_may_stamp(const struct sl_verbs_dev *dev)
{
	return dev->clock_mask && dev->clock_khz && sl_settings.hw_ts_conversion != SL_HW_TS_OFF;
}

bool sl_verbs_clock_init(struct sl_verbs_clock *c, struct sl_verbs_dev *dev)
{
	uint64_t ns;
	bool ok;

	c->dev = dev;
	sl_timemap_init(&c->map, dev->clock_mask, dev->clock_khz);
	ok = convert(c, 0, &ns);
	c->map.pairs = 0; /* pairs would be old at the next request */
	if (!ok)
		sl_info("verbs",
			"%s: no hardware stamps: its clock cannot be converted as SLUICE_HW_TS_CONVERSION says",
			dev->name);
	return ok;
}

void sl_verbs_start_stamps(struct sl_verbs_tx *v)
{
	if (sl_verbs_clock_init(&v->stamps.clock, v->dev))
		v->tx.caps |= SL_TX_STAMP;
}

/* Asking and telling -----------------------------------------------------------------------------
 */

bool sl_verbs_stamp(struct sl_tx *tx, const struct sl_tx_ask *ask)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);
	struct sl_verbs_stamps *s = &v->stamps;

	if (s->n == SL_VERBS_ASKS || v->dead)
		return false;
	s->ask[(s->first + s->n) % SL_VERBS_ASKS] = *ask;
	s->at[(s->first + s->n) % SL_VERBS_ASKS] = v->head - 1;
	s->n++;
	v->signal = UINT32_MAX;
	return true;
}

static void tell_first(struct sl_verbs_tx *v, uint64_t ns)
{
	struct sl_verbs_stamps *s = &v->stamps;
	struct sl_tx_ask ask = s->ask[s->first];

	s->first = (s->first + 1) % SL_VERBS_ASKS;
	s->n--;
	if (!s->n)
		v->signal = v->every;
	sl_tx_on_stamp(&ask, ns);
}

void sl_verbs_stamps_done(struct sl_verbs_tx *v, uint32_t to, uint64_t raw)
{
	struct sl_verbs_stamps *s = &v->stamps;
	uint64_t ns = 0;
	bool known = false;

	while (s->n && (int32_t)(s->at[s->first] - to) < 0) {
		if (!known && !sl_verbs_clock_ns(&s->clock, raw, &ns))
			ns = 0;
		known = true;
		tell_first(v, ns);
	}
}

void sl_verbs_stamps_end(struct sl_verbs_tx *v)
{
	while (v->stamps.n)
		tell_first(v, 0);
}
#endif
