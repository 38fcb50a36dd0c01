/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds sockets of other programs on a port: by sock_diag, or from /proc/net without it. */
#include "ctl/kern/diag.h"

#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>

#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"

#define BUF_BYTES  8192
#define TCP_LISTEN 10 /* states of TCP sockets, as in /proc/net/tcp */

/* A socket of the host, from either source. */
struct other {
	struct sl_addr local;
	uint16_t port;
	uint32_t ifindex;
	uint32_t inode;
	uint32_t state;
	bool v6only;
};

struct search {
	const struct sl_diag_claim *claim;
	sl_diag_is_ours is_ours;
	void *arg;
	uint32_t found;                                        /* inode, 0: none yet */
	void (*conn)(const struct sl_diag_conn *c, void *arg); /* connections are looked for */
};

static bool is_v4_any(const struct sl_addr *a)
{
	return sl_addr_is_v4(a) && sl_addr_is_any(a);
}

/* True: a socket that is bound to the wildcard `wild` receives packets to `addr`. dual: it takes
 * both families. */
static bool covers(const struct sl_addr *wild, bool dual, const struct sl_addr *addr)
{
	if (!sl_addr_is_any(wild))
		return false;
	if (is_v4_any(wild))
		return sl_addr_is_v4(addr);
	return dual || !sl_addr_is_v4(addr);
}

static bool overlaps(const struct sl_diag_claim *c, const struct other *o)
{
	if (c->port != o->port || (c->ifindex && o->ifindex && c->ifindex != o->ifindex))
		return false;
	return sl_addr_eq(&c->local, &o->local) || covers(&c->local, c->dual, &o->local) ||
	       covers(&o->local, !o->v6only, &c->local);
}

bool sl_diag_overlaps(const struct sl_diag_claim *claim, const struct sl_diag_sock *s)
{
	const struct other o = {
		.local = s->local,
		.port = s->local_port,
		.ifindex = s->ifindex,
		.v6only = s->v6only,
	};

	return overlaps(claim, &o);
}

static void consider(struct search *s, const struct other *o)
{
	if (s->claim->tcp && o->state != TCP_LISTEN)
		return;
	if (!s->found && overlaps(s->claim, o) && !s->is_ours(o->inode, s->arg))
		s->found = o->inode ? o->inode : UINT32_MAX;
}

static int result(const struct search *s, uint32_t *inode)
{
	if (s->found && inode)
		*inode = s->found;
	return s->found ? 1 : 0;
}

/* sock_diag -------------------------------------------------------------------------------- */

/* The kernel reports it for unconnected sockets without a request (Linux 4.1). */
static bool v6only_of(const struct nlmsghdr *nlh)
{
	const struct nlattr *a;

	mnl_attr_for_each (a, nlh, sizeof(struct inet_diag_msg))
		if (mnl_attr_get_type(a) == INET_DIAG_SKV6ONLY && mnl_attr_get_payload_len(a) >= 1)
			return mnl_attr_get_u8(a);
	return false;
}

static void on_conn(struct search *s, const struct inet_diag_msg *m)
{
	bool v4 = m->idiag_family == AF_INET;
	struct sl_diag_conn c = {
		.local = v4 ? sl_addr_v4(m->id.idiag_src[0]) : sl_addr_v6(m->id.idiag_src),
		.remote = v4 ? sl_addr_v4(m->id.idiag_dst[0]) : sl_addr_v6(m->id.idiag_dst),
		.remote_port = __builtin_bswap16(m->id.idiag_dport),
		.state = m->idiag_state,
	};

	if (__builtin_bswap16(m->id.idiag_sport) == s->claim->port && c.remote_port)
		s->conn(&c, s->arg);
}

static void on_diag(struct search *s, const struct nlmsghdr *nlh)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct other o;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*m))
		return;
	if (s->conn) {
		on_conn(s, m);
		return;
	}
	o.state = m->idiag_state;
	o.local = m->idiag_family == AF_INET ? sl_addr_v4(m->id.idiag_src[0])
					     : sl_addr_v6(m->id.idiag_src);
	o.port = __builtin_bswap16(m->id.idiag_sport);
	o.ifindex = m->id.idiag_if;
	o.inode = m->idiag_inode;
	o.v6only = v6only_of(nlh);
	consider(s, &o);
}

static int diag_send(int fd, const struct search *s, int family)
{
	uint8_t buf[128] __attribute__((aligned(8))) = {0};
	struct inet_diag_req_v2 *req =
		sl_netlink_question(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req));

	req->sdiag_family = (uint8_t)family;
	req->sdiag_protocol = s->claim->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	req->idiag_states = !s->claim->tcp ? ~0u : s->conn ? ~(1u << TCP_LISTEN) : 1u << TCP_LISTEN;
	req->id.idiag_sport = __builtin_bswap16(s->claim->port);
	return sl_netlink_send(fd, (const struct nlmsghdr *)(const void *)buf);
}

/* Returns 1 at the end of the dump, 0 if it goes on, or -errno. */
static int diag_buf(struct search *s, const void *buf, long n)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)n;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_len > (uint32_t)left) /* libmnl 1.0.4 compares as int */
			return -EBADMSG;
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 1;
		if (nlh->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

			return e->error < 0 ? e->error : -EBADMSG;
		}
		if (nlh->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			on_diag(s, nlh);
	}
	return 0;
}

static int diag_family(int fd, struct search *s, int family)
{
	uint8_t buf[BUF_BYTES] __attribute__((aligned(8)));
	int err = diag_send(fd, s, family);

	while (!err) {
		long n = sl_sys_recvfrom(fd, buf, sizeof(buf), 0, NULL, NULL);

		if (n == -EINTR)
			continue;
		err = n < 0 ? (int)n : diag_buf(s, buf, n);
	}
	return sl_min(err, 0);
}

static int ask(struct search *s)
{
	int fd = sl_netlink_open(NETLINK_SOCK_DIAG), err;

	if (fd < 0)
		return fd;
	err = diag_family(fd, s, AF_INET);
	if (!err) {
		err = diag_family(fd, s, AF_INET6);
		if (err == -ENOENT) /* a kernel without IPv6 */
			err = 0;
	}
	(void)sl_sys_close(fd);
	return err;
}

int sl_diag_netlink(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		    uint32_t *inode)
{
	struct search s = {.claim = claim, .is_ours = is_ours, .arg = arg};
	int err = SL_ROOMY(ask, &s);

	return err ? err : result(&s, inode);
}

int sl_diag_tcp_conns(uint16_t port, void (*fn)(const struct sl_diag_conn *c, void *arg), void *arg)
{
	struct sl_diag_claim claim = {.port = port, .tcp = true};
	struct search s = {.claim = &claim, .conn = fn, .arg = arg};

	return SL_ROOMY(ask, &s);
}

/* /proc/net -------------------------------------------------------------------------------- */

/* Hexadecimal digits from *p on, `digits` of them; false: other characters. */
static bool parse_hex(const char **p, unsigned digits, uint32_t *out)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < digits; i++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (uint32_t)(c - 'A' + 10);
		else
			return false;
		++*p;
	}
	*out = v;
	return true;
}

/* Points to the field with this number (0: the first) of a line of words. NULL: the line has
 * fewer. */
static const char *field(const char *p, unsigned index)
{
	for (;;) {
		while (*p == ' ')
			p++;
		if (!*p)
			return NULL;
		if (!index--)
			return p;
		while (*p && *p != ' ')
			p++;
	}
}

/* "  sl: ADDR:PORT REM:PORT st tx:rx tr:tm retr uid timeout inode ..." */
static bool parse_proc(const char *line, bool v6, struct other *o)
{
	const char *local = field(line, 1), *state = field(line, 3), *inode = field(line, 9);
	uint32_t w[4], port, st;

	if (!local || !inode || !parse_hex(&state, 2, &st))
		return false;
	for (unsigned i = 0; i < (v6 ? 4u : 1u); i++)
		if (!parse_hex(&local, 8, &w[i]))
			return false;
	if (*local++ != ':' || !parse_hex(&local, 4, &port))
		return false;
	memset(o, 0, sizeof(*o)); /* device and IPV6_V6ONLY are missing: the widest */
	o->local = v6 ? sl_addr_v6(w) : sl_addr_v4(w[0]);
	o->port = (uint16_t)port;
	o->state = st;
	for (; *inode >= '0' && *inode <= '9'; inode++)
		o->inode = o->inode * 10 + (uint32_t)(*inode - '0');
	return true;
}

/* Gives the whole lines of buf to the search; returns how many bytes they were. */
static size_t proc_lines(struct search *s, char *buf, size_t len, bool v6)
{
	char *line = buf, *end;
	struct other o;

	while ((end = memchr(line, '\n', len - (size_t)(line - buf)))) {
		*end = 0;
		if (parse_proc(line, v6, &o))
			consider(s, &o);
		line = end + 1;
	}
	return (size_t)(line - buf);
}

static int proc_file(struct search *s, const char *path, bool v6)
{
	char buf[4096];
	size_t have = 0, used;
	long n, fd = sl_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	while ((n = sl_sys_read(fd, buf + have, sizeof(buf) - have)) > 0 || n == -EINTR) {
		have += (size_t)sl_max(n, 0L);
		used = proc_lines(s, buf, have, v6);
		have -= used;
		memmove(buf, buf + used, have);
	}
	(void)sl_sys_close(fd);
	return n < 0 ? (int)n : 0;
}

int sl_diag_proc(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		 uint32_t *inode)
{
	struct search s = {.claim = claim, .is_ours = is_ours, .arg = arg};
	/* The thread may be in another namespace than its process. */
	int err = proc_file(
		&s, claim->tcp ? "/proc/thread-self/net/tcp" : "/proc/thread-self/net/udp", false);

	if (err)
		return err;
	err = proc_file(
		&s, claim->tcp ? "/proc/thread-self/net/tcp6" : "/proc/thread-self/net/udp6", true);
	return err && err != -ENOENT ? err : result(&s, inode);
}

int sl_diag_shared(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		   uint32_t *inode)
{
	int got = sl_diag_netlink(claim, is_ours, arg, inode);

	return got < 0 ? sl_diag_proc(claim, is_ours, arg, inode) : got;
}
