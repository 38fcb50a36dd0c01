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
#include "base/names.h"
#include "base/sys.h"

#define VERBS_SONAME "libibverbs.so.1"
#define MLX5_SONAME  "libmlx5.so.1"

static struct sl_verbs_lib lib;
static struct sl_mlx5_lib mlx5;
/* The program has functions of the same names, and the libraries would call these. */
static bool clash;

/* Functions that the libraries call by names that a program may have, beside those of the tables:
 * of each other, and each of itself. */
#define INNER_CALLS(X)                                                                             \
	X(ibv_create_cq)                                                                           \
	X(ibv_query_device)                                                                        \
	X(ibv_query_port)                                                                          \
	X(ibv_query_gid_type)                                                                      \
	X(ibv_read_sysfs_file)                                                                     \
	X(ibv_read_ibdev_sysfs_file)                                                               \
	X(ibv_dontfork_range)                                                                      \
	X(ibv_dofork_range)                                                                        \
	X(ibv_cmd_get_context)                                                                     \
	X(ibv_cmd_alloc_pd)                                                                        \
	X(ibv_cmd_reg_mr)                                                                          \
	X(ibv_cmd_create_qp_ex2)                                                                   \
	X(verbs_open_device)                                                                       \
	X(verbs_init_cq)                                                                           \
	X(verbs_set_ops)                                                                           \
	X(verbs_register_driver_34)

static bool names_are_taken(void)
{
	bool taken = false;

#define X(name) taken = taken || sl_name_is_from_elsewhere("ibv_" #name, "libibverbs.so.");
	SL_VERBS_CALLS(X)
#undef X
#define X(name) taken = taken || sl_name_is_from_elsewhere(#name, "libibverbs.so.");
	INNER_CALLS(X)
#undef X
#define X(name) taken = taken || sl_name_is_from_elsewhere("mlx5dv_" #name, "libmlx5");
	SL_MLX5_CALLS(X)
#undef X
	(void)dlerror(); /* of names that are not there */
	return taken;
}

/* Where another library stands in for open(2), by which the device is opened (tests/sim), the
 * usual mode must do. (Sanitizers, which stand in for malloc(3), end the process at the other
 * mode.) A library that is loaded already stays bound as it is. */
static int mode_of_load(void)
{
	return sl_name_mode(!sl_name_is_from_elsewhere("open", "libc.so.") &&
				    !sl_name_is_loaded("/libibverbs.so.1") &&
				    !sl_name_is_loaded("/libmlx5"),
			    names_are_taken);
}

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
	int mode;

	if (tried)
		return there ? &lib : NULL;
	tried = true;
	mode = mode_of_load();
	clash = !mode;
	/* (libibverbs loads its drivers in the usual mode, but this one only if it is not there.)
	 */
	if (mode & RTLD_DEEPBIND)
		(void)dlopen(MLX5_SONAME, mode);
	handle = mode ? dlopen(VERBS_SONAME, mode) : NULL;
	if (!handle)
		return NULL;
	there = look_up(handle);
	if (there)
		prime(handle);
	return there ? &lib : NULL;
}

const char *sl_verbs_lack(void)
{
	return clash ? "the program has functions of libibverbs' names"
		     : "libibverbs is not installed";
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
