/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that close descriptors.
 *
 * Theory of operation: the descriptors wait in one queue, linked by their numbers, so that there is
 * room for all. A thread that closes is interrupted by a signal after a moment: this ends the wait
 * for a socket that lingers. A close that waits on regardless (FUSE) keeps its thread, and one more
 * thread is started; but an owner has SL_CLOSER_OF_OWNER threads at most, so that others find one,
 * and the rest of that owner's descriptors wait. */
#include "base/closer.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"

#define LATE_NS   20000000ull  /* a close that takes this long is interrupted, */
#define STUCK_NS  100000000ull /* and after this time one more thread is started */
#define OWNERS    64u          /* with something open; the others count as one */
#define DRAIN_MAX 4096

static struct job {
	int next;      /* -1: none */
	uint32_t id;   /* the owner, */
	uint8_t owner; /* and its entry below */
	bool alone;
} * jobs; /* by number of the descriptor */
static int first = -1, last = -1;

static struct owner {
	uint32_t id, open, closing; /* open: those being closed, too */
} owners[OWNERS + 1];               /* the last entry is that of all the others, without an id */

static struct worker {
	pthread_t thread;
	int tid;
	struct owner *owner;
	uint32_t id;       /* of the descriptor's owner */
	uint64_t since_ns; /* 0: it waits for work */
} workers[SL_CLOSER_THREADS];
static unsigned nworkers, nidle, nopen;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done; /* (done: by CLOCK_MONOTONIC) */

/* The entry of an owner, or a new one; the caller holds the mutex. Each descriptor notes its entry,
 * because a later call may get another one. */
static struct owner *owner_by_id(uint32_t id)
{
	struct owner *unused = &owners[OWNERS];

	for (struct owner *o = owners; o < owners + OWNERS; o++) {
		if (o->open && o->id == id)
			return o;
		if (!o->open)
			unused = o;
	}
	unused->id = id;
	return unused;
}

/* The threads -----------------------------------------------------------------------------------
 */

/* Empties the socket's queue: closing it with unread requests would send the peer a reset. A packet
 * without a byte looks like the end: only a program that breaks the protocol sends one. */
static void drain(int fd)
{
	char c;

	for (int i = 0; i < DRAIN_MAX && sl_sys_recvfrom(fd, &c, sizeof(c),
							 MSG_DONTWAIT | MSG_TRUNC, NULL, NULL) > 0;
	     i++)
		;
}

/* Takes the first descriptor out of the queue whose owner may use one more thread; -1: none. */
static int take_job(void)
{
	for (int fd = first, before = -1; fd >= 0; before = fd, fd = jobs[fd].next) {
		struct owner *o = &owners[jobs[fd].owner];

		if (o->closing >= SL_CLOSER_OF_OWNER)
			continue;
		o->closing++;
		if (before < 0)
			first = jobs[fd].next;
		else
			jobs[before].next = jobs[fd].next;
		if (last == fd)
			last = before;
		return fd;
	}
	return -1;
}

/* Reads jobs[fd] before close(): afterwards the number, and so jobs[fd], may be another file's. */
static void close_one(struct worker *w, int fd)
{
	struct job j = jobs[fd];

	w->owner = &owners[j.owner];
	w->id = j.id;
	w->since_ns = sl_now_ns();
	pthread_mutex_unlock(&mutex);
	if (j.alone)
		drain(fd);
	sl_sys_close(fd);
	pthread_mutex_lock(&mutex);
	w->since_ns = 0;
	w->owner->closing--;
	w->owner->open--;
	nopen--;
	pthread_cond_broadcast(&done);
}

static void *run(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&mutex);
	w->tid = (int)sl_sys(SYS_gettid);
	for (;;) {
		int fd = take_job();

		if (fd >= 0) {
			close_one(w, fd);
			continue;
		}
		nidle++;
		pthread_cond_wait(&work, &mutex);
		nidle--;
	}
	return NULL;
}

/* A handler that does nothing: unlike an ignored signal, it interrupts a wait. */
static void wake_up(int sig)
{
}

/* Starts one more thread. The caller holds the mutex. */
static int start_worker(void)
{
	struct worker *w = &workers[nworkers];
	sigset_t most, old;
	int err;

	sigfillset(&most);
	sigdelset(&most, SIGURG);
	pthread_sigmask(SIG_SETMASK, &most, &old);
	err = sl_roomy_thread(&w->thread, run, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err) {
		pthread_detach(w->thread);
		nworkers++;
	}
	return -err;
}

int sl_closer_start(void)
{
	const struct sigaction act = {.sa_handler = wake_up};
	pthread_condattr_t attr;
	int err;

	if (jobs)
		return 0;
	sigaction(SIGURG, &act, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&done, &attr);
	pthread_condattr_destroy(&attr);
	jobs = sl_sys_pages(SL_FD_MAX * sizeof(*jobs), MAP_NORESERVE);
	if (!jobs)
		return -ENOMEM;
	pthread_mutex_lock(&mutex);
	err = start_worker();
	pthread_mutex_unlock(&mutex);
	return err;
}

/* The caller's side -----------------------------------------------------------------------------
 */

void sl_closer_add(int fd, uint32_t owner, bool alone)
{
	struct owner *o;

	if (fd < 0)
		return;
	if (!nworkers || (uint32_t)fd >= SL_FD_MAX) {
		sl_sys_close(fd);
		return;
	}
	pthread_mutex_lock(&mutex);
	o = owner_by_id(owner);
	jobs[fd] = (struct job){
		.next = -1, .id = owner, .owner = (uint8_t)(o - owners), .alone = alone};
	if (last < 0)
		first = fd;
	else
		jobs[last].next = fd;
	last = fd;
	o->open++;
	nopen++;
	pthread_mutex_unlock(&mutex);
}

void sl_closer_go(void)
{
	if (!sl_load(&nopen))
		return;
	pthread_mutex_lock(&mutex);
	if (first >= 0 && nidle)
		pthread_cond_signal(&work);
	pthread_mutex_unlock(&mutex);
}

/* True: the queue has a descriptor that one more thread could close. */
static bool is_wanted(void)
{
	for (int fd = first; fd >= 0; fd = jobs[fd].next)
		if (owners[jobs[fd].owner].closing < SL_CLOSER_OF_OWNER)
			return true;
	return false;
}

/* Interrupts threads whose close() takes long. True: all threads are stuck. */
static bool are_stuck(uint64_t now)
{
	unsigned stuck = 0;

	for (struct worker *w = workers; w < workers + nworkers; w++) {
		uint64_t since = w->since_ns;

		if (!since || now - since < LATE_NS)
			continue;
		sl_sys(SYS_tgkill, getpid(), w->tid, SIGURG);
		stuck += now - since > STUCK_NS;
	}
	return stuck == nworkers;
}

bool sl_closer_look(void)
{
	bool open;

	if (!sl_load(&nopen))
		return false;
	pthread_mutex_lock(&mutex);
	if (are_stuck(sl_now_ns()) && is_wanted() && nworkers < SL_CLOSER_THREADS)
		(void)start_worker();
	if (first >= 0 && nidle && is_wanted())
		pthread_cond_signal(&work);
	open = nopen;
	pthread_mutex_unlock(&mutex);
	return open;
}

/* How many of the owner's are open, some of them perhaps in the entry of the others: it may have
 * got an entry of its own since, or may have lost it. */
static uint32_t open_of(uint32_t id)
{
	const struct owner *others = &owners[OWNERS];
	uint32_t n = 0;

	for (const struct owner *o = owners; o < others; o++)
		if (o->open && o->id == id)
			n += o->open;
	if (!others->open)
		return n;
	for (int fd = first; fd >= 0; fd = jobs[fd].next)
		n += jobs[fd].owner == OWNERS && jobs[fd].id == id;
	for (const struct worker *w = workers; w < workers + nworkers; w++)
		n += w->since_ns && w->owner == others && w->id == id;
	return n;
}

uint32_t sl_closer_pending(uint32_t owner)
{
	uint32_t n;

	if (!sl_load(&nopen))
		return 0;
	pthread_mutex_lock(&mutex);
	n = open_of(owner);
	pthread_mutex_unlock(&mutex);
	return n;
}

/* True: one of the owner's closes has taken long already. */
static bool is_late(uint32_t id)
{
	uint64_t now = sl_now_ns();

	for (const struct worker *w = workers; w < workers + nworkers; w++)
		if (w->since_ns && w->id == id && now - w->since_ns > LATE_NS)
			return true;
	return false;
}

bool sl_closer_wait(uint32_t owner, unsigned ms)
{
	struct timespec end;
	int err = 0;

	sl_closer_go();
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (long)ms * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	while (open_of(owner) && !err)
		err = is_late(owner) ? ETIMEDOUT : pthread_cond_timedwait(&done, &mutex, &end);
	pthread_mutex_unlock(&mutex);
	return !err;
}
