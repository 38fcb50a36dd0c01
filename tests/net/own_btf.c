/* SPDX-License-Identifier: BSD-2-Clause */
/* As own_libbpf.c, with a name that this library does not call, but libbpf does. */
#define OWN btf__new
#include "own_libbpf.c"
