/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The context of an iterator over the files of all processes. */
#ifndef TASK_FILE_BPF_H
#define TASK_FILE_BPF_H

#include <linux/types.h>

struct file;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id; /* of the iterator */
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};
#pragma clang attribute pop

#endif
