/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches programs by tcx and by tc filters.
 *
 * Theory of operation: the filter (cls_bpf, direct action) has a priority that nobody else uses, so
 * that others keep theirs: those who let the kernel choose get one in front of it. Its handle says
 * whether the queueing discipline came with it: whoever removes the filter, perhaps another process
 * long after, knows then whether to remove that, too. */
#include "ctl/kern/tc.h"

#include <endian.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/compat.h"
#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define ANSWER_BYTES  16384
#define PRIORITY      0xfff0u /* the kernel chooses 0xc000 and lower ones */
#define INFO          (PRIORITY << 16 | htobe16(ETH_P_ALL))
#define HANDLE_BESIDE 1u /* the queueing discipline was there */
#define HANDLE_ALONE  2u /* it came with the filter */
#define RECEIVED      TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)
#define SENT          TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)
#define NAME          "sluice"

/* tcx ------------------------------------------------------------------------------------------ */

struct bpf_attach {
	uint32_t ifindex, prog_fd, type, flags, replace_fd, relative_fd;
	uint64_t revision;
};

int sl_tcx_attach(uint32_t ifindex, int prog_fd)
{
	struct bpf_attach a = {
		.ifindex = ifindex, .prog_fd = (uint32_t)prog_fd, .type = TCX_INGRESS};

	return sl_sysi(SYS_bpf, BPF_PROG_ATTACH, &a, sizeof(a));
}

/* Before Linux 6.6 the kernel does not know the type of the attachment. Later ones look for the
 * program, which is none. */
bool sl_tcx_is_there(void)
{
	static uint8_t known; /* 0: not asked, 1: no, 2: yes; atomic */
	int err;

	if (sl_load(&known))
		return sl_load(&known) == 2;
	err = sl_tcx_attach(0, -1);
	if (err == -EINVAL || err == -EBADF) /* (else it is about the caller: EPERM) */
		sl_store(&known, err == -EINVAL ? 1 : 2);
	return err != -EINVAL;
}

/* Questions ------------------------------------------------------------------------------------ */

static struct nlmsghdr *question(void *buf, uint16_t type, uint16_t flags, uint32_t ifindex,
				 uint32_t parent)
{
	static uint32_t seq;
	struct nlmsghdr *nlh = buf;
	struct tcmsg *t = sl_netlink_question(buf, type, flags, sizeof(*t));

	t->tcm_family = AF_UNSPEC;
	t->tcm_ifindex = (int)ifindex;
	t->tcm_parent = parent;
	nlh->nlmsg_seq = __atomic_add_fetch(&seq, 1, __ATOMIC_RELAXED);
	return nlh;
}

/* Has each message of the answer looked at, and returns its error. */
static int ask(int nl, const struct nlmsghdr *q, void (*on)(const struct nlmsghdr *, void *),
	       void *arg)
{
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	int err = sl_netlink_send(nl, q);

	while (!err) {
		const struct nlmsghdr *h = (struct nlmsghdr *)buf;
		long n = sl_sys_recvfrom(nl, buf, sizeof(buf), 0, NULL, NULL);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		for (int left = (int)n; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
			if (h->nlmsg_seq != q->nlmsg_seq) /* an answer that nobody waited for */
				continue;
			if (h->nlmsg_type == NLMSG_ERROR)
				return sl_netlink_error(h);
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (on)
				on(h, arg);
		}
	}
	return err;
}

/* Filters -------------------------------------------------------------------------------------- */

static uint32_t prog_of(const struct nlmsghdr *h)
{
	const struct nlattr *a, *in;

	mnl_attr_for_each (a, h, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(a) != TCA_OPTIONS)
			continue;
		mnl_attr_for_each_nested (in, a) {
			if (mnl_attr_get_type(in) == TCA_BPF_ID &&
			    mnl_attr_get_payload_len(in) == sizeof(uint32_t))
				return mnl_attr_get_u32(in);
		}
	}
	return 0;
}

/* (The kernel also tells of each priority by itself, with the handle 0.) */
static void see(const struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *t = mnl_nlmsg_get_payload(h);
	struct sl_tc_filter *seen = arg;

	if (h->nlmsg_type != RTM_NEWTFILTER || mnl_nlmsg_get_payload_len(h) < sizeof(*t))
		return;
	if (t->tcm_info >> 16 != PRIORITY)
		seen->others = true;
	else if (t->tcm_handle == HANDLE_BESIDE || t->tcm_handle == HANDLE_ALONE)
		*seen = (struct sl_tc_filter){prog_of(h), t->tcm_handle, seen->others};
}

static int look(int nl, uint32_t ifindex, uint32_t parent, struct sl_tc_filter *seen)
{
	uint8_t buf[128] __attribute__((aligned(8)));

	*seen = (struct sl_tc_filter){0};
	return ask(nl, question(buf, RTM_GETTFILTER, NLM_F_DUMP, ifindex, parent), see, seen);
}

int sl_tc_look(int nl, uint32_t ifindex, struct sl_tc_filter *seen)
{
	int err = look(nl, ifindex, RECEIVED, seen);

	return err == -EINVAL || err == -ENOENT ? 0 : err; /* no such queueing discipline */
}

static int put(int nl, uint32_t ifindex, uint32_t handle, int prog_fd, uint16_t flags)
{
	uint8_t buf[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh =
		question(buf, RTM_NEWTFILTER, (uint16_t)(NLM_F_ACK | NLM_F_CREATE | flags), ifindex,
			 RECEIVED);
	struct tcmsg *t = mnl_nlmsg_get_payload(nlh);
	struct nlattr *options;

	t->tcm_handle = handle;
	t->tcm_info = INFO;
	mnl_attr_put_strz(nlh, TCA_KIND, "bpf");
	options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put_u32(nlh, TCA_BPF_FD, (uint32_t)prog_fd);
	mnl_attr_put_strz(nlh, TCA_BPF_NAME, NAME);
	mnl_attr_put_u32(nlh, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
	mnl_attr_put_u32(nlh, TCA_BPF_FLAGS_GEN, TCA_CLS_FLAGS_SKIP_HW);
	mnl_attr_nest_end(nlh, options);
	return ask(nl, nlh, NULL, NULL);
}

static int tell_discipline(int nl, uint32_t ifindex, uint16_t type, uint16_t flags)
{
	uint8_t buf[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh =
		question(buf, type, (uint16_t)(NLM_F_ACK | flags), ifindex, TC_H_CLSACT);
	struct tcmsg *t = mnl_nlmsg_get_payload(nlh);

	t->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	mnl_attr_put_strz(nlh, TCA_KIND, "clsact");
	return ask(nl, nlh, NULL, NULL);
}

/* (An "ingress" one serves as well.) */
static int make_discipline(int nl, uint32_t ifindex)
{
	return tell_discipline(nl, ifindex, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
}

static int end_discipline(int nl, uint32_t ifindex)
{
	struct sl_tc_filter received, sent;
	int err = look(nl, ifindex, RECEIVED, &received);

	if (!err)
		err = look(nl, ifindex, SENT, &sent);
	if (err || received.others || received.handle || sent.others || sent.handle)
		return err;
	return tell_discipline(nl, ifindex, RTM_DELQDISC, 0);
}

int sl_tc_attach(int nl, uint32_t ifindex, int prog_fd)
{
	int made = make_discipline(nl, ifindex), err;

	if (made && made != -EEXIST)
		return made;
	err = put(nl, ifindex, made ? HANDLE_BESIDE : HANDLE_ALONE, prog_fd, NLM_F_EXCL);
	if (err && !made)
		(void)end_discipline(nl, ifindex);
	return err;
}

int sl_tc_replace(int nl, uint32_t ifindex, const struct sl_tc_filter *f, int prog_fd)
{
	return put(nl, ifindex, f->handle, prog_fd, 0);
}

int sl_tc_remove(int nl, uint32_t ifindex, const struct sl_tc_filter *f)
{
	uint8_t buf[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = question(buf, RTM_DELTFILTER, NLM_F_ACK, ifindex, RECEIVED);
	struct tcmsg *t = mnl_nlmsg_get_payload(nlh);
	int err;

	t->tcm_handle = f->handle;
	t->tcm_info = INFO;
	mnl_attr_put_strz(nlh, TCA_KIND, "bpf");
	err = ask(nl, nlh, NULL, NULL);
	return err || f->handle != HANDLE_ALONE ? err : end_discipline(nl, ifindex);
}
