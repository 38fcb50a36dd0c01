/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a lane's private veth pair and its network namespace.
 *
 * Theory of operation: a short-lived thread of the library moves into a new namespace. It opens
 * sockets there (a socket keeps the namespace in which it was made), makes the pair, and for a
 * daemon attaches the program that only a task in the namespace can attach: packets end there
 * behind the packet socket (the namespace, which has no addresses, would drop them a moment later,
 * and the attachment takes 10 ms of the first socket's time). The calling thread does the rest. A
 * thread, because a process that shares memory and descriptors, but is none of the program's
 * threads, ends programs that run under valgrind. No thread of the program changes its namespace.
 * The kernel waits for a grace period of RCU (10 ms) when it attaches a program: the caller goes on
 * meanwhile.
 * When the last descriptor of the packet socket closes, the namespace ends, and with it the pair.
 *
 * A packet that is sent by that socket must not reach the host. The end here stays down, so it
 * receives nothing. A daemon lends the socket to programs of other users, and somebody may bring
 * the end here up: there it has a program that drops what comes. */
#include "ctl/device/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/device/opts.h"
#include "ctl/kern/netlink.h"
#include "ctl/kern/tc.h"

#define THERE "rx"

static void close_some(int fd)
{
	if (fd >= 0)
		sl_sys_close(fd);
}

/* The devices --------------------------------------------------------------------------------- */

static struct nlmsghdr *put_link(void *buf, uint16_t type, uint16_t flags, uint32_t ifindex,
				 uint32_t up)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	ifi->ifi_index = (int)ifindex;
	ifi->ifi_flags = ifi->ifi_change = up;
	return nlh;
}

static int tell(int fd, const struct nlmsghdr *nlh)
{
	uint8_t buf[1024] __attribute__((aligned(8)));
	const struct nlmsghdr *got;
	int err = sl_netlink_send(fd, nlh);

	if (!err)
		err = sl_netlink_receive(fd, buf, sizeof(buf), &got);
	return err ? err : sl_netlink_error(got);
}

static void put_end(struct nlmsghdr *nlh, const char *name)
{
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, 1);
}

static int make(int fd, int tid)
{
	uint8_t buf[512] __attribute__((aligned(8)));
	struct nlmsghdr *nlh =
		put_link(buf, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0, 0);
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *ifi;

	put_end(nlh, SL_PAIR_PREFIX "%d");
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	memset(ifi, 0, sizeof(*ifi));
	put_end(nlh, THERE);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_PID, (uint32_t)tid);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return tell(fd, nlh);
}

/* Finds both numbers at the end there: it knows its peer's. */
static int find(int fd, struct sl_pair_ends *p)
{
	uint8_t buf[256] __attribute__((aligned(8))), answer[16384] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = put_link(buf, RTM_GETLINK, 0, 0, 0);
	const struct nlmsghdr *got = NULL;
	const struct nlattr *a;
	int err;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, THERE);
	err = sl_netlink_send(fd, nlh);
	if (!err)
		err = sl_netlink_receive(fd, answer, sizeof(answer), &got);
	if (err)
		return err;
	if (got->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(got) < sizeof(struct ifinfomsg))
		return -ENODEV;
	p->rx_ifindex = (uint32_t)((struct ifinfomsg *)mnl_nlmsg_get_payload(got))->ifi_index;
	mnl_attr_for_each (a, got, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(a) == IFLA_LINK && mnl_attr_get_payload_len(a) == 4)
			p->ifindex = mnl_attr_get_u32(a);
	}
	return p->ifindex ? 0 : -ENODEV;
}

/* Without addresses of its own the device sends nothing. (A kernel without IPv6 refuses.) */
static void no_addresses(int fd, uint32_t ifindex)
{
	uint8_t buf[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = put_link(buf, RTM_NEWLINK, NLM_F_ACK, ifindex, 0);
	struct nlattr *spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
	struct nlattr *v6 = mnl_attr_nest_start(nlh, AF_INET6);

	mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(nlh, v6);
	mnl_attr_nest_end(nlh, spec);
	(void)tell(fd, nlh);
}

static int start(int fd, uint32_t ifindex)
{
	uint8_t buf[256] __attribute__((aligned(8)));

	no_addresses(fd, ifindex);
	return tell(fd, put_link(buf, RTM_NEWLINK, NLM_F_ACK, ifindex, IFF_UP | IFF_NOARP));
}

/* (By either way it goes with the device.) nl: a socket of the device's namespace. */
static int attach_drop(const struct sl_pair_making *m, int nl, uint32_t ifindex)
{
	return m->tcx ? sl_tcx_attach(ifindex, m->drop_fd) : sl_tc_attach(nl, ifindex, m->drop_fd);
}

/* The thread in the namespace ------------------------------------------------------------------ */

/* A flag that unshare(2) does not take (check_unshare_flags() of Linux): with it the call does
 * nothing but answer EINVAL, if the process may make it at all. */
#define NO_FLAG ((unsigned)CLONE_VFORK)

/* True: the caller asks only whether the process may make pairs. */
static bool is_trial(const struct sl_pair_making *m)
{
	return m->here < 0;
}

/* A trial asks for a type that packet sockets do not have: the kernel looks at the rights before
 * the type. (To close a packet socket takes a grace period.) EACCES: a security module decides by
 * the type, too. */
static int open_packet(struct sl_pair_making *m)
{
	int err = -EACCES;

	if (is_trial(m))
		err = sl_sys_socket(AF_PACKET, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (err == -ESOCKTNOSUPPORT)
		return 0;
	if (err == -EACCES)
		err = m->packet = sl_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	return err;
}

static int open_sockets(struct sl_pair_making *m)
{
	int err = sl_sysi(SYS_unshare, m->flags);

	if (err == -EINVAL && m->flags & NO_FLAG)
		err = 0;
	if (!err)
		err = m->netlink = sl_netlink_open(NETLINK_ROUTE);
	if (err >= 0)
		err = open_packet(m);
	return sl_min(err, 0);
}

static void open_inside(struct sl_pair_making *m)
{
	m->step = "network namespace";
	m->err = open_sockets(m);
	if (m->err || is_trial(m))
		return;
	m->step = "private veth pair";
	m->err = make(m->here, sl_sysi(SYS_gettid));
	if (!m->err)
		m->err = find(m->netlink, &m->ends);
	if (!m->err)
		m->err = start(m->netlink, m->ends.rx_ifindex);
}

static void *run_inside(void *arg)
{
	struct sl_pair_making *m = arg;
	bool attaches;

	open_inside(m);
	attaches = !m->err && !is_trial(m) && sl_broker_opts()->serve;
	sem_post(&m->made); /* from here on err and step are the other thread's */
	if (attaches)
		m->drop_err = attach_drop(m, m->netlink, m->ends.rx_ifindex);
	return NULL;
}

/* All signals are blocked (broker lock), also in the thread, so no handler of the program runs
 * there. */
static int go_inside(struct sl_pair_making *m)
{
	sem_init(&m->made, 0, 0);
	return -sl_roomy_thread(&m->thread, run_inside, m);
}

int sl_pair_begin(struct sl_pair_making *m, int drop_fd)
{
	int err;

	*m = (struct sl_pair_making){.flags = CLONE_NEWNET,
				     .netlink = -1,
				     .packet = -1,
				     .drop_fd = drop_fd,
				     .tcx = sl_tcx_is_there(),
				     .step = "netlink socket"};
	err = m->here = sl_netlink_open(NETLINK_ROUTE);
	if (err < 0)
		return err;
	err = go_inside(m);
	if (err)
		close_some(m->here);
	return err;
}

/* The end here of a pair whose socket is lent. */
static int close_end(struct sl_pair_making *m)
{
	int err;

	m->step = "program of the private device";
	err = attach_drop(m, m->here, m->ends.ifindex);
	if (err)
		return err;
	m->step = "state of the private devices";
	return start(m->here, m->ends.ifindex);
}

int sl_pair_wait(struct sl_pair_making *m)
{
	while (sem_wait(&m->made))
		;
	m->ends.fd = m->err ? -1 : sl_fd_keep(m->packet);
	sl_broker_fd_last(m->ends.fd, false);
	return m->err;
}

int sl_pair_shut(struct sl_pair_making *m)
{
	return sl_broker_opts()->serve ? close_end(m) : 0;
}

int sl_pair_end(struct sl_pair_making *m)
{
	pthread_join(m->thread, NULL);
	close_some(m->here);
	close_some(m->netlink);
	if (m->err) {
		close_some(m->packet); /* the namespace ends, and the pair with it */
		return m->err;
	}
	if (m->drop_err)
		m->step = "program of the private device";
	return m->drop_err;
}

bool sl_pair_is(const char *name, const char *kind)
{
	const size_t n = sizeof(SL_PAIR_PREFIX) - 1;

	return !strncmp(name, SL_PAIR_PREFIX, n) && name[n] &&
	       !name[n + strspn(name + n, "0123456789")] && !strcmp(kind, "veth");
}

static bool is_capable(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	return !sl_sys(SYS_capget, &head, data) && data[0].effective & 1u << CAP_SYS_ADMIN;
}

/* True: the limit of network namespaces is 0, or not told. */
static bool are_namespaces_limited(void)
{
	char text[16];

	return sl_read_text("/proc/sys/user/max_net_namespaces", text, sizeof(text)) <= 0 ||
	       !strcmp(text, "0");
}

/* (A system call filter may forbid what the capability allows. The answer does not change.) A
 * namespace costs most of a millisecond, so none is made to find out, but where the kernel says
 * nothing about its limit. */
bool sl_pair_may(void)
{
	static int8_t can; /* 1 or -1 when it is known; broker lock */

	if (!is_capable())
		return false;
	if (!can) {
		struct sl_pair_making m = {
			.here = -1, .flags = CLONE_NEWNET, .netlink = -1, .packet = -1};

		if (!are_namespaces_limited())
			m.flags |= NO_FLAG;
		can = go_inside(&m) ? -1 : 1;
		if (can > 0) {
			pthread_join(m.thread, NULL);
			can = m.err ? -1 : 1;
		}
		close_some(m.netlink);
		close_some(m.packet);
	}
	return can > 0;
}
