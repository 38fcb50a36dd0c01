/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Counts the references to the file behind a descriptor: an iterator over the files of the process
 * that runs it. No system call tells this, and the library must know whether another process has
 * the socket. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "task_file.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct file_ref {
	struct {
		long counter;
	} refcnt; /* number of references - 1 */
};
struct file {
	struct file_ref f_ref; /* since 6.13 */
};
struct file___before {
	struct {
		long counter;
	} f_count;
};
#pragma clang attribute pop

/* The descriptor that is asked about. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps");

SEC("iter/task_file")
int holders(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	__u32 zero = 0, *fd = bpf_map_lookup_elem(&wanted, &zero);
	long n;

	if (!file || !fd || ctx->fd != *fd)
		return 0;
	if (bpf_core_field_exists(file->f_ref))
		n = BPF_CORE_READ(file, f_ref.refcnt.counter) + 1;
	else
		n = BPF_CORE_READ((struct file___before *)file, f_count.counter);
	n -= 1; /* not the iterator's own reference */
	bpf_seq_write(ctx->meta->seq, &n, sizeof(n));
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
