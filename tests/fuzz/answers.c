/* SPDX-License-Identifier: BSD-2-Clause */
/* A netlink socket of the tools whose kernel is the fuzzer: the real code of the library, but for
 * opening and sending. All fuzzers of the tools begin here, and take their text by this. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/sys.h"

#define sl_netlink_open    kernel_open
#define sl_netlink_receive kernel_receive
#define sl_netlink_ask     kernel_ask
#undef sl_sys_sendto
#define sl_sys_sendto(fd, b, n, flags, to, len) ((void)(to), 0L)
#include "ctl/kern/netlink.c"
#undef sl_netlink_open
#undef sl_netlink_receive
#undef sl_netlink_ask
#undef sl_sys_sendto

#define KEPT 64

static const uint8_t *answers;
static size_t bytes;
static void *kept[KEPT]; /* messages that were received */
static unsigned nkept;

void fuzz_answers(const uint8_t *data, size_t size)
{
	answers = data;
	bytes = size;
	while (nkept)
		free(kept[--nkept]);
}

/* Moves the message into a block of exactly its size, so that a read behind its end is seen. Loops
 * over attributes go to the end of its last word, which is in the receiver's buffer. */
static int exact(int err, const struct nlmsghdr **got)
{
	void *copy;

	if (!*got || nkept == KEPT)
		return err;
	copy = calloc(1, NLMSG_ALIGN((*got)->nlmsg_len));
	if (!copy)
		abort();
	*got = kept[nkept++] = memcpy(copy, *got, (*got)->nlmsg_len);
	return err;
}

int sl_netlink_receive(int fd, void *buf, size_t room, const struct nlmsghdr **got)
{
	*got = NULL;
	return exact(kernel_receive(fd, buf, room, got), got);
}

int sl_netlink_ask(int fd, const struct nlmsghdr *question, void *buf, size_t room,
		   const struct nlmsghdr **answer)
{
	*answer = NULL;
	return exact(kernel_ask(fd, question, buf, room, answer), answer);
}

/* At the end of the answers a call that waits for one gets -EAGAIN, as after the time limit. */
int sl_netlink_open(int protocol)
{
	int end[2];

	(void)protocol;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, end))
		abort();
	for (size_t at = 0; at + 2 <= bytes;) {
		size_t n = sl_min((size_t)(answers[at] | answers[at + 1] << 8), bytes - at - 2);

		if (send(end[1], answers + at + 2, n, 0) < 0)
			break;
		at += 2 + n;
	}
	close(end[1]);
	return end[0];
}

char *fuzz_text(const uint8_t **data, size_t *size)
{
	size_t n = strnlen((const char *)*data, *size), whole = n + (n < *size);
	char *text = malloc(n + 1);

	if (!text)
		abort();
	memcpy(text, *data, n);
	text[n] = 0;
	*data += whole;
	*size -= whole;
	return text;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *null = fopen("/dev/null", "we");

	(void)argc;
	(void)argv;
	if (!null)
		abort();
	stdout = stderr = null;
	return 0;
}
