/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's IP settings (Documentation/networking/ip-sysctl.rst), read from /proc/sys on
 * demand, at most once a second. Any thread; async-signal-safe. */
#ifndef SL_IPCONF_H
#define SL_IPCONF_H

#include "base/addr.h"
#include "base/base.h"

#define SL_IP_TTL 64 /* IPDEFTTL, IPV6_DEFAULT_HOPLIMIT */

/* net.ipv4.ip_default_ttl: used where neither the route nor the socket sets one. */
uint8_t sl_ip_default_ttl(void);

/* IP_MTU_DISCOVER of a new socket, by net.ipv4.ip_no_pmtu_disc: IP_PMTUDISC_WANT or
 * IP_PMTUDISC_DONT. */
uint8_t sl_ip_pmtudisc(void);

/* False: routers' reports of a smaller MTU are dropped (net.ipv4.ip_no_pmtu_disc is 2). */
bool sl_ip_hears_mtus(void);
/* net.ipv4.route.min_pmtu: a report of less is taken for this. */
uint16_t sl_ip_min_pmtu(void);

/* The version of IGMP that the kernel is told to speak on the device (force_igmp_version of all
 * devices, else of this one). 0: as the routers there do. Not remembered. */
uint8_t sl_ip_igmp_version(const char *device);

/* The flow label in host order, by net.ipv6.auto_flowlabels, for sockets that set none (RFC 6437).
 * All packets of a flow have the same, so that routers can choose among several paths by it (RFC
 * 6438). 0: none, or IPv4. */
uint32_t sl_ip_flow_label(uint8_t proto, const struct sl_addr *src, const struct sl_addr *dst,
			  uint16_t sport, uint16_t dport);

/* A number that no peer can foresee. of: an object, so that two threads get different ones. */
uint32_t sl_ip_random(const void *of);

#endif
