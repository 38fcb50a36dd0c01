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

#endif
