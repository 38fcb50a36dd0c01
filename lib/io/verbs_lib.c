/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds RDMA devices and loads libibverbs. A program on a machine without either notices nothing of
 * it. */
#if __has_include(<infiniband/verbs.h>)
#include "io/verbs_lib.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/sys.h"

#define VERBS_SONAME "libibverbs.so.1"
#define MLX5_SONAME  "libmlx5.so.1"

static struct sl_verbs_lib lib;
static struct sl_mlx5_lib mlx5;

static bool look_up(void *handle)
{
#define X(name)                                                                                    \
	lib.name = (__typeof__(lib.name))dlsym(handle, "ibv_" #name);                              \
	if (!lib.name)                                                                             \
		return false;
	SL_VERBS_CALLS(X)
#undef X
	return true;
}

/* Lets libibverbs and its drivers destroy objects of a device that died. At its first call
 * libibverbs sets this variable if RDMAV_ALLOW_DISASSOC_DESTROY=1 is in the environment
 * (libibverbs/init.c, driver.h). The environment is the program's, so we set the variable instead.
 */
static void prime(void *handle)
{
	bool *allow = dlsym(handle, "verbs_allow_disassociate_destroy");
	int n;

	lib.free_device_list(lib.get_device_list(&n));
	if (allow)
		*allow = true;
}

const struct sl_verbs_lib *sl_verbs_lib(void)
{
	static bool tried, there;
	void *handle;

	if (tried)
		return there ? &lib : NULL;
	tried = true;
	handle = dlopen(VERBS_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return NULL;
	there = look_up(handle);
	if (there)
		prime(handle);
	return there ? &lib : NULL;
}

static bool look_up_mlx5(void *handle)
{
#define X(name)                                                                                    \
	mlx5.name = (__typeof__(mlx5.name))dlsym(handle, "mlx5dv_" #name);                         \
	if (!mlx5.name)                                                                            \
		return false;
	SL_MLX5_CALLS(X)
#undef X
	return true;
}

const struct sl_mlx5_lib *sl_mlx5_lib(struct ibv_context *ctx)
{
	static bool tried, there;
	void *handle;

	if (!tried) {
		tried = true;
		handle = dlopen(MLX5_SONAME, RTLD_NOW | RTLD_LOCAL);
		there = handle && look_up_mlx5(handle);
	}
	return there && mlx5.is_supported(ctx->device) ? &mlx5 : NULL;
}

static bool is_device_of(const char *dir, const char *rdma, uint32_t ifindex, const char *ifname)
{
	char path[512], text[32];

	if (snprintf(path, sizeof(path), "%s/%s/device/net/%s/ifindex", dir, rdma, ifname) >=
	    (int)sizeof(path))
		return false;
	return sl_read_text(path, text, sizeof(text)) > 0 && strtoul(text, NULL, 10) == ifindex;
}

bool sl_verbs_name_of(uint32_t ifindex, const char *ifname, char *name, size_t size)
{
	const char *root = secure_getenv("SYSFS_PATH");
	char dir[256];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/class/infiniband", root ? root : "/sys");
	d = opendir(dir);
	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		found = e->d_name[0] != '.' && strlen(e->d_name) < size &&
			is_device_of(dir, e->d_name, ifindex, ifname);
		if (found)
			strcpy(name, e->d_name);
	}
	closedir(d);
	return found;
}
#endif
