/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the library is up in this process, and forks that have to wait. */
#include "sock/proc/up.h"

#include <errno.h>
#include <string.h>

#include "base/lock.h"

int sl_up_state;

static const struct sl_up_hooks *hooks; /* NULL: nothing was started yet */
static struct sl_lock moving;           /* held while a socket moves, and over a fork */

void sl_up_set_hooks(const struct sl_up_hooks *h)
{
	sl_store_release(&hooks, h);
}

bool sl_may_start_again(void)
{
	const struct sl_up_hooks *h = sl_load_acquire(&hooks);

	return h && h->may_start_again();
}

int sl_up_again(void)
{
	const struct sl_up_hooks *h = sl_load_acquire(&hooks);

	return h ? h->start() : -EAGAIN;
}

void sl_up_fork_found(void)
{
	const struct sl_up_hooks *h = sl_load_acquire(&hooks);

	if (h)
		h->fork_found();
}

void sl_up_shut_down(void)
{
	const struct sl_up_hooks *h = sl_load_acquire(&hooks);

	if (h)
		h->shut_down();
}

bool sl_fork_hold(void)
{
	return sl_lock(&moving);
}

void sl_fork_release(void)
{
	sl_unlock(&moving);
}

void sl_fork_child_reset(void)
{
	memset(&moving, 0, sizeof(moving));
	sl_held_child();
}
