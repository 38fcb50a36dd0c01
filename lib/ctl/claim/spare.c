/* SPDX-License-Identifier: BSD-2-Clause */
/* The first lane's private pair.
 *
 * Theory of operation: the kernel waits for a grace period of RCU (about 10 ms) each time that a
 * program is attached to a device, and when a packet socket gets its ring. Opening a device needs
 * one such wait for the steering program, and its first lane two more for the pair. Grace periods
 * that begin together end together, so threads make the pair while the opening thread loads and
 * attaches the steering program.
 *
 * The program of the pair's far end only saves the kernel a look at packets that it would drop by
 * itself, and its attachment would keep the device's waiting. So it comes last, and nobody waits
 * for it; a daemon does, since it lends the pair. The thread has a socket in the private namespace,
 * which a child must not have: a fork waits for its end. */
#include "ctl/claim/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/pair.h"
#include "ctl/kern/say.h"
#include "ctl/umem/packet.h"
#include "ctl/umem/ring.h"

struct sl_spare {
	struct sl_pair_making making;
	pthread_t thread;
	bool runs;  /* the thread that makes the ring has not been waited for */
	bool lazy;  /* the one in the namespace has not, either */
	bool taken; /* a lane has the pair */
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
		sl_pair_go(&m, err);
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

	s->err = make_rest(&s->making, &s->ring, s->entries);
	if (s->err)
		sl_packet_ring_close(&s->ring);
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
	sl_pair_go(&s->making, true);
	(void)sl_pair_end(&s->making);
	return false;
}

/* Waits for the thread in the namespace. */
static void finish(struct sl_device *port, bool over)
{
	struct sl_spare *s = port->spare;

	if (!s || !s->lazy)
		return;
	sl_pair_go(&s->making, over);
	if (sl_pair_end(&s->making) && !s->err) {
		sl_debug("port", "%s: no program on the private pair: %s", port->info.ifname,
			 sl_strerror(s->making.drop_err));
		if (sl_broker_opts()->serve)
			s->err = -EIO;
	}
	s->lazy = false;
	sl_sys_close(s->drop_fd);
}

static void forget(struct sl_device *port)
{
	finish(port, true);
	sl_free(port->spare);
	port->spare = NULL;
}

static void finish_all(void)
{
	for (struct sl_device *p = sl_port_first(); p; p = p->next) {
		finish(p, false);
		if (p->spare && p->spare->taken)
			forget(p);
	}
}

void sl_spare_begin(struct sl_device *port)
{
	struct sl_spare *s = port->spare ? NULL : sl_calloc(1, sizeof(*s));

	if (!s)
		return;
	/* (The threads go on with the program when the attachment has failed and closes it.) */
	s->drop_fd = sl_fd_keep(sl_sys_fcntl(port->attach.drop_fd, F_DUPFD_CLOEXEC, 3));
	s->entries = port->rings.rx;
	s->runs = s->lazy = start(s);
	if (s->runs) {
		port->spare = s;
		sl_broker_before_fork = finish_all;
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
	if (s->err || sl_broker_opts()->serve) {
		bool made = !s->err;

		finish(port, s->err);
		if (s->err && made)
			sl_packet_ring_close(&s->ring);
	}
	if (s->err)
		forget(port);
}

bool sl_spare_take(struct sl_device *port, struct sl_xsk_lease *l, uint32_t *ifindex)
{
	struct sl_spare *s = port->spare;

	if (!s || s->taken)
		return false;
	l->packet_fd = s->ring.packet_fd;
	l->packet_places = s->ring.packet_places;
	l->packet_ring = s->ring.packet_ring;
	*ifindex = s->making.ends.ifindex;
	s->taken = true;
	if (!s->lazy)
		forget(port);
	return true;
}

void sl_spare_close(struct sl_device *port)
{
	sl_spare_wait(port);
	if (!port->spare)
		return;
	finish(port, true);
	if (!port->spare->taken)
		sl_packet_ring_close(&port->spare->ring);
	forget(port);
}

void sl_spare_child(const struct sl_device *port)
{
	if (port->spare && !port->spare->taken)
		sl_sys_close(port->spare->ring.packet_fd);
}
