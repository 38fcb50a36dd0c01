/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which of some sockets any process has: an iterator over the files of all processes. A process can
 * have a million descriptors, of one socket perhaps. So a read(2) ends after some of them, by
 * EAGAIN if it has found nothing, and a socket is told of once. A process also has what lies in
 * the queue of a UNIX socket of its, in messages that it has not received (SCM_RIGHTS), as far as
 * the queue is looked through: QUEUED messages, with bpf_loop(), which Linux has since 5.17. The
 * files in messages count as descriptors do, and a look searches a long queue once, lest a process
 * with many descriptors of one such socket hold up the looks for all others. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sought_abi.h"
#include "task_file.bpf.h"

#define IFMT     0170000
#define IFSOCK   0140000
#define TCP      6
#define TCP_OVER 7 /* TCP_CLOSE */
#define UNIX     1
#define QUEUED   64
#define FILES    253 /* SCM_MAX_FD */
#define LONG     16  /* files and messages: so many make a queue a long one */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
};
struct sk_buff {
	struct sk_buff *next;
	char cb[48];
};
struct sk_buff_head {
	struct sk_buff *next;
};
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol;
};
struct scm_fp_list {
	short count;
	struct file *fp[FILES];
};
struct unix_skb_parms {
	struct scm_fp_list *fp;
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

/* The UNIX sockets with a long queue, by inode: the iterator that has searched it last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} searched SEC(".maps");

/* Descriptors, messages and files in these, in a read; one thread reads at a time. */
__u32 looked_at;

/* A look at one descriptor. */
struct look {
	struct seq_file *seq;
	__u64 iterator;
	__u32 pid;
	struct sk_buff *next;     /* of the queue */
	const void *end;          /* the queue's head */
	struct scm_fp_list *list; /* of a message */
};

static struct sock *sock_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

static int is_socket(struct file *file)
{
	return (BPF_CORE_READ(file, f_inode, i_mode) & IFMT) == IFSOCK;
}

/* Tells of the file, if it is sought. */
static void look_at(const struct look *l, struct file *file)
{
	struct sl_sought_seen s = {.pid = l->pid};
	struct sock *sk;

	s.inode = (__u32)BPF_CORE_READ(file, f_inode, i_ino) & SL_SOUGHT_INODE;
	if (!bpf_map_lookup_elem(&wanted, &s.inode) || !is_socket(file))
		return;
	sk = sock_of(file);
	if (!sk || BPF_CORE_READ(sk, sk_protocol) != TCP)
		return;
	s.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	s.closed = BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_OVER;
	if (!bpf_seq_write(l->seq, &s, sizeof(s)))
		bpf_map_delete_elem(&wanted, &s.inode);
}

/* (The queue may change meanwhile: what is read then is nonsense, or of another message.) */
static long look_at_passed(__u32 i, void *ctx)
{
	struct look *l = ctx;
	struct scm_fp_list *list = l->list;
	struct file *file = NULL;

	if (i >= FILES || (short)i >= BPF_CORE_READ(list, count))
		return 1;
	looked_at++;
	bpf_probe_read_kernel(&file, sizeof(file), &list->fp[i]);
	if (file)
		look_at(l, file);
	return 0;
}

static long look_at_message(__u32 i, void *ctx)
{
	struct look *l = ctx;
	struct sk_buff *message = l->next;
	struct unix_skb_parms *p;

	if (!message || (const void *)message == l->end)
		return 1;
	looked_at++;
	p = (struct unix_skb_parms *)&message->cb;
	l->list = BPF_CORE_READ(p, fp);
	l->next = BPF_CORE_READ(message, next);
	if (l->list)
		bpf_loop(FILES, look_at_passed, l, 0);
	return 0;
}

static void look_at_queue(struct look *l, struct file *file)
{
	__u32 inode = (__u32)BPF_CORE_READ(file, f_inode, i_ino), before = looked_at;
	struct sock *sk = sock_of(file);
	const __u64 *last;

	if (!sk || BPF_CORE_READ(sk, __sk_common.skc_family) != UNIX)
		return;
	l->end = &sk->sk_receive_queue;
	l->next = BPF_CORE_READ(sk, sk_receive_queue.next);
	if (!l->next || (const void *)l->next == l->end)
		return;
	last = bpf_map_lookup_elem(&searched, &inode);
	if (last && *last == l->iterator)
		return;
	bpf_loop(QUEUED, look_at_message, l, 0);
	if (looked_at - before >= LONG)
		bpf_map_update_elem(&searched, &inode, &l->iterator, BPF_ANY);
}

SEC("iter/task_file")
int sought(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct look l = {};

	if (looked_at >= SL_SOUGHT_PIECE) {
		looked_at = 0;
		return 1; /* this descriptor again, in the next read */
	}
	looked_at++;
	if (!task || !file || !is_socket(file))
		return 0;
	l.seq = ctx->meta->seq;
	l.iterator = ctx->meta->session_id;
	l.pid = (__u32)task->tgid;
	look_at(&l, file);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		look_at_queue(&l, file);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
