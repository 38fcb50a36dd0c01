/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams that a socket wants: by DSCP, flow label and VNI.
 *
 * Theory of operation: the claims of the socket are narrowed, so the steering program sorts what
 * comes by devices of ours. Whatever the kernel gives the shadow goes through a filter there. */
#include <errno.h>
#include <linux/filter.h>

#include "base/guard.h"
#include "base/sys.h"
#include "net/route.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"

#define MOST_DEVICES 16 /* VXLAN devices of one VNI that the filter knows */
#define MOST_STEPS   (MOST_DEVICES + 16)
#define IS_IPV6      (6u << 4)

bool sl_sock_is_steered(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) &&
	       (sl_udp_sk_const(sk)->narrow.mask.word || sl_udp_sk_const(sk)->vni_after);
}

static bool is_sound(const struct sl_steer *to)
{
	return to->dscp >= -1 && to->dscp <= 63 && to->label_mask <= SL_MARKS_LABEL &&
	       !(to->label & ~to->label_mask) && to->vni >= -1 && to->vni <= 0xffffff;
}

static struct sl_narrow narrow_of(const struct sl_steer *to)
{
	struct sl_narrow n = {0};

	if (to->dscp >= 0) {
		n.mask.dscp = 0x3f;
		n.marks.dscp = (uint32_t)to->dscp & 0x3f;
	}
	if (to->label_mask) {
		n.mask.label = to->label_mask & SL_MARKS_LABEL;
		n.marks.label = to->label & SL_MARKS_LABEL;
		n.mask.v4 = 1;
	}
	return n;
}

/* The filter -------------------------------------------------------------------------------------
 */

struct filter {
	struct sock_filter step[MOST_STEPS];
	unsigned n;
	uint32_t vni_after;
};

static void add(struct filter *f, struct sock_filter step)
{
	if (f->n < MOST_STEPS)
		f->step[f->n++] = step;
}

static bool add_device(const struct sl_link *link, void *arg)
{
	struct filter *f = arg;

	if (link->vni_after == f->vni_after && f->n < MOST_DEVICES)
		add(f,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, link->ifindex, 0, 0));
	return true;
}

/* Drops what came by another device. */
static void add_devices(struct filter *f)
{
	add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX)));
	sl_link_for_each(add_device, f);
	for (unsigned i = 1; i < f->n; i++)
		f->step[i].jt = (uint8_t)(f->n - i);
	add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
}

/* Compares the marks: those of IPv6 are in the first four bytes of its header, that of IPv4 in the
 * second byte. */
static void add_marks(struct filter *f, const struct sl_narrow *n)
{
	uint32_t mask6 = (uint32_t)n->mask.dscp << 22 | n->mask.label;
	uint32_t want6 = (uint32_t)n->marks.dscp << 22 | n->marks.label;
	const struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IS_IPV6, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, want6, 4, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF + 1),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)n->mask.dscp << 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)n->marks.dscp << 2, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	for (unsigned i = 0; i < sl_array_len(steps); i++)
		add(f, steps[i]);
	if (n->mask.label) /* IPv4 has none */
		f->step[f->n - 3].jt = 0;
}

/* Has the kernel drop what the shadow does not want. */
static int filter_shadow(int fd, const struct sl_narrow *n, uint32_t vni_after)
{
	struct filter f = {.vni_after = vni_after};
	struct sock_fprog prog = {.filter = f.step};
	int none = 0;

	if (!n->mask.word && !vni_after) {
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
		return 0;
	}
	if (vni_after)
		add_devices(&f);
	add_marks(&f, n);
	prog.len = (unsigned short)f.n;
	return sl_sys_setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static bool has_filter(int fd)
{
	socklen_t len = 0;

	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &len) == 0 && len;
}

/* The filter comes first: packets that a narrowed claim lets pass reach the shadow. */
static int steer(struct sl_sock *sk, int fd, const struct sl_narrow *n, uint32_t vni_after)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	int err = 0;

	if (!sl_lock(&sk->slow))
		return -EBUSY;
	if (!sl_sock_is_steered(sk) && has_filter(fd))
		err = -EBUSY;
	if (!err)
		err = filter_shadow(fd, n, vni_after);
	if (!err) {
		if (us->vni_after != vni_after)
			sl_sock_unclaim(sk);
		us->narrow = *n;
		us->vni_after = vni_after;
	}
	sl_unlock(&sk->slow);
	return err;
}

int sl_sock_steer(struct sl_sock *sk, int fd, const void *val, socklen_t len)
{
	struct sl_steer to;
	struct sl_narrow n;
	int err;

	if (!sl_sock_is_udp(sk))
		return -EOPNOTSUPP;
	if (len != sizeof(to))
		return -EINVAL;
	if (sl_guard_copy(&to, val, sizeof(to)))
		return -EFAULT;
	if (!is_sound(&to))
		return -EINVAL;
	n = narrow_of(&to);
	err = steer(sk, fd, &n, (uint32_t)(to.vni + 1));
	if (err || sl_load(&sk->state) == SL_STATE_KERNEL)
		return err;
	if (sl_udp_sk(sk)->members)
		sl_sock_kernel(sk, SL_REASON_OPTION);
	else if (sk->local_port)
		sl_sock_decide(sk);
	return 0;
}
