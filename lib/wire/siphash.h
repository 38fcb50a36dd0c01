/* SPDX-License-Identifier: BSD-2-Clause */
/* The keyed hash for values that packets show and strangers must not guess: whoever has seen many
 * of them, for texts of their choice, knows neither the key nor the next value. */
#ifndef SL_SIPHASH_H
#define SL_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t sl_siphash(const uint8_t key[16], const void *data, size_t n);

#endif
