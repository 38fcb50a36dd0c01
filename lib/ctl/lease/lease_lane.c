/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes lent by sluiced: takes their descriptors, and maps the rings that must be mapped before
 * bind.
 *
 * Theory of operation: usually a lane's XSKs come bound, and their rings are mapped from them
 * (io/xsk.c). Where the kernel does not map what is bound (proto.h, LANE_OPEN) all is mapped here.
 * Fill and completion rings are mapped with a device's first lane, and kept until the device is
 * closed. */
#include <errno.h>

#include "base/heap.h"
#include "base/sys.h"
#include "ctl/device/port.h"
#include "ctl/kern/say.h"
#include "ctl/lease/client.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"
#include "ctl/umem/ring.h"

/* The rings of a device's queues. */
struct rings {
	struct rings *next;
	uint32_t ifindex, nqueues;
	struct sl_queue queue[]; /* no anchors */
};
static struct rings *devices;

static struct rings *rings_of(uint32_t ifindex)
{
	struct rings *r = devices;

	while (r && r->ifindex != ifindex)
		r = r->next;
	return r;
}

void sl_lease_rings_drop(uint32_t ifindex)
{
	struct rings **at = &devices, *r;

	while (*at && (*at)->ifindex != ifindex)
		at = &(*at)->next;
	r = *at;
	if (!r)
		return;
	*at = r->next;
	for (uint32_t q = 0; q < r->nqueues; q++)
		sl_queue_unmap(&r->queue[q]);
	sl_free(r);
}

/* The mappings are not inherited; freeing is not async-signal-safe. */
void sl_lease_rings_child(void)
{
	devices = NULL;
}

/* Maps the rings from the anchors, which need not stay open for it. */
static int rings_map(uint32_t ifindex, const struct sl_lease_lane_ok *ok, const int *anchor)
{
	struct rings *r = sl_calloc(1, sizeof(*r) + ok->nqueues * sizeof(r->queue[0]));
	int err = 0;

	if (!r)
		return -ENOMEM;
	sl_lease_rings_drop(ifindex);
	r->ifindex = ifindex;
	r->nqueues = ok->nqueues;
	r->next = devices;
	devices = r;
	for (uint32_t q = 0; q < ok->nqueues && !err; q++) {
		r->queue[q].anchor_fd = anchor[q];
		err = sl_queue_map(&r->queue[q], ok->queue[q].fill_size, ok->queue[q].comp_size);
		r->queue[q].anchor_fd = -1;
	}
	if (err)
		sl_lease_rings_drop(ifindex);
	return err;
}

static int leases_map(uint32_t ifindex, struct sl_xsk_lease *leases, uint32_t n)
{
	const struct rings *r = rings_of(ifindex);
	int err = r && r->nqueues == n ? 0 : -EPROTO;

	for (uint32_t i = 0; i < n && !err; i++) {
		leases[i].fill_map = r->queue[i].fill_map;
		leases[i].comp_map = r->queue[i].comp_map;
		err = sl_lease_map(&leases[i]);
	}
	return err;
}

/* Maps what a lane has, and has it bound. ok, anchor: of the answer. */
static int take_unbound(uint32_t ifindex, uint32_t lane, const struct sl_lease_lane_ok *ok,
			const int *anchor, struct sl_xsk_lease *leases, const char **why)
{
	static struct sl_lease_msg m;
	int err = ok->nanchors ? rings_map(ifindex, ok, anchor) : 0;

	if (!err)
		err = leases_map(ifindex, leases, ok->nqueues);
	if (err) {
		sl_why(why, "the rings cannot be mapped: %s", sl_strerror(err));
		sl_lease_lane_close(ifindex, lane);
	} else {
		err = sl_lease_ask_port(&m, SL_LEASE_LANE_BIND, ifindex, lane, why);
	}
	if (!err)
		return 0;
	for (uint32_t i = 0; i < ok->nqueues; i++)
		sl_lease_close(&leases[i]);
	if (ok->nanchors)
		sl_lease_rings_drop(ifindex);
	return err;
}

static bool is_sound(const struct sl_lease_lane_ok *ok)
{
	const struct sl_share *share = &sl_lease_memory()->share;

	for (uint32_t i = 0; i < ok->nqueues; i++)
		if (ok->queue[i].share_queue >= share->nqueues ||
		    ok->queue[i].share_xsk >= share->nxsks || ok->queue[i].queue >= SL_MAX_QUEUES)
			return false;
	return true;
}

int sl_lease_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
		       uint32_t *first, const char **why)
{
	static struct sl_lease_msg m; /* (the broker is entered) */
	const struct sl_lease_lane_ok *ok = &m.body.lane_ok;
	int err = sl_lease_ask_port(&m, SL_LEASE_LANE_OPEN, ifindex, lane, why);

	if (err)
		return err;
	if (!is_sound(ok)) {
		sl_lease_close_fds(&m);
		return -EPROTO;
	}
	*first = ok->first;
	for (uint32_t i = 0; i < ok->nqueues; i++)
		leases[i] = sl_lease_of(&ok->queue[i], sl_fd_keep(m.fd[i]));
	leases[0].packet_places = ok->packet_places;
	if (ok->packet_places)
		leases[0].packet_fd = sl_fd_keep(m.fd[ok->nqueues + ok->nanchors]);
	if (ok->unbound)
		err = take_unbound(ifindex, lane, ok, m.fd + ok->nqueues, leases, why);
	for (uint32_t i = 0; i < ok->nanchors; i++)
		sl_sys_close(m.fd[ok->nqueues + i]);
	return err;
}

void sl_lease_lane_close(uint32_t ifindex, uint32_t lane)
{
	struct sl_lease_msg m;

	(void)sl_lease_ask_port(&m, SL_LEASE_LANE_CLOSE, ifindex, lane, NULL);
}
