/* SPDX-License-Identifier: BSD-2-Clause */
/* The question whether this thread is in a signal handler. */
#include "base/handler.h"

bool (*sl_handler_ask)(void);
