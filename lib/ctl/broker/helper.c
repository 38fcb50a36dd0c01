/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a process of the `sluice` tool that outlives this one: a reaper, or the daemon's vault. */
#include "ctl/broker/helper.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "base/trust.h"
#include "ctl/device/opts.h"

#define REAPER_STACK 65536

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

	if (!dladdr((void *)sl_helper_start, &self) || !self.dli_fname)
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
	const char *argv[5];
	char *envp[4];
	int fd[SL_HELPER_FDS]; /* they become 3, 4, 5, 6, 7, 8 */
	void *stack;           /* of the reaper; the first half is the middleman's */
	int err, pid;          /* pid: of the new process */
	bool wait;             /* the middleman must not exit before `may` */
	int made, may;         /* the middleman says `made`; we answer with `may` */
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

#define NAPS 20000 /* of 50 us, at most: the other process may have been killed */

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

	l->pid = __clone(reaper_child, (char *)l->stack + REAPER_STACK, CLONE_VM | CLONE_VFORK, l);
	if (l->pid < 0)
		l->err = -EAGAIN;
	sl_store_release(&l->made, 1);
	for (int i = 0; l->wait && i < NAPS && nap(&l->may); i++)
		;
	sl_syscall6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	return 0;
}

/* A program that is a subreaper would become the reaper's parent, and the reaper outlives all that
 * the program waits for. So the program is no subreaper while the middleman dies. (Another child
 * that loses its parent in that moment, a few system calls long, goes to the next subreaper
 * instead.) */
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
	return l->err ? l->err : l->pid;
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

int sl_helper_start(const char *command, const char *arg, const int fd[SL_HELPER_FDS])
{
	char bpffs[300], libs[300];
	struct launch l = {.argv = {"sluice", command, arg}};

	/* The helper would die with the init of a process namespace. */
	if (getpid() == 1 || !find_tool(l.tool))
		return -ENOENT;
	pass_env(l.envp, bpffs, libs);
	memcpy(l.fd, fd, sizeof(l.fd));
	return launch(&l);
}
