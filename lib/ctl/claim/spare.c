/* SPDX-License-Identifier: BSD-2-Clause */
/* The next lane's private pair.
 *
 * Theory of operation: the kernel waits for a grace period of RCU (about 10 ms) each time that a
 * program is attached to a device, and when a packet socket gets its ring. Opening a device needs
 * one such wait for the steering program, and its first lane one more for the pair's ring (by a
 * daemon two). Grace periods that begin together end together, so threads make the pair while the
 * opening thread loads and attaches the steering program. The broker's lock is held until they have
 * ended: no child is forked meanwhile.
 *
 * A daemon, which forks none, has threads make the next pair once it has lent one: so neither the
 * next member waits for the kernel, nor all others for the daemon. The pair that is ready costs a
 * network namespace and a ring of 4 MB while the device is open. */
#include "ctl/claim/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/heap.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/device/opts.h"
#include "ctl/device/pair.h"
#include "ctl/umem/packet.h"
#include "ctl/umem/ring.h"

struct sl_spare {
	struct sl_pair_making making;
	pthread_t thread;
	bool runs; /* the threads have not been waited for */
	int drop_fd;
	uint32_t entries;
	struct sl_xsk_lease ring; /* of the packet socket alone */
	int err;
};

/* Makes the ring, and the pair's rest. (The ring waits without the lock of all network
 * configuration, which is held while the program there is attached.) */
static int make_rest(struct sl_pair_making *m, struct sl_xsk_lease *l, uint32_t entries)
{
	int err = sl_pair_wait(m);

	if (err)
		return err;
	l->packet_fd = m->ends.fd;
	m->step = "packet socket";
	err = sl_packet_ring_make(l, m->ends.rx_ifindex, entries);
	return err ? err : sl_pair_shut(m);
}

int sl_pair_make(struct sl_xsk_lease *l, uint32_t *ifindex, int drop_fd, uint32_t entries,
		 const char **step)
{
	struct sl_pair_making m;
	int err = sl_pair_begin(&m, drop_fd), end;

	if (!err) {
		err = make_rest(&m, l, entries);
		end = sl_pair_end(&m);
		err = err ? err : end;
	}
	*step = m.step;
	*ifindex = m.ends.ifindex;
	return err;
}

static void *run(void *arg)
{
	struct sl_spare *s = arg;
	int end;

	s->err = make_rest(&s->making, &s->ring, s->entries);
	end = sl_pair_end(&s->making);
	if (!s->err)
		s->err = end;
	if (s->err)
		sl_packet_ring_close(&s->ring);
	else if (sl_broker_opts()->serve) /* (mapped, it would count as the daemon's memory) */
		sl_packet_ring_unmap(&s->ring);
	sl_sys_close(s->drop_fd);
	return NULL;
}

static bool start(struct sl_spare *s)
{
	if (s->drop_fd < 0 || sl_pair_begin(&s->making, s->drop_fd))
		return false;
	if (!sl_roomy_thread(&s->thread, run, s))
		return true;
	if (!sl_pair_wait(&s->making))
		sl_sys_close(s->making.ends.fd);
	(void)sl_pair_end(&s->making);
	return false;
}

void sl_spare_begin(struct sl_device *port)
{
	struct sl_spare *s = port->spare ? NULL : sl_calloc(1, sizeof(*s));

	if (!s)
		return;
	/* (The threads go on with the program when the attachment has failed and closes it.) */
	s->drop_fd = sl_fd_dup(port->attach.drop_fd);
	s->entries = port->rings.rx;
	s->runs = start(s);
	if (s->runs) {
		port->spare = s;
		return;
	}
	if (s->drop_fd >= 0)
		sl_sys_close(s->drop_fd);
	sl_free(s);
}

void sl_spare_wait(struct sl_device *port)
{
	struct sl_spare *s = port->spare;

	if (!s || !s->runs)
		return;
	pthread_join(s->thread, NULL);
	s->runs = false;
	if (!s->err)
		return;
	sl_free(s);
	port->spare = NULL;
}

bool sl_spare_take(struct sl_device *port, struct sl_xsk_lease *l, uint32_t *ifindex)
{
	struct sl_spare *s;

	sl_spare_wait(port);
	s = port->spare;
	if (!s)
		return false;
	l->packet_fd = s->ring.packet_fd;
	l->packet_places = s->ring.packet_places;
	l->packet_ring = s->ring.packet_ring;
	*ifindex = s->making.ends.ifindex;
	sl_free(s);
	port->spare = NULL;
	if (l->packet_ring || !sl_packet_ring_map(l))
		return true;
	sl_packet_ring_close(l);
	return false;
}

void sl_spare_close(struct sl_device *port)
{
	sl_spare_wait(port);
	if (!port->spare)
		return;
	sl_packet_ring_close(&port->spare->ring);
	sl_free(port->spare);
	port->spare = NULL;
}

void sl_spare_child(const struct sl_device *port)
{
	if (port->spare)
		sl_sys_close(port->spare->ring.packet_fd);
}
