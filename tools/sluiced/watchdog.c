/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that watches whether the loop keeps turning.
 *
 * As far as is known, the loop calls nothing that others can block. Should it stand still
 * nevertheless, all programs would wait for its answers: the daemon logs what it was doing and
 * ends, the service manager starts the next one, which continues with the vault's records. A
 * request that three daemons died of is not tried again (session.c). This thread also tells the
 * manager (WatchdogSec) that the loop lives, so that a pause of the machine is not taken for one of
 * the loop. */
#include "watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "session.h"

#define LOOK_NS    1000000000
#define EXIT_STUCK 70 /* EX_SOFTWARE: Restart=on-failure */

/* Written by the loop. */
static uint32_t turn; /* odd: one is going on */
static uint32_t op, pid, uid;

static unsigned limit; /* looks in a row that see the same turn */
static unsigned tell;  /* looks between two messages to the manager; 0: none */

void sl_watchdog_turn(void)
{
	sl_store(&turn, (turn + 1) | 1);
}

void sl_watchdog_rest(void)
{
	sl_store(&turn, (turn + 1) & ~1u);
}

void sl_watchdog_serves(const struct sl_session *s, uint32_t request)
{
	sl_store(&op, request);
	sl_store(&pid, (uint32_t)s->cred.pid);
	sl_store(&uid, s->cred.uid);
}

static void end_daemon(void)
{
	if (sl_load(&op))
		sl_err("sluiced",
		       "stands still for %u s in request %u of process %u of user %u: ends, and "
		       "the next daemon goes on",
		       limit, sl_load(&op), sl_load(&pid), sl_load(&uid));
	else
		sl_err("sluiced",
		       "stands still for %u s in no request: ends, and the next daemon goes on",
		       limit);
	sl_sys(SYS_exit_group, EXIT_STUCK);
}

/* Looks are counted, not seconds: after a pause of the whole machine the loop has time again. */
static void *watch_loop(void *arg)
{
	const struct timespec pause = {.tv_sec = LOOK_NS / 1000000000};
	uint32_t seen = 0;
	unsigned same = 0, told = 0;

	for (;;) {
		uint32_t now;

		sl_sys(SYS_nanosleep, &pause, NULL);
		now = sl_load(&turn);
		same = now & 1 && now == seen ? same + 1 : 0;
		seen = now;
		if (same >= limit)
			end_daemon();
		if (tell && ++told >= tell && same < limit / 2 + 1) {
			sl_notify("WATCHDOG=1");
			told = 0;
		}
	}
	return NULL;
}

/* sd_watchdog_enabled(3): half of the time. */
static unsigned tell_after(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *of = getenv("WATCHDOG_PID");
	unsigned long seconds = usec ? strtoul(usec, NULL, 10) / 1000000 : 0;

	if (!seconds || (of && strtoul(of, NULL, 10) != (unsigned long)getpid()))
		return 0;
	return (unsigned)sl_max(seconds / 2, 1ul);
}

void sl_watchdog_start(unsigned seconds)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	limit = seconds;
	tell = tell_after();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, watch_loop, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		sl_warn("sluiced", "nothing watches the loop: %s", sl_strerror(-err));
	else
		pthread_detach(thread);
}

void sl_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd;

	if (!path || strlen(path) >= sizeof(sun.sun_path))
		return;
	strcpy(sun.sun_path, path);
	if (sun.sun_path[0] == '@')
		sun.sun_path[0] = 0;
	fd = sl_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sl_sys_sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, &sun,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	sl_sys_close(fd);
}
