/* SPDX-License-Identifier: BSD-2-Clause */
/* The moderation of a device's interrupts that the program's user asks for
 * (SLUICE_CQ_MODERATION_*, SLUICE_CQ_AIM_*). */
#ifndef SL_MODERATE_H
#define SL_MODERATE_H

#include "ctl/kern/ethtool.h"

/* State of a device's moderation. Zeroed: the device has been told nothing. One thread at a time.
 */
struct sl_moderation {
	bool begun;             /* it was tried */
	bool on;                /* the device follows */
	struct sl_coalesce was; /* before */
	struct sl_coalesce now;
	uint64_t pkts, since_ns; /* at the last adaptation */
};

/* Call about once a second, with the packets received so far. The first call sets the device; later
 * ones adapt it. Without one of the settings, does nothing. */
void sl_moderate(struct sl_moderation *m, const char name[IFNAMSIZ], uint64_t pkts,
		 uint64_t now_ns);
/* Sets the device back as it was, unless somebody has changed it since. */
void sl_moderate_end(struct sl_moderation *m, const char name[IFNAMSIZ]);

#endif
