/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the memory of a dead process, of any bytes, read by a layout of any numbers. What is
 * believed of it must be a state that can be, and is about the connection that was asked for. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/death/death.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any(void *arg, const struct sl_flow_key *k)
{
	return k->proto == IPPROTO_TCP;
}

static void look_at_states(const uint8_t *data, size_t size)
{
	uint8_t bytes[SL_TCP_BYTES];
	struct sl_tcp_repair r;
	bool orphan;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data, sl_min(size, sizeof(bytes)));
	if (!sl_tcp_repair_dead(bytes, 12345678, &r, &orphan))
		return;
	if (r.sndq || r.rcvq || r.unsent || r.snd_wscale > 14 || r.rcv_wscale > 14)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_conns_layout layout;
	struct sl_gone_conns c;
	int fd;

	if (size < sizeof(layout))
		return 0;
	memcpy(&layout, data, sizeof(layout));
	data += sizeof(layout);
	size -= sizeof(layout);
	look_at_states(data, size);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (sl_gone_open(&c, fd, &layout)) {
		close(fd);
		return 0;
	}
	while (sl_gone_read(&c, any, NULL))
		;
	for (uint32_t i = 0; i < c.n; i++)
		if ((uint64_t)(c.gone[i].entry + 1) * layout.stride > size)
			abort();
	c.n = 0;
	return sl_gone_tell(&c, 1, true);
}
