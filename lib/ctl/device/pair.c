/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a lane's private veth pair and its network namespace.
 *
 * Theory of operation: a short-lived process that shares this one's memory and descriptors makes
 * the namespace and opens sockets in it; a socket keeps the namespace in which it was made. All
 * else is done by netlink from here. No thread of the program ever changes its namespace. When the
 * process dies the last socket closes, so the namespace ends, and with it the pair. */
#include "ctl/device/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define STACK       32768
#define THERE       "rx"
#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, which older headers do not have */

#define RAW __attribute__((no_sanitize("address", "thread", "undefined")))

/* The C library's clone(), by the name that nobody interposes (ctl/broker/helper.c). */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

/* Runs fn in a process that shares memory and descriptors, and waits for its end. It has no exit
 * signal, so the program does not see it. */
static int run_apart(int (*fn)(void *), int flags, void *arg)
{
	void *stack;
	int pid, err = sl_sys_mmap(&stack, NULL, STACK, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1,
				   0);

	if (err)
		return err;
	pid = __clone(fn, (char *)stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES | flags, arg);
	if (pid < 0)
		err = -errno;
	else
		sl_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	sl_sys(SYS_munmap, stack, STACK);
	return err;
}

/* The namespace ------------------------------------------------------------------------------- */

struct inside {
	int ns, netlink, packet; /* descriptors, or -errno */
};

/* Runs on the caller's memory with signals blocked and the caller stopped: system calls only. */
RAW static int open_inside(void *arg)
{
	struct inside *in = arg;

	in->ns = (int)sl_syscall6(SYS_openat, AT_FDCWD, (long)"/proc/self/ns/net",
				  O_RDONLY | O_CLOEXEC, 0, 0, 0);
	in->netlink = (int)sl_syscall6(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				       NETLINK_ROUTE, 0, 0, 0);
	in->packet = (int)sl_syscall6(SYS_socket, AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0, 0, 0, 0);
	sl_syscall6(SYS_exit, 0, 0, 0, 0, 0, 0);
	return 0;
}

struct attach_there {
	int ns, err;
	struct {
		uint32_t ifindex, prog_fd, type, flags, replace_fd, relative_fd;
		uint64_t revision;
	} attr;
};

RAW static int attach_inside(void *arg)
{
	struct attach_there *a = arg;

	a->err = (int)sl_syscall6(SYS_setns, a->ns, CLONE_NEWNET, 0, 0, 0, 0);
	if (!a->err)
		a->err = (int)sl_syscall6(SYS_bpf, BPF_PROG_ATTACH, (long)&a->attr, sizeof(a->attr),
					  0, 0, 0);
	sl_syscall6(SYS_exit, 0, 0, 0, 0, 0, 0);
	return 0;
}

static int attach_drop(int ns, uint32_t ifindex, int drop_fd)
{
	struct attach_there a = {.ns = ns};
	int err;

	a.attr.ifindex = ifindex;
	a.attr.prog_fd = (uint32_t)drop_fd;
	a.attr.type = TCX_INGRESS;
	err = run_apart(attach_inside, 0, &a);
	return err ? err : a.err;
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

static int make(int fd, int ns)
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
	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)ns);
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
	mnl_attr_for_each(a, got, sizeof(struct ifinfomsg))
	{
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

static int connect_ends(struct sl_pair_ends *p, const struct inside *in, int here, int drop_fd,
			const char **step)
{
	int err;

	*step = "private veth pair";
	err = make(here, in->ns);
	if (!err)
		err = find(in->netlink, p);
	if (!err)
		err = start(here, p->ifindex);
	if (!err)
		err = start(in->netlink, p->rx_ifindex);
	if (err)
		return err;
	*step = "program of the private device";
	return attach_drop(in->ns, p->rx_ifindex, drop_fd);
}

static void close_some(int fd)
{
	if (fd >= 0)
		sl_sys_close(fd);
}

int sl_pair_open(struct sl_pair_ends *p, int drop_fd, const char **step)
{
	struct inside in = {-ENOMEM, -ENOMEM, -ENOMEM};
	int here = sl_netlink_open(NETLINK_ROUTE), err;

	*p = (struct sl_pair_ends){.fd = -1};
	*step = "network namespace";
	err = here < 0 ? here : run_apart(open_inside, CLONE_NEWNET, &in);
	if (!err && (in.ns < 0 || in.netlink < 0 || in.packet < 0))
		err = in.ns < 0 ? in.ns : in.netlink < 0 ? in.netlink : in.packet;
	if (!err)
		err = connect_ends(p, &in, here, drop_fd, step);
	close_some(here);
	close_some(in.ns);
	close_some(in.netlink);
	if (err)
		close_some(in.packet); /* the namespace ends, and the pair with it */
	else
		p->fd = sl_fd_keep(in.packet);
	return err;
}

bool sl_pair_is(const char *name, const char *kind)
{
	const size_t n = sizeof(SL_PAIR_PREFIX) - 1;

	return !strncmp(name, SL_PAIR_PREFIX, n) && name[n] &&
	       !name[n + strspn(name + n, "0123456789")] && !strcmp(kind, "veth");
}

bool sl_pair_may(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	return !sl_sys(SYS_capget, &head, data) && data[0].effective & 1u << CAP_SYS_ADMIN;
}
