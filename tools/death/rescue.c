/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits to be accepted when a process dies, and others have its listener.
 *
 * Theory of operation: in the kernel they have one queue, and nobody is lost by the death of one of
 * those who accept. Of ours each had a queue of its own. So what waited there becomes the kernel's
 * connection (TCP_REPAIR), with the bytes that have come, and goes into the box from which the
 * others accept (sock/tcp_share.c). It is made while its packets are still steered to the dead,
 * where nobody answers them: a living process, or the kernel, would reset what it does not know.
 * When the claims are gone the kernel has them, and the connection speaks for the first time. */
#include <netinet/in.h>
#include <stdlib.h>

#include "base/rights.h"
#include "base/sys.h"
#include "death.h"
#include "sock/repair.h"

struct sl_rescue {
	int fd;
	struct sl_tcp_repair r;
	struct sl_repair_saved saved;
	const struct sl_gone_box *box;
};

static uint32_t no_bytes(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return 0;
}

/* From the first byte on, one after the other. */
static uint32_t unread(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return sl_tcp_unread_copy(arg, buf, n);
}

static struct sl_repair_source source(struct sl_tcp_unread *u)
{
	return (struct sl_repair_source){.sndq = no_bytes, .rcvq = unread, .arg = u, .hurry = true};
}

/* As the listener's: a server's of both families has sockets of the one. */
static int new_socket(const struct sl_gone_box *box)
{
	int fd = sl_sys_socket(box->family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	int one = 1, none = 0;

	if (fd < 0)
		return fd;
	(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (box->family == AF_INET6)
		(void)sl_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none));
	return fd;
}

struct sl_rescue *sl_rescue_begin(const struct sl_tcp_dead *d, const struct sl_tcp_frames *m,
				  const struct sl_gone_box *box)
{
	struct sl_tcp_unread u = sl_tcp_unread_of(d, m);
	const struct sl_repair_source src = source(&u);
	struct sl_rescue *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	r->r = d->r;
	r->box = box;
	r->fd = new_socket(box);
	if (r->fd >= 0 && !sl_repair_begin(r->fd, &r->r, &src, &r->saved))
		return r;
	if (r->fd >= 0)
		sl_sys_close(r->fd);
	free(r);
	return NULL;
}

void sl_rescue_end(struct sl_rescue *r)
{
	const struct sl_repair_source src = source(NULL);
	const struct linger reset = {.l_onoff = 1};
	bool ok = !sl_repair_finish(r->fd, &r->r, &src, &r->saved) &&
		  sl_rights_send(r->box->fd, SL_BOX_BARE, 1, &r->fd, 1, MSG_DONTWAIT) == 1;

	if (!ok)
		(void)sl_sys_setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	sl_sys_close(r->fd);
	free(r);
}
