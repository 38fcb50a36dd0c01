/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: letters of children, of any bytes and with any descriptor, name a socket or nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sys.h"
#include "sock/call/jobs.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOCKS 4
#define KINDS 4

static struct sl_sock *sock[SOCKS];
static uint64_t cookie[SOCKS];
static int kind[KINDS]; /* of descriptors that may come along; -1: none */

/* Sockets that are the kernel's already: what a letter asks for is done. */
static void make_socks(void)
{
	static bool made;

	if (made)
		return;
	made = true;
	sl_jobs_set();
	if (sl_sock_table_init())
		abort();
	for (unsigned i = 0; i < SOCKS; i++) {
		int proto = i % 2 ? IPPROTO_TCP : IPPROTO_UDP;
		socklen_t len = sizeof(cookie[i]);

		sock[i] = sl_sock_alloc(proto);
		sock[i]->fd = socket(AF_INET, i % 2 ? SOCK_STREAM : SOCK_DGRAM, 0);
		sock[i]->nfds = 1;
		sock[i]->state = SL_STATE_KERNEL;
		if (!sock[i] || getsockopt(sock[i]->fd, SOL_SOCKET, SO_COOKIE, &cookie[i], &len))
			abort();
	}
	sl_list_init(&sl_limbo.blocked);
	sl_limbo.room_next_us = UINT64_MAX;
	sl_limbo.stats = sl_stats_lane(SL_MAX_LANES - 1);
	kind[0] = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, &kind[1]))
		abort();
	kind[3] = dup(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_letter l = {0};
	unsigned how = size ? data[0] : 0, i = how & (SOCKS - 1);
	size_t n = size > 1 ? sl_min(size - 1, sizeof(l)) : 0;
	uint32_t gen[SOCKS];

	make_socks();
	memcpy(&l, data + 1, n);
	if (how & 16)
		l.magic = SL_LETTER_MAGIC;
	if (how & 32)
		l.sock = sl_sock_ref(sock[i]);
	if (how & 64)
		l.gen = sock[i]->gen;
	if (how & 128)
		l.cookie = cookie[i];
	/* Forked since, or not. */
	for (unsigned k = 0; k < SOCKS; k++) {
		sock[k]->forks = sl_forks - (size & 1);
		gen[k] = sock[k]->gen;
	}
	if (sl_mail_on_letter(&l, size > 40 ? (long)size : (long)sizeof(l),
			      kind[how >> 2 & (KINDS - 1)], (uint32_t)size))
		abort(); /* (there is no room for mailboxes here) */
	for (unsigned k = 0; k < SOCKS; k++)
		if (sock[k]->gen != gen[k] || sock[k]->state != SL_STATE_KERNEL || !sock[k]->nfds)
			abort();
	return 0;
}
