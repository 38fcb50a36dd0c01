/* SPDX-License-Identifier: BSD-2-Clause */
/* Ownership of a device, and cleaning up after a death.
 *
 * Theory of operation: the owner of a device listens on the abstract UNIX socket
 * "sluice/port/<ifindex>". Such a name belongs to the network namespace and dies with the last
 * descriptor, and a process that finds it taken can ask for the process id of its holder. The
 * reaper (see reaper.c) holds a copy of the socket, so that after a death no process gets the
 * device before it has been cleaned. The holder of the name may therefore remove any steering
 * program and any pins of the device that are there.
 *
 * Any user can bind that name. A holder that is neither root's nor our user's is ignored: then the
 * lock in root's file decides (owner_lock.c). A process that has the name looks whether the lock is
 * taken, and a process that has the lock looks whether an owner has the name by now, so of two that
 * come at the same time at most one has the device. */
#include "ctl/device/broker_int.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/sys.h"
#include "base/trust.h"
#include "ctl/broker/owner_lock.h"
#include "ctl/broker/reaper.h"

#define BACKLOG      1024
#define LIVE_TRIES   5   /* of 10 ms: a process that was just killed lives that long */
#define TAKE_TRIES   300 /* of 10 ms: how long a dying owner's cleaning may take */
#define REAPER_STACK 65536

_Static_assert((int)SL_REAPER_FDS == SL_HELPER_FDS, "a reaper is a helper");

static socklen_t owner_name(uint32_t ifindex, struct sockaddr_un *sun)
{
	int n;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	n = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "sluice/port/%u", ifindex);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int owner_bind(const struct sockaddr_un *sun, socklen_t len)
{
	int fd = sl_fd_keep(sl_sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int err;

	if (fd < 0)
		return fd;
	err = sl_sys_bind(fd, sun, len);
	if (!err)
		err = (int)sl_sys(SYS_listen, fd, BACKLOG);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

/* Process id of the listener; 0 when it cannot be seen (another process namespace, or gone). */
static pid_t owner_ask(const struct sockaddr_un *sun, socklen_t len)
{
	int fd = sl_sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred cred = {0};
	socklen_t credlen = sizeof(cred);

	if (fd < 0)
		return 0;
	if (sl_sys_connect(fd, sun, len) ||
	    sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &credlen))
		cred.pid = 0;
	sl_sys_close(fd);
	return cred.pid;
}

static void process_name(pid_t pid, char name[32])
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	sl_read_text(path, name, 32);
}

/* A name whose holder is dead (a zombie, too), or was this process before exec, is held by its
 * reaper: wait. */
static bool is_dying(pid_t pid)
{
	const struct timespec now = {0};
	struct pollfd p = {.events = POLLIN};
	bool dead;

	if (pid <= 0 || pid == getpid())
		return pid > 0;
	p.fd = (int)sl_sys(SYS_pidfd_open, pid, 0);
	if (p.fd < 0)
		return p.fd == -ESRCH;
	dead = sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8) == 1;
	sl_sys_close(p.fd);
	return dead;
}

/* A user's who may not have the device? What cannot be seen is taken for an owner's. */
static bool is_foreign(const struct sockaddr_un *sun, socklen_t len, uint32_t *uid)
{
	int err = sl_unix_name_uid(sun, len, uid);

	return !err && *uid && *uid != (uint32_t)sl_sys(SYS_geteuid);
}

/* The name is a stranger's. */
static int take_lock(uint32_t ifindex, const char *ifname, const struct sockaddr_un *sun,
		     socklen_t len, uint32_t uid, const char **why)
{
	int fd = sl_owner_lock(ifindex);

	if (fd >= 0 && !is_foreign(sun, len, &uid)) {
		/* Meanwhile an owner has it, or nobody. */
		sl_sys_close(fd);
		return -EADDRINUSE;
	}
	if (fd >= 0)
		sl_warn_once("port",
			     "%s: user %u has bound the name by which owners of devices are known: "
			     "that is ignored",
			     ifname, uid);
	else if (fd == -EAGAIN)
		sl_why(why, "device %s is used by another process", ifname);
	else
		sl_why(why,
		       "%s: user %u has bound the name by which owners of devices are known, and "
		       "there is no " SL_OWNER_DIR
		       "/owners beside it (%s); remedy: end that process",
		       ifname, uid, sl_strerror(fd));
	return fd < 0 && fd != -EAGAIN ? -EBUSY : fd;
}

/* The name, or the lock. -EADDRINUSE: another owner has the device, or may have it. */
static int take_once(uint32_t ifindex, const char *ifname, const struct sockaddr_un *sun,
		     socklen_t len, const char **why)
{
	uint32_t uid = 0;
	int fd = owner_bind(sun, len);

	if (fd >= 0 && sl_owner_is_locked(ifindex)) {
		sl_why(why, "device %s is used by another process", ifname);
		sl_sys_close(fd);
		return -EAGAIN;
	}
	if (fd != -EADDRINUSE || !is_foreign(sun, len, &uid))
		return fd;
	return take_lock(ifindex, ifname, sun, len, uid, why);
}

/* How often it may be tried: the daemon serves others meanwhile. */
static int tries_of(void)
{
	return sl_broker_opts()->serve ? LIVE_TRIES + 1 : TAKE_TRIES;
}

int sl_owner_take(uint32_t ifindex, const char *ifname, int *owner_fd, const char **why)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	struct sockaddr_un sun;
	socklen_t len = owner_name(ifindex, &sun);
	char name[32];
	pid_t pid = 0;

	for (int i = 0; i < tries_of(); i++) {
		int fd = take_once(ifindex, ifname, &sun, len, why);

		if (fd >= 0) {
			*owner_fd = fd;
			return 0;
		}
		if (fd == -EAGAIN && i < LIVE_TRIES) {
			sl_sys(SYS_nanosleep, &pause, NULL);
			continue;
		}
		if (fd == -EAGAIN || fd == -EBUSY) /* (why is said) */
			return -EBUSY;
		if (fd != -EADDRINUSE) {
			sl_why(why, "%s: %s", ifname, sl_strerror(fd));
			return fd;
		}
		pid = owner_ask(&sun, len);
		if (pid && !is_dying(pid) && i >= LIVE_TRIES)
			break;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	if (!pid) {
		sl_why(why, "device %s is used by a process of another container", ifname);
		return sl_broker_opts()->serve ? -EINPROGRESS : -EBUSY;
	}
	if (sl_broker_opts()->serve && is_dying(pid))
		return -EINPROGRESS; /* its reaper cleans */
	process_name(pid, name);
	sl_why(why, "device %s is used by process %d (%s)", ifname, (int)pid, name);
	return -EBUSY;
}

/* (unix_listen() notes its caller's credentials each time.) */
void sl_owner_again(int owner_fd)
{
	sl_sys(SYS_listen, owner_fd, BACKLOG);
}

void sl_owner_drain(int owner_fd)
{
	const struct timespec now = {0};
	struct pollfd p = {.fd = owner_fd, .events = POLLIN};
	int fd;

	/* accept takes a number for a moment even when there is nobody (see device/link.c). */
	if (sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8) <= 0)
		return;
	while ((fd = (int)sl_sys(SYS_accept4, owner_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		sl_sys_close(fd);
}

/* The tool --------------------------------------------------------------------------------------
 */

static bool tool_at(char path[256], const char *dir, size_t dirlen, const char *tail)
{
	int n = snprintf(path, 256, "%.*s%s", (int)dirlen, dir, tail);

	return n < 256 && !sl_sys(SYS_faccessat, AT_FDCWD, path, X_OK);
}

/* Where this library is, looked up once, before the program changes its directory: the loader may
 * have found the library by a relative path. */
static char library_dir[256];

__attribute__((constructor, no_sanitize("address", "undefined", "thread"))) static void
find_library(void)
{
	Dl_info self;
	char *slash;

	if (!dladdr((void *)sl_reaper_start, &self) || !self.dli_fname)
		return;
	/* (A link in the path is part of where the tool is looked for.) */
	if (self.dli_fname[0] == '/' && strlen(self.dli_fname) < sizeof(library_dir))
		strcpy(library_dir, self.dli_fname);
	else if (!sl_path_resolve(self.dli_fname, library_dir, sizeof(library_dir)))
		return;
	slash = strrchr(library_dir, '/');
	*slash = 0;
}

static bool find_tool(char path[256])
{
	const char *tool = sl_broker_opts()->tool;
	size_t len = strlen(library_dir);

	if (tool)
		return tool_at(path, tool, strlen(tool), "");
	/* The tool beside the library is as good as the library. */
	if (len && (tool_at(path, library_dir, len, "/sluice") ||
		    tool_at(path, library_dir, len, "/../bin/sluice")))
		return true;
	return tool_at(path, SLUICE_PREFIX, strlen(SLUICE_PREFIX), "/bin/sluice") &&
	       sl_file_is_trusted(path);
}

/* Starting it -----------------------------------------------------------------------------------
 */

/* Arguments of the new process, which shares our memory until it has called exec. */
struct launch {
	char tool[256];
	char *argv[5];
	char *envp[4];
	int fd[SL_HELPER_FDS]; /* what become 3, 4, 5, 6 */
	void *stack;           /* of the reaper; the first half is the middleman's */
	int err;
	bool wait;     /* the middleman must not exit before `may` */
	int made, may; /* the middleman says `made`; we answer with `may` */
};

#define RAW __attribute__((no_sanitize("address", "thread", "undefined")))

/* Closes all descriptors but those to pass on: the limit of the program may leave none free. */
RAW static void close_others(const struct launch *l)
{
	unsigned int from = 0, next;

	do {
		next = ~0u;
		for (int i = 0; i < SL_HELPER_FDS; i++)
			if ((unsigned int)l->fd[i] >= from && (unsigned int)l->fd[i] < next)
				next = (unsigned int)l->fd[i];
		if (next > from)
			sl_syscall6(SYS_close_range, from, next - 1, 0, 0, 0, 0);
		from = next + 1;
	} while (from);
}

/* Runs on the caller's memory with signals blocked and the caller stopped: system calls only. */
RAW static int reaper_child(void *arg)
{
	struct launch *l = arg;
	long null;

	close_others(l);
	for (int i = 0; i < SL_HELPER_FDS; i++) {
		l->fd[i] =
			(int)sl_syscall6(SYS_fcntl, l->fd[i], F_DUPFD, 3 + SL_HELPER_FDS, 0, 0, 0);
		if (l->fd[i] < 0) {
			l->err = l->fd[i];
			sl_syscall6(SYS_exit_group, 127, 0, 0, 0, 0, 0);
		}
	}
	for (int i = 0; i < SL_HELPER_FDS; i++)
		sl_syscall6(SYS_dup3, l->fd[i], 3 + i, 0, 0, 0, 0);
	null = sl_syscall6(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		sl_syscall6(SYS_dup3, null, i, 0, 0, 0, 0);
	sl_syscall6(SYS_close_range, 3 + SL_HELPER_FDS, ~0u, 0, 0, 0, 0);
	sl_syscall6(SYS_setsid, 0, 0, 0, 0, 0, 0);
	l->err = (int)sl_syscall6(SYS_execve, (long)l->tool, (long)l->argv, (long)l->envp, 0, 0, 0);
	sl_syscall6(SYS_exit_group, 127, 0, 0, 0, 0, 0);
	return 0;
}

/* The C library's clone(), by the name that nobody interposes: ThreadSanitizer takes it for a fork,
 * and the thread that shares its memory with the child is no longer followed. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

#define NAPS 20000 /* of 50 us, at most: who is waited for may have been killed */

/* Waits until *word is set. Not by a futex: the middleman has nothing but raw system calls. */
RAW static bool nap(const int *word)
{
	static const struct timespec ts = {.tv_nsec = 50000};

	if (sl_load_acquire(word))
		return false;
	sl_syscall6(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
	return true;
}

/* The middleman exits at once, which makes init the reaper's parent, so the program's wait() never
 * sees the reaper. */
RAW static int middleman(void *arg)
{
	struct launch *l = arg;

	if (__clone(reaper_child, (char *)l->stack + REAPER_STACK, CLONE_VM | CLONE_VFORK, l) < 0)
		l->err = -EAGAIN;
	sl_store_release(&l->made, 1);
	for (int i = 0; l->wait && i < NAPS && nap(&l->may); i++)
		;
	sl_syscall6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	return 0;
}

/* A program that is a subreaper would get the reaper for a child, who outlives all that it waits
 * for: it is none for the moment of the middleman's death. (A process of its that loses its parent
 * in that moment, a few system calls long, goes to the next subreaper instead.) */
static void let_die(struct launch *l, long pid)
{
	for (int i = 0; i < NAPS && nap(&l->made); i++)
		;
	sl_sys(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	sl_store_release(&l->may, 1);
	sl_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	sl_sys(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* No SIGCHLD: the middleman has no exit signal, and only __WCLONE waits for such a child. */
static int launch(struct launch *l)
{
	int subreaper = 0;
	long pid;

	sl_sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	l->wait = subreaper;
	l->stack = mmap(NULL, REAPER_STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (l->stack == MAP_FAILED)
		return -ENOMEM;
	pid = __clone(middleman, (char *)l->stack + REAPER_STACK / 2,
		      CLONE_VM | (subreaper ? 0 : CLONE_VFORK), l);
	if (pid < 0)
		l->err = -errno;
	else if (subreaper)
		let_die(l, pid);
	else
		sl_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	munmap(l->stack, REAPER_STACK);
	return l->err;
}

/* libxdp and the loader need to find what we find; nothing else of the environment is passed. */
static void pass_env(char **envp, char bpffs[300], char libs[300])
{
	const char *v = secure_getenv("LIBXDP_BPFFS");

	if (v && snprintf(bpffs, 300, "LIBXDP_BPFFS=%s", v) < 300)
		*envp++ = bpffs;
	v = secure_getenv("LD_LIBRARY_PATH");
	if (v && snprintf(libs, 300, "LD_LIBRARY_PATH=%s", v) < 300)
		*envp++ = libs;
	*envp = NULL;
}

static struct {
	int fd; /* of the program's connections; 0: none */
	struct sl_conns_layout layout;
} conns;

int sl_embedded_conns(int memfd, const struct sl_conns_layout *layout)
{
	conns.fd = memfd;
	conns.layout = *layout;
	return 0;
}

int sl_helper_start(const char *command, const char *arg, const int fd[SL_HELPER_FDS])
{
	char bpffs[300], libs[300];
	struct launch l = {.argv = {"sluice", (char *)command, (char *)arg}};

	/* The init of a process namespace takes its helpers with it. */
	if (getpid() == 1 || !find_tool(l.tool))
		return -ENOENT;
	pass_env(l.envp, bpffs, libs);
	memcpy(l.fd, fd, sizeof(l.fd));
	return launch(&l);
}

/* By which a reaper sees its owner's death, beside the socket. With sluiced it is the death of
 * daemon and vault (vault.h), which have the socket's other end to themselves: nothing more. */
static int owner_death(void)
{
	return sl_broker_opts()->serve ? sl_sysi(SYS_eventfd2, 0, EFD_CLOEXEC)
				       : (int)sl_sys(SYS_pidfd_open, getpid(), 0);
}

int sl_reaper_start(struct sl_device *port)
{
	int life[2], fd[SL_HELPER_FDS], err;
	char word[SL_PARTS_WORD], arg[16 + SL_PARTS_WORD];

	sl_parts_word(port, word);
	snprintf(arg, sizeof(arg), "%u%s", port->info.ifindex, word);
	/* Not a pipe: telling one whose reaper was killed would raise SIGPIPE in the program. */
	err = (int)sl_sys(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life);
	if (err)
		return err;
	fd[SL_REAPER_LIFE] = life[0];
	fd[SL_REAPER_OWNER] = port->owner_fd;
	fd[SL_REAPER_CONNS] = conns.fd ? conns.fd : life[0];
	err = fd[SL_REAPER_PIDFD] = owner_death();
	if (err >= 0) {
		err = sl_helper_start("reaper", arg, fd);
		sl_sys_close(fd[SL_REAPER_PIDFD]);
	}
	sl_sys_close(life[0]);
	if (err)
		sl_sys_close(life[1]);
	else
		port->reaper_fd = sl_fd_keep(life[1]);
	/* (Room for that there is.) */
	if (!err)
		sl_sys(SYS_sendto, port->reaper_fd, &conns.layout, sizeof(conns.layout),
		       MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
	return err;
}

void sl_reaper_stop(struct sl_device *port)
{
	struct sl_link_now now;
	int err;

	if (port->reaper_fd < 0)
		return;
	/* Without descriptors libxdp cannot detach: then the reaper must. */
	err = sl_link_look(port->info.ifindex, &now);
	if (err == -ENODEV || (!err && !now.xdp_id))
		sl_sys(SYS_sendto, port->reaper_fd, SL_REAPER_BYE, 1, MSG_NOSIGNAL | MSG_DONTWAIT,
		       NULL, 0);
	sl_sys_close(port->reaper_fd);
	port->reaper_fd = -1;
}
