/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the kernel over netlink. */
#include "ctl/kern/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/sys.h"

int sl_netlink_open(int protocol)
{
	const struct timeval tv = {.tv_sec = 2};
	int fd = sl_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

void *sl_netlink_question(void *buf, uint16_t type, uint16_t flags, size_t bytes)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(nlh, bytes);
}

int sl_netlink_send(int fd, const struct nlmsghdr *question)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	long n = sl_sys_sendto(fd, question, question->nlmsg_len, 0, &kernel, sizeof(kernel));

	return n < 0 ? (int)n : 0;
}

int sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got)
{
	const struct nlmsghdr *h = buf;
	long n;

	/* Whole words: libmnl's loops over attributes go to the end of the last one. */
	bytes &= ~(size_t)(NLMSG_ALIGNTO - 1);
	do
		n = sl_sys_recvfrom(fd, buf, bytes, 0, NULL, NULL);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	/* (libmnl 1.0.4 compares the lengths as int.) */
	if (!mnl_nlmsg_ok(h, (int)n) || h->nlmsg_len > (size_t)n)
		return -EBADMSG;
	*got = h;
	return 0;
}

int sl_netlink_error(const struct nlmsghdr *got)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(got);

	if (got->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(got) < sizeof(*e))
		return -EBADMSG;
	return e->error;
}

int sl_netlink_ask(int fd, const struct nlmsghdr *question, void *buf, size_t bytes,
		   const struct nlmsghdr **answer)
{
	int err = sl_netlink_send(fd, question);

	if (!err)
		err = sl_netlink_receive(fd, buf, bytes, answer);
	if (err || (*answer)->nlmsg_type != NLMSG_ERROR)
		return err;
	err = sl_netlink_error(*answer);
	return err < 0 ? err : -EBADMSG;
}
