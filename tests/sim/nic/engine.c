/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that plays the hardware: clock, link, queues, control socket. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

#include "nic.h"
#include "sys.h"

#define BATCH       64       /* requests of a queue before the next one's turn */
#define SPIN_NS     20000ull /* a sleep this short would be too long */
#define NAP_NS      1000000ull
#define WATCH_NS    5000000ull /* between looks at link and control socket */
#define QUIET_NS    2000000ull /* without work: sleep longer */
#define IDLE_NAP_NS 50000
#define BUSY_NAP_NS 1000

static _Atomic bool running;
static pthread_t thread;
static int owner; /* process: the thread is not in a forked child */

static void watch_link(void)
{
	static bool was_up = true;
	bool up = sim_wire_up();

	if (up == was_up || sim_nic.fatal)
		return;
	was_up = up;
	sim_event_all(up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, 1);
}

/* Serves all queues once. Returns true if something was done; else *wait_ns is when the first
 * paced queue is due, or UINT64_MAX. */
static bool turn(uint64_t *wait_ns)
{
	bool did = false;
	struct sim_obj *obj;
	uint32_t at = 0;

	*wait_ns = UINT64_MAX;
	while (!sim_nic.fatal && (obj = sim_obj_next(&at, SIM_QP))) {
		int64_t r = 0;

		sim_bell_look(&obj->qp);
		for (int i = 0; i < BATCH && r == 0; i++) {
			r = sim_sq_step(&obj->qp, sim_now_ns());
			did |= r == 0;
		}
		if (r > 0 && (uint64_t)r < *wait_ns)
			*wait_ns = (uint64_t)r;
	}
	did |= !sim_nic.fatal && sim_arrive();
	at = 0;
	while (!sim_nic.fatal && (obj = sim_obj_next(&at, SIM_QP)))
		did |= sim_rq_flush(&obj->qp);
	at = 0;
	while (!sim_nic.fatal && (obj = sim_obj_next(&at, SIM_CQ)))
		sim_cq_notify(&obj->cq);
	return did;
}

static void nap(uint64_t ns)
{
	struct timespec ts = {.tv_nsec = (long)ns};

	syscall(SYS_clock_nanosleep, (long)CLOCK_MONOTONIC, 0L, &ts, NULL);
}

static void *engine(void *arg)
{
	uint64_t worked_ns = sim_now_ns(), watched_ns = 0, wait_ns;

	syscall(SYS_prctl, (long)PR_SET_NAME, "simulated-nic", 0L, 0L, 0L);
	syscall(SYS_prctl, (long)PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	while (atomic_load(&running)) {
		uint64_t now_ns = sim_now_ns();
		bool watch = now_ns - watched_ns > WATCH_NS, did;

		pthread_mutex_lock(&sim_lock);
		sim_clock_tick(now_ns);
		if (watch)
			watch_link();
		if (watch)
			sim_arrive_tell();
		did = turn(&wait_ns);
		pthread_mutex_unlock(&sim_lock);
		if (watch) {
			watched_ns = now_ns;
			sim_control_poll();
		}
		if (did) {
			worked_ns = now_ns;
		} else if (wait_ns != UINT64_MAX) {
			worked_ns = now_ns;
			if (wait_ns > SPIN_NS)
				nap(wait_ns < NAP_NS ? wait_ns - SPIN_NS / 2 : NAP_NS);
		} else {
			nap(now_ns - worked_ns > QUIET_NS ? IDLE_NAP_NS : BUSY_NAP_NS);
		}
	}
	return NULL;
}

/* Called with the lock held. 0 or -errno. */
int sim_engine_start(void)
{
	sigset_t all, old;
	int err;

	if (atomic_load(&running))
		return owner == sim_getpid() ? 0 : -ENODEV;
	atomic_store(&running, true);
	owner = sim_getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, engine, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		atomic_store(&running, false);
	return -err;
}

void sim_engine_stop(void)
{
	if (!atomic_load(&running) || owner != sim_getpid())
		return;
	atomic_store(&running, false);
	pthread_join(thread, NULL);
}
