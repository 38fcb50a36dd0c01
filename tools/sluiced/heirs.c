/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of a killed process that go on, since another process has their sockets, too.
 *
 * Theory of operation: the other process, a forked child as a rule, has a closed socket, the
 * shadow. The daemon may not touch the files of other processes, but sees who has which
 * (sought.bpf.c). So it makes the connection in a socket of its own, with the dead process's user,
 * as for a live one (restore.c), and keeps that until no process has the shadow any more. A child
 * that uses the shadow finds its parent gone, and shows the shadow to the daemon (SL_LEASE_HEIR):
 * it gets the connection, and puts it on its numbers.
 *
 * Every byte that the dead process has left may be false. A connection must have been claimed by
 * its session, with a proof, and goes to processes that show a socket with the inode that the
 * session had named: a socket that a process does not have it cannot show. Such a process may be
 * another user's by now (a worker of a root's server), as by the kernel. But the user that made
 * the socket must be the session's: no session can name the socket of another user's server, whose
 * child would take that session's connection for its own. The bytes come out of the packet memory
 * of the group, and notes that do not fit end the connection. Each user can have USER_MOST heirs.
 * The vault has those that live, and the next daemon goes on with them. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/closer.h"
#include "base/fds.h"
#include "base/sys.h"
#include "conns.h"
#include "ctl/kern/say.h"
#include "ctl/steer/sought.h"
#include "ctl/umem/umem.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "proof.h"
#include "sock/repair/repair.h"
#include "sluiced.h"

#define USER_MOST 64 /* heirs of a user */

/* Other clients wait while the daemon looks at what a dead process has left. So a turn of its loop
 * looks at no more than this, and begins no other piece of work after TURN_NS. */
#define LOOK_CONNS  256  /* connections */
#define LOOK_FRAMES 4096 /* frames, for the notes in them */
#define LOOK_PIECES 512  /* pieces of a connection's queues */
#define TURN_NS     1000000ull

/* The daemon looks for the processes that have live heirs: so long after an event, then each time
 * twice as long after the last look; a look that took t is followed by a rest of SHARE * t. */
#define FIRST_NS 10000000ull
#define LAST_NS  500000000ull
#define SHARE    16

struct sl_heir {
	struct sl_heir *next;
	uint32_t session, uid, inode;
	uint16_t family;
	bool live, taken; /* a process has it */
	bool looked_for;  /* in this round */
	int fd;
	struct sl_gone *gone; /* while it is made */
	int holder;           /* pidfd of a process that has the shadow; -1: not known */
	struct sl_tcp_repair r;
	struct sl_repair_saved saved;
	struct sl_gone_source from;
};

static struct sl_heir *heirs;
static uint64_t next_ns = UINT64_MAX; /* the next look at the living */
static uint64_t delay_ns;             /* between the last look and that one */
static uint64_t rest_ns;              /* no look before, whatever clients do */

static void look_soon(void)
{
	uint64_t soon = sl_min(next_ns, sl_now_ns() + FIRST_NS);

	delay_ns = FIRST_NS;
	next_ns = sl_max(rest_ns, soon);
}

static uint64_t key_of(const struct sl_heir *h)
{
	return (uint64_t)h->uid << 32 | h->inode;
}

static void keep(const struct sl_heir *h)
{
	const struct sl_heir_kept k = {h->uid, h->inode, h->family, h->taken};

	sl_keep_socket(SL_KEEP_HEIR, key_of(h), &k, sizeof(k), h->fd);
}

/* SO_LINGER of 0 resets a connection that is live. */
static void end(struct sl_heir *h, bool reset)
{
	const struct linger l = {.l_onoff = 1};

	if (h->holder >= 0)
		sl_sys_close(h->holder);
	sl_keep_socket(SL_KEEP_HEIR, key_of(h), NULL, 0, -1);
	if (reset)
		(void)sl_sys_setsockopt(h->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	sl_closer_add(h->fd, SL_CLOSER_NOBODY, false);
	free(h);
}

/* The dead ---------------------------------------------------------------------------------------
 */

/* How many heirs a user has, made or half made. */
static unsigned heirs_of(uint32_t uid)
{
	unsigned n = 0;

	for (const struct sl_heir *h = heirs; h; h = h->next)
		n += h->uid == uid;
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		n += s->conns.making && s->cred.uid == uid;
	return n;
}

/* Notes connections that a child may have. True: there are more to look at. */
static bool collect(struct sl_session *s)
{
	struct sl_conns *c = &s->conns;
	unsigned room = heirs_of(s->cred.uid);

	room = room < USER_MOST ? USER_MOST - room : 0;
	for (unsigned n = 0; n < LOOK_CONNS && c->shared_at < c->gone.n && c->nshared < room; n++) {
		const struct sl_gone *g = &c->gone.gone[c->shared_at++];
		uint32_t inode = sl_gone_is_noted(&c->gone, g) ? sl_gone_inode(&c->gone, g) : 0;

		if (!inode)
			continue;
		c->shared_conn[c->nshared] = c->shared_at - 1;
		c->shared[c->nshared++].inode = inode;
	}
	return c->shared_at < c->gone.n && c->nshared < room;
}

/* Frames of other members are not looked at. */
static bool is_own_frame(const void *arg, uint32_t frame)
{
	const struct sl_session *s = arg;
	const struct sl_umem *u = sl_umem_find(s->memory->umem);
	union sl_frame_word w = {.all = sl_load(&u->info.share.word[frame].all)};

	return w.owner == s->share && w.refs;
}

static void find_queues(struct sl_session *s)
{
	const struct sl_umem *u = s->share && s->memory ? sl_umem_find(s->memory->umem) : NULL;

	if (!u)
		return;
	s->conns.queues = (struct sl_gone_queues){
		.fd = u->info.memfd,
		.nframes = u->info.nframes,
		.frame_size = u->info.frame_size,
		.is_own = is_own_frame,
		.arg = s,
	};
}

/* Each byte of the queues is in a frame. A process that writes false lengths and notes could have
 * the kernel keep the same frames many times. */
static bool has_room(struct sl_conns *c, const struct sl_tcp_repair *r)
{
	uint64_t memory = (uint64_t)c->queues.nframes * c->queues.frame_size;
	uint64_t bytes = (uint64_t)r->sndq + r->rcvq;

	if (bytes > memory - c->shared_bytes)
		return false;
	c->shared_bytes += bytes;
	return true;
}

/* Begins an heir for the connection shared[i]. NULL: it cannot go on. */
static struct sl_heir *begin_heir(struct sl_session *s, unsigned i)
{
	const struct sl_sought *w = &s->conns.shared[i];
	struct sl_gone *g = &s->conns.gone.gone[s->conns.shared_conn[i]];
	struct sl_heir *h = NULL;
	struct sl_tcp_dead d;

	if (w->family && w->closed && heirs_of(s->cred.uid) < USER_MOST)
		h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	*h = (struct sl_heir){.session = s->id,
			      .uid = s->cred.uid,
			      .inode = w->inode,
			      .family = w->family,
			      .gone = g,
			      .holder = -1,
			      .fd = -1,
			      .from.q = &s->conns.queues};
	if (sl_gone_state(&s->conns.gone, g, &d, &h->from.from) && has_room(&s->conns, &d.r)) {
		h->r = d.r;
		return h;
	}
	free(h);
	return NULL;
}

/* 1: there is more to do; 0: it is made; less: it cannot be. */
static int make_some(struct sl_session *s, struct sl_heir *h)
{
	const struct sl_repair_source src = sl_gone_source(&h->from);
	int err, one = 1;

	if (h->fd >= 0)
		return sl_repair_fill(h->fd, &h->r, &src, &h->saved);
	err = sl_gone_source_check(&h->from, &h->r, LOOK_PIECES);
	if (err)
		return err;
	h->fd = sl_restore_socket(s, h->family, NULL);
	if (h->fd < 0)
		return h->fd;
	/* Until a process has it and its own option: the server may start again meanwhile. */
	(void)sl_sys_setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	sl_time_wait_forget(&h->gone->key);
	err = sl_repair_start(h->fd, &h->r, &h->saved);
	return err ? err : 1;
}

static void make(struct sl_session *s)
{
	struct sl_heir *h = s->conns.making;
	int err = make_some(s, h);

	if (err > 0)
		return;
	s->conns.making = NULL;
	if (!err) {
		h->gone->kept = true;
		h->next = heirs;
		heirs = h;
		return;
	}
	if (h->fd >= 0)
		sl_sys_close(h->fd);
	free(h);
}

/* Asks which processes have the shadows of the dead one's connections. True: there is more to do.
 */
static bool look_for_holders(struct sl_session *s)
{
	struct sl_conns *c = &s->conns;
	int err;

	if (collect(s))
		return true;
	err = c->nshared ? sl_embedded_sought(c->shared, c->nshared) : 0;
	if (err == -EAGAIN || err == -EBUSY)
		return true;
	if (err)
		c->nshared = 0;
	find_queues(s);
	c->shared_next = 1;
	return false;
}

static bool has_heirs(const struct sl_conns *c)
{
	for (uint32_t i = 0; i < c->nshared; i++)
		if (c->shared[i].family && c->shared[i].closed)
			return true;
	return false;
}

bool sl_heirs_begin(struct sl_session *s, bool dead)
{
	struct sl_conns *c = &s->conns;
	uint64_t end = sl_now_ns() + TURN_NS;

	if (!dead || !s->limits.repair || c->gone.fd < 0 ||
	    (c->shared_next > c->nshared && !c->making))
		return false;
	if (!c->shared_next && look_for_holders(s))
		return true;
	if (has_heirs(c) && sl_gone_queues_read(&c->queues, LOOK_FRAMES))
		return true;
	while (c->making || c->shared_next <= c->nshared) {
		if (c->making)
			make(s);
		else
			c->making = begin_heir(s, c->shared_next++ - 1);
		if (sl_now_ns() >= end)
			return true;
	}
	c->shared_next = c->nshared + 1;
	return false;
}

/* 1: there is more to do; less than 0: the kernel does not take it whole, and it is reset. */
static int go_live(struct sl_heir *h)
{
	const struct sl_repair_source src = sl_gone_source(&h->from);
	int err = sl_repair_finish_some(h->fd, &h->r, &src, &h->saved);

	h->live = !err;
	if (h->live)
		keep(h);
	return err;
}

bool sl_heirs_live(struct sl_session *s)
{
	uint64_t end_ns = sl_now_ns() + TURN_NS;
	int err;

	sl_embedded_sought_stop(s->conns.shared);
	for (struct sl_heir **at = &heirs, *h; (h = *at);) {
		if (h->session != s->id || h->live) {
			at = &h->next;
			continue;
		}
		err = go_live(h);
		look_soon();
		if (err < 0) {
			*at = h->next;
			end(h, true);
		}
		if (sl_now_ns() >= end_ns)
			return true;
	}
	sl_gone_queues_free(&s->conns.queues);
	return false;
}

/* The living -------------------------------------------------------------------------------------
 */

static struct sl_sought sought[SL_SOUGHT_MAX]; /* of the look at the living that is under way */
static unsigned nsought;                       /* 0: none is */
static uint64_t spent_ns;                      /* processor time of that look */
static bool ended;                             /* the last look has ended heirs */

static uint64_t cpu_ns(void)
{
	struct timespec ts = {0};

	(void)sl_sys(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Notes in `sought` live heirs that this round has not looked for. Returns how many. */
static unsigned choose_unseen(void)
{
	unsigned n = 0;

	for (struct sl_heir *h = heirs; h && n < SL_SOUGHT_MAX; h = h->next) {
		if (!h->live || h->looked_for)
			continue;
		h->looked_for = true;
		sought[n++].inode = h->inode;
	}
	return n;
}

/* Chooses what to look for: all live heirs in turns, if they are too many for one look. */
static void choose_some(void)
{
	nsought = choose_unseen();
	if (nsought)
		return;
	for (struct sl_heir *h = heirs; h; h = h->next)
		h->looked_for = false;
	nsought = choose_unseen();
}

/* The result of the look for h; NULL: the look did not seek it. */
static const struct sl_sought *found(const struct sl_heir *h)
{
	for (unsigned i = 0; h->live && i < nsought; i++)
		if (sought[i].inode == h->inode)
			return &sought[i];
	return NULL;
}

/* The end of that process has the daemon look at once. (Its number may be another's by now: then
 * the daemon looks for nothing.) */
static void watch_holder(struct sl_heir *h, uint32_t pid)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SL_TAG_DEATH};

	if (h->holder >= 0)
		return;
	h->holder = sl_sysi(SYS_pidfd_open, pid, 0);
	if (h->holder >= 0)
		(void)sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, h->holder, &ev);
}

void sl_heirs_died(void)
{
	for (struct sl_heir *h = heirs; h; h = h->next) {
		if (h->holder < 0 || !sl_is_dead(h->holder))
			continue;
		sl_sys_close(h->holder);
		h->holder = -1;
		next_ns = rest_ns;
	}
}

/* Ends those whose shadow no process has any more: the process that has used it has the connection
 * itself by then, or there is none. */
static void end_unused(void)
{
	ended = false;
	for (struct sl_heir **at = &heirs, *h; (h = *at);) {
		const struct sl_sought *s = found(h);

		if (!s || s->family) {
			if (s)
				watch_holder(h, s->pid);
			at = &h->next;
			continue;
		}
		*at = h->next;
		end(h, false);
		ended = true;
	}
}

/* True: it goes on in the next turn of the loop. */
static bool look_at_living(void)
{
	uint64_t begun = cpu_ns();
	int err = 0;

	if (!nsought) {
		spent_ns = 0;
		choose_some();
	}
	if (nsought)
		err = sl_embedded_sought(sought, nsought);
	spent_ns += cpu_ns() - begun;
	if (err == -EAGAIN || err == -EBUSY)
		return true;
	if (!err)
		end_unused();
	nsought = 0;
	return false;
}

uint64_t sl_heirs_tick(uint64_t now)
{
	if (!heirs && !nsought) {
		next_ns = UINT64_MAX;
		return UINT64_MAX;
	}
	if (now < next_ns)
		return next_ns - now;
	if (look_at_living())
		return 0;
	now = sl_now_ns();
	rest_ns = now + SHARE * spent_ns;
	delay_ns = sl_min(2 * delay_ns, LAST_NS);
	next_ns = sl_max(rest_ns, now + delay_ns);
	return ended ? 0 : next_ns - now; /* the loop has files to close (sl_closer_go()) */
}

/* The vault --------------------------------------------------------------------------------------
 */

void sl_heirs_keep(void)
{
	for (const struct sl_heir *h = heirs; h; h = h->next)
		if (h->live)
			keep(h);
}

int sl_heirs_adopt(struct sl_vault_msg *m)
{
	const struct sl_heir_kept *k = (const struct sl_heir_kept *)m->body;
	struct sl_heir *h;

	if (m->bytes != sizeof(*k) || m->nfds != 1)
		return -EPROTO;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->uid = k->uid;
	h->inode = k->inode;
	h->family = k->family;
	h->taken = k->taken;
	h->live = true;
	h->holder = -1;
	h->fd = sl_fd_keep(sl_vault_take(m, 0));
	h->next = heirs;
	heirs = h;
	look_soon();
	return 0;
}

/* Requests ---------------------------------------------------------------------------------------
 */

/* True: a process of that user has ended, and its connections are not sorted out yet. */
static bool is_coming(uint32_t uid)
{
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->cred.uid == uid && s->conns.gone.fd >= 0 &&
		    (s->leaving || (s->pidfd >= 0 && sl_is_dead(s->pidfd))))
			return true;
	return false;
}

int sl_on_heir(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_heir *h = heirs;
	struct stat st;
	int err = sl_proof_tcp(m->fd[0], why);

	if (err)
		return err;
	if (sl_sys(SYS_fstat, m->fd[0], &st))
		return -EINVAL;
	while (h && (h->uid != st.st_uid || h->inode != (st.st_ino & SL_SOUGHT_INODE)))
		h = h->next;
	if (!h || !h->live)
		return h || is_coming(st.st_uid) ? -EINPROGRESS : -ENOENT;
	if (!h->taken)
		sl_restore_options(m->fd[0], h->fd, h->family);
	err = sl_fd_dup(h->fd);
	if (err < 0)
		return err;
	if (!h->taken) {
		h->taken = true;
		keep(h);
	}
	m->fd[m->nfds++] = err;
	look_soon();
	return 0;
}
