/* SPDX-License-Identifier: BSD-2-Clause */
/* libbpf and libxdp in another program's process. */
#ifndef SL_CTL_LIBS_H
#define SL_CTL_LIBS_H

#include <stdint.h>

/* Around calls of libbpf and libxdp: their messages go to our log, at DEBUG. */
void sl_libs_quiet(void);
void sl_libs_restore(void);
/* Closes descriptors that libxdp may have left open for that program. */
void sl_libs_close_leaks(uint32_t prog_id);

#endif
