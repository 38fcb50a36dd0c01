/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program in a network namespace, in place of nsenter, setpriv and env. A test starts
 * hundreds of programs, and each of those three tools takes some 10 ms of a core. This one is
 * linked statically, so its start is cheap, and LD_PRELOAD does not reach it.
 *
 *   within [-u UID GID] NETNS [NAME=VALUE..] -- [NAME=VALUE..] PROGRAM [ARGUMENT..]
 *
 * -u: as that user, without supplementary groups, without capabilities in the bounding set, and
 * with no new privileges. Exit status: PROGRAM's; 126 or 127 if it cannot be run, 125 if anything
 * before that fails. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void drop(uid_t uid, gid_t gid)
{
	unsigned long cap;

	for (cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			err(125, "PR_CAPBSET_DROP %lu", cap);
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		err(125, "user %u, group %u", uid, gid);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		err(125, "PR_SET_NO_NEW_PRIVS");
}

int main(int argc, char **argv)
{
	uid_t uid = 0;
	gid_t gid = 0;
	int ns, i = 1;

	if (argc > 4 && !strcmp(argv[1], "-u")) {
		uid = (uid_t)strtoul(argv[2], NULL, 10);
		gid = (gid_t)strtoul(argv[3], NULL, 10);
		i = 4;
	}
	ns = i < argc ? open(argv[i], O_RDONLY | O_CLOEXEC) : -1;
	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		err(125, "%s", i < argc ? argv[i] : "within NETNS [NAME=VALUE..] -- PROGRAM");
	if (i > 1)
		drop(uid, gid);
	for (i++; i < argc && strcmp(argv[i], "--"); i++)
		if (putenv(argv[i]))
			err(125, "%s", argv[i]);
	for (i++; i < argc && strchr(argv[i], '='); i++)
		if (putenv(argv[i]))
			err(125, "%s", argv[i]);
	if (i >= argc)
		errx(125, "no program");
	execvp(argv[i], argv + i);
	err(errno == ENOENT ? 127 : 126, "%s", argv[i]);
}
