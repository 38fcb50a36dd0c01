/* SPDX-License-Identifier: BSD-2-Clause */
/* The program to preload into: where it is, and whether the dynamic linker can preload into it. */
#ifndef SL_PROGRAM_H
#define SL_PROGRAM_H

#include <stdio.h>

#include "base/base.h"

/* Looks the name up in PATH as execvp(3) does. 0, or -ENOENT, -EACCES. */
int sl_program_find(const char *name, char *path, size_t len);

enum sl_program_kind {
	SL_PROGRAM_OK,
	SL_PROGRAM_STATIC,     /* no dynamic linker: nothing can be preloaded */
	SL_PROGRAM_GO,         /* Go calls the kernel itself, not the C library */
	SL_PROGRAM_PRIVILEGED, /* setuid, setgid or capabilities: the linker ignores LD_PRELOAD */
	SL_PROGRAM_FOREIGN,    /* another machine or word size */
	SL_PROGRAM_LIBC,       /* another C library than glibc (musl): a preloaded one ends it */
	SL_PROGRAM_UNKNOWN,    /* neither ELF nor a script */
};

/* Kind of the file. who: its path, or that of the interpreter of a script. */
enum sl_program_kind sl_program_kind(const char *path, char *who, size_t len);
/* Why its sockets stay with the kernel, as the end of a sentence about it; NULL: they do not.
 * remedy (may be NULL): what helps, or NULL. */
const char *sl_program_obstacle(enum sl_program_kind kind, const char **remedy);

/* Why the counters of a process are not found, in words. */
const char *sl_program_unseen(int pid);

#endif
