/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The steering program, bound to one device at load (Linux 6.3): it asks the driver for time stamps
 * and for tags that are not in the frame. Everything else is in steer.bpf.c. */
#define SL_BOUND

#include "steer.bpf.c"
