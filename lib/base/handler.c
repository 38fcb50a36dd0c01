/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/handler.h"

bool (*sl_handler_ask)(void);
