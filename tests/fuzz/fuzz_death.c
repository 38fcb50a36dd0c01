/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the memory of a dead process, of any bytes, read by a layout of any numbers. A state
 * that the reader accepts must be a possible one, of the connection that was asked for. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "tools/death/death.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any(void *arg, const struct sl_flow_key *k)
{
	return k->proto == IPPROTO_TCP;
}

#define FRAMES 4
#define SHIFT  8

/* The bytes behind the connection's are packet memory. */
static void look_at_states(const uint8_t *data, size_t size)
{
	static union sl_frame_word word[FRAMES] = {
		{.owner = 1}, {.owner = 1}, {.owner = 2}, {.owner = 1}};
	uint8_t bytes[SL_TCP_BYTES], copy[1024], *base = sl_calloc(FRAMES, 1u << SHIFT);
	const struct sl_tcp_frames m = {
		.base = base, .word = word, .nframes = FRAMES, .shift = SHIFT, .owner = 1};
	struct sl_tcp_unread u;
	struct sl_tcp_dead d;
	struct sl_tcp_ends ends;
	uint32_t sum = 0, n;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data, sl_min(size, sizeof(bytes)));
	if (size > sizeof(bytes))
		memcpy(base, data + sizeof(bytes),
		       sl_min(size - sizeof(bytes), (size_t)FRAMES << SHIFT));
	if (sl_tcp_repair_dead(bytes, 12345678, NULL, &d) &&
	    (d.queued || d.r.sndq || d.r.rcvq || d.r.unsent || d.r.snd_wscale > 14 ||
	     d.r.rcv_wscale > 14))
		abort();
	if (sl_tcp_repair_dead(bytes, 12345678, &m, &d)) {
		u = sl_tcp_unread_of(&d, &m);
		while (d.queued && sum < d.r.rcvq &&
		       (n = sl_tcp_unread_copy(&u, copy,
					       sl_min((uint32_t)sizeof(copy), d.r.rcvq - sum))))
			sum += n;
		if (sum != d.r.rcvq)
			abort();
	}
	if (sl_tcp_repair_dead(bytes, 12345678, NULL, &d) && !sl_tcp_dead_ends(bytes, &ends))
		abort();
	if (sl_tcp_repair_dead_req(bytes, 12345678, &d) && (d.r.rcvq || d.r.rcv_wscale > 14))
		abort();
	sl_free(base);
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
	for (uint32_t i = 0; i < c.n; i++) {
		uint64_t stride = c.gone[i].req ? layout.req_stride : layout.stride;

		if ((c.gone[i].req ? layout.req_at : 0) + (c.gone[i].entry + 1) * stride > size)
			abort();
	}
	c.n = 0;
	return sl_gone_tell(&c, 1, true);
}
