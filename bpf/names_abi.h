/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The question to names.bpf.c, and its answer. Addresses and ports are in wire order. */
#ifndef SL_NAMES_ABI_H
#define SL_NAMES_ABI_H

#include <linux/types.h>

struct sl_names {
	__u32 fd;   /* in: of the process that runs the program */
	__u32 read; /* 1: what follows is there */
	__u16 family, sport, dport;
	__u8 state;
	__u8 v6only;
	__u32 saddr, daddr;
	__u32 saddr6[4], daddr6[4];
};

#endif
