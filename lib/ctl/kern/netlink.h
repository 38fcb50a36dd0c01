/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the kernel over netlink. */
#ifndef SL_CTL_NETLINK_H
#define SL_CTL_NETLINK_H

#include <libmnl/libmnl.h>
#include <stddef.h>

/* Opens a socket of this protocol (NETLINK_ROUTE ...) with a receive timeout of two seconds; the
 * caller closes it. Its descriptor or -errno. */
int sl_netlink_open(int protocol);
/* Begins a question in buf, which is zeroed and has the room; flags: beside NLM_F_REQUEST. Returns
 * the family's own header of that many bytes behind the message's, which buf begins with. */
void *sl_netlink_question(void *buf, uint16_t type, uint16_t flags, size_t bytes);
int sl_netlink_send(int fd, const struct nlmsghdr *question);
/* Receives the next message into buf; *got points into buf. 0, or -errno: no message. */
int sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got);
/* The error number in an NLMSG_ERROR message: 0, -errno; -EBADMSG: another kind of message. */
int sl_netlink_error(const struct nlmsghdr *got);
/* Sends a question that one message answers; *answer points into buf. -EBADMSG: the answer is
 * malformed; another -errno: the kernel's answer (then *answer is set), or the failure to get one.
 */
int sl_netlink_ask(int fd, const struct nlmsghdr *question, void *buf, size_t bytes,
		   const struct nlmsghdr **answer);

#endif
