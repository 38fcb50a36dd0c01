/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper's sleep finds out that the process was stopped and goes on.
 *
 * Theory of operation: most sleeps of other threads must go on after a stop, and ppoll(2) tells
 * them nothing. It gives EINTR after SIGCONT if it cannot write what is left of its time, since it
 * cannot be restarted. So the keeper's time lies in a page that is mapped twice: the keeper writes
 * it at set, the kernel may only read it at told. */
#include "sock/proc/nap.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/sys.h"
#include "sock/proc/sig.h"

#define NAP_BYTES 4096ul
#define NAP_MOST  1000000000 /* seconds; thirty years */

static struct {
	struct timespec *set, *told; /* NULL: could not be had; stops pass unseen */
} nap;

static void unmap(void)
{
	if (nap.told)
		sl_sys(SYS_munmap, nap.told, NAP_BYTES);
	if (nap.set)
		sl_sys(SYS_munmap, nap.set, NAP_BYTES);
	nap.set = nap.told = NULL;
}

void sl_nap_open(void)
{
	void *set;
	long told;

	if (nap.told || sl_sys_mmap(&set, NULL, NAP_BYTES, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
		return;
	nap.set = set;
	told = sl_sys(SYS_mremap, set, 0, NAP_BYTES, MREMAP_MAYMOVE, 0); /* (a second view) */
	if (told > 0)
		nap.told = (struct timespec *)told;
	if (told < 0 || sl_sys(SYS_mprotect, told, NAP_BYTES, PROT_READ)) {
		unmap();
		return;
	}
	sl_apart(nap.set, NAP_BYTES); /* (no child may set how long this process sleeps) */
	sl_apart(nap.told, NAP_BYTES);
}

long sl_nap(struct pollfd *fds, unsigned n, struct timespec *left)
{
	long r;

	if (!nap.told)
		return sl_sys_ppoll(fds, n, left);
	*nap.set = left ? *left : (struct timespec){.tv_sec = NAP_MOST};
	r = sl_sys_ppoll(fds, n, nap.told);
	if (r == -EINTR) /* the keeper has no signal handler */
		sl_sig_stopped();
	return r;
}

void sl_nap_child(void)
{
	nap.set = nap.told = NULL;
}
