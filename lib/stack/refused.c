/* SPDX-License-Identifier: BSD-2-Clause */
/* Theory of operation: a device without XDP support will not have it for the next socket either,
 * so it is not tried again. A device that another process uses, or whose queues were not given
 * back yet, may be free in a second: the first socket after that tries again, and the delay
 * doubles each time up to a minute, since a try may cost the calling program milliseconds. */
#include "stack/refused.h"

#include <errno.h>
#include <string.h>

#define DEVICES  64
#define FIRST_NS 1000000000ull
#define DOUBLED  6 /* times the delay is doubled: 64 s */
#define FOR_GOOD UINT64_MAX

static struct {
	uint32_t ifindex; /* 0: free */
	unsigned times;
	bool forbidden; /* -EPERM */
	uint64_t until_ns;
} refused[DEVICES];

static unsigned find(uint32_t ifindex)
{
	unsigned i = 0;

	while (i < DEVICES && refused[i].ifindex != ifindex)
		i++;
	return i;
}

bool sl_refused(uint32_t ifindex, uint64_t now_ns)
{
	unsigned i = find(ifindex);

	return i < DEVICES && now_ns < refused[i].until_ns;
}

bool sl_refused_for_good(uint32_t ifindex)
{
	unsigned i = find(ifindex);

	return i < DEVICES && refused[i].until_ns == FOR_GOOD;
}

bool sl_refused_before(uint32_t ifindex)
{
	return find(ifindex) < DEVICES;
}

bool sl_refused_add(uint32_t ifindex, int err, uint64_t now_ns)
{
	unsigned i = find(ifindex);
	bool first = i == DEVICES;

	if (first)
		i = find(0);
	if (i == DEVICES)
		return true;
	if (first)
		refused[i].times = 0;
	refused[i].ifindex = ifindex;
	sl_store(&refused[i].forbidden, err == -EPERM);
	refused[i].until_ns = err == -EBUSY ? now_ns + (FIRST_NS << refused[i].times) : FOR_GOOD;
	refused[i].times = sl_min(refused[i].times + 1, (unsigned)DOUBLED);
	return first;
}

bool sl_refused_permission(void)
{
	for (unsigned i = 0; i < DEVICES; i++)
		if (sl_load(&refused[i].forbidden))
			return true;
	return false;
}

void sl_refused_forget(uint32_t ifindex)
{
	unsigned i = find(ifindex);

	if (i == DEVICES)
		return;
	refused[i].ifindex = 0;
	sl_store(&refused[i].forbidden, false);
}

void sl_refused_reset(void)
{
	memset(refused, 0, sizeof(refused));
}
