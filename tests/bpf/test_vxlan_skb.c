/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program for tc under the same packets in VXLAN as the one for XDP. */
#define RIG_SKB
#include "test_vxlan.c"
