/* SPDX-License-Identifier: BSD-2-Clause */
/* own_libbpf.c with a function of another name: libbpf calls it, and this library does not. */
#define OWN btf__new
#include "own_libbpf.c"
