/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing the library up, at the first socket that it may look after; and down again. */
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/handler.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/sys.h"
#include "base/trust.h"
#include "ctl/device/dev.h"
#include "ctl/device/lock.h"
#include "ctl/kern/cgroup.h"
#include "ctl/kern/filter.h"
#include "ctl/kern/netns.h"
#include "ctl/lease/proto.h"
#include "ctl/rules/conf.h"
#include "sluice.h"
#include "sock/call/devices.h"
#include "sock/call/jobs.h"
#include "sock/call/last.h"
#include "sock/call/only.h"
#include "sock/call/start.h"
#include "sock/core/endpoint.h"
#include "sock/core/extra.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/quota.h"
#include "sock/core/sock.h"
#include "sock/core/stranger.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/listen.h"
#include "sock/move/heirs.h"
#include "sock/move/move.h"
#include "sock/poll/sets.h"
#include "sock/proc/backtrace.h"
#include "sock/proc/capture.h"
#include "sock/proc/fdtab.h"
#include "sock/proc/keeper.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/pace.h"
#include "stack/port.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool starting; /* sockets that the start itself opens are the kernel's */
static unsigned renewals;      /* starts under other credentials */
#define RENEWALS_MAX 4         /* a program that goes to and fro is left alone */
#define RENEWAL_NS   100000000 /* from one look whether it can be to the next */
static bool leased;            /* by the daemon: a child can have a lease of its own */
static bool (*is_clear)(void); /* -ESTALE: nothing of before is in use any more */

static bool add_local(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	sl_broker_local_add(addr->b);
	return true;
}

/* NULL: no daemon. */
static const char *daemon_path(void)
{
	if (!strcmp(sl_settings.daemon, "auto"))
		return SL_LEASE_PATH;
	if (sl_settings.daemon[0] != '/' && strcmp(sl_settings.daemon, "off") != 0) {
		sl_warn_once("sluice",
			     "SLUICE_DAEMON=%.64s: expected off, auto or an absolute path; no "
			     "daemon is asked",
			     sl_settings.daemon);
		return NULL;
	}
	return strcmp(sl_settings.daemon, "off") ? sl_settings.daemon : NULL;
}

static int tell_neigh(uint32_t ifindex, const struct sl_addr *addr)
{
	return sl_broker_neigh_use(ifindex, addr->b);
}

static void close_keeper(void)
{
	sl_keeper_close();
	sl_shadow_close();
	sl_mail_close();
}

static int open_keeper(void)
{
	int err = sl_keeper_open();

	if (err == 0)
		err = sl_shadow_open();
	if (err == 0 && sl_mail_open() < 0)
		err = -EMFILE;
	return err;
}

bool sl_stop_keeper(void)
{
	if (!sl_keeper_stop())
		return false;
	close_keeper();
	return true;
}

/* again: in a child, whose parent has read all that concerns the program. */
static int bring_up_rest(bool again)
{
	static const struct sl_net_events events = {
		.link_changed = sl_devices_link_changed,
		.part_gone = sl_devices_part_gone,
		.addr_changed = sl_devices_addr_changed,
	};
	struct sl_broker_opts opts = sl_broker_opts_set();
	const struct sl_pace_rule *paces;
	const struct sl_rule *rules;
	unsigned nrules;
	int err;

	opts.daemon = daemon_path();
	opts.group = sl_settings.group;
	opts.daemon_wanted = strcmp(sl_settings.daemon, "auto") != 0;
	sl_netns_settle();
	sl_broker_init(&opts);
	leased = sl_broker_is_leased();
	if (again && !leased)
		return -ENOTCONN; /* the device is the parent's */
	if (leased)
		sl_neigh_set_teller(tell_neigh);
	if (!again)
		sl_rules_load();
	rules = sl_rules(&nrules);
	sl_broker_rules_set(rules, nrules);
	paces = sl_paces(&nrules);
	sl_broker_paces_set(paces, nrules);
	err = sl_sock_table_init();
	if (err == 0)
		err = sl_net_open(&events);
	if (err == 0)
		err = sl_stack_init(sl_sock_on_room);
	if (err == 0)
		err = sl_tconn_init();
	if (err == 0)
		err = sl_tconn_ops_init();
	if (err == 0)
		err = open_keeper();
	if (!again)
		sl_clock_init();
	if (err == 0) {
		/* The keeper's first looks would take numbers that the program is about to get. */
		if (again)
			(void)sl_cgroup_has_programs();
		(void)sl_quota_read();
		sl_late_begin();
		err = sl_keeper_start();
	}
	if (err < 0)
		return err;
	sl_in_register(SL_SLOT_UDP, sl_udp_input);
	sl_port_put_off = sl_devices_later;
	sl_mcast_init();
	sl_errq_init();
	sl_local_for_each(add_local, NULL);
	return 1;
}

/* Least RLIMIT_NOFILE: we use about 30 numbers, and more with each device. */
#define FILES_MIN 256

/* Brings the library up, or closes all that it opened: the program may have few descriptor numbers,
 * and counts on them. */
static int bring_up(bool again)
{
	struct rlimit64 files;
	int ret;

	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) == 0 &&
	    files.rlim_max < FILES_MIN)
		return -EMFILE;
	sl_files_limited();
	sl_keeper_prepare(); /* before all else that has descriptors */
	ret = bring_up_rest(again);
	if (ret >= 0)
		return ret;
	close_keeper();
	sl_quota_close();
	sl_cgroup_forget();
	sl_tconn_undo();
	sl_net_close();
	if (ret != -EBUSY) /* -EBUSY: the daemon keeps listing this process */
		sl_broker_part();
	return ret;
}

void sl_stop(void)
{
	sl_store_release(&sl_up_state, -ECANCELED);
	sl_pace_exit();
	sl_tlisten_exit();
	sl_tconn_exit();
	sl_heirs_exit();
	sl_lanes_depart();
	sl_ports_end();
	sl_policy_stop();
}

void sl_shut_down(void)
{
	sl_fdtab_notice();
	if (sl_up_state < 0 && sl_stats->kernels)
		sl_stats_close();
	if (sl_up_state != 1 || sl_is_confined()) /* all is the kernel's; others clean up */
		return;
	sl_stop();
	sl_broker_fini();
	sl_stats_close();
}

bool sl_is_lent(void)
{
	int s = sl_load_acquire(&sl_up_state);

	return s == 1 || s == -ECANCELED; /* execve(2) has failed after all */
}

static __thread bool forking;

void sl_start_part(void (*part)(bool up), bool (*clear)(void))
{
	if (starting || forking) /* a signal handler in the midst of it */
		return;
	sl_hold();
	pthread_mutex_lock(&start_lock);
	starting = true;
	if (sl_is_lent()) {
		is_clear = clear;
		part(sl_up_state == 1);
		sl_store_release(&sl_up_state, -ESTALE);
	}
	starting = false;
	pthread_mutex_unlock(&start_lock);
	sl_release();
}

/* A child is not made in the middle of our start or of an attachment. Forks are counted before they
 * happen, so that no close comes between. */
static bool held; /* moving is, by a fork */

static void before_fork(void)
{
	sl_devices_settle(false);
	sl_hold();
	pthread_mutex_lock(&start_lock);
	forking = true;
	held = sl_fork_hold();
	if (sl_tlisten_count())
		sl_tlisten_fork_begin();
	sl_tconn_fork_begin();
	sl_mail_fork_begin();
	__atomic_fetch_add(&sl_forks, 1, __ATOMIC_RELEASE);
	sl_broker_fork_begin();
}

static void after_fork(void)
{
	sl_broker_fork_end();
	sl_mail_fork_end();
	/* Sockets that another thread has made since before_fork() may be the child's, too. */
	__atomic_fetch_add(&sl_forks, 1, __ATOMIC_RELEASE);
	if (held)
		sl_fork_release();
	forking = false;
	pthread_mutex_unlock(&start_lock);
	sl_release();
}

static void in_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	start_lock = fresh;
	forking = false;
	sl_fork_child_reset();
}

#define NO_ROOM                                                                                    \
	" (no memory for packets and tables: 150 MB of addresses, 10 MB to write to; remedy: a "   \
	"higher limit of address space, or of locked memory after mlockall(2); with "              \
	"vm.overcommit_memory 2 a higher vm.overcommit_ratio)"

#define NO_FILES                                                                                   \
	" (too few descriptors are allowed; remedy: a hard limit of 256 or more, ulimit -Hn)"

#define NO_THREAD                                                                                  \
	" (the library's thread is not allowed; remedy: a higher limit of processes, ulimit -Hu, " \
	"or a higher pids.max of the control group)"

static const char *remedy(int err)
{
	return err == -ENOMEM   ? NO_ROOM
	       : err == -EMFILE ? NO_FILES
	       : err == -EAGAIN ? NO_THREAD
				: "";
}

/* `sluice stat` lists the sockets of a program that may have no thread of ours. */
static void show_reason(int err)
{
	if (err == -EAGAIN)
		sl_store(&sl_stats->kernels, SL_REASON_THREADS);
}

static void warn_of_missing_devices(void)
{
	const char *list = sl_settings.devices;
	char name[16];

	while (sl_dev_next_missing(&list, name))
		sl_warn("port",
			"SLUICE_DEVICES names %s: there is no such device; remedy: a name that ip "
			"link shows in the network namespace of this program",
			name);
}

/* Nothing is offloaded in this process. */
static void stay_out(int err)
{
	if (sl_settings.exception_handling == -2) {
		sl_err("sluice", "the program ends (SLUICE_EXCEPTION_HANDLING=-2)");
		sl_sys(SYS_exit_group, EXIT_FAILURE);
	}
	sl_store_release(&sl_up_state, err);
}

static void start_first(void)
{
	int ret, deadly;

	if (sl_is_secure_exec()) {
		sl_store_release(&sl_up_state, -EPERM);
		return;
	}
	sl_clock_begin();
	pthread_atfork(before_fork, after_fork, in_child);
	sl_settings_load(NULL);
	sl_lock_wait = sl_settings.thread_mode == SL_THREADS_PLENTY  ? SL_LOCK_YIELDS
		       : sl_settings.thread_mode == SL_THREADS_MUTEX ? SL_LOCK_SLEEPS
								     : SL_LOCK_SPINS;
	sl_settings_banner();
	sl_backtrace_begin();
	deadly = sl_filter_deadly_call(NULL);
	if (deadly >= 0) {
		sl_warn("sluice",
			"everything stays with the kernel: a seccomp filter would kill this "
			"process for system call %d",
			deadly);
		stay_out(-EPERM);
		return;
	}
	if (sl_cgroup_has_programs()) {
		sl_warn("sluice", "everything stays with the kernel: " SL_CGROUP_DECIDES);
		sl_cgroup_forget();
		stay_out(-EPERM);
		return;
	}
	if (sl_setting_is_set(SL_SETTING_devices))
		warn_of_missing_devices();
	sl_stats_open();
	ret = bring_up(false);
	if (ret < 0) {
		sl_warn("sluice", "everything stays with the kernel: %s%s", strerrorname_np(-ret),
			remedy(ret));
		sl_cgroup_forget();
		show_reason(ret);
		stay_out(ret);
	}
	if (ret >= 0 || sl_stats->kernels)
		atexit(sl_shut_down);
	sl_store_release(&sl_up_state, ret);
}

/* Starts again after sl_fork_child(), which leaves everything as before the first start, except the
 * tables of descriptors, sockets and epoll sets. */
static void start_again(void)
{
	int ret;

	sl_stats_open();
	renewals += sl_up_state == -ESTALE;
	ret = bring_up(true);
	if (ret < 0)
		sl_info("sluice", "what this %s makes stays with the kernel: %s%s",
			sl_up_state == -ESTALE ? "process, another user now,"
					       : "child of a process",
			strerrorname_np(-ret), remedy(ret));
	show_reason(ret);
	sl_store_release(&sl_up_state, ret);
}

/* True: the library may start again under new credentials. Only by the daemon, which sees them: the
 * broker in the process has most probably lost its rights. */
static bool may_renew(void)
{
	static uint64_t looked_ns;
	uint64_t now = sl_now_ns();

	if (now - sl_load(&looked_ns) < RENEWAL_NS)
		return false;
	sl_store(&looked_ns, now);
	return daemon_path() && renewals < RENEWALS_MAX && sl_keeper_may_have_children();
}

/* A child without a lease of its own: `sluice stat` lists the kernel's sockets of this process. */
static void show_childs_sockets(void)
{
	sl_stats_open();
	sl_stats->kernels = SL_REASON_CHILD;
	sl_info("sluice",
		"sockets of this child process stay with the kernel, since its parent has the "
		"device; remedy: start sluiced(8), which serves children, too");
}

void sl_start_not_here(void)
{
	if (sl_load_acquire(&sl_up_state) != -ECHILD || leased || starting || forking ||
	    sl_load(&sl_stats->kernels) || sl_in_signal() || sl_inherit_is_confined())
		return;
	sl_hold();
	pthread_mutex_lock(&start_lock);
	starting = true;
	if (!sl_stats->kernels)
		SL_ROOMY(show_childs_sockets);
	starting = false;
	pthread_mutex_unlock(&start_lock);
	sl_release();
}

static bool may_start_again(void)
{
	return leased && sl_keeper_may_have_children();
}

int sl_start(void)
{
	int saved = errno;
	int ret;

	sl_fdtab_notice();
	ret = sl_load_acquire(&sl_up_state);
	if (sl_likely(ret == 1))
		return 0;
	if ((ret == -ECHILD && may_start_again()) || (ret == -ESTALE && may_renew()))
		ret = 0;
	if (ret == 0 && sl_inherit_is_confined())
		ret = -EPERM;
	if (ret == -ECHILD)
		sl_start_not_here();
	if (ret < 0 || starting || sl_in_signal())
		return ret < 0 ? ret : -EAGAIN;
	sl_hold();
	pthread_mutex_lock(&start_lock);
	starting = true;
	if (sl_up_state == 0)
		SL_ROOMY(start_first);
	else if (sl_up_state == -ECHILD || (sl_up_state == -ESTALE && is_clear()))
		SL_ROOMY(start_again);
	starting = false;
	pthread_mutex_unlock(&start_lock);
	sl_release();
	errno = saved;
	return sl_up_state == 1 ? 0 : sl_up_state;
}

SL_API
void sl_start_early(void)
{
	sl_start();
}

/* Fork ----------------------------------------------------------------------------------------- */

SL_API
bool sl_fork_begin(void)
{
	if (starting || forking) /* a signal handler in the midst of it */
		return false;
	before_fork();
	return true;
}

SL_API
void sl_fork_end(void)
{
	after_fork();
}

SL_API
void sl_vfork_begin(void)
{
	sl_devices_settle(false);
	if (sl_is_up() && sl_tlisten_count())
		sl_tlisten_fork_begin();
}

SL_API
void sl_netns_begin(void)
{
	sl_netns_part();
}

/* Without the keeper ------------------------------------------------------------------------------
 */

static bool has_threads(void)
{
	char text[4096];

	return sl_read_text("/proc/self/status", text, sizeof(text)) < 0 ||
	       !strstr(text, "\nThreads:\t1\n");
}

static void restart_keeper(void)
{
	if (sl_keeper_start() < 0)
		sl_kernel_only("the library's thread cannot be started again");
}

static void end_alone(void)
{
	forking = false;
	pthread_mutex_unlock(&start_lock);
	sl_release();
}

/* A thread that gets a table of its own leaves the keeper in the one of the other threads: the
 * keeper would have what that thread opens, and keep it open when that thread closes it or ends. */
SL_API
bool sl_alone_begin(bool files)
{
	sl_fdtab_notice();
	sl_devices_settle(false);
	if (starting || forking || !sl_is_up())
		return false;
	sl_hold();
	pthread_mutex_lock(&start_lock);
	forking = true; /* a signal handler must not wait for the lock */
	if (sl_is_up() && sl_keeper_stop()) {
		if (!files || !SL_ROOMY(has_threads))
			return true;
		sl_kernel_only("threads have descriptors of their own");
		restart_keeper();
	}
	end_alone();
	return false;
}

SL_API
void sl_alone_end(void)
{
	restart_keeper();
	end_alone();
}

/* State of the parent's threads. */
static void forget_threads(void)
{
	sl_bell_child();
	sl_sock_place_child();
	sl_last_child();
}

/* clang-format off */
/* Each room forgets in a child what is the parent's: descriptors, threads and memory. */
static void (*const in_child_parts[])(void) = {
	sl_stack_child, /* first: the others find no lane any more */
	sl_capture_child,
	sl_broker_child,
	sl_net_child,
	sl_keeper_child,
	sl_shadow_close,
	sl_mail_child, /* the child keeps its end; before the sockets, which are told of it */
	sl_extra_child, /* before the sockets, whose memory of packets is not there */
	sl_sock_child,  /* before the objects that sockets point to */
	sl_claims_child,
	sl_mcast_child,
	sl_opening_child,
	sl_policy_child,
	sl_given_child,
	sl_inherit_child,
	sl_tconn_child,
	sl_tcp_port_child,
	sl_hand_back_child,
	sl_tlisten_child,
	sl_tlisten_share_child,
	sl_tlisten_stay_child,
	forget_threads,
	sl_stranger_child,
	sl_epoll_fork_child,
	sl_stats_child,
	sl_fd_child, /* last but one: the parts before have closed what is ours */
	sl_devices_child,
};
/* clang-format on */

static void start_child(void)
{
	for (unsigned i = 0; i < sl_array_len(in_child_parts); i++)
		in_child_parts[i]();
	/* The next socket starts it again, where a daemon is there for that. */
	sl_up_state = -ECHILD;
}

static void be_child(bool found)
{
	if (!sl_fdtab_child_begin())
		return;
	in_child();
	sl_tid_cache = 0;
	if (found)
		__atomic_fetch_add(&sl_forks, 1, __ATOMIC_RELEASE);
	if (found && sl_up_state == 1)
		sl_keeper_tell_fork();
	if (sl_up_state == 1 || sl_up_state == -ECHILD)
		start_child();
	sl_fdtab_child_end();
}

SL_API
void sl_fork_child(void)
{
	be_child(false);
}

static void fork_found(void)
{
	be_child(true);
}

/* Calls may come before the first start: epoll sets and forks need no socket of ours. */
static __attribute__((constructor)) void set_hooks(void)
{
	static const struct sl_up_hooks hooks = {
		.start = sl_start,
		.may_start_again = may_start_again,
		.fork_found = fork_found,
		.shut_down = sl_shut_down,
	};

	sl_up_set_hooks(&hooks);
	sl_jobs_set();
}
