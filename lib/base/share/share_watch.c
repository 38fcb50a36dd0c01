/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of a group that do not become free, as its owner sees them.
 *
 * Theory of operation: some member wrote a lock's word. The owner decides which ids are members,
 * so a word that names no member, or the owner itself while the owner holds nothing, was
 * written to do harm, or by a fault. A word that names a member is believed for a time: holders
 * keep a lock for a microsecond, so the same thread in every one of many looks has not let go, and
 * will not. If that thread is stopped two looks are enough: the others of the group can neither
 * refill nor reap until somebody lets it go on, which may be never. (Other threads of its process
 * may run: a debugger stops them one by one.) */
#include "base/share/share_watch.h"

/* True: the word of a lock that is taken names no member of the group. */
static bool is_impossible(const struct sl_share *g, uint32_t word)
{
	uint32_t member = sl_rlock_named(word);
	uint32_t state;

	if (!member || member >= SL_SHARE_MEMBERS)
		return true;
	state = sl_load(&g->told->member[member].state);
	/* The owner looks when it holds nothing; the one before it is dead, until it is buried. */
	if (member == SL_SHARE_BROKER)
		return state != SL_MEMBER_DEAD;
	return state == SL_MEMBER_FREE;
}

static bool look(const struct sl_share *g, const struct sl_rlock *l, struct sl_share_watch *w,
		 uint32_t looks, struct sl_share_fault *f)
{
	uint32_t word = sl_load(&l->word), thread = word & ~SL_RLOCK_SLEEPERS;

	f->word = word;
	f->impossible = word && is_impossible(g, word);
	w->looks = word && thread == w->thread ? w->looks + 1 : 0;
	w->thread = thread;
	return f->impossible || w->looks >= looks;
}

/* True: the same thread had the lock at the look before, too, and is stopped with it now. (A thread
 * that is traced may be stopped at its next system call, after it has let go.) */
static bool is_kept_stopped(const struct sl_rlock *l, const struct sl_share_watch *w,
			    sl_share_stopped_fn *stopped, void *arg)
{
	return w->looks && stopped(arg, w->thread) &&
	       (sl_load(&l->word) & ~SL_RLOCK_SLEEPERS) == w->thread;
}

bool sl_share_look(const struct sl_share *g, struct sl_share_watch *w, uint32_t looks,
		   sl_share_stopped_fn *stopped, void *arg, struct sl_share_fault *f)
{
	for (uint32_t i = 0; i <= g->nqueues; i++) {
		const struct sl_rlock *l = i ? &g->queue[i - 1].lock : &g->head->lock;

		f->queue = (int)i - 1;
		f->stopped = false;
		if (i && sl_load(&g->told_queue[i - 1].state) == SL_QUEUE_FREE)
			continue;
		if (look(g, l, &w[i], looks, f))
			return true;
		w[i].stopped = is_kept_stopped(l, &w[i], stopped, arg) ? w[i].stopped + 1 : 0;
		f->stopped = w[i].stopped >= SL_SHARE_STOPPED_LOOKS;
		if (f->stopped)
			return true;
	}
	return false;
}
