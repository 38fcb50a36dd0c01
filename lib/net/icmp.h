/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP errors about segments of ours, inside of this room; the others find it in net.h. */
#ifndef SL_ICMP_H
#define SL_ICMP_H

#include "net/net.h"

/* in->pkt is an ICMP message that sl_parse_icmp() has accepted, for the object of s (whose kind is
 * one of TCP's). Its handler is told, when the message says something. The frame is not kept. */
void sl_icmp_input(const struct sl_slot *s, struct sl_in *in);

#endif
