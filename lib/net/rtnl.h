/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the mirror: netlink channels, parsers, functions that write the tables.
 *
 * Theory of operation. Three netlink sockets, all in the namespace that called sl_net_open(): the
 * keeper reads `events`, which is subscribed to the groups; the keeper reads whole tables by
 * `dumps`; any thread asks single questions by `asks`, one at a time under a lock. Only the keeper
 * writes links and addresses. Messages are built and parsed with libmnl's pure functions; sockets
 * are used by sl_sys_*, since the C library's symbols may be interposed. */
#ifndef SL_RTNL_H
#define SL_RTNL_H

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/lock.h"
#include "net/neigh.h"
#include "net/route.h"

/* Gets each message of an answer. The message's bounds are checked, its payload is not. Returns 0
 * to continue; -errno ends the question with that result, -E2BIG at once. */
typedef int (*sl_rtnl_fn)(const struct nlmsghdr *nlh, void *arg);

/* Room for any request made here. */
#define SL_RTNL_REQ_BYTES 256

/* rtnl.c ----------------------------------------------------------------------------------- */

/* Sends a request and passes each message of the answer to fn (NULL: only the result matters).
 * nlh->nlmsg_flags decides where the answer ends: with NLM_F_DUMP at NLMSG_DONE, with NLM_F_ACK at
 * the ACK, else after one message or error. Returns 0, -errno of the kernel's answer or of fn,
 * -EINTR: the table changed during the dump, -EDEADLK: a signal handler interrupted another
 * question of its thread, -ETIMEDOUT: no answer came, -ENOTCONN: not open. Any thread;
 * sl_rtnl_dump() only the keeper. */
int sl_rtnl_ask(struct nlmsghdr *nlh, sl_rtnl_fn fn, void *arg);
int sl_rtnl_dump(uint16_t type, int family, sl_rtnl_fn fn, void *arg);
/* Sends without waiting for the answer. Returns the kernel's error if it has answered already, else
 * 0; or -EDEADLK, -ENOTCONN. Any thread. */
int sl_rtnl_tell(struct nlmsghdr *nlh);

/* Makes the keeper call sl_net_on_readable(), which calls the mirrors' work(). Any thread. */
void sl_rtnl_wake(void);

/* Effects of an event, returned by sl_rtnl_feed(). */
#define SL_RTNL_ROUTES (1u << 0) /* routing may answer differently */
#define SL_RTNL_LOST   (1u << 1) /* events were lost */

/* Passes one receive buffer of events to the tables. buf: 4-byte aligned. Returns SL_RTNL_*.
 * Called by the keeper; tests and the fuzzer call it without sockets. */
unsigned sl_rtnl_feed(const void *buf, size_t len);
/* Sets the callbacks for changes; sl_net_open() does it too. */
void sl_rtnl_set_events(const struct sl_net_events *events);
extern struct sl_net_events sl_rtnl_events; /* written only by sl_rtnl_set_events() */

/* A mirror of one of the kernel's tables. A NULL call is left out. The keeper makes all calls
 * except child(). */
struct sl_mirror {
	uint16_t new_type, del_type; /* of its messages, RTM_* */
	/* Handles an event or a dumped entry. Returns SL_RTNL_*. NULL: it gets none. */
	unsigned (*on_msg)(const struct nlmsghdr *nlh);
	/* Called before and after a dump of everything: entries that no message named in between
	 * are removed. */
	void (*mark)(void);
	void (*sweep)(void);
	void (*work)(void);   /* after sl_rtnl_wake() */
	void (*forget)(void); /* the sockets are closed */
	void (*child)(void);  /* in a child of fork */
};
/* Sets the table of mirrors, which must stay. sl_mirrors_register() (mirror.c) calls it before the
 * first message. */
void sl_rtnl_set_mirrors(const struct sl_mirror *table, unsigned n);
/* sl_net_open() without the mirrors' registration. */
int sl_rtnl_open(const struct sl_net_events *events);

/* True: a whole message is left. (libmnl 1.0.4 by itself accepts lengths above INT_MAX.) */
static inline bool sl_rtnl_ok(const struct nlmsghdr *nlh, int left)
{
	return left >= (int)sizeof(*nlh) && nlh->nlmsg_len <= (uint32_t)left &&
	       mnl_nlmsg_ok(nlh, left);
}

/* Collects the attributes of a message by type, 0..max; NULL for those out of bounds or range.
 * hdr_bytes: size of the family header before them. False: the message is too short for it. */
bool sl_rtnl_attrs(const struct nlmsghdr *nlh, size_t hdr_bytes, const struct nlattr **tb,
		   unsigned max);
/* Collects the attributes inside of nest, like sl_rtnl_attrs(). */
void sl_rtnl_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned max);
/* The value, or dflt if the attribute is missing or too short. */
uint32_t sl_rtnl_u32(const struct nlattr *a, uint32_t dflt);
uint8_t sl_rtnl_u8(const struct nlattr *a, uint8_t dflt);
/* Reads an address of the family (AF_INET, AF_INET6); false: missing, or of wrong length. */
bool sl_rtnl_addr(const struct nlattr *a, int family, struct sl_addr *out);
/* Adds an address as an attribute, in the form of its family. */
void sl_rtnl_put_addr(struct nlmsghdr *nlh, uint16_t type, const struct sl_addr *addr);
static inline int sl_rtnl_family(const struct sl_addr *a)
{
	return sl_addr_is_v4(a) ? AF_INET : AF_INET6;
}

/* mirror.c --------------------------------------------------------------------------------- */

/* Gives rtnl.c its table of mirrors. sl_net_open() does it; a test that feeds messages by itself
 * calls it first. */
void sl_mirrors_register(void);

/* link.c ----------------------------------------------------------------------------------- */

/* Asks the kernel for one device and passes the answer to fn. Returns as sl_rtnl_ask(). Any
 * thread. */
int sl_link_ask(uint32_t ifindex, sl_rtnl_fn fn, void *arg);
/* Handles an event or a dumped entry of RTM_{NEW,DEL}LINK, RTM_{NEW,DEL}ADDR. Returns SL_RTNL_*. */
unsigned sl_link_on_msg(const struct nlmsghdr *nlh);
unsigned sl_local_on_msg(const struct nlmsghdr *nlh);
/* Call before and after a dump of everything: entries that no message named in between are
 * removed. */
void sl_link_mark(void);
void sl_link_sweep(void);
/* Forgets all links and addresses; sl_link_child() without touching the lock or the heap (after
 * fork). */
void sl_link_fini(void);
void sl_link_child(void);

/* route.c ---------------------------------------------------------------------------------- */

/* Parses the answer to RTM_GETROUTE: fills kind, error, ifindex, mtu (0: use the link's),
 * hoplimit, src, nexthop. Does not use the mirror. 0, or -EBADMSG. */
int sl_route_parse(const struct nlmsghdr *nlh, const struct sl_route_key *key,
		   struct sl_route *out);
void sl_route_child(void);
/* True: a send would fail with this error of RTM_GETROUTE. False: the kernel could not be asked. */
bool sl_route_is_refusal(int error);

/* neigh.c ---------------------------------------------------------------------------------- */

/* Handles an event or an entry of RTM_{NEW,DEL}NEIGH: updates our entry, if there is one. */
void sl_neigh_on_msg(const struct nlmsghdr *nlh);
/* Called by the keeper: does the work that sl_neigh_use() left to it. */
void sl_neigh_work(void);
/* Call before and after a dump, like sl_link_mark() and sl_link_sweep(). */
void sl_neigh_mark(void);
void sl_neigh_sweep(void);
/* Mark all entries as unknown; sl_neigh_child() also repairs entries that fork caught half
 * written. */
void sl_neigh_forget(void);
void sl_neigh_child(void);

#endif
