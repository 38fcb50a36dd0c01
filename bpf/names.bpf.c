/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reads the names of a socket of IP without its lock: getsockname(2) waits for the lock, which a
 * program can hold for as long as it likes. */
#include <linux/bpf.h>
#include <linux/in6.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "names_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned char skc_ipv6only : 1;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sock {
	struct sock_common __sk_common;
};
struct inet_sock {
	__be16 inet_sport;
};
struct socket {
	struct sock *sk;
};
struct file {
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_struct {
	struct files_struct *files;
};
#pragma clang attribute pop

/* The caller has made sure that the descriptor is such a socket, and keeps it open. The port is the
 * one that bind(2) gives after all its checks. */
SEC("syscall")
int names(struct sl_names *n)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;
	struct in6_addr addr;
	struct socket *socket;
	struct sock *sk;

	if (n->fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + n->fd) || !file)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return 0;
	n->sport = BPF_CORE_READ((struct inet_sock *)sk, inet_sport);
	n->dport = BPF_CORE_READ(sk, __sk_common.skc_dport);
	n->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	n->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	n->v6only = BPF_CORE_READ_BITFIELD_PROBED(&sk->__sk_common, skc_ipv6only);
	n->saddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	n->daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&addr, sk, __sk_common.skc_v6_rcv_saddr);
		__builtin_memcpy(n->saddr6, &addr, sizeof(addr));
		BPF_CORE_READ_INTO(&addr, sk, __sk_common.skc_v6_daddr);
		__builtin_memcpy(n->daddr6, &addr, sizeof(addr));
	}
	n->read = 1;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
