/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the mirror share: netlink channels, the parsers, the tables' writers.
 *
 * Theory of operation. Three netlink sockets, all of the namespace that called sl_net_open():
 * `events` is subscribed to the groups and read by the keeper; `dumps` is the keeper's for whole
 * tables; `asks` is for single questions of any thread, one at a time under a lock. Only the
 * keeper writes links and addresses. Messages are built and parsed with libmnl's pure functions;
 * sockets are worked by sl_sys_*, since the C library's symbols may be interposed. */
#ifndef SL_RTNL_H
#define SL_RTNL_H

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/lock.h"
#include "net/neigh.h"
#include "net/route.h"

/* One message of an answer, for whom asked. Bounds of the message are checked, of its payload
 * not. Returns 0 to go on, -errno to end with it. */
typedef int (*sl_rtnl_fn)(const struct nlmsghdr *nlh, void *arg);

/* Room for any request that is made here. */
#define SL_RTNL_REQ_BYTES 256

/* rtnl.c ----------------------------------------------------------------------------------- */

/* Sends a request and gives each message of the answer to fn (NULL: the end alone matters).
 * nlh->nlmsg_flags decides: NLM_F_DUMP reads until NLMSG_DONE, NLM_F_ACK until the ACK, else until
 * one message or error. Returns 0, -errno of the kernel's answer, -EINTR: the table changed
 * during the dump, -EDEADLK: called by a signal handler out of another question of its thread,
 * -ENOTCONN: not open. Any thread; sl_rtnl_dump() the keeper's alone. */
int sl_rtnl_ask(struct nlmsghdr *nlh, sl_rtnl_fn fn, void *arg);
int sl_rtnl_dump(uint16_t type, int family, sl_rtnl_fn fn, void *arg);
/* Sends without waiting; returns the error if the kernel has answered one already, else 0. */
int sl_rtnl_tell(struct nlmsghdr *nlh);

/* Makes the keeper call sl_net_on_readable(), and that sl_neigh_work(). Any thread. */
void sl_rtnl_wake(void);

/* What an event did, for sl_rtnl_feed(). */
#define SL_RTNL_ROUTES (1u << 0) /* answers of routing may change */
#define SL_RTNL_LOST   (1u << 1) /* events were lost */

/* Feeds one receive buffer of events to the tables. buf: 4-byte aligned. Returns SL_RTNL_*. Called
 * by the keeper, and by tests and the fuzzer without sockets. */
unsigned sl_rtnl_feed(const void *buf, size_t len);
/* Sets who is told of changes; sl_net_open() does it too. */
void sl_rtnl_set_events(const struct sl_net_events *events);

/* Is there a whole message? (libmnl 1.0.4 alone takes lengths above INT_MAX for good ones.) */
static inline bool sl_rtnl_ok(const struct nlmsghdr *nlh, int left)
{
	return left >= (int)sizeof(*nlh) && nlh->nlmsg_len <= (uint32_t)left &&
	       mnl_nlmsg_ok(nlh, left);
}

/* Attributes of a message by type, 0..max; those out of bounds or range are NULL. hdr_bytes: size
 * of the family header in front of them. False: the message is too short for that. */
bool sl_rtnl_attrs(const struct nlmsghdr *nlh, size_t hdr_bytes, const struct nlattr **tb,
		   unsigned max);
void sl_rtnl_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned max);
/* The value, or dflt when the attribute is missing or too short. */
uint32_t sl_rtnl_u32(const struct nlattr *a, uint32_t dflt);
uint8_t sl_rtnl_u8(const struct nlattr *a, uint8_t dflt);
/* An address of the family (AF_INET, AF_INET6); false: missing or of a wrong length. */
bool sl_rtnl_addr(const struct nlattr *a, int family, struct sl_addr *out);
void sl_rtnl_put_addr(struct nlmsghdr *nlh, uint16_t type, const struct sl_addr *addr);
static inline int sl_rtnl_family(const struct sl_addr *a)
{
	return sl_addr_is_v4(a) ? AF_INET : AF_INET6;
}

/* link.c ----------------------------------------------------------------------------------- */

/* Asks the kernel for one device: fn gets the answer. Returns as sl_rtnl_ask() does. Any thread. */
int sl_link_ask(uint32_t ifindex, sl_rtnl_fn fn, void *arg);
/* An event or a dumped entry of RTM_{NEW,DEL}LINK, RTM_{NEW,DEL}ADDR. Returns SL_RTNL_*. */
unsigned sl_link_on_msg(const struct nlmsghdr *nlh);
unsigned sl_local_on_msg(const struct nlmsghdr *nlh);
/* Around a dump of everything: entries that no message named between the two are gone. */
void sl_link_mark(void);
void sl_link_sweep(void);
void sl_link_fini(void);
void sl_link_child(void);
/* Whom the tables tell; written by sl_net_open() alone. */
extern struct sl_net_events sl_link_events;

/* route.c ---------------------------------------------------------------------------------- */

/* From the answer to RTM_GETROUTE: fills kind, error, ifindex, mtu (0: the link's), hoplimit, src,
 * nexthop. Does not look at the mirror. 0, or -EBADMSG. */
int sl_route_parse(const struct nlmsghdr *nlh, const struct sl_route_key *key,
		   struct sl_route *out);
void sl_route_child(void);
/* Is an error answer to RTM_GETROUTE what a send would be told? (Else it could not be asked.) */
bool sl_route_is_refusal(int error);

/* neigh.c ---------------------------------------------------------------------------------- */

/* An event or an entry of RTM_{NEW,DEL}NEIGH: changes the entry if there is one of ours. */
void sl_neigh_on_msg(const struct nlmsghdr *nlh);
/* Does what sl_neigh_use() has put off: the keeper's. */
void sl_neigh_work(void);
/* Around a dump, as sl_link_mark(). */
void sl_neigh_mark(void);
void sl_neigh_sweep(void);
/* Marks all entries as not known; _child also repairs what the fork caught half written. */
void sl_neigh_forget(void);
void sl_neigh_child(void);

#endif
