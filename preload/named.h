/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's dlsym(3), and libraries that LD_PRELOAD names behind this one. */
#ifndef SL_PRELOAD_NAMED_H
#define SL_PRELOAD_NAMED_H

#include "real.h"

typedef void *sl_dlsym_fn(void *handle, const char *name);
/* (Called before a sanitizer is ready, by that sanitizer.) */
#define SL_EARLY no_sanitize("address", "undefined", "thread")
sl_dlsym_fn *sl_real_dlsym(void) SL_OWN; /* real.c */
/* True: such a library has connect(2) or bind(2) itself (a proxy's, authbind's). It calls the C
 * library past this one, with sockets that it makes and with the program's. */
bool sl_is_wrapped(void) SL_OWN;

#endif
