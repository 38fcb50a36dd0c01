/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives a bulk TCP stream on the fake wire, so that callgrind can count instructions a segment:
 * segments BATCH COUNT [LEN]. Each turn of the receiving lane finds BATCH segments; receiver_turn()
 * is the function to collect in (instructions.py). The kernel's part and the payload's checksum are
 * not in it. LEN: bytes of a segment, each written on its own. */
#include "../unit/tcp_lanes.h"

static unsigned burst_ok(struct sl_rx *rx, struct sl_rx_desc *d, unsigned n)
{
	n = burst(rx, d, n);
	for (unsigned i = 0; i < n; i++)
		d[i].csum_ok = true;
	return n;
}
static const struct sl_rx_ops ok_ops = {.name = "vouched", .burst = burst_ok, .refill = refill};

int receiver_turn(void);
__attribute__((noipa)) int receiver_turn(void)
{
	return sl_lane_turn(end[1].lane);
}

static void read_all(struct end *e)
{
	static uint8_t data[65536];
	struct iovec iov = {data, sizeof(data)};

	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	while (sl_tcp_read(&e->c, &iov, 1, 0, false, false) > 0)
		;
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
}

static uint32_t on_wire(void)
{
	return end[1].wire->last - end[1].wire->first;
}

int main(int argc, char **argv)
{
	static uint8_t data[65536];
	unsigned batch = (unsigned)atoi(argv[1]), count = (unsigned)atoi(argv[2]);
	size_t len = argc > 3 ? (size_t)atoi(argv[3]) : sizeof(data);
	uint64_t turns_made = 0, segments = 0;

	if (argc < 3 || !batch || setup(NULL))
		return 1;
	sl_settings.cq_poll_batch_max = (int)batch;
	connect_ends();
	end[0].c.nodelay = true;
	end[1].leg->xsk[0].rx.ops = &ok_ops;
	while (segments < count) {
		uint32_t before = on_wire();

		write_some(&end[0], data, len);
		if (on_wire() < batch)
			sl_lane_turn(end[0].lane);
		while (on_wire() >= batch) {
			segments += (unsigned)receiver_turn();
			turns_made++;
			read_all(&end[1]);
		}
		if (on_wire() && on_wire() == before) { /* the rest of a window */
			sl_lane_turn(end[1].lane);
			read_all(&end[1]);
		}
	}
	printf("%llu segments in %llu turns\n", (unsigned long long)segments,
	       (unsigned long long)turns_made);
	return teardown(NULL);
}
