/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `sluice pace`: rates of a NIC's transmit queues by sysfs, rates of destinations by
 * the map `paces`. */
#ifndef SL_TOOLS_PACE_H
#define SL_TOOLS_PACE_H

#include "base/base.h"
#include "steer.h"

/* pace_set.c: `sluice pace set`, `show` and `unset`; argv[0] is that word. An exit status. */
int sl_pace_change(int argc, char **argv);

/* pace_nic.c: a device's transmit queues in sysfs. Each 0 or -errno. */
/* Sets tx_maxrate, in Mbit/s; 0: no limit. */
int sl_pace_nic_rate(const char *device, unsigned queue, unsigned mbps);
/* The queue by which packets of a CPU leave: by XPS, else the queue of that number. */
int sl_pace_nic_queue_of_cpu(const char *device, unsigned cpu, unsigned *queue);
/* Maps an IPv4 destination and a port to the queue, by the driver's flow_map; 0 takes a part away.
 * -ENOENT: the driver has none. */
int sl_pace_nic_flow(const char *device, unsigned queue, uint32_t addr, uint16_t port);
/* The queue with this flow; with addr and port 0: the first with a flow_map that has neither a flow
 * nor a rate. -ENOENT: there is none. */
int sl_pace_nic_find(const char *device, uint32_t addr, uint16_t port, unsigned *queue);
/* True: the driver has flow maps. */
bool sl_pace_nic_has_flows(const char *device);
/* The lines of `sluice doctor` about a ConnectX NIC. */
#define SL_PACE_FLOWS "maps flows to queues with a rate: `sluice pace set -d`, sluice-pace(1)"
#define SL_PACE_NO_FLOWS                                                                           \
	"no flow_map: rates of the kernel's flows need packet pacing in the firmware and the "     \
	"queues of `ethtool -L DEV other N`, sluice-pace(1)"
/* Prints the queues with a rate or a flow. Returns how many. */
unsigned sl_pace_nic_print(const char *device);

/* pace_map.c: the pinned map `paces` of an offloaded device. Each 0 or -errno; -ENOENT: the device
 * is not offloaded, or has no such entry. */
int sl_pace_map_set(const char *device, const struct sl_pace_rule *r);
int sl_pace_map_unset(const char *device, const struct sl_pace_rule *r);
int sl_pace_map_clear(const char *device);
/* Prints the entries. Returns how many, or -errno. */
int sl_pace_map_print(const char *device);

#endif
