/* SPDX-License-Identifier: BSD-2-Clause */
/* own_libbpf with a name of libibverbs'. */
#define OWN ibv_read_sysfs_file
#include "own_libbpf.c"
