/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP errors about our segments: internal to lib/net; other rooms use net.h. */
#ifndef SL_ICMP_H
#define SL_ICMP_H

#include "net/net.h"

/* Handles in->pkt, an ICMP message accepted by sl_parse_icmp(), for the TCP object of slot s.
 * Calls the object's ICMP handler if the message means an error. Does not keep the frame. */
void sl_icmp_input(const struct sl_slot *s, struct sl_in *in);

#endif
