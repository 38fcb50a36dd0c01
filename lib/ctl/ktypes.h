/* SPDX-License-Identifier: BSD-2-Clause */
/* What our BPF programs must know of the kernel's own types (BTF, /sys/kernel/btf/vmlinux): libbpf
 * would read, copy and index all of them for each object that asks for one, which was most of what
 * the start of a program took. Found once in a process; under the broker's lock. */
#ifndef SL_KTYPES_H
#define SL_KTYPES_H

#include <stdint.h>

/* The BTF id of a function that BPF programs may call (SL_KFUNC_ of steer.h). 0: this kernel has
 * none of that name, or its types cannot be read. */
uint32_t sl_ktypes_func(uint32_t kfunc);
/* A file with those structures that bpf/guard_nf.bpf.c looks into, and their fields, where this
 * kernel has them: for bpf_object_open_opts.btf_custom_path. The descriptor of a memfd, to be
 * closed when the object is loaded, or -errno. */
int sl_ktypes_file(void);

#endif
