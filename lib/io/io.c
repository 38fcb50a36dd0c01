/* SPDX-License-Identifier: BSD-2-Clause */
/* The function that backends call with the send time of a packet. */
#include "io/io.h"

void (*sl_tx_on_stamp)(const struct sl_tx_ask *ask, uint64_t hw_ns);
