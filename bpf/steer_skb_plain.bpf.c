/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* steer_skb.bpf.c without VXLAN. It is a third shorter: loading the other one leaves a program that
 * needs no VXLAN with some hundred KB more of memory. */
#define SL_NO_VXLAN
#include "steer_skb.bpf.c"
