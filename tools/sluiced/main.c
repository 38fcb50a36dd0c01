/* SPDX-License-Identifier: BSD-2-Clause */
/* sluiced: start, the loop, the end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <malloc.h>
#include <net/if.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/closer.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/broker/owner_lock.h"
#include "ctl/claim/bury.h"
#include "ctl/device/device.h"
#include "ctl/device/opts.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/lease/proto.h"
#include "ctl/lease/vault.h"
#include "ctl/rules/conf.h"
#include "ctl/steer/names.h"
#include "ctl/steer/maps.h"
#include "net/route.h"
#include "census.h"
#include "deliver.h"
#include "door.h"
#include "grant.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "proof.h"
#include "sandbox.h"
#include "session.h"
#include "sluice.h"
#include "sluiced.h"
#include "vlan.h"
#include "watchdog.h"

#define POLICY_PATH "/etc/sluice/sluiced.conf"
#define POLICY_MAX  65536 /* bytes */
#define BACKLOG     128
#define TURN_NS     10000000ull /* for requests, before the loop looks anew which wait */
/* EX_CONFIG; the unit file does not start it again after that. */
#define EXIT_OTHER_VERSION 78
#define FRAMES             65536         /* frames of packet memory, unless SLUICE_FRAMES is set */
#define CHECK_MS           1000          /* how often the devices are looked after */
#define STILL_NS           2000000000ull /* without an event, until the loop looks less often */
#define TRIAL_MS           5             /* how often rescued handshakes on trial are */
#define LEAVE_NS           5000000000ull /* for programs to move to the kernel what they have */

static const char *socket_path = SL_LEASE_PATH;
static const char *policy_path;
static int signal_fd = -1;
static bool open_air;
static unsigned stuck_seconds = 20; /* for a turn of the loop, at most */
static bool stepping_down;          /* the next daemon continues with the vault's records */
static uint64_t event_ns;           /* the loop's last event */
static uint64_t end_ns; /* the daemon ends then, or once no session needs it; 0: it stays */

/* Settings and policy ---------------------------------------------------------------------------
 */

static bool id_of_name(const char *name, bool group, uint32_t *id)
{
	const struct passwd *pw = group ? NULL : getpwnam(name);
	const struct group *gr = group ? getgrnam(name) : NULL;

	if (pw)
		*id = pw->pw_uid;
	if (gr)
		*id = gr->gr_gid;
	return pw || gr;
}

static void say_wrong_line(void *arg, unsigned line, const char *expected, const char *found)
{
	const char *const *path = arg;

	sl_warn("sluiced", "%s:%u: expected %s, found %s%s%s; the line is skipped", *path, line,
		expected, *found ? "'" : "", *found ? found : "the end of the line",
		*found ? "'" : "");
}

/* The policy without a file: root, and the members of the group sluice. */
static long read_policy(const char *path, char *text)
{
	static const char dflt[] = "allow user 0\nallow group sluice\n";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long n;

	if (fd < 0 && errno == ENOENT && !policy_path) {
		strcpy(text, dflt);
		return getgrnam("sluice") ? (long)strlen(dflt) : (long)strcspn(dflt, "\n");
	}
	if (fd < 0)
		return -errno;
	n = read(fd, text, POLICY_MAX);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

static int load_policy(void)
{
	static char text[POLICY_MAX];
	static struct sl_policy fresh;
	const char *path = policy_path ? policy_path : POLICY_PATH;
	long n = read_policy(path, text);

	if (n < 0) {
		sl_err("sluiced", "%s: %s", path, sl_strerror((int)n));
		return (int)n;
	}
	if (n == POLICY_MAX) { /* without a part of a line, which might allow another user */
		while (n > 0 && text[n - 1] != '\n')
			n--;
		sl_warn("sluiced", "%s: only %ld bytes are read", path, n);
	}
	sl_policy_parse(text, (size_t)n, &fresh, id_of_name, say_wrong_line, &path);
	sluiced.policy = fresh;
	return 0;
}

static void load_rules(void)
{
	const struct sl_pace_rule *paces;
	const struct sl_rule *rules;
	unsigned n;

	sl_rules_load();
	rules = sl_rules(&n);
	sl_embedded_rules_set(rules, n);
	paces = sl_paces(&n);
	sl_embedded_paces_set(paces, n);
}

/* The network -----------------------------------------------------------------------------------
 */

static bool add_local(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	sl_embedded_local_add(addr->b);
	return true;
}

static void addr_changed(uint32_t ifindex, const struct sl_addr *addr, bool gone)
{
	if (!gone)
		sl_embedded_local_add(addr->b);
	else if (!sl_addr_is_local(addr)) /* another device may have it still */
		sl_embedded_local_del(addr->b);
}

static void link_changed(const struct sl_link *link, bool gone)
{
	uint32_t old = gone ? 0 : sl_embedded_link_seen(link->ifindex, link->name);

	if (old)
		sl_keep_device(old);
	if (gone)
		sl_embedded_link_gone(link->ifindex);
	if (link->vni_after)
		sl_vlans_changed();
	if (sl_device_find(link->ifindex))
		sl_debug("sluiced", "%s %s", link->name,
			 gone                   ? "is gone"
			 : link->flags & IFF_UP ? "has changed"
						: "is down");
}

static int open_network(void)
{
	static const struct sl_net_events events = {
		.link_changed = link_changed,
		.addr_changed = addr_changed,
	};
	int fd, err = sl_net_open(&events);

	if (err)
		return err;
	sl_local_for_each(add_local, NULL);
	sl_farewell_open();
	sl_time_wait_open();
	sl_census_open();
	(void)sl_prove_netlink();
	sluiced.netns = sl_netns_ino();
	fd = sl_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	sluiced.netns_cookie = sl_netns_cookie(fd);
	sl_sys_close(fd);
	if (sluiced.netns_cookie)
		return 0;
	sl_err("sluiced", "claims cannot be proved: SO_NETNS_COOKIE needs Linux 5.14");
	return -EOPNOTSUPP;
}

static void open_broker(void)
{
	static char tool[512];
	struct sl_broker_opts opts = sl_broker_opts_set();
	ssize_t n = readlink("/proc/self/exe", tool, sizeof(tool) - 8);

	if (n > 0) {
		tool[n] = 0;
		memcpy(strrchr(tool, '/'), "/sluice", 8);
		if (!access(tool, X_OK))
			opts.tool = tool;
	}
	sluiced.frames = getenv("SLUICE_FRAMES") ? (uint32_t)sl_settings.frames : FRAMES;
	sluiced.quota = sluiced.frames / 16;
	sluiced.frame_size = (uint32_t)sl_settings.frame_size;
	opts.serve = true;
	(void)mkdir(SL_OWNER_DIR, 0755); /* before the sandbox, which names it */
	sl_embedded_init(&opts);
}

/* The socket ------------------------------------------------------------------------------------
 */

/* True when no process listens there: a dead daemon has left the socket. */
static bool is_stale(int fd, const struct sockaddr_un *sun)
{
	return connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) && errno == ECONNREFUSED;
}

static int bind_socket(int fd)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char dir[sizeof(sun.sun_path)];
	int probe;

	if (strlen(socket_path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, socket_path);
	strcpy(dir, socket_path);
	if (mkdir(dirname(dir), 0755) && errno != EEXIST)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&sun, sizeof(sun)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (probe >= 0 && is_stale(probe, &sun))
		unlink(socket_path);
	close(probe);
	return bind(fd, (struct sockaddr *)&sun, sizeof(sun)) ? -errno : 0;
}

/* Any user may connect: the daemon answers a refusal with its reason. */
static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = bind_socket(fd);
	if (!err && (chmod(socket_path, 0666) || listen(fd, BACKLOG)))
		err = -errno;
	if (err) {
		sl_err("sluiced", "%s: %s%s", socket_path, sl_strerror(err),
		       err == -EADDRINUSE ? " (another daemon answers there)" : "");
		close(fd);
		return err;
	}
	sl_sender_tell(fd);
	sluiced.listen_fd = fd;
	return 0;
}

/* True: the daemon before us left its listening socket with the vault, and it is ours now. */
static bool listens_already(void)
{
	unsigned at = 0;
	struct sl_vault_msg *m = sl_keep_next(SL_KEEP_LISTEN, &at);
	int fd = m ? sl_vault_take(m, 0) : -1;

	if (fd < 0)
		return false;
	sl_sender_tell(fd);
	sluiced.listen_fd = fd;
	listen(fd, BACKLOG); /* the kernel then names us as the listener */
	return true;
}

/* The loop --------------------------------------------------------------------------------------
 */

static int watch_fd(int fd, uint64_t tag)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = tag};

	return sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, fd, &ev);
}

static int open_loop(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sluiced.epfd = epoll_create1(EPOLL_CLOEXEC);
	if (signal_fd < 0 || sluiced.epfd < 0 || watch_fd(sluiced.listen_fd, SL_TAG_LISTEN) ||
	    watch_fd(signal_fd, SL_TAG_SIGNAL) || watch_fd(sl_net_fd(), SL_TAG_NET))
		return -ENOMEM;
	return 0;
}

static void on_signal(void)
{
	struct signalfd_siginfo si;

	while (read(signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR2) {
			stepping_down = true;
			continue;
		}
		if (si.ssi_signo != SIGHUP) {
			/* A second signal ends the daemon at once. */
			end_ns = end_ns ? 1 : sl_now_ns() + LEAVE_NS;
			sluiced.draining = sluiced.leaving = true;
			continue;
		}
		sl_info("sluiced", "policy and rules are read again");
		(void)load_policy();
		load_rules();
	}
}

static void on_event(uint64_t tag)
{
	if (tag == SL_TAG_LISTEN)
		sl_session_accept();
	else if (tag == SL_TAG_SIGNAL)
		on_signal();
	else if (tag == SL_TAG_NET)
		sl_net_on_readable();
	else if (tag == SL_TAG_VAULT)
		sl_keep_readable();
	else if (tag == SL_TAG_GRACE)
		sl_grace_readable();
}

/* Sessions come last, since each of them may take long. */
static void on_events(const struct epoll_event *ev, int n)
{
	static struct sl_session *ready[SL_SESSIONS_MAX];
	unsigned nready = 0;
	bool death = false;

	for (int i = 0; i < n; i++) {
		death |= ev[i].data.u64 == SL_TAG_DEATH;
		if (ev[i].data.u64 < SL_TAGS)
			on_event(ev[i].data.u64);
	}
	if (death) {
		sl_sessions_died();
		sl_heirs_died();
	}
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 >= SL_TAGS && !((struct sl_session *)ev[i].data.ptr)->leaving)
			ready[nready++] = ev[i].data.ptr;
	(void)sl_turn(ready, nready, TURN_NS, sl_session_readable);
}

/* True: a session has a claim, or one that ends still has to be taken back. */
static bool has_claims(void)
{
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->held.n || s->leaving)
			return true;
	return false;
}

static void check_ports(void)
{
	sl_devices_check();
	sl_vlans_check();
	if (sluiced.memory_users)
		(void)sl_broker_reap();
}

/* Programs look once a second whether their device is still steered (sl_on_port_alive()). */
static bool is_grace_over(void)
{
	if (stepping_down && !sl_keep_is_missing())
		return true;
	if (end_ns)
		return !has_claims() || sl_now_ns() > end_ns;
	return sluiced.draining && !sluiced.memory_users && !has_claims();
}

/* How often the loop looks at what no event tells: rules that bpftool writes, locks, sockets that
 * another program binds, workers that are stopped. What programs do comes with requests, so a
 * daemon that has had no event for a while looks as often only as the watch of the claims has to;
 * and while nobody has a claim there is only the house-keeping. */
static uint64_t look_ms(uint64_t now)
{
	if (now - event_ns < STILL_NS)
		return SL_VIEW_MS;
	return has_claims() ? SL_WATCH_MS : CHECK_MS;
}

/* The longest time that the loop may sleep, in milliseconds; -1: until an event comes. */
static int wait_limit(bool more, bool trials)
{
	uint64_t now = sl_now_ns(), door = sl_door_look(now), later = sl_sessions_later(now);
	uint64_t ms = sl_min(door, later) / 1000000 + 1;

	if (sluiced.memory_users || sl_keep_is_missing())
		ms = sl_min(ms, look_ms(now));
	if (sl_closer_look())
		ms = sl_min(ms, (uint64_t)SL_CLOSER_LOOK_MS);
	if (trials)
		ms = sl_min(ms, (uint64_t)TRIAL_MS);
	ms = sl_min(ms, sl_heirs_tick(now) / 1000000 + 1);
	return more ? 0 : ms > INT_MAX ? -1 : (int)ms;
}

/* Frees sessions only between two calls of epoll_wait(), so that no event is of a freed one. */
static void loop(void)
{
	static struct epoll_event ev[SL_SESSIONS_MAX];
	uint64_t checked_ns = sl_now_ns();
	bool more = false, trials = false;

	while (!is_grace_over()) {
		int n, wait_ms = wait_limit(more, trials);

		sl_watchdog_rest();
		n = epoll_wait(sluiced.epfd, ev, sl_array_len(ev), wait_ms);
		sl_watchdog_turn();
		if (n > 0)
			event_ns = sl_now_ns();
		on_events(ev, n);
		sl_closer_go();
		more = sl_sessions_reap();
		trials = sl_rescue_look();
		sl_linger_tick();
		sl_views_sync();
		sl_stopped_look();
		sl_broken_look();
		more |= sl_watch_tick(sl_claim_take_back);
		if (sl_vlans_are_due())
			sl_vlans_check();
		sl_keep_tick();
		if (sl_now_ns() - checked_ns > CHECK_MS * 1000000ull) {
			check_ports();
			checked_ns = sl_now_ns();
		}
	}
	sl_watchdog_rest();
}

/* Start and end ---------------------------------------------------------------------------------
 */

static void usage(FILE *to)
{
	fputs("usage: sluiced [--socket PATH] [--policy FILE] [--watchdog N] [--no-sandbox]\n\n"
	      "  -s, --socket PATH  where programs find it (" SL_LEASE_PATH ")\n"
	      "  -p, --policy FILE  who may have what (" POLICY_PATH ")\n"
	      "      --watchdog N   ends when it stands still for N seconds (20)\n"
	      "      --no-sandbox   keep all privileges (for finding faults)\n"
	      "  -V, --version, -h, --help\n\n"
	      "Settings are those of the library, from the environment: sluice-settings(7).\n",
	      to);
}

static int parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{"policy", required_argument, NULL, 'p'},
		{"no-sandbox", no_argument, NULL, 'n'},
		{"watchdog", required_argument, NULL, 'w'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:p:Vh", options, NULL)) != -1) {
		if (c == 's') {
			socket_path = optarg;
		} else if (c == 'p') {
			policy_path = optarg;
		} else if (c == 'w' && atoi(optarg) > 0) {
			stuck_seconds = (unsigned)atoi(optarg);
		} else if (c == 'n') {
			open_air = true;
		} else if (c == 'V') {
			puts("sluiced " SLUICE_VERSION);
			return 0;
		} else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind == argc)
		return -1;
	usage(stderr);
	return 2;
}

static void keep_others(void)
{
	sl_views_keep();
	sl_heirs_keep();
}

static int start_daemon(void)
{
	struct rlimit files;
	const char *why;
	int err, found;

	/* A session takes more than that: when it ends the system has its memory again. */
	mallopt(M_MMAP_THRESHOLD, 32768);
	sl_settings_load(NULL);
	sl_clock_init();
	sluiced.start_ns = sl_now_ns();
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	err = sl_libbpf_load(&why); /* before the sandbox */
	if (err) {
		sl_err("sluiced", "%s", why);
		return err;
	}
	open_broker();
	sl_names_open();
	load_rules();
	err = load_policy();
	if (!err)
		err = open_network();
	if (err)
		return err;
	found = sl_keep_find(socket_path);
	err = found < 0 ? found : listens_already() ? 0 : open_socket();
	if (!err)
		err = open_loop();
	if (!err && found)
		err = sl_adopt();
	return err;
}

int main(int argc, char **argv)
{
	int status = parse_args(argc, argv), err;

	if (status >= 0)
		return status;
	err = start_daemon();
	if (err) {
		sl_err("sluiced", "cannot start: %s", sl_strerror(err));
		return err == -EPROTO ? EXIT_OTHER_VERSION : 1;
	}
	sl_info("sluiced", "serves network namespace %u at %s", sluiced.netns, socket_path);
	if (!open_air)
		sl_sandbox_enter(socket_path);
	err = sl_closer_start();
	if (err)
		sl_warn("sluiced", "no thread closes what programs pass: the loop does: %s",
			sl_strerror(err));
	sl_keep_start(keep_others);
	sl_watchdog_start(stuck_seconds);
	sl_notify("READY=1");
	loop();
	if (stepping_down) {
		sl_info("sluiced", "steps down: the next one goes on");
		return 0;
	}
	unlink(socket_path);
	sl_embedded_fini();
	sl_keep_bye();
	sl_info("sluiced", "ended");
	return 0;
}
