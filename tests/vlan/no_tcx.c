/* SPDX-License-Identifier: BSD-2-Clause */
/* The library takes the kernel for one without tcx (before Linux 6.6) while the environment has
 * NO_TCX: linked in with --wrap=sl_tcx_is_there. */
#include <stdlib.h>

#include "ctl/kern/tc.h"

bool __real_sl_tcx_is_there(void);
bool __wrap_sl_tcx_is_there(void);

bool __wrap_sl_tcx_is_there(void)
{
	return !getenv("NO_TCX") && __real_sl_tcx_is_there();
}
