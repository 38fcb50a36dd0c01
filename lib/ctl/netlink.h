/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to the kernel over netlink. */
#ifndef SL_CTL_NETLINK_H
#define SL_CTL_NETLINK_H

#include <libmnl/libmnl.h>
#include <stddef.h>

/* A socket of this protocol (NETLINK_ROUTE ...) whose answers are waited for two seconds at most:
 * its descriptor, the caller's to close, or -errno. */
int sl_netlink_open(int protocol);
int sl_netlink_send(int fd, const struct nlmsghdr *question);
/* The next message, which is written to buf and stays there. 0, or -errno: why there is none. */
int sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got);
/* What a message of NLMSG_ERROR says: 0, -errno; -EBADMSG: it is none. */
int sl_netlink_error(const struct nlmsghdr *got);
/* A question that one message answers, which is written to buf and stays there. -EBADMSG: the
 * answer is none; another -errno: what the kernel answered (then *answer is set), or why it did
 * not. */
int sl_netlink_ask(int fd, const struct nlmsghdr *question, void *buf, size_t bytes,
		   const struct nlmsghdr **answer);

#endif
