/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine's settings say of IP packets (Documentation/networking/ip-sysctl.rst), read from
 * /proc/sys when it is needed and at most once a second. Any thread; async-signal-safe. */
#ifndef SL_IPCONF_H
#define SL_IPCONF_H

#include "base/addr.h"
#include "base/base.h"

#define SL_IP_TTL 64 /* IPDEFTTL, IPV6_DEFAULT_HOPLIMIT */

/* net.ipv4.ip_default_ttl: where neither the route nor the socket has one. */
uint8_t sl_ip_default_ttl(void);

/* IP_MTU_DISCOVER of a socket that is made now, by net.ipv4.ip_no_pmtu_disc: IP_PMTUDISC_WANT or
 * IP_PMTUDISC_DONT. */
uint8_t sl_ip_pmtudisc(void);

/* The flow's label, in host order, as net.ipv6.auto_flowlabels has it for sockets that do not say
 * (RFC 6437): the same for all its packets, by which routers may choose one of several ways (RFC
 * 6438). 0: none, or IPv4. */
uint32_t sl_ip_flow_label(uint8_t proto, const struct sl_addr *src, const struct sl_addr *dst,
			  uint16_t sport, uint16_t dport);

#endif
