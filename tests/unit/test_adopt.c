/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of packet memory, devices and lanes that a new daemon finds in the vault: those with a
 * number that points out of bounds are refused, before anything of them is used. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sys.h"
#include "ctl/broker/adopt.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/opts.h"
#include "ctl/umem/umem.h"

#define UMEM    7
#define FRAMES  64
#define IFINDEX 77

static struct sl_umem *umem;

/* The message gets descriptors of its own, as one from the vault has. */
static void dup_fds(struct sl_vault_msg *m)
{
	for (uint32_t i = 0; i < m->nfds; i++)
		m->fd[i] = dup(m->fd[i]);
}

/* Packet memory -------------------------------------------------------------------------------- */

static int adopt_umem(const struct sl_umem *u)
{
	static struct sl_vault_msg m;
	int err;

	memset(&m, 0, sizeof(m));
	sl_umem_keep(u, &m);
	dup_fds(&m);
	err = sl_umem_adopt(&m);
	sl_vault_close_fds(&m);
	return err;
}

static void test_packet_memory(void **state)
{
	const struct sl_umem_info good = umem->info;
	struct sl_umem other = *umem;
	struct sl_umem_info *u = &other.info;

	assert_int_equal(adopt_umem(&other), -EPROTO); /* the number is taken */
	u->id = UMEM + 1;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		change;                                                                            \
		assert_int_equal(adopt_umem(&other), -EPROTO);                                     \
		*u = good;                                                                         \
		u->id = UMEM + 1;                                                                  \
	} while (0)
	REFUSED(u->frame_size = 8192);
	/* A size that nobody makes, in a record that is whole otherwise. */
	REFUSED((u->frame_size = 1024,
		 sl_share_geometry_make(&u->geometry, good.nframes, 10, good.geometry.nqueues,
					good.geometry.nxsks)));
	REFUSED(u->frame_size = 4096); /* the geometry says 2048 */
	REFUSED(u->headroom = 2048);
	REFUSED(u->nframes--);
	REFUSED(u->geometry.nframes--);
	REFUSED(u->geometry.frame_shift++);
	REFUSED(u->geometry.nqueues++);
	REFUSED(u->geometry.nqueues = 0);
	REFUSED(u->geometry.nxsks++);
	REFUSED(u->geometry.bytes += 4096);
	REFUSED(u->geometry.told_bytes += 4096);
	REFUSED(u->geometry.word_at += 64);
	REFUSED(u->geometry.told_queue_at = UINT64_MAX);
#undef REFUSED
	assert_int_equal(adopt_umem(&other), 0);
	sl_umem_drop(UMEM + 1);
}

/* Devices -------------------------------------------------------------------------------------- */

static struct sl_device d;

/* A device with two queues, whose first is bound for a group. The descriptors are of no socket. */
static void make_device(void)
{
	memset(&d, 0, sizeof(d));
	d.info = (struct sl_port_info){.ifindex = IFINDEX,
				       .nqueues = 2,
				       .max_lanes = SL_MAX_XSKS / 2,
				       .ifname = "sltest9",
				       .driver = "veth"};
	d.owner_fd = d.reaper_fd = d.attach.link_fd = d.attach.drop_fd = d.attach.guard_fd = -1;
	for (unsigned i = 0; i < SL_MAP_COUNT; i++)
		d.attach.map_fd[i] = -1;
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++)
		d.queue[i].anchor_fd = -1;
	d.queue[0].anchor_fd = STDERR_FILENO;
	d.nparts = 2;
	d.part[0] = (struct sl_part){.port = &d,
				     .first = 0,
				     .n = 1,
				     .taken = true,
				     .umem_id = UMEM,
				     .umem = umem,
				     .bound = true};
	d.part[1] = (struct sl_part){.port = &d, .first = 1, .n = 1};
	d.rings.rx = d.rings.tx = d.rings.fill = d.rings.comp = 64;
}

static int adopt_device(void)
{
	static struct sl_vault_msg m;
	const char *why = NULL;
	int err;

	memset(&m, 0, sizeof(m));
	sl_device_keep(&d, &m);
	dup_fds(&m);
	err = sl_device_adopt(&m, &why);
	sl_vault_close_fds(&m);
	assert_null(sl_device_find(IFINDEX));
	return err;
}

static void test_devices(void **state)
{
	make_device();
	/* All numbers are good; the descriptor is of no XSK. */
	assert_int_not_equal(adopt_device(), 0);
	assert_int_not_equal(adopt_device(), -EPROTO);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		change;                                                                            \
		if (adopt_device() != -EPROTO)                                                     \
			fail_msg("%s is taken", #change);                                          \
		make_device();                                                                     \
	} while (0)
	REFUSED(d.info.ifindex = 0);
	REFUSED(d.info.nqueues = 0);
	REFUSED((d.info.nqueues = SL_MAX_QUEUES + 1,
		 d.info.max_lanes = SL_MAX_XSKS / (SL_MAX_QUEUES + 1)));
	REFUSED(d.info.max_lanes++);
	REFUSED(d.nic.nspread = SL_NIC_SPREADS + 1);
	REFUSED(memset(d.info.ifname, 'x', sizeof(d.info.ifname)));
	REFUSED(memset(d.info.driver, 'x', sizeof(d.info.driver)));
	REFUSED(memset(d.info.pin_dir, 'x', sizeof(d.info.pin_dir)));
	REFUSED(d.part[1].first = 3);
	REFUSED(d.part[1].n = 2);
	REFUSED((d.part[1].first = 2, d.part[1].n = UINT32_MAX));
	REFUSED((d.part[1].n = 0, d.part[1].taken = true));
	REFUSED(d.part[0].taken = false); /* bound for nobody */
	REFUSED(d.part[0].umem_id = UMEM + 9);
	REFUSED(d.queue[0].share_queue = umem->info.geometry.nqueues);
	REFUSED(d.queue[0].anchor_fd = -1);
	REFUSED(d.rings.rx = 0);
	REFUSED(d.rings.tx = 63);
	REFUSED(d.rings.fill = 1u << 31);
	REFUSED(d.rings.comp = 65);
#undef REFUSED
}

static void test_lengths(void **state)
{
	static struct sl_vault_msg m;
	const char *why = NULL;

	make_device();
	sl_device_keep(&d, &m);
	dup_fds(&m);
	m.bytes--;
	assert_int_equal(sl_device_adopt(&m, &why), -EPROTO);
	sl_vault_close_fds(&m);
	memset(&m, 0, sizeof(m));
	sl_umem_keep(umem, &m);
	dup_fds(&m);
	m.bytes++;
	assert_int_equal(sl_umem_adopt(&m), -EPROTO);
	sl_vault_close_fds(&m);
}

/* Lanes ---------------------------------------------------------------------------------------- */

static void test_lanes(void **state)
{
	const struct sl_xsk_lease good = {
		.fd = STDERR_FILENO, .rx_size = 64, .tx_size = 64, .packet_fd = -1};
	struct sl_xsk_lease l = good;
	struct sl_device *real = sl_device_new();

	make_device();
	real->info = d.info;
	real->nparts = 1;
	real->part[0] = d.part[0];
	real->part[0].port = real;
	real->queue[0].anchor_fd = -1;
	sl_device_add(real);
	assert_int_equal(sl_lane_adopt(IFINDEX + 1, UMEM, 0, &l, 1), -ENODEV);
	assert_int_equal(sl_lane_adopt(IFINDEX, UMEM + 9, 0, &l, 1), -ENODEV);
	assert_int_equal(sl_lane_adopt(IFINDEX, UMEM, 0, &l, 2), -ENODEV);
	assert_int_equal(sl_lane_adopt(IFINDEX, UMEM, 0, &l, 0), -ENODEV);
	assert_int_equal(sl_lane_adopt(IFINDEX, UMEM, real->info.max_lanes, &l, 1), -ENODEV);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		l = good;                                                                          \
		change;                                                                            \
		if (sl_lane_adopt(IFINDEX, UMEM, 0, &l, 1) != -EPROTO)                             \
			fail_msg("%s is taken", #change);                                          \
	} while (0)
	REFUSED(l.queue = 1);
	REFUSED(l.fd = -1);
	REFUSED(l.share_queue = 1);
	REFUSED(l.share_xsk = umem->info.geometry.nxsks);
	REFUSED(l.rx_size = 0);
	REFUSED(l.rx_size = 1u << 31);
	REFUSED(l.tx_size = 63);
	REFUSED(l.packet_places = SL_PACKET_PLACES + 1);
#undef REFUSED
}

static int begin(void **state)
{
	static const struct sl_broker_opts opts = {
		.no_huge = true, .serve = true, .tool = "/nonexistent"};

	sl_embedded_init(&opts);
	if (sl_umem_make(UMEM, FRAMES, 2048, NULL))
		return -1;
	umem = sl_umem_find(UMEM);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packet_memory),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_lanes),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
