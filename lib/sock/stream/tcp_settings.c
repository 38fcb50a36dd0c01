/* SPDX-License-Identifier: BSD-2-Clause */
/* SLUICE_* settings of TCP, which override the machine's. */
#include <string.h>

#include "base/settings.h"
#include "sock/stream/tcp_sysctl.h"

#define OS         2    /* SLUICE_TCP_TIMESTAMP_OPTION: as the kernel */
#define CC_OS      (-1) /* SLUICE_TCP_CC_ALGO: as the kernel */
#define NO_SCALING (-1) /* SLUICE_WINDOW_SCALING */

/* by the numbers of SLUICE_TCP_CC_ALGO */
static const char *const algorithms[] = {"reno", "cubic", "cubic", "bbr", "bbr3"};

static void set_congestion(struct sl_tcp_params *p, const char *name)
{
	memset(p->congestion, 0, sizeof(p->congestion));
	memcpy(p->congestion, name, strlen(name));
}

void sl_tcp_settings_apply(struct sl_tcp_params *p)
{
	if (sl_settings.tcp_timestamp_option != OS)
		p->timestamps = sl_settings.tcp_timestamp_option;
	if (sl_settings.tcp_cc_algo != CC_OS)
		set_congestion(p, algorithms[sl_settings.tcp_cc_algo]);
	if (sl_settings.window_scaling == NO_SCALING)
		p->window_scaling = false;
	else if (sl_settings.window_scaling >= 0)
		p->wscale_fixed = (int8_t)sl_settings.window_scaling;
	p->quickack = sl_settings.tcp_quickack;
	p->quickack_max = (uint32_t)sl_settings.tcp_quickack_threshold;
	p->max_syn_rate = (uint32_t)sl_settings.tcp_max_syn_rate;
}
