/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a pcap file (nanoseconds) of the frames that left, with the device's departure times. */
#include <errno.h>
#include <string.h>

#include "nic.h"
#include "sys.h"

#define PCAP_NS_MAGIC 0xa1b23c4du
#define LINK_ETHERNET 1
#define SNAP_BYTES    65535

struct record {
	uint32_t s, ns, captured, len;
};

static int capture_fd = -1;
static uint8_t buffer[1 << 17];
static size_t filled;

void sim_capture_flush(void)
{
	if (filled && capture_fd >= 0 && sim_write(capture_fd, buffer, filled) != (ssize_t)filled)
		sim_say("cannot write the capture file: errno %d", errno);
	filled = 0;
}

static void put(const void *bytes, size_t n)
{
	if (filled + n > sizeof(buffer))
		sim_capture_flush();
	memcpy(buffer + filled, bytes, n);
	filled += n;
}

int sim_capture_open(const char *path)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snap, link;
	} head = {PCAP_NS_MAGIC, 2, 4, 0, 0, SNAP_BYTES, LINK_ETHERNET};

	capture_fd = sim_fd_keep(sim_open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
	if (capture_fd < 0)
		return -errno;
	put(&head, sizeof(head));
	return 0;
}

void sim_capture_frame(const uint8_t *frame, size_t len, uint64_t departed_ns)
{
	struct record rec;
	uint64_t real_ns;

	if (capture_fd < 0)
		return;
	real_ns = sim_clock_real_ns(departed_ns);
	rec = (struct record){.s = (uint32_t)(real_ns / SIM_NS_PER_S),
			      .ns = (uint32_t)(real_ns % SIM_NS_PER_S),
			      .captured = (uint32_t)len,
			      .len = (uint32_t)len};
	put(&rec, sizeof(rec));
	put(frame, len);
}
