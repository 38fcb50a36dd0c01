/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file that has a function's name in this process. Libraries that are loaded at run time
 * call their own functions by names, and the program may have functions of the same names. */
#ifndef SL_NAMES_H
#define SL_NAMES_H

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/base.h"

/* True: the program's scope has that name, in another file than one whose name begins with file. */
static inline bool sl_name_is_from_elsewhere(const char *name, const char *file)
{
	const char *path, *end;
	void *theirs = dlsym(RTLD_DEFAULT, name);
	Dl_info at;

	if (!theirs)
		return false;
	path = dladdr(theirs, &at) && at.dli_fname ? at.dli_fname : "";
	end = strrchr(path, '/');
	return strncmp(end ? end + 1 : path, file, strlen(file)) != 0;
}

static inline int sl_name_is_file(struct dl_phdr_info *at, size_t bytes, void *arg)
{
	return strstr(at->dlpi_name, arg) != NULL;
}

/* True: a file is loaded whose path has that part. (dlopen(3) with RTLD_NOLOAD would open the
 * files.) */
static inline bool sl_name_is_loaded(const char *part)
{
	return dl_iterate_phdr(sl_name_is_file, sl_unconst(part));
}

/* The mode of dlopen(3) for libraries that call their own functions by names that the program may
 * have. own_first: they may prefer their own names and the C library's (RTLD_DEEPBIND), which they
 * must not where another malloc(3) stands in. taken: has the program such names? 0: neither mode
 * will do. */
static inline int sl_name_mode(bool own_first, bool (*taken)(void))
{
	const int usual = RTLD_NOW | RTLD_LOCAL;

	if (own_first && !sl_name_is_from_elsewhere("malloc", "libc.so."))
		return usual | RTLD_DEEPBIND;
	return taken() ? 0 : usual;
}

#endif
