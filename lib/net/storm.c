/* SPDX-License-Identifier: BSD-2-Clause */
/* Storms of events. A station makes the kernel tell of neighbours and routes as often as it sends
 * advertisements. Each event by itself would cost a wake-up, and have every connection ask for its
 * route again. So after MANY within PAUSE_NS those that follow wait as long, and are read together.
 */
#include "net/storm.h"

#include "net/route.h"

#define MANY     8u
#define PAUSE_NS 2000000u

static uint64_t since_ns, until_ns; /* until_ns: events wait; 0: they are read as they come */
static uint32_t events;             /* since since_ns */

bool sl_storm_begins(uint32_t n, uint64_t now_ns)
{
	if (now_ns - since_ns >= PAUSE_NS) {
		since_ns = now_ns;
		events = 0;
	}
	events += n;
	if (events < MANY)
		return false;
	until_ns = now_ns + PAUSE_NS;
	return true;
}

bool sl_storm_is_on(void)
{
	return until_ns;
}

bool sl_storm_ends(uint64_t now_ns)
{
	if (!until_ns || now_ns < until_ns)
		return false;
	until_ns = 0;
	return true;
}

void sl_storm_forget(void)
{
	until_ns = 0;
}

uint64_t sl_net_storm_ns(uint64_t now_ns, bool quiet)
{
	return until_ns;
}
