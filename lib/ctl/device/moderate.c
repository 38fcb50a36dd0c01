/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets a device's moderation of interrupts as SLUICE_CQ_MODERATION_* say, and adapts it to the rate
 * of packets as SLUICE_CQ_AIM_* say.
 *
 * Theory of operation: an adapted device gives an interrupt for as many packets as come in the time
 * between two at the wanted rate, and waits so long for these at most; both have limits. It is told
 * only of changes, since each is a call into its driver. The interrupts are the kernel's and other
 * programs', too: so nothing is changed unless a setting asks for it, and the end of the process
 * undoes it. */
#include "ctl/device/moderate.h"

#include <string.h>

#include "base/log.h"
#include "base/settings.h"

static bool is_adaptive(void)
{
	return sl_settings.cq_moderation_enable && sl_settings.cq_aim_interval_msec > 0 &&
	       (sl_setting_is_set(SL_SETTING_cq_aim_interval_msec) ||
		sl_setting_is_set(SL_SETTING_cq_aim_interrupts_rate_per_sec) ||
		sl_setting_is_set(SL_SETTING_cq_aim_max_count) ||
		sl_setting_is_set(SL_SETTING_cq_aim_max_period_usec));
}

static bool is_wanted(void)
{
	return sl_setting_is_set(SL_SETTING_cq_moderation_enable) ||
	       sl_setting_is_set(SL_SETTING_cq_moderation_count) ||
	       sl_setting_is_set(SL_SETTING_cq_moderation_period_usec) || is_adaptive();
}

/* Without adaptation, and before it. */
static struct sl_coalesce fixed(void)
{
	if (!sl_settings.cq_moderation_enable)
		return (struct sl_coalesce){.packets = 1};
	return (struct sl_coalesce){(uint32_t)sl_settings.cq_moderation_count,
				    (uint32_t)sl_settings.cq_moderation_period_usec};
}

static void tell(struct sl_moderation *m, const char name[IFNAMSIZ], struct sl_coalesce c)
{
	int err;

	if (m->on && c.packets == m->now.packets && c.us == m->now.us)
		return;
	err = sl_coalesce_set(name, &c);
	if (err && !m->on)
		sl_warn("port", "%s: no moderation of interrupts to %u packets and %u us: %s", name,
			c.packets, c.us, strerrorname_np(-err));
	if (err)
		return;
	m->on = true;
	m->now = c;
	sl_details("port", "%s: an interrupt for %u packets, or after %u us", name, c.packets,
		   c.us);
}

/* The moderation for so many packets a second. */
static struct sl_coalesce adapted(uint64_t pkts_s)
{
	uint64_t rate = sl_max(sl_settings.cq_aim_interrupts_rate_per_sec, 1);
	uint64_t count = sl_min(pkts_s / rate, (uint64_t)sl_settings.cq_aim_max_count);
	uint64_t us = pkts_s > rate ? 1000000 / rate - 1000000 / pkts_s : 0;

	return (struct sl_coalesce){
		(uint32_t)sl_max(count, (uint64_t)1),
		(uint32_t)sl_min(us, (uint64_t)sl_settings.cq_aim_max_period_usec)};
}

static void begin(struct sl_moderation *m, const char name[IFNAMSIZ])
{
	int err = sl_coalesce_get(name, &m->was);

	m->begun = true;
	if (err)
		sl_warn("port", "%s: no moderation of interrupts: %s", name, strerrorname_np(-err));
	else
		tell(m, name, fixed());
}

void sl_moderate(struct sl_moderation *m, const char name[IFNAMSIZ], uint64_t pkts, uint64_t now_ns)
{
	uint64_t ns = now_ns - m->since_ns;

	if (!m->begun && is_wanted()) {
		begin(m, name);
	} else if (m->on && is_adaptive() &&
		   ns >= (uint64_t)sl_settings.cq_aim_interval_msec * 1000000) {
		if (pkts != m->pkts) /* (at rest it does not matter) */
			tell(m, name,
			     adapted((uint64_t)((double)(pkts - m->pkts) * 1e9 / (double)ns)));
	} else {
		return;
	}
	m->pkts = pkts;
	m->since_ns = now_ns;
}

void sl_moderate_end(struct sl_moderation *m, const char name[IFNAMSIZ])
{
	struct sl_coalesce c;

	if (m->on && !sl_coalesce_get(name, &c) && c.packets == m->now.packets && c.us == m->now.us)
		(void)sl_coalesce_set(name, &m->was);
	m->on = false;
}
