/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that this program did not make: inherited over execve(2), or received by SCM_RIGHTS.
 *
 * Theory of operation: they are the kernel's, and another process may have them, too: it would find
 * the connection closed once we have taken it over. So we ask the broker how many processes have
 * the file open (steer/holders.c), which no system call tells. A process that passes a descriptor
 * on usually closes its own soon after: as long as there is another holder the keeper asks again,
 * ever more seldom, and at last no more. All this happens only to sockets that the program uses. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/kern/diag.h"
#include "net/rtnl.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/ready.h"
#include "sock/core/sock.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

#define TRIES    40
#define FIRST_NS 2000000ull
#define LAST_NS  1000000000ull
#define CALL_NS  5000000ull /* between two calls that try */

static struct sl_lock lock; /* protects what follows */
static uint64_t next_ns;    /* when the keeper looks again; 0: nothing to look at */
static uint64_t delay_ns;

/* Kinds of sockets ------------------------------------------------------------------------------
 */

struct kind {
	int domain, type, proto;
	bool nonblock;
};

static int int_opt(int fd, int level, int name)
{
	int v = 0;

	return sl_sys_get_int(fd, level, name, &v) ? -1 : v;
}

/* Reads the kind of the socket fd. False: we do not look after this kind. */
static bool read_kind(int fd, struct kind *k)
{
	int flags = sl_sys_fcntl(fd, F_GETFL, 0);
	struct stat st;

	if (flags < 0 || sl_sys(SYS_fstat, fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	*k = (struct kind){
		.domain = int_opt(fd, SOL_SOCKET, SO_DOMAIN),
		.type = int_opt(fd, SOL_SOCKET, SO_TYPE),
		.proto = int_opt(fd, SOL_SOCKET, SO_PROTOCOL),
		.nonblock = flags & O_NONBLOCK,
	};
	return (k->domain == AF_INET || k->domain == AF_INET6) &&
	       ((k->type == SOCK_STREAM && k->proto == IPPROTO_TCP && sl_settings.tcp) ||
		(k->type == SOCK_DGRAM && k->proto == IPPROTO_UDP));
}

static bool nobody(uint32_t inode, void *arg)
{
	return false;
}

/* True: the connection came by a listener, as far as one on its port still exists. */
static bool came_by_listener(int fd)
{
	struct sl_diag_claim d = {.tcp = true};
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint32_t scope = 0, inode;

	return !sl_sys_getsockname(fd, &ss, &len) &&
	       !sl_addr_from_sockaddr((struct sockaddr *)&ss, len, &d.local, &d.port, &scope) &&
	       sl_diag_shared(&d, nobody, NULL, &inode) > 0;
}

/* Taking it -------------------------------------------------------------------------------------
 */

/* Makes the socket undecided again (SL_STATE_NEW). -EBUSY: a call is in the kernel with it, and
 * would wait there for ever. */
static int undecide(struct sl_sock *sk, bool given)
{
	int err = -EBUSY;

	if (!sl_lock(&sk->slow))
		return err;
	__atomic_store_n(&sk->taking, true, __ATOMIC_SEQ_CST);
	if (!sk->nfds || sk->passed || !sl_is_up())
		err = -ENOTCONN;
	else if (sk->state != SL_STATE_KERNEL)
		err = -EALREADY;
	else if (!__atomic_load_n(&sk->in_kernel, __ATOMIC_SEQ_CST))
		err = given ? sl_sock_is_sole(sk) : 0;
	if (!err) {
		sl_tcp_opt_adopt(sk);
		sl_store(&sk->state, SL_STATE_NEW);
	}
	__atomic_store_n(&sk->taking, false, __ATOMIC_RELEASE);
	sl_unlock(&sk->slow);
	return err;
}

/* Takes a listener over by another listen(2) with the same backlog. */
static int take_listener(struct sl_sock *sk, bool given, int backlog)
{
	struct sl_epoll_moved sets;
	int err = undecide(sk, given);

	if (err)
		return err;
	sl_epoll_leave_kernel(sk, &sets);
	err = sl_tcp_sock_listen(sk, sk->fd, backlog);
	sl_epoll_enter_ours(&sets);
	if (!err && sl_load(&sk->state) == SL_STATE_OFFLOADED)
		sl_stats->taken_over++;
	return err ? err : sl_load(&sk->state) == SL_STATE_OFFLOADED ? 0 : -EREMOTE;
}

static int take(struct sl_sock *sk, bool given)
{
	int backlog;

	if (sk->proto != IPPROTO_TCP)
		return -EOPNOTSUPP;
	backlog = sl_tlisten_backlog(sk->fd);
	return backlog >= 0 ? take_listener(sk, given, backlog) : sl_tcp_sock_take_over(sk, given);
}

int sl_sock_take(struct sl_sock *sk, bool given)
{
	return SL_ROOMY(take, sk, given);
}

static bool is_worth_trying(int err)
{
	return err == -EBUSY || err == -EAGAIN;
}

/* The keeper's ----------------------------------------------------------------------------------
 */

uint64_t sl_given_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_load(&next_ns);
}

static void try_again(struct sl_sock *sk, uint8_t tries)
{
	int err = sl_load(&sk->state) == SL_STATE_KERNEL ? sl_sock_take(sk, true) : 0;

	if (!sl_load(&sk->given))
		return; /* another thread was faster */
	sl_store(&sk->given, is_worth_trying(err) ? tries : 0);
	if (!sk->given && err && err != -EALREADY)
		sl_debug("sock", "fd %d stays with the kernel: %s", sk->fd, strerrorname_np(-err));
}

/* Wakes threads that wait for the kernel's bytes (tcp_recv.c): they keep its file from being ours
 * alone, and take the connection over themselves. */
static void wake_callers(struct sl_sock *sk)
{
	struct sl_lane *lane;

	if (!sl_load(&sk->given) || !sl_sock_lock(sk, &lane))
		return;
	sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
}

static void look_at_given(struct sl_sock *sk, void *arg)
{
	bool *left = arg;

	uint8_t tries = sl_load(&sk->given);

	if (sl_given_is_later(tries))
		return;
	if (tries) {
		try_again(sk, tries - 1);
		wake_callers(sk);
	}
	*left |= sl_load(&sk->given) != 0;
}

/* A thread that is in a call with the socket counts as one more holder, and the program may be in
 * such calls at every look of the keeper's. So the program's calls try to take it over, too. */
void sl_given_call(struct sl_sock *sk)
{
	static uint64_t next_call_ns;
	uint64_t now = sl_now_ns();

	if (now < sl_load(&next_call_ns))
		return;
	sl_store(&next_call_ns, now + CALL_NS);
	try_again(sk, sl_load(&sk->given));
}

void sl_given_look(uint64_t now_ns)
{
	bool left = false;

	if (!sl_load(&next_ns) || now_ns < sl_load(&next_ns) || !sl_lock(&lock))
		return;
	sl_store(&next_ns, 0);
	sl_unlock(&lock);
	sl_sock_for_each(look_at_given, &left);
	if (!left || !sl_lock(&lock))
		return;
	if (!next_ns) {
		delay_ns = sl_min(2 * delay_ns, LAST_NS);
		sl_store(&next_ns, sl_now_ns() + delay_ns);
	}
	sl_unlock(&lock);
}

static void look_soon(void)
{
	if (!sl_lock(&lock))
		return;
	delay_ns = FIRST_NS;
	sl_store(&next_ns, sl_now_ns() + delay_ns);
	sl_unlock(&lock);
	sl_rtnl_wake();
}

void sl_sock_want(struct sl_sock *sk)
{
	sl_store(&sk->given, TRIES);
	try_again(sk, TRIES);
	wake_callers(sk);
	if (sl_load(&sk->given))
		look_soon();
}

void sl_given_child(void)
{
	sl_lent_child();
	memset(&lock, 0, sizeof(lock));
	next_ns = 0;
}

/* Coming ----------------------------------------------------------------------------------------
 */

static bool has_inode(struct sl_sock *sk, void *arg)
{
	return sk->inode == *(const uint32_t *)arg;
}

/* True: fd is another descriptor of a socket that we look after already; or, in a child in which
 * the library is not up, of one that is its parent's. */
static bool sock_is_known(int fd)
{
	struct sl_sock *sk;
	uint32_t inode;
	struct stat st;

	if (sl_sys(SYS_fstat, fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	inode = (uint32_t)st.st_ino;
	sk = sl_sock_find(has_inode, &inode);
	if (!sk)
		return false;
	sl_lock(&sk->slow);
	if (sk->nfds && sl_fdtab_set(fd, SL_FD_SOCK, sk) == 0)
		sk->nfds++;
	sl_unlock(&sk->slow);
	return true;
}

static struct sl_sock *stream(int fd, const struct kind *k)
{
	struct sl_sock *sk = sl_sock_new(fd, k->domain, k->nonblock ? SOCK_NONBLOCK : 0, k->proto);

	if (!sk)
		return NULL;
	sk->foreign = true;
	sk->phase = SL_CONNECTED;
	sk->server = came_by_listener(fd);
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = SL_REASON_GIVEN;
	sl_store(&sk->state, SL_STATE_KERNEL);
	return sk;
}

/* Datagram sockets are ours at once or never: a call that waits in the kernel cannot be seen. */
static int datagrams(int fd, const struct kind *k)
{
	int n = sl_broker_holders(fd);
	struct sl_sock *sk;

	if (n != 1)
		return n < 0 ? n : -EBUSY;
	sk = sl_sock_new(fd, k->domain, k->nonblock ? SOCK_NONBLOCK : 0, k->proto);
	if (!sk)
		return -ENOMEM;
	sk->foreign = true;
	sl_sock_decide(sk);
	return 0;
}

static bool is_stream_in_use(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return sl_tlisten_backlog(fd) >= 0 || !sl_sys_getpeername(fd, &ss, &len);
}

SL_API
int sl_given(int fd)
{
	struct sl_sock *sk;
	struct kind k;

	if (fd < 0 || sl_is_ours(fd))
		return 0;
	if (sock_is_known(fd))
		return 0;
	if (sl_up_again() < 0 || !sl_settings.offloaded_sockets)
		return -EREMOTE;
	if (!read_kind(fd, &k) || !sl_sock_same_netns(fd))
		return -EOPNOTSUPP;
	if (k.proto == IPPROTO_UDP)
		return datagrams(fd, &k);
	if (!is_stream_in_use(fd))
		return -ENOTCONN;
	sk = stream(fd, &k);
	if (!sk)
		return -ENOMEM;
	if (sl_tlisten_backlog(fd) >= 0)
		sl_tlisten_after_exec(sk);
	sl_sock_want(sk);
	return 0;
}
