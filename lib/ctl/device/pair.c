/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a lane's private veth pair and its network namespace.
 *
 * Theory of operation: a short-lived process that shares this one's memory and descriptors is born
 * in the new namespace. It opens sockets there (a socket keeps the namespace in which it was made),
 * waits until the devices are made, which is done from here by these sockets, and attaches the
 * program that only a process in the namespace can attach. No thread of the program ever changes
 * its namespace. When the last descriptor of the packet socket closes, the namespace ends, and with
 * it the pair.
 *
 * The daemon lends the packet socket to programs of other users, so a packet that is sent by that
 * socket must not reach the host: the end here drops all that it receives. */
#include "ctl/device/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define STACK       32768
#define PATIENCE_S  10 /* for the devices; they take milliseconds */
#define THERE       "rx"
#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, which older headers do not have */

#define RAW __attribute__((no_sanitize("address", "thread", "undefined")))

/* The C library's clone(), by the name that nobody interposes (ctl/broker/helper.c). */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

/* The process in the namespace ----------------------------------------------------------------- */

enum { OPENING, OPEN, MADE, GIVEN_UP };

struct bpf_attach {
	uint32_t ifindex, prog_fd, type, flags, replace_fd, relative_fd;
	uint64_t revision;
};

struct inside {
	uint32_t stage; /* a futex: OPENING until both sockets are open, OPEN until the parent
			   changes it */
	int pid;
	void *stack;
	int netlink, packet; /* descriptors, or -errno */
	struct bpf_attach attach;
	int attach_err;
};

RAW static void set_stage(struct inside *in, uint32_t stage)
{
	__atomic_store_n(&in->stage, stage, __ATOMIC_RELEASE);
	sl_syscall6(SYS_futex, (long)&in->stage, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Waits while the stage is this one; a second at most. */
RAW static void wait_stage(struct inside *in, uint32_t stage)
{
	const struct timespec second = {.tv_sec = 1};

	if (__atomic_load_n(&in->stage, __ATOMIC_ACQUIRE) == stage)
		sl_syscall6(SYS_futex, (long)&in->stage, FUTEX_WAIT_PRIVATE, stage, (long)&second,
			    0, 0);
}

/* Runs beside its parent on the parent's memory, with signals blocked: system calls only. */
RAW static int run_inside(void *arg)
{
	struct inside *in = arg;

	sl_syscall6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	in->netlink = (int)sl_syscall6(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				       NETLINK_ROUTE, 0, 0, 0);
	in->packet = (int)sl_syscall6(SYS_socket, AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0, 0, 0, 0);
	set_stage(in, OPEN);
	for (unsigned i = 0;
	     i < PATIENCE_S && __atomic_load_n(&in->stage, __ATOMIC_ACQUIRE) == OPEN; i++)
		wait_stage(in, OPEN);
	if (in->stage == MADE)
		in->attach_err = (int)sl_syscall6(SYS_bpf, BPF_PROG_ATTACH, (long)&in->attach,
						  sizeof(in->attach), 0, 0, 0);
	sl_syscall6(SYS_exit, 0, 0, 0, 0, 0, 0);
	return 0;
}

/* True: it has ended. It has no exit signal, so the program does not see it. */
static bool has_ended(const struct inside *in, int flags)
{
	return sl_sys(SYS_wait4, in->pid, NULL, __WCLONE | flags, NULL) != 0;
}

/* 0: the sockets are open, and the process waits. In any case end() follows. */
static int begin(struct inside *in)
{
	int err;

	*in = (struct inside){
		.pid = -1, .netlink = -ENOMEM, .packet = -ENOMEM, .attach_err = -ECHILD};
	err = sl_sys_mmap(&in->stack, NULL, STACK, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (err) {
		in->stack = NULL;
		return err;
	}
	in->pid = __clone(run_inside, (char *)in->stack + STACK,
			  CLONE_VM | CLONE_FILES | CLONE_NEWNET, in);
	if (in->pid < 0)
		return -errno;
	while (__atomic_load_n(&in->stage, __ATOMIC_ACQUIRE) == OPENING) {
		wait_stage(in, OPENING);
		if (in->stage == OPENING && has_ended(in, WNOHANG)) {
			in->pid = -1;
			return -ECHILD;
		}
	}
	return in->netlink < 0 ? in->netlink : sl_min(in->packet, 0);
}

/* Has the process go on, if it still waits, and waits for its end. */
static void finish(struct inside *in, uint32_t stage)
{
	if (in->pid >= 0) {
		set_stage(in, stage);
		(void)has_ended(in, 0);
		in->pid = -1;
	}
}

static void close_some(int fd)
{
	if (fd >= 0)
		sl_sys_close(fd);
}

/* Leaves nothing but the packet socket. */
static void end(struct inside *in)
{
	finish(in, GIVEN_UP);
	if (in->stack)
		sl_sys(SYS_munmap, in->stack, STACK);
	close_some(in->netlink);
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

static int make(int fd, int pid)
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
	mnl_attr_put_u32(nlh, IFLA_NET_NS_PID, (uint32_t)pid);
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

static int drop_here(uint32_t ifindex, int drop_fd)
{
	struct bpf_attach a = {
		.ifindex = ifindex, .prog_fd = (uint32_t)drop_fd, .type = TCX_INGRESS};

	return sl_sysi(SYS_bpf, BPF_PROG_ATTACH, &a, sizeof(a));
}

static int connect_ends(struct sl_pair_ends *p, const struct inside *in, int here, int drop_fd,
			const char **step)
{
	int err;

	*step = "private veth pair";
	err = make(here, in->pid);
	if (!err)
		err = find(in->netlink, p);
	if (!err)
		err = drop_here(p->ifindex, drop_fd);
	if (!err)
		err = start(here, p->ifindex);
	if (!err)
		err = start(in->netlink, p->rx_ifindex);
	return err;
}

static int open_ends(struct sl_pair_ends *p, struct inside *in, int drop_fd, const char **step)
{
	int here = sl_netlink_open(NETLINK_ROUTE), err = here;

	if (err < 0)
		return err;
	err = connect_ends(p, in, here, drop_fd, step);
	close_some(here);
	if (err)
		return err;
	*step = "program of the private device";
	in->attach = (struct bpf_attach){
		.ifindex = p->rx_ifindex, .prog_fd = (uint32_t)drop_fd, .type = TCX_INGRESS};
	finish(in, MADE);
	return in->attach_err;
}

int sl_pair_open(struct sl_pair_ends *p, int drop_fd, const char **step)
{
	struct inside in;
	int err;

	*p = (struct sl_pair_ends){.fd = -1};
	*step = "network namespace";
	err = begin(&in);
	if (!err)
		err = open_ends(p, &in, drop_fd, step);
	end(&in);
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

static bool is_capable(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	return !sl_sys(SYS_capget, &head, data) && data[0].effective & 1u << CAP_SYS_ADMIN;
}

/* (A system call filter may forbid what the capability allows.) */
bool sl_pair_may(void)
{
	struct inside in;
	int err;

	if (!is_capable())
		return false;
	err = begin(&in);
	end(&in);
	close_some(in.packet);
	return !err;
}
