/* SPDX-License-Identifier: BSD-2-Clause */
/* Has packet memory come from the program's own allocator. */
#include <errno.h>

#include "ctl/umem/umem.h"
#include "sluice_extra.h"
#include "sock/call/start.h"
#include "sock/proc/up.h"

/* The library starts here, so that the answer is true: only then it is known whether the daemon
 * lends the memory. */
SL_API
int sl_memory_from(void *(*alloc)(size_t bytes), void (*release)(void *mem))
{
	int state;

	if (!alloc || !release)
		return -EINVAL;
	if (sl_load_acquire(&sl_up_state))
		return -EBUSY;
	sl_umem_alloc_by(alloc, release);
	sl_start();
	sl_umem_alloc_by(NULL, NULL);
	state = sl_load_acquire(&sl_up_state);
	if (state == 1 && sl_umem_is_programs())
		return 0;
	return state < 0 ? state : -EOPNOTSUPP;
}
