/* SPDX-License-Identifier: BSD-2-Clause */
/* Hardware receive stamps, converted to the clock that the user asked for
 * (SLUICE_HW_TS_CONVERSION).
 *
 * Theory of operation: the driver's stamps are times of the device's PHC. For system time, the
 * thread that reads a stamp compares the PHC with CLOCK_REALTIME (PTP_SYS_OFFSET_EXTENDED) if the
 * last comparison is a second old: one system call a second. */
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "base/timemap.h"
#include "ctl/kern/ethtool.h"
#include "stack/hwclock.h"
#include "stack/port.h"

#define READINGS 7
#define CLOCKS   16

struct hwclock {
	uint32_t ifindex; /* 0: free */
	int fd;           /* descriptor of the PHC; -1: it cannot be used */
	struct sl_timemap map;
	uint64_t paired_ns;
};

static struct sl_lock lock;
static struct hwclock clocks[CLOCKS];

/* Asks the kernel for the device's time stamping capabilities. */
static bool ask_ts_info(const struct sl_port *port, struct ethtool_ts_info *info)
{
	*info = (struct ethtool_ts_info){.cmd = ETHTOOL_GET_TS_INFO, .phc_index = -1};
	return !sl_ethtool(port->info.ifname, info);
}

static bool has_os_stamps(struct sl_port *port, uint8_t which)
{
	uint8_t has = SL_OS_STAMPS_ASKED;
	struct ethtool_ts_info info;

	if (sl_load(&port->os_stamps))
		return sl_load(&port->os_stamps) & which;
	if (sl_settings.hw_ts_conversion != SL_HW_TS_OFF && ask_ts_info(port, &info)) {
		if (info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE)
			has |= SL_OS_STAMPS_TX;
		if (info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE)
			has |= SL_OS_STAMPS_RX;
	}
	sl_store(&port->os_stamps, has);
	return has & which;
}

bool sl_port_os_stamps(struct sl_port *port)
{
	return has_os_stamps(port, SL_OS_STAMPS_TX);
}

bool sl_port_os_rx_stamps(struct sl_port *port)
{
	const struct sl_port *low = port->base ? port->base : port;

	return !(low->info.flags & SL_PORT_HW_STAMP) && has_os_stamps(port, SL_OS_STAMPS_RX);
}

static int open_phc(uint32_t ifindex)
{
	const struct sl_port *port = sl_port_find(ifindex);
	struct ethtool_ts_info info;
	char path[32];
	int fd;

	if (!port || !ask_ts_info(port, &info) || info.phc_index < 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/ptp%d", info.phc_index);
	fd = sl_fd_keep((int)sl_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		sl_info("hwclock",
			"%s, the clock of device %u, cannot be read: hardware stamps are %s", path,
			ifindex,
			sl_settings.hw_ts_conversion == SL_HW_TS_BEST ? "as they come"
								      : "left out");
	return fd < 0 ? -1 : fd;
}

static uint64_t ns_of(const struct ptp_clock_time *t)
{
	return (uint64_t)t->sec * 1000000000ull + t->nsec;
}

static bool read_phc(struct hwclock *c)
{
	struct ptp_sys_offset_extended off = {.n_samples = READINGS};
	struct sl_ptp_reading r[READINGS];
	uint64_t phc, real;

	if (sl_sys_ioctl(c->fd, PTP_SYS_OFFSET_EXTENDED, &off) < 0)
		return false;
	for (unsigned i = 0; i < READINGS; i++)
		r[i] = (struct sl_ptp_reading){ns_of(&off.ts[i][0]), ns_of(&off.ts[i][1]),
					       ns_of(&off.ts[i][2])};
	sl_ptp_best(r, READINGS, &phc, &real);
	sl_timemap_pair(&c->map, phc, real);
	return true;
}

static struct hwclock *find(uint32_t ifindex)
{
	struct hwclock *c = clocks;

	while (c != clocks + CLOCKS && c->ifindex && c->ifindex != ifindex)
		c++;
	if (c == clocks + CLOCKS)
		return NULL;
	if (!c->ifindex) {
		c->ifindex = ifindex;
		c->fd = open_phc(ifindex);
		sl_timemap_init(&c->map, UINT64_MAX, 1000000);
	}
	return c->fd < 0 ? NULL : c;
}

/* System time of the stamp; 0: unknown. */
static uint64_t to_system(uint32_t ifindex, uint64_t phc_ns)
{
	uint64_t now = sl_now_ns(), ns = 0;
	struct hwclock *c;

	if (!sl_lock(&lock))
		return 0;
	c = find(ifindex);
	if (c && (!c->map.pairs || now - c->paired_ns > sl_timemap_good_ns(&c->map))) {
		c->paired_ns = now;
		if (!read_phc(c))
			c = NULL;
	}
	if (c)
		ns = sl_timemap_ns(&c->map, phc_ns);
	sl_unlock(&lock);
	return ns;
}

/* True: the receiver has converted the stamp, which was the NIC's counter (io/nic/verbs_rx.c). */
static bool is_converted(uint32_t ifindex)
{
	const struct sl_port *port = sl_port_find(ifindex);

	return port && (port->base ?: port)->info.flags & SL_PORT_VERBS;
}

uint64_t sl_hw_time(uint32_t ifindex, uint64_t phc_ns)
{
	uint64_t ns;

	if (is_converted(ifindex))
		return sl_settings.hw_ts_conversion == SL_HW_TS_OFF ? 0 : phc_ns;
	switch (sl_settings.hw_ts_conversion) {
	case SL_HW_TS_OFF:
		return 0;
	case SL_HW_TS_SYSTEM:
		return to_system(ifindex, phc_ns);
	case SL_HW_TS_BEST:
		ns = to_system(ifindex, phc_ns);
		return ns ? ns : phc_ns;
	}
	return phc_ns;
}

uint64_t sl_hw_came_ns(uint32_t ifindex, uint64_t phc_ns)
{
	uint64_t real_ns = is_converted(ifindex) ? phc_ns : to_system(ifindex, phc_ns);
	uint64_t now_ns = sl_now_ns();
	uint64_t ago_ns = sl_mono_to_real_ns(now_ns) - real_ns;

	return real_ns && ago_ns < now_ns ? now_ns - ago_ns : 0;
}

void sl_hwclock_child(void)
{
	memset(&lock, 0, sizeof(lock));
}
