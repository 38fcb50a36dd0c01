/* SPDX-License-Identifier: BSD-2-Clause */
/* A netlink socket of the tools whose kernel is the fuzzer. Link answers.c before the library. */
#ifndef SL_FUZZ_ANSWERS_H
#define SL_FUZZ_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

/* The answers that each netlink socket gets which is opened from now on: messages of a length (two
 * bytes) and that many bytes. The bytes must stay. */
void fuzz_answers(const uint8_t *data, size_t size);
/* Text that programs write is not seen, but what the sanitizers say is. */
void fuzz_be_quiet(void);

#endif
