/* SPDX-License-Identifier: BSD-2-Clause */
/* Children that have the old file of a connection, after the daemon made a new one for it.
 *
 * Theory of operation: a forked child has the shadows of its parent's connections. Without a daemon
 * the shadow itself becomes the kernel's connection, for all processes that have it. A daemon makes
 * a new socket (restore.c), which the child does not have. So the parent sends the new socket as
 * answer to the child's letter (mail.c), and the child puts it on its numbers. That gives the child
 * no new right: it could use the connection all the time.
 *
 * A parent that closes its last number while a child has the shadow keeps the connection, without
 * a number of the program's, until the child asks for it; then it keeps the kernel's socket until
 * no process has the shadow. A parent that ends leaves the sockets in its mailbox, where its
 * children find them. For a parent that was killed the daemon keeps the connections
 * (tools/sluiced/heirs.c), and a child asks the daemon. The broker counts the holders of a shadow
 * (steer/holders.c). When there are none, the connection ends, as the program's close(2) asked.
 * Where the kernel cannot tell the number of holders, the connection ends after half a minute. */
#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "net/rtnl.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/option.h"
#include "sock/move/heirs.h"
#include "sock/stream/swap.h"
#include "sock/stream/tconn.h"

#define FIRST_NS  10000000ull
#define LAST_NS   500000000ull
#define DAEMON_NS 300000000ull   /* the daemon learns of a death */
#define CROWD_NS  3000000000ull  /* too many processes of a user ask it */
#define BLIND_NS  30000000000ull /* without knowing its holders */

/* Connections of a process that ends; of others its children are cut off. Fewer where there are
 * many children (sl_keeper_leave()). */
#define WILL_MAX 120
#define LOW      256  /* numbers that programs put files on before execve(2) */
#define OLD_MAX  1024 /* files; of more sockets children have none any more when they are closed */

static uint64_t next_ns, delay_ns, since_ns;
static struct {
	const struct sl_sock *sk; /* NULL: unused */
	int fd;
} old[OLD_MAX];
static struct sl_lock old_lock;

/* The place of sk in old[], or with sk NULL a free place; -1: there is none. */
static int place_of_heir(const struct sl_sock *sk)
{
	for (int i = 0; i < OLD_MAX; i++)
		if (sl_load(&old[i].sk) == sk)
			return i;
	return -1;
}

int sl_heirs_file(const struct sl_sock *sk)
{
	int i = sk->has_old ? place_of_heir(sk) : -1;

	return i < 0 ? sk->fd : old[i].fd;
}

static void forget_old(struct sl_sock *sk)
{
	int i = sk->has_old ? place_of_heir(sk) : -1;

	sk->has_old = false;
	if (i < 0)
		return;
	sl_sys_close(old[i].fd);
	sl_store_release(&old[i].sk, NULL);
}

static void keep_old(struct sl_sock *sk)
{
	int i, fd;

	if (sk->has_old || sk->forks == sl_load(&sl_forks))
		return;
	fd = sl_fd_dup(sk->fd);
	if (fd < 0 || !sl_lock(&old_lock)) {
		if (fd >= 0)
			sl_sys_close(fd);
		return;
	}
	i = place_of_heir(NULL);
	if (i >= 0) {
		old[i].fd = fd;
		sl_store_release(&old[i].sk, sk);
		sk->has_old = true;
	} else {
		sl_sys_close(fd);
	}
	sl_unlock(&old_lock);
}

int sl_heirs_put(struct sl_sock *sk, int file)
{
	int err;

	keep_old(sk);
	sl_swap_options(sk->fd, file, sk->family);
	err = sl_swap_file(sk, file);
	sl_sys_close(file);
	return err ? -ECONNABORTED : 0;
}

void sl_heirs_drop(struct sl_sock *sk)
{
	forget_old(sk);
}

int sl_heirs_gone(struct sl_sock *sk)
{
	if (sk->has_old && sl_broker_holders(sl_heirs_file(sk)) != 1)
		return -EBUSY;
	forget_old(sk);
	return 0;
}

void sl_heirs_child(struct sl_sock *sk)
{
	forget_old(sk);
	memset(&old_lock, 0, sizeof(old_lock));
	next_ns = 0;
}

/* Parking ---------------------------------------------------------------------------------------
 */

static void look_soon(void)
{
	since_ns = sl_now_ns();
	delay_ns = FIRST_NS;
	sl_store(&next_ns, since_ns + delay_ns);
	sl_rtnl_wake();
}

/* True: a child may ask for a new file. Without has_old the children's file is the kernel's
 * connection. */
static bool may_be_asked_for(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && sl_broker_is_leased() && !sl_broker_may_inject() &&
	       !sk->lsn && (sk->state == SL_STATE_OFFLOADED ? sk->conn != NULL : sk->has_old);
}

bool sl_heirs_park(struct sl_sock *sk, int fd)
{
	struct sl_lane *lane;
	int own;

	if (!sl_is_up() || !may_be_asked_for(sk))
		return false;
	if (sl_broker_holders(sl_heirs_file(sk)) == 1) { /* ours */
		forget_old(sk);
		return false;
	}
	own = sl_fd_dup(fd);
	if (own < 0)
		return false;
	sl_store(&sk->fd, own);
	sk->stats->fd = own;
	sk->parked = true;
	if (sl_sock_lock(sk, &lane)) {
		sl_sock_notify(sk, SL_READY_GONE);
		sl_lane_unlock(lane);
	}
	look_soon();
	return true;
}

static void look_at_heir(struct sl_sock *sk, void *arg)
{
	bool *left = arg;
	int n;

	if (!sk->parked || sk->awaited)
		return;
	n = sl_broker_holders(sl_heirs_file(sk));
	if (n == 1 || (n < 0 && sl_now_ns() - since_ns > BLIND_NS)) {
		forget_old(sk);
		sl_sock_unpark(sk);
		return;
	}
	*left = true;
}

void sl_heirs_look(uint64_t now_ns)
{
	bool left = false;

	if (!sl_load(&next_ns) || now_ns < sl_load(&next_ns))
		return;
	sl_sock_for_each(look_at_heir, &left);
	delay_ns = sl_min(2 * delay_ns, LAST_NS);
	sl_store(&next_ns, left ? sl_now_ns() + delay_ns : 0);
}

/* (A child may ask for it as often as it likes.) What a child that ends has is closed a moment
 * after its mailbox, or before. */
void sl_heirs_look_now(void)
{
	if (!sl_load(&next_ns))
		return;
	delay_ns = sl_min(delay_ns, FIRST_NS);
	sl_store(&next_ns, sl_min(sl_load(&next_ns), sl_now_ns() + FIRST_NS / 10));
}

uint64_t sl_heirs_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_load(&next_ns);
}

/* Letters ---------------------------------------------------------------------------------------
 */

void sl_heirs_send(struct sl_sock *sk, int to)
{
	char c = 0;

	if (sk->proto != IPPROTO_TCP || !sl_broker_is_leased() || !sl_lock(&sk->slow))
		return;
	if (sk->nfds && !sk->lsn && sk->state == SL_STATE_KERNEL)
		(void)sl_rights_send(to, &c, sizeof(c), &sk->fd, 1, MSG_DONTWAIT);
	if (sk->parked)
		look_soon();
	sl_unlock(&sk->slow);
}

static void put_on(int file, int number, uint32_t inode)
{
	if (sl_inode_of(number) == inode)
		(void)sl_swap_on(file, number);
}

/* The end -----------------------------------------------------------------------------------------
 */

/* Letter that a process leaves to its children when it ends, with the new files of connections:
 * the inode of the old file of each, by which a child finds its own. */
struct will {
	uint32_t n;
	uint32_t inode[WILL_MAX];
};
struct estate {
	struct will will;
	int fd[WILL_MAX];
};

static void leave(struct sl_sock *sk, void *arg)
{
	struct estate *e = arg;

	if (e->will.n == WILL_MAX || !sk->has_old || sk->state != SL_STATE_KERNEL ||
	    sl_broker_holders(sl_heirs_file(sk)) == 1)
		return;
	e->will.inode[e->will.n] = sl_inode_of(sl_heirs_file(sk));
	e->fd[e->will.n++] = sk->fd;
}

void sl_heirs_exit(void)
{
	struct estate e = {0};
	uint32_t n;

	sl_sock_for_each(leave, &e);
	n = e.will.n ? sl_keeper_leave(&e.will, sizeof(e.will), e.fd, e.will.n) : 0;
	if (n < e.will.n)
		sl_info("tcp",
			"%u of %u connections that children share are cut off in them by this "
			"process's end",
			e.will.n - n, e.will.n);
}

/* Peeks only: the letter stays for other children. Tries twice, since the first error may only say
 * that the parent has gone. */
static int look_at_will(int from, uint32_t inode)
{
	struct estate e;
	struct sl_rights r = {.fd = e.fd, .max = WILL_MAX};
	int file = -1;
	long n = -EPIPE;

	for (unsigned i = 0; i < 2 && n < 0 && n != -EAGAIN; i++)
		n = sl_rights_recv(from, &e.will, sizeof(e.will), MSG_DONTWAIT | MSG_PEEK, &r);
	for (uint32_t i = 0; i < r.n; i++) {
		if (file < 0 && n == sizeof(e.will) && e.will.inode[i] == inode)
			file = e.fd[i];
		else
			sl_sys_close(e.fd[i]);
	}
	return file;
}

/* A child of vfork may have moved the old file to low numbers, without the table's knowledge: all
 * of those are looked at. Above, only the numbers that the table has for sk are, since there may be
 * a million. */
static void put_on_all(const struct sl_sock *sk, int file, uint32_t inode)
{
	uint32_t end = sk->nfds > 1 ? sl_load(&sl_fdtab_end) : 0;

	put_on(file, sk->fd, inode);
	for (int fd = 0; fd < LOW; fd++)
		put_on(file, fd, inode);
	for (uint32_t fd = LOW; fd < end; fd++)
		if (sl_fd_sock((int)fd) == sk)
			put_on(file, (int)fd, inode);
}

static int receive(int from)
{
	int file = -1;
	struct sl_rights r = {.fd = &file, .max = 1};
	char c;

	(void)sl_rights_recv(from, &c, sizeof(c), MSG_DONTWAIT, &r);
	return r.n ? file : -1;
}

/* A parent that was killed has left nothing: the daemon has the connection, or will have it in a
 * moment. (A filter may forbid this process the calls.) */
static int ask_daemon(const struct sl_sock *sk, int will)
{
	const struct timespec pause = {.tv_nsec = FIRST_NS / 2}, zero = {0, 0};
	const uint64_t begin = sl_now_ns();
	struct pollfd p = {.fd = will, .events = POLLRDHUP};
	int file;

	if (!sl_broker_was_leased() || sl_mail_is_confined() || sl_opt_listens(sk->fd) ||
	    sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) <= 0)
		return -1;
	while (((file = sl_broker_heir(sk->fd)) == -ENOENT || file == -EAGAIN) &&
	       sl_now_ns() - begin < (file == -EAGAIN ? CROWD_NS : DAEMON_NS))
		sl_sys(SYS_nanosleep, &pause, NULL);
	if (file >= 0)
		sl_swap_options(sk->fd, file, sk->family);
	return file;
}

bool sl_heirs_receive(struct sl_sock *sk, uint32_t inode, int from, int will)
{
	int file = receive(from);
	uint32_t now;

	if (file < 0)
		file = look_at_will(will, inode);
	if (file < 0)
		file = ask_daemon(sk, will);
	if (file < 0)
		return false;
	now = sl_inode_of(file);
	if (now != inode) {
		put_on_all(sk, file, inode);
		sl_store(&sk->inode, now);
	}
	sl_sys_close(file);
	return true;
}
