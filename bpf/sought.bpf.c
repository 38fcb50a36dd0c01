/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which of some sockets any process has: an iterator over the files of all processes. A process can
 * have a million descriptors, of one socket perhaps. So a read(2) ends after some of them, by
 * EAGAIN if it has found nothing, and a socket is told of once. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sought_abi.h"
#include "task_file.bpf.h"

#define IFMT     0170000
#define IFSOCK   0140000
#define TCP      6
#define TCP_OVER 7 /* TCP_CLOSE */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
};
struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};
struct socket {
	struct sock *sk;
};
struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
};
struct task_struct {
	int tgid;
};
struct file {
	struct inode *f_inode;
	void *private_data;
};
#pragma clang attribute pop

/* The inodes that are asked about and not found yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_SOUGHT_MAX);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps");

__u32 looked_at; /* descriptors; one thread reads at a time */

SEC("iter/task_file")
int sought(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sl_sought_seen s = {};
	struct socket *socket;
	struct sock *sk;

	if (!(++looked_at % SL_SOUGHT_PIECE))
		return 1; /* this descriptor again, in the next read */
	if (!task || !file || (BPF_CORE_READ(file, f_inode, i_mode) & IFMT) != IFSOCK)
		return 0;
	s.inode = (__u32)BPF_CORE_READ(file, f_inode, i_ino) & SL_SOUGHT_INODE;
	if (!bpf_map_lookup_elem(&wanted, &s.inode))
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (!sk || BPF_CORE_READ(sk, sk_protocol) != TCP)
		return 0;
	s.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	s.closed = BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_OVER;
	s.pid = (__u32)task->tgid;
	if (!bpf_seq_write(ctx->meta->seq, &s, sizeof(s)))
		bpf_map_delete_elem(&wanted, &s.inode);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
