/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives up capabilities, files and system calls once the daemon has started.
 *
 * The daemon stays user 0, which must own its files on bpffs, but with the capabilities below, in a
 * domain of Landlock that lets it write beneath its own directory and bpffs only, and with a list
 * of system calls. The reaper, which it starts for each device, inherits all of this. */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/broker/owner_lock.h"
#include "ctl/kern/say.h"
#include "ctl/steer/attach.h"

/* CAP_SYS_ADMIN: libxdp looks for other programs by their numbers, which needs this capability
 * (bpf_prog_get_fd_by_id(); kernel/bpf/syscall.c). CAP_NET_BIND_SERVICE: for connections of
 * the dead that become the kernel's (TCP_REPAIR), on ports below 1024, too. CAP_SETUID, CAP_SETGID:
 * such sockets are made for the client's user (restore.c); of the calls only setfsuid(2) and
 * setfsgid(2) are left. CAP_LINUX_IMMUTABLE: for files that clients must only read
 * (sl_file_freeze()). */
static const uint8_t kept[] = {CAP_NET_ADMIN,    CAP_NET_RAW,          CAP_BPF,
			       CAP_PERFMON,      CAP_SYS_ADMIN,        CAP_IPC_LOCK,
			       CAP_SYS_RESOURCE, CAP_NET_BIND_SERVICE, CAP_SETUID,
			       CAP_SETGID,       CAP_LINUX_IMMUTABLE};

static int drop_capabilities(void)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint64_t keep = 0;

	for (unsigned i = 0; i < sizeof(kept); i++)
		keep |= 1ull << kept[i];
	for (int cap = 0; cap < 64; cap++)
		if (!(keep >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

/* Files -------------------------------------------------------------------------------------------
 */

#define WRITING                                                                                    \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                           \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                               \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static void allow_path(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access};

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		sl_debug("sluiced", "landlock: %s: %s", path, sl_strerror(errno));
	close(rule.parent_fd);
}

static int confine_files(const char *run_dir)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = WRITING};
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	int err = 0;

	if (ruleset < 0)
		return -errno;
	allow_path(ruleset, run_dir, WRITING);
	allow_path(ruleset, SL_OWNER_DIR, WRITING);
	allow_path(ruleset, sl_bpffs_root(), WRITING);
	allow_path(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0))
		err = -errno;
	close(ruleset);
	return err;
}

/* System calls ------------------------------------------------------------------------------------
 */

static const char *const calls[] = {
	/* the work */
	"bpf",
	"socket",
	"bind",
	"connect",
	"listen",
	"accept4",
	"sendto",
	"sendmsg",
	"recvfrom",
	"recvmsg",
	"setsockopt",
	"getsockopt",
	"getsockname",
	"getpeername",
	"ioctl",
	"shutdown",
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"epoll_create1",
	"poll",
	"ppoll",
	"socketpair",
	"signalfd4",
	"eventfd2",
	"pidfd_open",
	"memfd_create",
	"ftruncate",
	"getrandom",
	"dup",
	"dup3",
	"fcntl",
	"flock",
	"close",
	"close_range",
	"prlimit64",
	"membarrier",
	/* files: to write, only where Landlock lets it */
	"open",
	"openat",
	"read",
	"write",
	"writev",
	"pread64",
	"pwrite64",
	"lseek",
	"stat",
	"fstat",
	"lstat",
	"newfstatat",
	"statx",
	"statfs",
	"fstatfs",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getdents64",
	"mkdir",
	"mkdirat",
	"rmdir",
	"unlink",
	"unlinkat",
	"rename",
	"renameat",
	"renameat2",
	"getcwd",
	"chdir",
	"chmod",
	"fchmod",
	"fchmodat",
	"umask",
	/* memory, time, the process */
	"mmap",
	"munmap",
	"mprotect",
	"mremap",
	"madvise",
	"mlock",
	"munlock",
	"brk",
	"futex",
	"nanosleep",
	"clock_nanosleep",
	"clock_gettime",
	"clock_getres",
	"gettimeofday",
	"time",
	"getpid",
	"gettid",
	"getppid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"setfsuid",
	"setfsgid",
	"uname",
	"sysinfo",
	"sched_getaffinity",
	"sched_yield",
	"getcpu",
	"capget",
	"prctl",
	"arch_prctl",
	"rseq",
	"set_tid_address",
	"set_robust_list",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigpending",
	"sigaltstack",
	"restart_syscall",
	"exit",
	"exit_group",
	"tgkill",
	"kill",
	/* the reaper */
	"clone",
	"clone3",
	"vfork",
	"execve",
	"wait4",
	"setsid",
};

/* Other calls fail, and the daemon goes on: a call that a new version of a library makes must not
 * end the service. */
static int confine_calls(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = f ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < sl_array_len(calls); i++) {
		int nr = seccomp_syscall_resolve_name(calls[i]);

		if (nr != __NR_SCMP_ERROR) /* an older libseccomp does not know it */
			err = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 0);
	}
	/* A lane's private device, and the question with CLONE_VFORK (ctl/device/pair.c). */
	if (!err)
		err = seccomp_rule_add(
			f, SCMP_ACT_ALLOW, SCMP_SYS(unshare), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, ~(uint64_t)CLONE_VFORK, CLONE_NEWNET));
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}

void sl_sandbox_enter(const char *socket_path)
{
	char dir[128];
	int err;

	snprintf(dir, sizeof(dir), "%s", socket_path);
	err = drop_capabilities();
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err) {
		sl_warn("sluiced", "capabilities are not dropped: %s", sl_strerror(err));
		return;
	}
	err = confine_files(dirname(dir));
	if (err)
		sl_warn("sluiced", "files are not confined (Landlock needs Linux 5.13): %s",
			sl_strerror(err));
	err = confine_calls();
	if (err)
		sl_warn("sluiced", "system calls are not confined: %s", sl_strerror(err));
}
