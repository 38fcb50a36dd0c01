/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends what receive.c checks, and reports as lines of `name value`.
 *
 *   send mixed [count=N]              UDP of all kinds and sizes, by all ways the data can take
 *   send tso [bytes=N] [mss=N]        a TCP stream in large sends, IPv4 and IPv6 in turn
 *   send paced kbps=N [count=N] [size=N] [burst=BYTES] [packet=BYTES]
 *                                     a queue that is never empty at a rate
 *   send plain [count=N] [size=N] [way=0|1|2]
 *   send wallclock                    a queue with stamps in real time */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tx.h"

#define PATIENCE_MS 20000

static struct tx tx;
static unsigned count = 1000, kbps, size = 1250, burst, packet, mss = 1000, bytes = 200000, way;

static void die(const char *what, int err)
{
	fprintf(stderr, "send: %s: %s\n", what, strerror(err));
	exit(1);
}

static void setup(const struct tx_want *want)
{
	int err = tx_open(&tx);

	if (err)
		die("no device", err);
	if ((err = tx_setup(&tx, want)))
		die("cannot set the queue up", err);
	printf("device %s\ngranted_inline %u\ngranted_depth %u\n",
	       ibv_get_device_name(tx.ctx->device), tx.inline_bytes, tx.depth);
}

/* Takes n completions, which must be good. */
static void drain(struct tx_done *done, unsigned n)
{
	unsigned got = tx_drain(&tx, done, n, PATIENCE_MS);

	if (got < n)
		die("completions are missing", ETIMEDOUT);
	for (unsigned i = 0; i < n; i++) {
		if (done[i].status) {
			fprintf(stderr, "send: %s\n", ibv_wc_status_str(done[i].status));
			exit(1);
		}
	}
}

/* Every sixteenth is signalled, and the last; a slot is used again when its send is done. */
static void send_mixed(void)
{
	static const uint32_t sizes[] = {0, 90, 600, 1400, 1496, 62};
	unsigned unsignalled = 0, inlined = 0, in_dm = 0;
	struct tx_done done;

	setup(&(struct tx_want){.inline_bytes = 128, .dm_bytes = 32768});
	for (unsigned i = 0; i < count; i++) {
		struct tx_kind kind = {.v6 = i % 3 == 1, .vlan = i % 5 == 2};
		uint32_t least = tx_udp_header_bytes(kind) + 4, len = sizes[i % 6];
		enum tx_way by = i % 4 == 3 ? TX_DEVICE_MEMORY : TX_HOST;
		bool last = i + 1 == count || unsignalled == 15;
		int err;

		len = len < least ? least + i % 7 : len;
		if (len <= tx.inline_bytes)
			by = TX_INLINE;
		inlined += by == TX_INLINE;
		in_dm += by == TX_DEVICE_MEMORY;
		tx_udp(tx_slot(&tx, i), kind, len, i);
		err = tx_post(&tx, by, i, len, i,
			      IBV_SEND_IP_CSUM | (last ? IBV_SEND_SIGNALED : 0));
		if (err)
			die("cannot post", err);
		unsignalled = last ? 0 : unsignalled + 1;
		if (!last)
			continue;
		drain(&done, 1);
		if (done.wr_id != i)
			die("completion of another send", EPROTO);
	}
	printf("inlined %u\nin_dm %u\n", inlined, in_dm);
}

static void send_tso(void)
{
	uint32_t off = 0, most = TX_SEND_MAX - 1024;
	uint8_t *data, hdr[128];
	struct tx_done done;

	setup(&(struct tx_want){.tso = true});
	data = tx_large(&tx);
	for (unsigned i = 0; off < bytes; i++) {
		uint32_t len = 1 + (i * 7919) % most;
		struct tx_kind kind = {.v6 = i % 2, .vlan = i % 3 == 2};
		uint16_t n = tx_tcp_header(hdr, kind, off, 0x98); /* CWR, ACK, PSH */
		int err;

		len = len < bytes - off ? len : bytes - off;
		for (uint32_t j = 0; j < len; j++)
			data[j] = tx_tcp_byte(off + j);
		if ((err = tx_post_tso(&tx, hdr, n, (uint16_t)mss, data, len, i)))
			die("cannot post", err);
		drain(&done, 1);
		off += len;
		printf("sends %u\n", i + 1);
	}
}

static uint64_t to_ns(const struct mlx5dv_clock_info *clock, uint64_t stamp)
{
	struct mlx5dv_clock_info c = *clock;

	return mlx5dv_ts_to_ns(&c, stamp);
}

/* The whole load is in the queue before it may begin: what the sender is late with is not measured.
 * Each frame's completion has a stamp. */
static void fill(void)
{
	int err;

	if (!tx_control("stall 1"))
		die("control", EPROTO);
	for (unsigned i = 0; i < count; i++) {
		tx_udp(tx_slot(&tx, i), (struct tx_kind){0}, size, i);
		err = tx_post(&tx, TX_HOST, i, size, i, IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM);
		if (err)
			die("cannot post", err);
	}
	if (!tx_control("stall 0"))
		die("control", EPROTO);
}

static void send_paced(void)
{
	uint64_t first_ns = 0, last_ns = 0, backward = 0;
	struct mlx5dv_clock_info clock;
	struct tx_done done;
	int err;

	setup(&(struct tx_want){.depth = count, .slot_bytes = (size + 63) & ~63u, .slots = count});
	if (kbps && (err = tx_rate(&tx, kbps, burst, packet)))
		die("rate", err);
	if ((err = mlx5dv_get_clock_info(tx.ctx, &clock)))
		die("clock info", err);
	fill();
	for (unsigned i = 0; i < count; i++) {
		uint64_t ns;

		drain(&done, 1);
		ns = to_ns(&clock, done.stamp);
		backward += done.wr_id != i || ns < last_ns;
		first_ns = i ? first_ns : ns;
		last_ns = ns;
	}
	printf("stamps_backward %lu\nstamp_rate_kbps %.1f\n", backward,
	       (double)(count - 1) * size * 8e6 / (double)(last_ns - first_ns));
}

static void send_plain(void)
{
	struct tx_done done;
	int err;

	setup(&(struct tx_want){.inline_bytes = way == TX_INLINE ? size : 0,
				.dm_bytes = way == TX_DEVICE_MEMORY ? 32768 : 0});
	for (unsigned i = 0; i < count; i++) {
		tx_udp(tx_slot(&tx, i), (struct tx_kind){0}, size, i);
		err = tx_post(&tx, (enum tx_way)way, i, size, i,
			      IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM);
		if (err)
			die("cannot post", err);
		drain(&done, 1);
	}
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* A stamp in real time lies between the post and the look at it: in nanoseconds, or as libmlx5
 * hands the device's own format on, seconds above and nanoseconds below. */
static void send_wallclock(void)
{
	uint64_t before_ns, after_ns, split_ns;
	struct tx_done done;
	int err;

	setup(&(struct tx_want){.wallclock = true});
	tx_udp(tx_slot(&tx, 0), (struct tx_kind){0}, size, 0);
	before_ns = real_ns();
	err = tx_post(&tx, TX_HOST, 0, size, 0, IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM);
	if (err)
		die("cannot post", err);
	drain(&done, 1);
	after_ns = real_ns();
	split_ns = (done.stamp >> 32) * 1000000000ull + (uint32_t)done.stamp;
	if (done.stamp >= before_ns && done.stamp <= after_ns)
		printf("stamp in ns\n");
	else if (split_ns >= before_ns && split_ns <= after_ns)
		printf("stamp in s.ns\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned *value;
	} args[] = {{"count", &count},   {"kbps", &kbps}, {"size", &size},   {"burst", &burst},
		    {"packet", &packet}, {"mss", &mss},   {"bytes", &bytes}, {"way", &way}};
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"mixed", send_mixed},
		     {"tso", send_tso},
		     {"paced", send_paced},
		     {"plain", send_plain},
		     {"wallclock", send_wallclock}};

	for (int i = 2; i < argc; i++) {
		size_t n = strcspn(argv[i], "=");

		for (size_t j = 0; argv[i][n] && j < sizeof(args) / sizeof(args[0]); j++) {
			if (strlen(args[j].name) == n && !strncmp(args[j].name, argv[i], n))
				*args[j].value = (unsigned)strtoul(argv[i] + n + 1, NULL, 0);
		}
	}
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		modes[i].run();
		tx_close(&tx);
		return 0;
	}
	return 2;
}
