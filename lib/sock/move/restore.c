/* SPDX-License-Identifier: BSD-2-Clause */
/* Hand-back by the daemon: it makes the kernel's socket, and this process puts that in the place of
 * the shadow.
 *
 * Theory of operation: repair mode lets a socket bind(2) to any port (SK_FORCE_REUSE), so a process
 * without privileges never has a socket in it. The daemon gets the connection as an image, checks
 * that it is one of ours, and makes it in a socket of its own, under our user. The bytes that were
 * never sent follow here, as any program's. Then each number of the socket gets the new file
 * (dup3(2)), with the options that the shadow has. */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lock.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/lease/image.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/heirs.h"
#include "sock/move/restore.h"
#include "sock/repair/repair.h"

#define CHUNK 32768u

/* The daemon makes one connection at a time for a process: a second request would end the first,
 * which cannot be saved then. The keeper and the program's threads may hand back at once. Taken
 * before sl_tconn_ctl. */
static struct sl_lock one_lock;

void sl_restore_child(void)
{
	memset(&one_lock, 0, sizeof(one_lock));
}

/* Queues in a file ------------------------------------------------------------------------------
 */

static int write_queue(int fd, uint32_t (*read)(void *, uint32_t, void *, uint32_t), void *arg,
		       uint32_t bytes)
{
	uint8_t buf[CHUNK];
	uint32_t n;
	int err = 0;

	for (uint32_t at = 0; at < bytes && !err; at += n) {
		n = read(arg, at, buf, sl_min(CHUNK, bytes - at));
		err = n ? sl_write_all(fd, buf, n) : -EINVAL;
	}
	return err;
}

static int sealed(int fd, int err)
{
	if (!err)
		err = sl_sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

static int new_file(void)
{
	return (int)sl_sys(SYS_memfd_create, "sluice-queues", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* A descriptor; -1: there are no bytes; below that: -errno. */
static int queues(const struct sl_tcp_repair *r, const struct sl_repair_source *src, int *err)
{
	int fd;

	*err = 0;
	if (!r->sndq && !r->rcvq)
		return -1;
	fd = new_file();
	if (fd >= 0)
		fd = sealed(fd, write_queue(fd, src->rcvq, src->arg, r->rcvq)
					?: write_queue(fd, src->sndq, src->arg, r->sndq));
	*err = sl_min(fd, 0);
	return fd;
}

static int ask(struct sl_lease_restore *q, const struct sl_tcp_repair *r,
	       const struct sl_repair_source *src, int shadow)
{
	int err, fd = queues(r, src, &err);

	if (err)
		return err;
	sl_repair_pack(r, &q->conn);
	err = sl_broker_restore(q, shadow, fd);
	if (fd >= 0)
		sl_sys_close(fd);
	return err;
}

/* The daemon's part of it ------------------------------------------------------------------------
 */

static int restore_live(int shadow, const struct sl_tcp_repair *r,
			const struct sl_repair_source *src)
{
	struct sl_lease_restore q = {.how = SL_LEASE_LIVE};
	struct sl_tcp_repair sent = *r;
	int fd, err;

	if (r->unsent > r->sndq || (r->fin_sent && r->unsent))
		return -EINVAL;
	sent.sndq -= r->unsent;
	sent.unsent = 0;
	sent.fin_queued = r->fin_sent;
	err = ask(&q, &sent, src, shadow);
	if (err)
		return err;
	if (src->live)
		src->live(src->arg);
	fd = sl_broker_restored(true);
	if (fd < 0)
		return fd;
	err = sl_repair_rest(fd, r, src);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

int sl_restore_kernel(int shadow, const struct sl_tcp_repair *r, const struct sl_repair_source *src)
{
	int fd;

	if (!sl_lock(&one_lock))
		return -EDEADLK;
	fd = restore_live(shadow, r, src);
	sl_unlock(&one_lock);
	return fd;
}

int sl_restore_closed(int shadow, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		      bool reset)
{
	struct sl_lease_restore q = {.how = reset ? SL_LEASE_RESET : SL_LEASE_ENDED};
	int err;

	if (!sl_lock(&one_lock))
		return -EDEADLK;
	err = ask(&q, r, src, shadow) ?: sl_broker_restored(true);
	sl_unlock(&one_lock);
	return err;
}

int sl_restore_queue(int listener, const struct sl_tcp_repair *r,
		     const struct sl_repair_source *src)
{
	struct sl_lease_restore q = {.how = SL_LEASE_QUEUE};
	int err;

	if (!sl_lock(&one_lock))
		return -EDEADLK;
	err = ask(&q, r, src, listener);
	sl_unlock(&one_lock);
	return err;
}

int sl_restore_syn(int shadow, const struct sl_tcp_key *key, uint32_t scope,
		   const struct sl_tcp_repair_syn *syn, const void *data)
{
	struct sl_tcp_repair r = {
		.key = *key,
		.state = SL_TCP_ESTABLISHED,
		.scope_id = scope,
		.mss_clamp = syn->mss,
		.ts_ok = syn->ts_ok,
		.tsval = syn->tsval,
	};
	struct sl_lease_restore q = {
		.how = SL_LEASE_SYN,
		.iss = syn->iss,
		.syn_bytes = syn->bytes,
		.syn_mss = syn->mss,
		.syn_user_mss = syn->user_mss,
	};
	int err, fd = new_file();

	if (fd >= 0)
		fd = sealed(fd, sl_write_all(fd, data, syn->bytes));
	if (fd < 0)
		return fd;
	sl_repair_pack(&r, &q.conn);
	err = -EDEADLK;
	if (sl_lock(&one_lock)) {
		err = sl_broker_restore(&q, shadow, fd) ?: sl_broker_restored(true);
		sl_unlock(&one_lock);
	}
	sl_sys_close(fd);
	return err;
}
