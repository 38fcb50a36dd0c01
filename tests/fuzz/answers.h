/* SPDX-License-Identifier: BSD-2-Clause */
/* A netlink socket of the tools whose kernel is the fuzzer, and an input's text. Link answers.c
 * before the library. It keeps quiet what the tools write; what the sanitizers say is seen. */
#ifndef SL_FUZZ_ANSWERS_H
#define SL_FUZZ_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

/* The answers that each netlink socket gets which is opened from now on: messages of a length (two
 * bytes) and that many bytes. The bytes must stay. */
void fuzz_answers(const uint8_t *data, size_t size);
/* The text that an input begins with, up to a byte of 0 or its end; *data and *size are then the
 * rest. Free it. */
char *fuzz_text(const uint8_t **data, size_t *size);

#endif
