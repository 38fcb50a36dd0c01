/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps a program's devices and memory for a moment when it becomes another program.
 *
 * execve(2) closes the connection, and the process lives; the new program, when it is preloaded,
 * asks for a lease again a little later. If no other session had the device, the steering program
 * would be taken off and attached again, and packet memory made anew: some 100 ms. So the last use
 * of device and memory stays for LINGER_NS, or until the process has both again, or is dead. (A
 * process that exits closes the connection, too, a moment before it is dead.) Its claims, lanes and
 * frames are taken back as always. (Where rings are lent once the next program could not have
 * them. And a process without a number here, of another pid namespace, would not be known again.)
 * The vault has no record of it: the next daemon keeps nothing for the process. */
#include "base/clock.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/umem/ring.h"
#include "memory.h"
#include "session.h"
#include "sluiced.h"

#define LINGER_NS 2000000000ull
#define LINGERS   16 /* with more at a time, devices may be opened anew */

static struct lingerer {
	int pid; /* 0: unused */
	int pidfd;
	uint64_t end_ns;
	struct sl_memory *memory;
	uint32_t ifindex[SL_SESSION_PORTS]; /* 0: none */
} lingers[LINGERS];

void sl_linger_begin(struct sl_session *s)
{
	struct lingerer *l = lingers;

	while (l < lingers + LINGERS && l->pid)
		l++;
	if (!s->cred.pid || !s->share || !s->eof || s->pidfd < 0 || sl_is_dead(s->pidfd) ||
	    sluiced.draining || s->memory->broken_ns || sl_rings_lent_once() ||
	    l == lingers + LINGERS)
		return;
	*l = (struct lingerer){
		.pid = s->cred.pid,
		.pidfd = s->pidfd,
		.end_ns = sl_now_ns() + LINGER_NS,
	};
	s->pidfd = -1; /* goes on being watched */
	l->memory = s->memory;
	sl_memory_get(l->memory);
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++) {
		struct sl_device *d =
			s->port[i].ifindex ? sl_device_find(s->port[i].ifindex) : NULL;
		struct sl_part *part = d ? sl_part_of(d, l->memory->umem) : NULL;

		if (!part || sl_embedded_port_end(d->info.ifindex))
			continue;
		sl_part_take(part, l->memory->umem);
		l->ifindex[i] = d->info.ifindex;
	}
}

static void end_linger(struct lingerer *l)
{
	sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_DEL, l->pidfd, NULL);
	sl_sys_close(l->pidfd);
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++) {
		if (l->ifindex[i])
			sl_port_release(l->ifindex[i], l->memory->umem);
	}
	sl_memory_put(l->memory);
	l->pid = 0;
}

void sl_linger_end(int pid)
{
	for (struct lingerer *l = lingers; l < lingers + LINGERS; l++)
		if (l->pid && l->pid == pid)
			end_linger(l);
}

void sl_linger_end_all(void)
{
	for (struct lingerer *l = lingers; l < lingers + LINGERS; l++)
		if (l->pid)
			end_linger(l);
}

void sl_linger_tick(void)
{
	for (struct lingerer *l = lingers; l < lingers + LINGERS; l++)
		if (l->pid && (sluiced.draining || sl_now_ns() > l->end_ns || sl_is_dead(l->pidfd)))
			end_linger(l);
}

uint32_t sl_linger_users(uint32_t ifindex, uint32_t umem)
{
	uint32_t n = 0;

	for (const struct lingerer *l = lingers; l < lingers + LINGERS; l++)
		for (unsigned i = 0; l->pid && i < SL_SESSION_PORTS; i++)
			n += l->ifindex[i] == ifindex && l->memory->umem == umem;
	return n;
}
