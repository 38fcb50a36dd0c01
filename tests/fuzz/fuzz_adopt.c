/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: a daemon adopts a group's packet memory. The vault's record is a daemon's with some
 * bytes changed, or with wrong files; the shared memory holds any bytes, as members may have
 * written. Adopting succeeds or fails, and adopted memory can be buried, worked and dropped, in
 * bounds. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/share/share_bury.h"
#include "ctl/broker/adopt.h"
#include "ctl/claim/bury.h"
#include "ctl/device/opts.h"
#include "ctl/umem/umem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define FRAMES 64
#define UMEM   1

static struct sl_vault_msg kept;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct sl_broker_opts opts = {
		.no_huge = true, .serve = true, .tool = "/nonexistent"};

	sl_embedded_init(&opts);
	if (sl_umem_make(UMEM, FRAMES, 2048, NULL))
		abort();
	sl_umem_keep(sl_umem_find(UMEM), &kept);
	for (uint32_t i = 0; i < kept.nfds; i++) /* what the vault holds of it */
		kept.fd[i] = dup(kept.fd[i]);
	sl_umem_drop(UMEM);
	return 0;
}

/* Members' words, over and over. */
static void scribble(const uint8_t *data, size_t size)
{
	struct sl_umem *u = sl_umem_find(UMEM);
	uint8_t *mem = u->share_mem;
	size_t done = sl_min(size, u->share_bytes), n;

	memcpy(mem, data, done);
	for (; size && done < u->share_bytes; done += n) {
		n = sl_min(done, u->share_bytes - done);
		memcpy(mem + done, mem, n);
	}
}

static bool is_stopped(void *arg, uint32_t thread)
{
	return thread >> SL_RLOCK_SHIFT & 1;
}

static void work(const uint8_t *data, size_t size)
{
	struct sl_umem *u = sl_umem_find(UMEM);
	struct sl_share_fault f;
	uint32_t frames[FRAMES];

	if (!u)
		return;
	scribble(data, size);
	(void)sl_broker_died(UMEM, SL_SHARE_BROKER);
	for (unsigned i = 1; i < SL_SHARE_MEMBERS; i++)
		u->unburied[i] = i < 4 || i == SL_SHARE_BROKER;
	sl_umems_bury_left();
	(void)sl_share_queue_open(&u->info.share, 1, 0);
	(void)sl_share_xsk_open(&u->info.share, 0);
	(void)sl_share_join(&u->info.share, 1, 1);
	sl_umem_untake(u, frames, sl_umem_take(u, frames, FRAMES));
	(void)sl_share_reclaim(&u->info.share, 0);
	(void)sl_share_posted(&u->info.share, 1, SL_FLIGHT_QP);
	(void)sl_share_look(&u->info.share, u->watch, 30, is_stopped, NULL, &f);
}

/* The record's numbers are those by which members find frames. */
static void check(void)
{
	const struct sl_umem *u = sl_umem_first();

	if (u && (u->info.nframes != u->info.geometry.nframes ||
		  (u->info.frame_size != 2048 && u->info.frame_size != 4096) ||
		  u->info.headroom >= u->info.frame_size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sl_vault_msg m;
	size_t changes = size ? data[0] % 4 : 0, used = 1;

	if (size < 1 + 3 * changes)
		return 0;
	m = kept;
	for (uint32_t i = 0; i < m.nfds; i++)
		m.fd[i] = dup(kept.fd[(i + (data[0] >> 6 & (data[0] >> 2))) % m.nfds]);
	for (; used < 1 + 3 * changes; used += 3)
		m.body[((size_t)data[used] << 8 | data[used + 1]) % m.bytes] ^= data[used + 2];
	if (data[0] & 0x20)
		m.bytes -= data[0] & 3;
	if (!sl_umem_adopt(&m)) {
		check();
		work(data + used, size - used);
	}
	sl_umem_drop(UMEM);
	while (sl_umem_first())
		sl_umem_drop(sl_umem_first()->info.id);
	sl_vault_close_fds(&m);
	return 0;
}
