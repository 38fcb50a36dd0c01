/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice pace: rates of a NIC's transmit queues, and flows mapped to them, by sysfs (tx_maxrate is
 * in Documentation/ABI/testing/sysfs-class-net-queues; flow_map is of mlx5's driver in MLNX_OFED).
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pace.h"

#define MAX_QUEUES 4096

static void path_of(char path[96], const char *device, unsigned queue, const char *file)
{
	snprintf(path, 96, "/sys/class/net/%.15s/queues/tx-%u/%s", device, queue, file);
}

static int write_file(const char *path, bool hex, unsigned long v)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, hex ? "0x%08lx" : "%lu", v) < 0)
		err = -errno;
	return close(fd) && !err ? -errno : err;
}

/* The number in a file, 0: there is none. */
static unsigned long read_number(const char *device, unsigned queue, const char *file, int base)
{
	char path[96], text[64] = "";
	FILE *f;

	path_of(path, device, queue, file);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strtoul(text, NULL, base);
}

static bool has_file(const char *device, unsigned queue, const char *file)
{
	char path[96];

	path_of(path, device, queue, file);
	return !access(path, F_OK);
}

int sl_pace_nic_rate(const char *device, unsigned queue, unsigned mbps)
{
	char path[96];

	path_of(path, device, queue, "tx_maxrate");
	return write_file(path, false, mbps);
}

/* Bit `cpu` of a mask as the kernel prints it: words of 32 bits, the highest first, with commas. */
static bool mask_has(const char *mask, unsigned cpu)
{
	size_t digits = 0, at = cpu / 4;

	for (const char *p = mask + strcspn(mask, "\n"); p-- > mask;) {
		if (*p == ',')
			continue;
		if (digits++ == at)
			return strtoul((char[]){*p, 0}, NULL, 16) >> cpu % 4 & 1;
	}
	return false;
}

int sl_pace_nic_queue_of_cpu(const char *device, unsigned cpu, unsigned *queue)
{
	char path[96], mask[2048];

	for (unsigned q = 0; q < MAX_QUEUES && has_file(device, q, "tx_maxrate"); q++) {
		FILE *f;
		bool has;

		path_of(path, device, q, "xps_cpus");
		f = fopen(path, "re");
		if (!f)
			continue;
		has = fgets(mask, sizeof(mask), f) && mask_has(mask, cpu);
		fclose(f);
		if (!has)
			continue;
		*queue = q;
		return 0;
	}
	*queue = cpu;
	return has_file(device, cpu, "tx_maxrate") ? 0 : -ENOENT;
}

int sl_pace_nic_flow(const char *device, unsigned queue, uint32_t addr, uint16_t port)
{
	char path[96];
	int err;

	path_of(path, device, queue, "flow_map/dst_ip");
	err = write_file(path, true, addr);
	if (err)
		return err;
	path_of(path, device, queue, "flow_map/dst_port");
	return write_file(path, false, port);
}

bool sl_pace_nic_has_flows(const char *device)
{
	unsigned queue;

	for (queue = 0; queue < MAX_QUEUES && has_file(device, queue, "tx_maxrate"); queue++)
		if (has_file(device, queue, "flow_map/dst_ip"))
			return true;
	return false;
}

int sl_pace_nic_find(const char *device, uint32_t addr, uint16_t port, unsigned *queue)
{
	bool any = !addr && !port;

	for (unsigned q = 0; q < MAX_QUEUES && has_file(device, q, "tx_maxrate"); q++) {
		if (!has_file(device, q, "flow_map/dst_ip") ||
		    read_number(device, q, "flow_map/dst_ip", 16) != addr ||
		    read_number(device, q, "flow_map/dst_port", 10) != port ||
		    (any && read_number(device, q, "tx_maxrate", 10)))
			continue;
		*queue = q;
		return 0;
	}
	return -ENOENT;
}

unsigned sl_pace_nic_print(const char *device)
{
	unsigned n = 0;

	for (unsigned q = 0; q < MAX_QUEUES && has_file(device, q, "tx_maxrate"); q++) {
		unsigned long rate = read_number(device, q, "tx_maxrate", 10);
		unsigned long addr = read_number(device, q, "flow_map/dst_ip", 16);
		unsigned long port = read_number(device, q, "flow_map/dst_port", 10);
		struct in_addr in = {htonl((uint32_t)addr)};
		char text[INET_ADDRSTRLEN];

		if (!rate && !addr && !port)
			continue;
		printf("%s: queue tx-%u", device, q);
		if (rate)
			printf(" %lumbit", rate);
		else
			fputs(" without a limit", stdout);
		if (addr || port)
			printf(" for %s:",
			       addr ? inet_ntop(AF_INET, &in, text, sizeof(text)) : "*");
		if (port)
			printf("%lu", port);
		else if (addr)
			putchar('*');
		putchar('\n');
		n++;
	}
	return n;
}
