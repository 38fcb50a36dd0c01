/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads librdmacm and libibverbs. */
#if __has_include(<infiniband/verbs.h>)
#include "rdma_lib.h"

#include <dlfcn.h>

#define CM_SONAME    "librdmacm.so.1"
#define VERBS_SONAME "libibverbs.so.1"

static struct sl_rdma_lib lib;

static const char *look_up(void *cm, void *verbs)
{
#define X(name, type, args)                                                                        \
	lib.name = (__typeof__(lib.name))dlsym(cm, "rdma_" #name);                                 \
	if (!lib.name)                                                                             \
		return "rdma_" #name;
	SL_RDMA_CALLS(X)
#undef X
#define X(name)                                                                                    \
	lib.ibv.name = (__typeof__(lib.ibv.name))dlsym(verbs, "ibv_" #name);                       \
	if (!lib.ibv.name)                                                                         \
		return "ibv_" #name;
	SL_RDMA_VERBS(X)
#undef X
	return NULL;
}

const struct sl_rdma_lib *sl_rdma_lib(const char **lacks)
{
	void *cm = dlopen(CM_SONAME, RTLD_NOW | RTLD_LOCAL), *verbs;

	*lacks = CM_SONAME;
	if (!cm)
		return NULL;
	*lacks = VERBS_SONAME;
	verbs = dlopen(VERBS_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!verbs)
		return NULL;
	*lacks = look_up(cm, verbs);
	return *lacks ? NULL : &lib;
}
#endif
