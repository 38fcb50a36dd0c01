/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps rings of AF_XDP sockets, and finds out whether other processes can.
 *
 * Theory of operation: Linux 6.4 lets the rings of a bound socket be mapped. Before, xsk_mmap()
 * fails with EBUSY, so a process that works a ring must have mapped it before bind: the fill and
 * completion rings from the anchor, a lane's from the lane's XSK. The anchor is bound only once, so
 * there its queue's rings are lent to the process that has the first lane, and to no other as long
 * as that process has the device: they are lent once. The kernel's ability is found out by trying,
 * with the first anchor that is bound. */
#include "ctl/umem/ring.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/opts.h"

static enum { UNKNOWN, LENT_ONCE, LENT_AGAIN } lent;

/* A mapping holds the socket, so forked children must not have it. */
static int map_ring(void **map, int fd, size_t bytes, off_t pgoff)
{
	int err = sl_sys_mmap(map, NULL, bytes, MAP_SHARED | MAP_POPULATE, fd, pgoff);

	if (err)
		*map = NULL;
	else
		sl_sys(SYS_madvise, *map, bytes, MADV_DONTFORK);
	return err;
}

static void unmap_ring(void **map, size_t bytes)
{
	if (*map)
		sl_sys(SYS_munmap, *map, bytes);
	*map = NULL;
}

int sl_ring_offsets(int fd, struct xdp_mmap_offsets *off)
{
	socklen_t len = sizeof(*off);

	return sl_sys_getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, off, &len);
}

void sl_queue_unmap(struct sl_queue *q)
{
	unmap_ring(&q->fill_map, q->fill_bytes);
	unmap_ring(&q->comp_map, q->comp_bytes);
}

int sl_queue_map(struct sl_queue *q, uint32_t fill, uint32_t comp)
{
	struct xdp_mmap_offsets off;
	int err = sl_ring_offsets(q->anchor_fd, &off);

	if (err)
		return err;
	q->fill_bytes = off.fr.desc + fill * sizeof(uint64_t);
	q->comp_bytes = off.cr.desc + comp * sizeof(uint64_t);
	err = map_ring(&q->fill_map, q->anchor_fd, q->fill_bytes, (off_t)XDP_UMEM_PGOFF_FILL_RING);
	if (!err)
		err = map_ring(&q->comp_map, q->anchor_fd, q->comp_bytes,
			       (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	if (err)
		sl_queue_unmap(q);
	return err;
}

static void lease_unmap(struct sl_xsk_lease *l)
{
	unmap_ring(&l->rx_map, l->rx_bytes);
	unmap_ring(&l->tx_map, l->tx_bytes);
}

int sl_packet_ring_map(struct sl_xsk_lease *l)
{
	return map_ring(&l->packet_ring, l->packet_fd, (size_t)l->packet_places * SL_PACKET_PLACE,
			0);
}

void sl_packet_ring_unmap(struct sl_xsk_lease *l)
{
	if (l->packet_ring)
		sl_sys(SYS_munmap, l->packet_ring, (size_t)l->packet_places * SL_PACKET_PLACE);
	l->packet_ring = NULL;
}

void sl_packet_ring_close(struct sl_xsk_lease *l)
{
	if (!l->packet_places)
		return;
	sl_packet_ring_unmap(l);
	sl_sys_close(l->packet_fd);
	l->packet_places = 0;
}

void sl_lease_close(struct sl_xsk_lease *l)
{
	lease_unmap(l);
	sl_packet_ring_close(l);
	sl_sys_close(l->fd);
}

int sl_lease_map(struct sl_xsk_lease *l)
{
	struct xdp_mmap_offsets off;
	int err = sl_ring_offsets(l->fd, &off);

	if (err)
		return err;
	l->rx_bytes = off.rx.desc + l->rx_size * sizeof(struct xdp_desc);
	l->tx_bytes = off.tx.desc + l->tx_size * sizeof(struct xdp_desc);
	err = map_ring(&l->rx_map, l->fd, l->rx_bytes, XDP_PGOFF_RX_RING);
	if (!err)
		err = map_ring(&l->tx_map, l->fd, l->tx_bytes, XDP_PGOFF_TX_RING);
	if (err)
		lease_unmap(l);
	return err;
}

/* Lending --------------------------------------------------------------------------------------
 */

bool sl_rings_lent_once(void)
{
	return lent == LENT_ONCE;
}

void sl_rings_are_lent_once(void)
{
	if (lent == LENT_ONCE)
		return;
	lent = LENT_ONCE;
	sl_warn("port", "%s: the rings of a device are lent to one process at a time; remedy: %s",
		sl_broker_opts()->lend_once ? "as configured"
					    : "this kernel maps no rings that are bound",
		sl_broker_opts()->lend_once ? "SLUICE_LEND_ONCE=0" : "Linux 6.4");
}

void sl_rings_try(const struct sl_queue *q)
{
	void *map;

	if (lent != UNKNOWN)
		return;
	if (sl_broker_opts()->lend_once || map_ring(&map, q->anchor_fd, q->fill_bytes,
						    (off_t)XDP_UMEM_PGOFF_FILL_RING) == -EBUSY) {
		sl_rings_are_lent_once();
		return;
	}
	lent = LENT_AGAIN;
	unmap_ring(&map, q->fill_bytes);
}
