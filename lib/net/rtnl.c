/* SPDX-License-Identifier: BSD-2-Clause */
/* Netlink channels of the mirror: questions, dumps, events, and a new dump when events were lost.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/nexthop.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "net/rtnl.h"
#include "net/storm.h"

/* Since Linux 6.14; older headers and kernels do not know them. */
#define GRP_IPV4_MCADDR 37
#define GRP_IPV6_MCADDR 38
#ifndef RTM_NEWMULTICAST
#define RTM_NEWMULTICAST 56
#define RTM_DELMULTICAST 57
#endif
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12
#endif

#define EVENTS_RCVBUF_BYTES (8 << 20)
#define BUF_BYTES           32768 /* most that the kernel puts into a dump message */
#define EVENT_BATCH         1024  /* messages handled in one call of the keeper */
#define DUMP_TRIES          8     /* tries for a table that changes during the dump */
#define ANSWER_TIMEOUT_S    2

struct chan {
	struct sl_lock lock;
	int fd;
	uint32_t seq;
	uint8_t buf[BUF_BYTES] __attribute__((aligned(8)));
};

static struct chan asks = {.fd = -1}, dumps = {.fd = -1};
static int events_fd = -1;
static int wake_fd = -1;   /* eventfd: a mirror has work for the keeper */
static int watch_fd = -1;  /* epoll set of events_fd and wake_fd; watched by the keeper */
static bool resync_wanted; /* events were lost: the keeper must dump the tables again */
static uint8_t events_buf[BUF_BYTES] __attribute__((aligned(8)));

uint32_t sl_route_gen = 1;
uint32_t sl_netconf_gen;
struct sl_net_events sl_rtnl_events;

static const struct sl_mirror *mirrors; /* in the order of the table in mirror.c */
static unsigned nmirrors;

void sl_rtnl_set_mirrors(const struct sl_mirror *table, unsigned n)
{
	mirrors = table;
	nmirrors = n;
}

#define EACH_MIRROR(call)                                                                          \
	do {                                                                                       \
		for (unsigned i_ = 0; i_ < nmirrors; i_++)                                         \
			if (mirrors[i_].call)                                                      \
				mirrors[i_].call();                                                \
	} while (0)

/* Attributes ------------------------------------------------------------------------------- */

static void attrs_collect(const struct nlattr *a, int len, const struct nlattr **tb, unsigned max)
{
	for (unsigned i = 0; i <= max; i++)
		tb[i] = NULL;
	while (mnl_attr_ok(a, len)) {
		if (mnl_attr_get_type(a) <= max)
			tb[mnl_attr_get_type(a)] = a;
		len -= (int)MNL_ALIGN(a->nla_len);
		a = mnl_attr_next(a);
	}
}

bool sl_rtnl_attrs(const struct nlmsghdr *nlh, size_t hdr_bytes, const struct nlattr **tb,
		   unsigned max)
{
	size_t head = MNL_ALIGN(hdr_bytes), payload = mnl_nlmsg_get_payload_len(nlh);

	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN || payload < hdr_bytes)
		return false;
	attrs_collect(mnl_nlmsg_get_payload_offset(nlh, hdr_bytes),
		      payload > head ? (int)(payload - head) : 0, tb, max);
	return true;
}

void sl_rtnl_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned max)
{
	attrs_collect(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), tb, max);
}

uint32_t sl_rtnl_u32(const struct nlattr *a, uint32_t dflt)
{
	return a && mnl_attr_get_payload_len(a) >= sizeof(uint32_t) ? mnl_attr_get_u32(a) : dflt;
}

uint8_t sl_rtnl_u8(const struct nlattr *a, uint8_t dflt)
{
	return a && mnl_attr_get_payload_len(a) >= 1 ? mnl_attr_get_u8(a) : dflt;
}

bool sl_rtnl_addr(const struct nlattr *a, int family, struct sl_addr *out)
{
	uint32_t v4;

	if (!a)
		return false;
	if (family == AF_INET && mnl_attr_get_payload_len(a) == 4) {
		memcpy(&v4, mnl_attr_get_payload(a), 4);
		*out = sl_addr_v4(v4);
		return true;
	}
	if (family == AF_INET6 && mnl_attr_get_payload_len(a) == 16) {
		*out = sl_addr_v6(mnl_attr_get_payload(a));
		return true;
	}
	return false;
}

void sl_rtnl_put_addr(struct nlmsghdr *nlh, uint16_t type, const struct sl_addr *addr)
{
	if (sl_addr_is_v4(addr))
		mnl_attr_put(nlh, type, 4, &addr->w[3]);
	else
		mnl_attr_put(nlh, type, 16, addr->b);
}

/* Sockets ---------------------------------------------------------------------------------- */

static int rtnl_socket(int extra)
{
	struct sockaddr_nl self = {.nl_family = AF_NETLINK};
	int fd = sl_fd_keep(
		sl_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | extra, NETLINK_ROUTE));
	int one = 1, err;

	if (fd < 0)
		return fd;
	/* Refused by kernels before 4.20: their dumps are unfiltered, which is only slower. */
	(void)sl_sys_setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	(void)sl_sys_setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	err = sl_sys_bind(fd, &self, sizeof(self));
	if (err) {
		(void)sl_sys_close(fd);
		return err;
	}
	return fd;
}

static int chan_open(struct chan *ch)
{
	struct timeval tv = {.tv_sec = ANSWER_TIMEOUT_S};
	int fd = rtnl_socket(0);

	if (fd < 0)
		return fd;
	/* The kernel answers before sendto returns; the time-out is for unexpected cases. */
	(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	ch->seq = 0;
	ch->fd = fd;
	return 0;
}

static int events_open(void)
{
	static const int groups[] = {
		RTNLGRP_LINK,         RTNLGRP_NEIGH,      RTNLGRP_IPV4_IFADDR,
		RTNLGRP_IPV6_IFADDR,  RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
		RTNLGRP_IPV4_RULE,    RTNLGRP_IPV6_RULE,  RTNLGRP_IPV4_NETCONF,
		RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,    GRP_IPV4_MCADDR,
		GRP_IPV6_MCADDR,      RTNLGRP_TC,
	};
	int size = EVENTS_RCVBUF_BYTES, fd = rtnl_socket(SOCK_NONBLOCK), err;

	if (fd < 0)
		return fd;
	if (sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	for (unsigned i = 0; i < sl_array_len(groups); i++) {
		err = sl_sys_setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
					sizeof(groups[i]));
		/* the other groups exist in some kernels only */
		if (err && i < 3) {
			(void)sl_sys_close(fd);
			return err;
		}
	}
	return fd;
}

/* Receives one datagram from the kernel. Returns its length, 0: not from the kernel, or -errno. */
static long recv_kernel(int fd, void *buf, int flags)
{
	struct sockaddr_nl from = {0};
	struct iovec iov = {.iov_base = buf, .iov_len = BUF_BYTES};
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	long n;

	do
		n = sl_sys_recvmsg(fd, &msg, flags);
	while (n == -EINTR);
	if (n < 0)
		return n;
	if (from.nl_pid != 0)
		return 0;
	return msg.msg_flags & MSG_TRUNC ? -ENOBUFS : n;
}

/* Questions -------------------------------------------------------------------------------- */

struct answer {
	sl_rtnl_fn fn;
	void *arg;
	bool dump, intr;
	int result;
};

static int error_of(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(e->error))
		return -EBADMSG;
	return e->error;
}

/* Returns true when the answer is complete. */
static bool answer_msg(struct answer *an, const struct nlmsghdr *nlh)
{
	int err = 0;

	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		an->intr = true;
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		an->result = error_of(nlh);
		return true;
	}
	if (nlh->nlmsg_type == NLMSG_DONE) {
		if (an->dump && mnl_nlmsg_get_payload_len(nlh) >= sizeof(int) && !an->result)
			an->result = sl_min(error_of(nlh), 0);
		return true;
	}
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
		return false;
	if (an->fn && !an->result)
		err = an->fn(nlh, an->arg);
	if (err)
		an->result = err; /* a dump must be read to its end all the same */
	return !an->dump;
}

static bool answer_buf(struct answer *an, const void *buf, size_t len, uint32_t seq)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)len;

	while (sl_rtnl_ok(nlh, left)) {
		/* Another sequence number: a late answer to a question given up earlier. */
		if (nlh->nlmsg_seq == seq && answer_msg(an, nlh))
			return true;
		nlh = mnl_nlmsg_next(nlh, &left);
	}
	return false;
}

static int chan_send(struct chan *ch, struct nlmsghdr *nlh)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	long n;

	nlh->nlmsg_seq = ++ch->seq;
	do
		n = sl_sys_sendto(ch->fd, nlh, nlh->nlmsg_len, 0, &kernel, sizeof(kernel));
	while (n == -EINTR);
	return n < 0 ? (int)n : 0;
}

/* Leaves a long dump unread: another socket takes the channel's place. */
static int chan_again(struct chan *ch)
{
	int old = ch->fd, err = chan_open(ch);

	if (!err)
		(void)sl_sys_close(old);
	return err;
}

static int chan_ask(struct chan *ch, struct nlmsghdr *nlh, sl_rtnl_fn fn, void *arg)
{
	struct answer an = {
		.fn = fn,
		.arg = arg,
		.dump = (nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP,
	};
	long n;

	if (!sl_lock(&ch->lock))
		return -EDEADLK;
	n = ch->fd < 0 ? -ENOTCONN : chan_send(ch, nlh);
	while (n >= 0) {
		n = recv_kernel(ch->fd, ch->buf, 0);
		if (n > 0 && answer_buf(&an, ch->buf, (size_t)n, nlh->nlmsg_seq))
			break;
		if (an.dump && an.result == -E2BIG && !chan_again(ch))
			break;
	}
	sl_unlock(&ch->lock);
	if (n < 0)
		return n == -EAGAIN ? -ETIMEDOUT : (int)n;
	return an.result ? an.result : an.intr ? -EINTR : 0;
}

int sl_rtnl_ask(struct nlmsghdr *nlh, sl_rtnl_fn fn, void *arg)
{
	return chan_ask(&asks, nlh, fn, arg);
}

int sl_rtnl_tell(struct nlmsghdr *nlh)
{
	struct answer an = {0};
	long n;

	if (!sl_lock(&asks.lock))
		return -EDEADLK;
	n = asks.fd < 0 ? -ENOTCONN : chan_send(&asks, nlh);
	while (n >= 0) {
		n = recv_kernel(asks.fd, asks.buf, MSG_DONTWAIT);
		if (n > 0 && answer_buf(&an, asks.buf, (size_t)n, nlh->nlmsg_seq))
			break;
	}
	sl_unlock(&asks.lock);
	return n < 0 && n != -EAGAIN ? (int)n : an.result;
}

int sl_rtnl_dump(uint16_t type, int family, sl_rtnl_fn fn, void *arg)
{
	/* Strict checking requires the family's own header, zeroed, in its full length. */
	static const struct {
		uint16_t type;
		uint8_t bytes;
	} heads[] = {
		{RTM_GETLINK, sizeof(struct ifinfomsg)}, {RTM_GETADDR, sizeof(struct ifaddrmsg)},
		{RTM_GETNEIGH, sizeof(struct ndmsg)},    {RTM_GETRULE, sizeof(struct fib_rule_hdr)},
		{RTM_GETROUTE, sizeof(struct rtmsg)},    {RTM_GETQDISC, sizeof(struct tcmsg)},
	};
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	uint8_t bytes = sizeof(struct rtgenmsg);

	for (unsigned i = 0; i < sl_array_len(heads); i++)
		if (heads[i].type == type)
			bytes = heads[i].bytes;
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	*(uint8_t *)mnl_nlmsg_put_extra_header(nlh, bytes) = (uint8_t)family;
	if (type == RTM_GETLINK)
		mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return chan_ask(&dumps, nlh, fn, arg);
}

/* Events ----------------------------------------------------------------------------------- */

/* A change of a cached (cloned) route only reports an earlier answer; routing did not change. */
static unsigned on_route(const struct nlmsghdr *nlh)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(*rtm) && rtm->rtm_flags & RTM_F_CLONED)
		return 0;
	return SL_RTNL_ROUTES;
}

bool sl_route_by_port;

/* (A rule that goes changes nothing here: look-ups stay as exact as it needed them.) */
static unsigned on_rule(const struct nlmsghdr *nlh)
{
	const struct nlattr *tb[FRA_MAX + 1];

	if (sl_rtnl_attrs(nlh, sizeof(struct fib_rule_hdr), tb, FRA_MAX) &&
	    (tb[FRA_IP_PROTO] || tb[FRA_SPORT_RANGE] || tb[FRA_DPORT_RANGE]))
		sl_store(&sl_route_by_port, true);
	return SL_RTNL_ROUTES;
}

static unsigned on_event(const struct nlmsghdr *nlh)
{
	for (unsigned i = 0; i < nmirrors; i++)
		if (mirrors[i].on_msg && (nlh->nlmsg_type == mirrors[i].new_type ||
					  nlh->nlmsg_type == mirrors[i].del_type))
			return mirrors[i].on_msg(nlh);
	switch (nlh->nlmsg_type) {
	case NLMSG_OVERRUN:
		return SL_RTNL_LOST;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		return on_route(nlh);
	case RTM_NEWRULE:
		return on_rule(nlh);
	case RTM_NEWNETCONF:
		__atomic_fetch_add(&sl_netconf_gen, 1, __ATOMIC_RELEASE);
		return SL_RTNL_ROUTES;
	case RTM_DELRULE:
	case RTM_DELNETCONF:
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
	case RTM_NEWMULTICAST:
	case RTM_DELMULTICAST:
		return SL_RTNL_ROUTES;
	default:
		return 0;
	}
}

static unsigned feed(const void *buf, size_t len)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)len;
	unsigned did = 0;

	while (sl_rtnl_ok(nlh, left)) {
		did |= on_event(nlh);
		nlh = mnl_nlmsg_next(nlh, &left);
	}
	return did;
}

static void note_routes(unsigned did)
{
	if (did & SL_RTNL_ROUTES)
		__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
}

unsigned sl_rtnl_feed(const void *buf, size_t len)
{
	unsigned did = feed(buf, len);

	note_routes(did);
	return did;
}

void sl_rtnl_set_events(const struct sl_net_events *events)
{
	memset(&sl_rtnl_events, 0, sizeof(sl_rtnl_events));
	if (events)
		sl_rtnl_events = *events;
}

static int dumped(const struct nlmsghdr *nlh, void *arg)
{
	(void)arg;
	on_event(nlh);
	return 0;
}

static int dump_tables(void)
{
	static const struct {
		uint16_t type;
		uint8_t family;
		bool may_lack; /* the kernel may be built without it, and has none to tell of */
	} tables[] = {
		{RTM_GETLINK, AF_UNSPEC, false}, {RTM_GETADDR, AF_UNSPEC, false},
		{RTM_GETNEIGH, AF_INET, false},  {RTM_GETNEIGH, AF_INET6, false},
		{RTM_GETQDISC, AF_UNSPEC, true}, {RTM_GETRULE, AF_INET, true},
		{RTM_GETRULE, AF_INET6, true},
	};

	for (unsigned i = 0; i < sl_array_len(tables); i++) {
		int err = sl_rtnl_dump(tables[i].type, tables[i].family, dumped, NULL);

		if (err && !(tables[i].may_lack && (err == -EOPNOTSUPP || err == -EAFNOSUPPORT)))
			return err;
	}
	return 0;
}

/* Dumps all tables again. */
static int resync(void)
{
	int err = 0;

	for (int i = 0; i < DUMP_TRIES; i++) {
		EACH_MIRROR(mark);
		err = dump_tables();
		if (!err)
			EACH_MIRROR(sweep);
		if (err != -EINTR)
			break;
	}
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
	return err;
}

/* Drops events older than the loss, since they would undo the new dump. False: more came than this
 * call may read. */
static bool events_discard(void)
{
	for (int i = 0; i < (EVENTS_RCVBUF_BYTES >> 8); i++)
		if (recv_kernel(events_fd, events_buf, MSG_DONTWAIT) == -EAGAIN)
			return true;
	return false;
}

static void recover(void)
{
	int err;

	if (!events_discard())
		return;
	err = resync();
	if (err)
		sl_warn("net", "the kernel's tables could not be read anew: error %d", -err);
	else
		resync_wanted = false;
}

/* Reads the events that are there. Returns how many. */
static uint32_t read_events(unsigned *did)
{
	uint32_t i;

	for (i = 0; i < EVENT_BATCH && !resync_wanted; i++) {
		long n = recv_kernel(events_fd, events_buf, MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		if (n > 0)
			*did |= feed(events_buf, (size_t)n);
		if (*did & SL_RTNL_LOST)
			resync_wanted = true;
		if (n == -ENOBUFS) {
			sl_details("net", "routing events were lost: reading all tables anew");
			resync_wanted = true;
		} else if (n < 0) {
			sl_warn_once("net", "routing events cannot be read: error %d", (int)-n);
			break;
		}
	}
	return i;
}

static void await_events(uint32_t events)
{
	struct epoll_event ev = {.events = events};

	(void)sl_sys_epoll_ctl(watch_fd, EPOLL_CTL_MOD, events_fd, &ev);
}

/* may_wait: those of a storm are left for sl_net_storm(). */
static void work_events(bool may_wait)
{
	unsigned did = 0;
	uint32_t n;

	if (may_wait && sl_storm_is_on())
		return;
	n = read_events(&did);
	note_routes(did);
	if (resync_wanted) {
		recover();
		if (!resync_wanted) /* (which has taken long) */
			n = UINT16_MAX;
	}
	if (may_wait && n && sl_storm_begins(n, sl_now_ns()))
		await_events(0);
}

void sl_net_storm(uint64_t now_ns)
{
	if (!sl_storm_ends(now_ns))
		return;
	await_events(EPOLLIN);
	work_events(true);
}

static void on_readable(bool may_wait)
{
	uint64_t n;

	if (sl_sys_read(wake_fd, &n, sizeof(n)) > 0)
		EACH_MIRROR(work);
	work_events(may_wait);
}

void sl_net_on_readable(void)
{
	on_readable(false);
}

void sl_net_on_wake(void)
{
	on_readable(true);
}

void sl_rtnl_wake(void)
{
	uint64_t one = 1;

	if (wake_fd >= 0)
		(void)sl_sys_write(wake_fd, &one, sizeof(one));
}

int sl_net_fd(void)
{
	return watch_fd;
}

/* Life ------------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)sl_sys_close(*fd);
	*fd = -1;
}

static void close_sockets(void)
{
	sl_storm_forget();
	close_fd(&watch_fd);
	close_fd(&wake_fd);
	close_fd(&events_fd);
	close_fd(&dumps.fd);
}

static int watch_open(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int err;

	events_fd = events_open();
	if (events_fd < 0)
		return events_fd;
	wake_fd = sl_fd_keep(sl_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (wake_fd < 0)
		return wake_fd;
	watch_fd = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	if (watch_fd < 0)
		return watch_fd;
	err = sl_sys_epoll_ctl(watch_fd, EPOLL_CTL_ADD, events_fd, &ev);
	return err ? err : sl_sys_epoll_ctl(watch_fd, EPOLL_CTL_ADD, wake_fd, &ev);
}

int sl_rtnl_open(const struct sl_net_events *events)
{
	int err;

	sl_rtnl_set_events(NULL);
	resync_wanted = false;
	err = watch_open();
	if (!err)
		err = chan_open(&dumps);
	if (!err)
		err = chan_open(&asks);
	if (!err)
		err = resync();
	if (err) {
		sl_net_close();
		return err;
	}
	sl_rtnl_set_events(events);
	return 0;
}

void sl_net_close(void)
{
	bool locked = sl_lock(&asks.lock);

	close_fd(&asks.fd);
	if (locked)
		sl_unlock(&asks.lock);
	close_sockets();
	sl_rtnl_set_events(NULL);
	EACH_MIRROR(forget);
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
}

void sl_net_child(void)
{
	close_sockets();
	close_fd(&asks.fd);
	memset(&asks.lock, 0, sizeof(asks.lock));
	memset(&dumps.lock, 0, sizeof(dumps.lock));
	sl_rtnl_set_events(NULL);
	EACH_MIRROR(child);
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
}
