/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a client's kernel connection, which then becomes the client's own.
 *
 * Theory of operation: reading needs repair mode, which no socket may be in that a client can reach
 * (restore.c). So the client gives the socket away: it puts another file on its numbers and closes
 * its copies before the daemon looks. The file's count of references shows whether any process
 * still has it: it counts descriptors of all processes, calls under way and messages under way.
 * There must be two, the daemon's and that of the request, which lies in the session's socket until
 * it is answered. Only the daemon can make more of them. A socket that other processes have, too,
 * goes back untouched; so does one that cannot be read, out of repair mode.
 *
 * A socket that was read stays in repair mode, so that closing it sends nothing to the peer: the
 * last reference is the request's, which goes when the answer is sent. A daemon that dies before
 * that leaves the request to the next one, which reads the socket again. */
#include <errno.h>
#include <linux/memfd.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "base/sys.h"
#include "ctl/broker/inject.h"
#include "ctl/steer/holders.h"
#include "sock/repair/repair.h"
#include "handlers.h"
#include "proof.h"

#define REFERENCES 2 /* the daemon's and the request's */
#define LOOKS      5 /* for a copy that is about to be closed */

/* Makes the memfd, receive queue first. A descriptor or -errno. */
static int file_of(const struct sl_repair_taken *t)
{
	int fd = (int)sl_sys(SYS_memfd_create, "sluice-queues", MFD_CLOEXEC), err = sl_min(fd, 0);

	if (!err && t->r.rcvq)
		err = sl_write_all(fd, t->rcvq.p, t->r.rcvq);
	if (!err && t->r.sndq)
		err = sl_write_all(fd, t->sndq.p, t->r.sndq);
	if (!err)
		return fd;
	if (fd >= 0)
		sl_sys_close(fd);
	return err;
}

/* True: the queues are the stream's bytes. (With the kernel's TLS they hold records.) */
static bool is_plain(int fd)
{
	char ulp[16];
	socklen_t len = sizeof(ulp);

	return !sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, &len) && (!len || !ulp[0]);
}

/* Counts the references. The client closes its copy after it has sent the request, perhaps a moment
 * later than this. */
static int references(int fd)
{
	const struct timespec moment = {.tv_nsec = 50 * 1000};
	int n = sl_embedded_holders(fd);

	for (unsigned i = 0; i < LOOKS && n > REFERENCES; i++) {
		(void)sl_sys(SYS_nanosleep, &moment, NULL);
		n = sl_embedded_holders(fd);
	}
	return n;
}

static int check_request(const struct sl_session *s, int fd, const char **why)
{
	int n, err = s->limits.repair ? sl_proof_tcp(fd, why) : -EPERM;

	if (err)
		return err;
	n = references(fd);
	if (n != REFERENCES)
		return n < 0 ? n : -EBUSY;
	return is_plain(fd) ? 0 : -EBUSY;
}

/* Returns the memfd, or -errno: the socket is unchanged. */
static int take_image(int fd, struct sl_lease_conn *conn)
{
	struct sl_repair_taken t;
	int file, err = sl_embedded_drop_packets(fd, true);

	if (!err)
		err = sl_repair_read(fd, &t);
	if (err)
		return err;
	sl_repair_pack(&t.r, conn);
	file = file_of(&t);
	if (file < 0)
		sl_repair_cancel(fd, &t);
	sl_repair_free(&t);
	return file;
}

int sl_on_take(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	int fd = m->fd[0], file, err = check_request(s, fd, why);

	m->body.take_ok = (struct sl_lease_take_ok){0};
	file = err ? err : take_image(fd, &m->body.take_ok.conn);
	m->body.take_ok.err = sl_min(file, 0);
	if (file < 0)
		file = sl_fd_dup(fd);
	if (file < 0)
		return file;
	m->fd[m->nfds++] = file;
	return 0;
}
