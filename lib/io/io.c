/* SPDX-License-Identifier: BSD-2-Clause */
/* What backends call upward. */
#include "io/io.h"

void (*sl_tx_on_stamp)(const struct sl_tx_ask *ask, uint64_t hw_ns);
