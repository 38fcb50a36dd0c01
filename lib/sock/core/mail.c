/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters of children to their parents: which inherited socket a child uses.
 *
 * Theory of operation: a child can become another user, or another's, at any time after the fork,
 * while it holds the writing end of its parent's mailbox. So nothing in a letter is more than a
 * name: the number of an object in the parent's table, its generation, and the cookie of the
 * kernel's socket. The parent looks it up among its own sockets, compares generation and cookie
 * with what it has itself, and sees that the socket is older than its last fork. What a letter can
 * bring about is then what a child that uses the socket brings about anyway: the socket goes to the
 * kernel. The answer is on the board (board.c). With a letter about a TCP connection comes an end
 * of a pair, by which the child gets the connection's new file, if a daemon made one (heirs.c). The
 * keeper sends by it without waiting, and closes nothing that came: another thread does
 * (stranger.c). A letter with a descriptor of another kind, or with several, is refused.
 *
 * Each child has a mailbox of its own (mailboxes.c): one that shuts it down, or fills it, cuts off
 * itself. A child that forks asks its ancestors for mailboxes for its own child, which then has no
 * way of its parent's, and no way at all to an ancestor that has nothing of its sockets. The common
 * mailbox is for children whose making the library did not see, and for those beyond the bound. */
#include "sock/core/mail.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/core/board.h"
#include "sock/core/life.h"
#include "sock/core/mailboxes.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
#include "sock/core/stranger.h"
#include "sock/proc/keeper.h"

/* Most that a child waits for its parent's hand-back: a daemon that is started again may keep the
 * parent waiting for ten seconds (ctl/lease/conn.c). Before the end of it the child's file is a
 * closed socket, and its call would fail by EPIPE. */
#define PARENT_NS   11000000000ull
#define REAPER_NS   300000000ull  /* likewise for the reaper of a parent that was killed */
#define POST_NS     1000000000ull /* most that it waits for room in the mailbox */
#define SLICE_NS    10000000ull   /* so often it looks whether the parent is there still */
#define EACH        20u /* so many slices for a letter about nothing: many fill the mailbox */
#define LOOK_NS     500000
#define REST_NS     1000000      /* after this the keeper reads on, when a child writes on and on */
#define LETTERS_MAX 64           /* a round */
#define ASK_NS      200000000ull /* most that a child waits for a mailbox, which it can do without */
#define SILENT_NS   1000000000ull /* after that it does not ask for so long */
#define WILL_BYTES  512
/* Descriptors that a process leaves lie in its children's mailboxes as long as the children live.
 * Such descriptors count against RLIMIT_NOFILE of the user: beyond it no process of that user could
 * send a descriptor. */
#define LEFT_PART  8   /* of that limit */
#define LEFT_LEAST 16u /* where the limit is small or 0 */

_Static_assert(sizeof(struct sl_letter) == 32, "a letter has no holes");

static int mail[2] = {-1, -1}; /* the common mailbox: reading and writing end */
static struct sl_board board;
static const struct sl_mail_ops *ops; /* set before the first start */
static uint64_t rests_until_ns;       /* the keeper's; 0: it reads when there are letters */
/* Where the parent's letters go, and the parent's parent's: the last is the parent. */
static struct postbox {
	int fd;
	const uint32_t *board;
	uint32_t place;           /* of the mailbox, in the process that reads it */
	bool shared;              /* other processes may have it */
	uint64_t silent_until_ns; /* no answer came in time */
} up[SL_GENERATIONS];
static uint8_t nup;
static bool confined; /* a filter may kill this process for the calls that get a mailbox */
/* The next child's, while the process forks: in place of up, and the one to this process. */
static struct postbox instead[SL_GENERATIONS], unborn = {.fd = -1};

/* A child's --------------------------------------------------------------------------------------
 */

/* True: the kernel has the connection again. There is no such test for other kinds of sockets. */
static bool is_handed_back(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info), n = sizeof(int);
	int repair = 0;

	return sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
	       (info.tcpi_state != TCP_CLOSE &&
		!sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &repair, &n) && !repair);
}

/* True: the process that reads the mailbox has ended. */
static bool reader_is_gone(int to)
{
	struct pollfd p = {.fd = to, .events = POLLRDHUP};
	const struct timespec zero = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0;
}

/* Sends the letter; the mailbox is full only while a child floods it. with: a descriptor, or -1. */
static bool post(const struct sl_letter *l, int with, int to, uint64_t end)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	long n;

	while ((n = sl_rights_send(to, l, sizeof(*l), &with, with >= 0, MSG_DONTWAIT)) == -EAGAIN &&
	       sl_now_ns() < end)
		sl_sys(SYS_nanosleep, &pause, NULL);
	return n == sizeof(*l);
}

/* Until the letter is read and followed. with: what goes with it, or -1; tcp: a TCP socket, or -1.
 * A connection that the kernel has is not whole yet: the keeper has still to send bytes by it, and
 * what this process sends would be among them. Another process may have overwritten the ticket, so
 * a letter about nothing follows, which the keeper reads when it has done as the first one asks. */
static void tell(const struct sl_letter *l, int with, const struct postbox *to, int tcp)
{
	struct sl_letter again = {
		.magic = SL_LETTER_MAGIC, .use = SL_USE_AGAIN, .ticket = l->ticket};
	uint64_t end = sl_now_ns() + PARENT_NS;
	bool waits = post(l, with, to->fd, sl_now_ns() + POST_NS);
	uint32_t slices = 0;

	while (waits && !sl_board_wait(to->board, to->place, again.ticket, SLICE_NS)) {
		bool back = tcp < 0 || is_handed_back(tcp);

		if (reader_is_gone(to->fd) || sl_now_ns() >= end || (back && !to->board))
			return;
		if (back && tcp >= 0 && slices++ % EACH == 0) {
			again.ticket = sl_board_ticket();
			waits = post(&again, -1, to->fd, sl_now_ns() + POST_NS);
		}
	}
}

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

static struct postbox own_box(void)
{
	return (struct postbox){.fd = sl_load(&mail[1]),
				.board = board.shown,
				.place = SL_BOARD_COMMON,
				.shared = true};
}

/* A parent that was killed has handed nothing back: its reaper does (tools/death/others.c). A
 * socket with an error is over. */
static void wait_for_reaper(int fd, const struct postbox *to)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t end = sl_now_ns() + REAPER_NS;
	struct pollfd p = {.fd = fd};
	const struct timespec zero = {0, 0};

	if (sl_broker_was_leased() || sl_opt_listens(fd) || !reader_is_gone(to->fd))
		return;
	while (!is_handed_back(fd) && sl_now_ns() < end) {
		if (sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0 && p.revents & POLLERR)
			return;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
}

/* A letter about a connection carries a socket: the parent may send another file for the connection
 * by it. The child then says SL_USE_LEFT, as the old file is on none of its numbers any more.
 * (sshd's child has an RLIMIT_NOFILE of 0, so its letter carries no socket.) */
static void tell_of_connection(struct sl_sock *sk, const struct sl_letter *l,
			       const struct postbox *to, int fd)
{
	static const struct sl_letter left = {.magic = SL_LETTER_MAGIC, .use = SL_USE_LEFT};
	uint32_t inode = sk->inode;
	int end[2] = {-1, -1};

	(void)sl_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		     end);
	tell(l, end[1], to, sl_opt_listens(fd) ? -1 : fd);
	if (end[1] >= 0)
		sl_sys_close(end[1]);
	if (ops->receive(sk, inode, end[0], to->fd))
		(void)sl_sys_sendto(to->fd, &left, sizeof(left), MSG_NOSIGNAL | MSG_DONTWAIT, NULL,
				    0);
	else
		wait_for_reaper(fd, to);
	if (end[0] >= 0)
		sl_sys_close(end[0]);
}

static void tell_parent(struct sl_sock *sk, int fd, enum sl_letter_use use)
{
	struct sl_letter l = {
		.magic = SL_LETTER_MAGIC,
		.use = use,
		.sock = sl_sock_ref(sk),
		.gen = sk->gen,
		.cookie = cookie_of(fd),
		.ticket = sl_board_ticket(),
	};
	struct postbox to;

	if (sk->passed) {
		to = up[sk->passed - 1];
	} else {
		/* A child of vfork has the parent's memory: its own sockets are the parent's, and
		 * no fork was counted for it. */
		to = own_box();
		sl_store(&sk->forks, sl_load(&sl_forks) - 1);
	}
	if (use != SL_USE_LEND)
		sk->passed = 0; /* once is enough */
	if (sk->proto == IPPROTO_TCP)
		tell_of_connection(sk, &l, &to, fd);
	else
		tell(&l, -1, &to, -1);
}

void sl_keeper_tell_parent_of(struct sl_sock *sk, int fd)
{
	tell_parent(sk, fd, ops->use_of(sk));
}

void sl_keeper_lend(struct sl_sock *sk, int fd)
{
	tell_parent(sk, fd, SL_USE_LEND);
}

void sl_keeper_tell_parent(struct sl_sock *sk)
{
	sl_keeper_tell_parent_of(sk, sk->fd);
}

void sl_keeper_share(struct sl_sock *sk)
{
	tell_parent(sk, sk->fd, SL_USE_SHARE);
}

void sl_keeper_tell_fork(void)
{
	const struct sl_letter l = {
		.magic = SL_LETTER_MAGIC,
		.use = SL_USE_NONE,
		.ticket = sl_board_ticket(),
	};
	const struct postbox to = own_box();

	tell(&l, -1, &to, -1);
}

static int make_pair(int fd[2])
{
	return sl_sysi(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       fd);
}

/* The keeper's answer: the place of a mailbox, by that mailbox itself. It does not come if the
 * keeper refuses the mailbox. */
static bool is_taken(int end, uint32_t *place)
{
	struct timespec left = {.tv_nsec = ASK_NS};
	struct pollfd p = {.fd = end, .events = POLLIN | POLLRDHUP};

	return sl_sys_ppoll(&p, 1, &left) > 0 &&
	       sl_sys_recvfrom(end, place, sizeof(*place), MSG_DONTWAIT, NULL, NULL) ==
		       sizeof(*place);
}

/* Asks the process that reads b for one more mailbox. Returns the end to write to, or -1. */
static int ask(struct postbox *b, uint32_t *place)
{
	const struct sl_letter l = {
		.magic = SL_LETTER_MAGIC,
		.use = SL_USE_BOX,
		.ticket = sl_board_ticket(),
	};
	uint64_t now = sl_now_ns();
	int end[2];
	bool taken;

	if (now < b->silent_until_ns || make_pair(end))
		return -1;
	taken = post(&l, end[0], b->fd, now + ASK_NS);
	sl_sys_close(end[0]);
	if (taken && is_taken(end[1], place))
		return end[1];
	if (!reader_is_gone(end[1]))
		b->silent_until_ns = sl_now_ns() + SILENT_NS;
	sl_sys_close(end[1]);
	return -1;
}

/* The mailbox keeps its number, since another thread may be about to write to it. */
static void move_in(struct postbox *b, int end, uint32_t place)
{
	if (sl_sys(SYS_dup3, end, b->fd, O_CLOEXEC) >= 0) {
		b->place = place;
		b->shared = false;
	}
	sl_sys_close(end);
}

static void part(struct postbox *b)
{
	uint32_t place;
	int end = ask(b, &place);

	if (end >= 0)
		move_in(b, end, place);
}

/* If a mailbox's reader has ended, only the will is of use (heirs.c): a pair with a copy of it,
 * so that no process can take it from another. Returns the end to read from, or -1. */
static int copy_will(int from)
{
	int fd[SL_RIGHTS_MAX], end[2];
	char will[WILL_BYTES];
	struct sl_rights r = {.fd = fd, .max = SL_RIGHTS_MAX};
	long n = -EPIPE;

	if (make_pair(end))
		return -1;
	/* The first error may only say that the reader has ended. */
	for (unsigned i = 0; i < 2 && n < 0 && n != -EAGAIN; i++)
		n = sl_rights_recv(from, will, sizeof(will), MSG_DONTWAIT | MSG_PEEK, &r);
	if (n > 0 && !r.truncated)
		(void)sl_rights_send(end[0], will, (size_t)n, fd, r.n, MSG_DONTWAIT);
	while (r.n)
		sl_sys_close(fd[--r.n]);
	sl_sys_close(end[0]);
	return end[1];
}

static bool is_passed_from(struct sl_sock *sk, void *arg)
{
	return sl_load(&sk->passed) == *(const uint8_t *)arg + 1;
}

/* The descriptors that a child of this process gets in place of up[i]. */
static struct postbox for_child(uint8_t i)
{
	struct postbox b = up[i];
	int end;

	if (b.fd < 0 || !sl_sock_find(is_passed_from, &i))
		return (struct postbox){.fd = -1};
	if (confined)
		end = -1;
	else if (reader_is_gone(b.fd))
		end = copy_will(b.fd);
	else
		end = ask(&up[i], &b.place);
	if (end < 0) {
		up[i].shared = b.shared = true;
		return b;
	}
	b.fd = sl_fd_keep(end);
	b.shared = false;
	return b;
}

bool sl_mail_is_shared(void)
{
	for (uint8_t i = 0; i < nup; i++)
		if (up[i].shared)
			return true;
	return false;
}

void sl_mail_part(void)
{
	for (uint8_t i = 0; i < nup; i++)
		if (up[i].shared)
			part(&up[i]);
}

/* The keeper's -----------------------------------------------------------------------------------
 */

/* The socket that the letter names; NULL: we have none that a child can have. */
static struct sl_sock *meant(const struct sl_letter *l)
{
	struct sl_sock *sk = sl_sock_at(l->sock, l->gen);

	if (!sk || sl_load(&sk->forks) == sl_load(&sl_forks))
		return NULL;
	if (!l->cookie)
		return NULL;
	return cookie_of(sl_load(&sk->fd)) == l->cookie ||
			       cookie_of(ops->file_of_children(sk)) == l->cookie
		       ? sk
		       : NULL;
}

/* True: a descriptor by which the keeper may answer: no other program can make a send on it wait,
 * and no server with a name takes the answer for a request of this process. */
static bool is_end_of_pair(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int), name_len = sizeof(struct sockaddr_un);
	struct sockaddr_un peer;

	return !sl_sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !sl_sys_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET &&
	       !sl_sys_getpeername(fd, (void *)&peer, &name_len) &&
	       name_len == sizeof(peer.sun_family);
}

static bool adopt(int end, uint32_t from)
{
	uint32_t place;

	if (end < 0 || !sl_mailbox_adopt(end, from, &place))
		return false;
	(void)sl_sys_sendto(end, &place, sizeof(place), MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
	return true;
}

bool sl_mail_on_letter(const void *letter, long bytes, int end, uint32_t from)
{
	struct sl_letter l;
	struct sl_sock *sk;
	bool taken = false;

	if (end >= 0 && !is_end_of_pair(end)) {
		sl_stranger_warn();
		return false;
	}
	if (bytes != sizeof(l))
		return false;
	memcpy(&l, letter, sizeof(l));
	if (l.magic != SL_LETTER_MAGIC || l.use >= SL_USE_END)
		return false;
	if (l.use == SL_USE_NONE) {
		__atomic_fetch_add(&sl_forks, 1, __ATOMIC_RELEASE);
	} else if (l.use == SL_USE_LEFT) {
		ops->left();
	} else if (l.use == SL_USE_BOX) {
		taken = adopt(end, from);
	} else if (l.use != SL_USE_AGAIN) {
		sk = meant(&l);
		if (sk)
			ops->follow(sk, l.use);
		if (sk && end >= 0)
			ops->send(sk, end);
	}
	sl_board_post(&board, from, l.ticket);
	return taken;
}

/* A packet of no bytes is read as the end is, but with the credentials of its sender. */
static bool is_end(int box)
{
	struct ucred by;
	struct sl_rights r = {.from = &by};
	char c;

	return sl_rights_recv(box, &c, sizeof(c), MSG_DONTWAIT | MSG_PEEK, &r) == 0 && by.pid == 0;
}

static enum sl_mail read_some(int box, uint32_t from)
{
	int fd[SL_RIGHTS_ANY];
	struct sl_letter l;
	uint32_t nfds;

	for (unsigned i = 0; i < LETTERS_MAX; i++) {
		long n = sl_rights_recv_any(box, &l, sizeof(l), fd, &nfds);
		bool room = true;

		for (uint32_t j = 0; j < nfds; j++)
			fd[j] = sl_stranger_take(fd[j]);
		if (nfds > 1)
			sl_stranger_warn();
		else if (n > 0 && sl_mail_on_letter(&l, n, nfds ? fd[0] : -1, from))
			nfds = 0;
		for (uint32_t j = 0; j < nfds; j++)
			room &= sl_stranger_close(fd[j]);
		if (!room)
			return SL_MAIL_BROKEN;
		if (n == 0 && is_end(box)) {
			ops->left();
			return SL_MAIL_ENDED;
		}
		if (n < 0)
			return SL_MAIL_EMPTY;
	}
	return SL_MAIL_MORE;
}

static void show_senders(int box)
{
	const int one = 1;

	sl_sys_setsockopt(box, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
}

/* The mailbox keeps its descriptor numbers, since another thread may be about to write to one. The
 * old mailbox may hold descriptors whose close blocks, so the keeper must not close it. */
static int renew(void)
{
	int fd[2], old, err = make_pair(fd);

	if (err)
		return err;
	old = sl_fd_dup(mail[0]);
	if (old >= 0) {
		show_senders(fd[0]);
		sl_sys(SYS_dup3, fd[0], mail[0], O_CLOEXEC);
		sl_sys(SYS_dup3, fd[1], mail[1], O_CLOEXEC);
		sl_stranger_close(old);
		sl_warn("sluice", "a child has shut down the way by which children without one of "
				  "their own tell what they use: what they share with this process "
				  "may stand still there");
	}
	sl_sys_close(fd[0]);
	sl_sys_close(fd[1]);
	return old < 0 ? old : 0;
}

static void on_letters(uint32_t events)
{
	switch (read_some(mail[0], SL_BOARD_COMMON)) {
	case SL_MAIL_EMPTY:
		break;
	case SL_MAIL_MORE:
		sl_keeper_watch_fd(mail[0], 0, on_letters);
		rests_until_ns = sl_now_ns() + REST_NS;
		break;
	case SL_MAIL_ENDED:
	case SL_MAIL_BROKEN:
		sl_keeper_unwatch_fd(mail[0]);
		if (renew() == 0)
			sl_keeper_watch_fd(mail[0], EPOLLIN, on_letters);
		break;
	}
}

void sl_mail_wake(uint64_t now_ns)
{
	sl_mailboxes_wake(now_ns);
	if (!rests_until_ns || now_ns < rests_until_ns)
		return;
	rests_until_ns = 0;
	sl_keeper_watch_fd(mail[0], EPOLLIN, on_letters);
}

uint64_t sl_mail_due_ns(uint64_t now_ns, bool quiet)
{
	uint64_t other_ns = sl_mailboxes_due_ns();

	return rests_until_ns && other_ns ? sl_min(rests_until_ns, other_ns)
					  : rests_until_ns | other_ns;
}

void sl_mail_set_ops(const struct sl_mail_ops *o)
{
	ops = o;
}

int sl_mail_open(void)
{
	int err = make_pair(mail);

	if (err)
		return err;
	mail[0] = sl_fd_keep(mail[0]);
	mail[1] = sl_fd_keep(mail[1]);
	show_senders(mail[0]);
	if (!sl_board_open(&board))
		sl_debug("sluice", "no board for children: they look themselves");
	if (sl_mailboxes_open(read_some))
		sl_debug("sluice", "children have the common mailbox alone");
	sl_keeper_watch_fd(mail[0], EPOLLIN, on_letters);
	return 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		sl_sys_close(*fd);
	*fd = -1;
}

void sl_mail_close(void)
{
	close_end(&mail[0]);
	close_end(&mail[1]);
	sl_mailboxes_close();
	sl_board_close(&board);
	rests_until_ns = 0;
}

struct packet {
	const void *what;
	size_t bytes;
	const int *fd;
	uint32_t nfds; /* of each packet */
	uint32_t left; /* descriptors that may be sent still */
};

static void put_into(int box, void *arg)
{
	struct packet *p = arg;

	if (p->left < p->nfds)
		return;
	if (sl_rights_send(box, p->what, p->bytes, p->fd, p->nfds, MSG_DONTWAIT) >= 0)
		p->left -= p->nfds;
}

static void count(int box, void *arg)
{
	(*(uint32_t *)arg)++;
}

uint32_t sl_keeper_leave(const void *what, size_t bytes, const int *fd, uint32_t nfds)
{
	struct packet p = {what, bytes, fd, nfds, 0};
	struct rlimit64 files = {0};
	uint32_t boxes = 1, each;

	if (mail[0] < 0)
		return nfds;
	(void)sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files);
	files.rlim_cur = sl_min(files.rlim_cur, (rlim64_t)UINT32_MAX);
	p.left = sl_max((uint32_t)files.rlim_cur / LEFT_PART, LEFT_LEAST);
	sl_mailboxes_each(count, &boxes);
	each = sl_max(p.left / boxes, 1u);
	p.nfds = sl_min(nfds, each);
	put_into(mail[0], &p);
	sl_mailboxes_each(put_into, &p);
	return p.nfds;
}

bool sl_keeper_may_have_children(void)
{
	return nup < SL_GENERATIONS;
}

uint8_t sl_keeper_generation(void)
{
	return nup;
}

void sl_mail_confine(void)
{
	confined = true;
}

bool sl_mail_is_confined(void)
{
	return confined;
}

void sl_mail_fork_begin(void)
{
	for (uint8_t i = 0; i < nup; i++)
		instead[i] = for_child(i);
	if (mail[0] < 0)
		return;
	unborn.fd = sl_mailbox_make(&unborn.place);
	unborn.board = board.shown;
}

void sl_mail_fork_end(void)
{
	for (uint8_t i = 0; i < nup; i++)
		if (instead[i].fd >= 0 && instead[i].fd != up[i].fd)
			sl_sys_close(instead[i].fd);
	unborn.fd = -1;
}

/* Keeps the end by which the child sends letters, and the board, where answers appear. */
void sl_mail_child(void)
{
	for (uint8_t i = 0; i < nup; i++) {
		if (up[i].fd >= 0 && up[i].fd != instead[i].fd)
			sl_sys_close(up[i].fd);
		up[i] = instead[i];
	}
	sl_mailboxes_child(unborn.fd);
	if (unborn.fd >= 0) {
		up[nup++] = unborn;
		close_end(&mail[1]);
	} else if (mail[1] >= 0) {
		up[nup++] = own_box();
	}
	unborn.fd = mail[1] = -1;
	close_end(&mail[0]);
	rests_until_ns = 0;
	board = (struct sl_board){NULL, NULL};
}
