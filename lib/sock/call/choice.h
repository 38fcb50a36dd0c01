/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether new sockets may be offloaded at all: by setting, or by thread. */
#ifndef SL_CHOICE_H
#define SL_CHOICE_H

#include "base/base.h"

/* True: SLUICE_OFFLOADED_SOCKETS, or what sl_thread_offload() has said of the calling thread. */
bool sl_thread_may_offload(void);

#endif
