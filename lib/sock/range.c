/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing a range of descriptors: what of it is ours. */
#include "sluice.h"
#include "sock/fdtab.h"

void sl_close_range(unsigned first, unsigned last)
{
	unsigned end = sl_load(&sl_fdtab_size);

	for (unsigned fd = first; fd < end && fd <= last; fd++)
		if (sl_load(&sl_fdtab[fd]))
			sl_close((int)fd);
}
