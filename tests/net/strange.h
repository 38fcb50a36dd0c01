/* SPDX-License-Identifier: BSD-2-Clause */
/* For hostile programs without rights: a file of a file system of their own (FUSE), which leaves
 * its reader waiting, and the lock of a socket that a thread holds while it waits for such a file.
 */
#ifndef STRANGE_H
#define STRANGE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

/* All but READ, FLUSH and STATFS is answered. A process of its own, which ends with its parent: it
 * must have no file of this file system open, since no process would answer its closing. */
static void serve(int dev)
{
	static char buf[1 << 17];
	struct {
		struct fuse_out_header h;
		union {
			struct fuse_init_out init;
			struct fuse_entry_out entry;
			struct fuse_attr_out attr;
			struct fuse_open_out open;
		};
	} out;

	for (;;) {
		const struct fuse_in_header *in = (const struct fuse_in_header *)buf;
		long n = read(dev, buf, sizeof(buf));
		size_t bytes = 0;

		if (n < (long)sizeof(*in))
			_exit(0);
		memset(&out, 0, sizeof(out));
		out.attr.attr.ino = in->nodeid;
		out.attr.attr.mode = in->nodeid == 1 ? S_IFDIR | 0777 : S_IFREG | 0666;
		out.attr.attr.nlink = 1;
		out.attr.attr.size = PAGE;
		switch (in->opcode) {
		case FUSE_INIT:
			memset(&out.init, 0, sizeof(out.init));
			out.init.major = FUSE_KERNEL_VERSION;
			out.init.minor = 31;
			out.init.max_write = 4096;
			bytes = sizeof(out.init);
			break;
		case FUSE_LOOKUP:
			memset(&out.entry, 0, sizeof(out.entry));
			out.entry.nodeid = out.entry.attr.ino = 2;
			out.entry.attr.mode = S_IFREG | 0666;
			out.entry.attr.nlink = 1;
			out.entry.attr.size = PAGE;
			bytes = sizeof(out.entry);
			break;
		case FUSE_GETATTR:
			bytes = sizeof(out.attr);
			break;
		case FUSE_OPEN:
			memset(&out.open, 0, sizeof(out.open));
			bytes = sizeof(out.open);
			break;
		case FUSE_READ:
		case FUSE_FLUSH:
		case FUSE_STATFS:
		case FUSE_RELEASE:
		case FUSE_FORGET:
		case FUSE_INTERRUPT:
			continue;
		default:
			out.h.error = -ENOSYS;
		}
		out.h.unique = in->unique;
		out.h.len = (uint32_t)(sizeof(out.h) + bytes);
		if (write(dev, &out, out.h.len) < 0)
			continue;
	}
}

static inline void to_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		exit(77);
	close(fd);
}

/* Has a file of a file system that answers nearly nothing: its descriptor; 77: not here. */
static int strange_file(pid_t *server, char *dir)
{
	char opts[128], map[64], file[64];
	unsigned uid = getuid(), gid = getgid();
	int dev;

	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!mkdtemp(dir) || unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		printf("no user namespace: %s\n", strerror(errno));
		exit(77);
	}
	to_file("/proc/self/uid_map", map);
	to_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	to_file("/proc/self/gid_map", map);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	if (dev < 0 || mount("fuse", dir, "fuse", MS_NOSUID | MS_NODEV, opts)) {
		printf("no FUSE: %s\n", strerror(errno));
		exit(77);
	}
	*server = fork();
	if (!*server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(dev);
	}
	close(dev);
	snprintf(file, sizeof(file), "%s/file", dir);
	dev = open(file, O_RDWR | O_CLOEXEC);
	if (dev < 0)
		exit(77);
	return dev;
}

/* Now all its requests fail, and we can end. */
static inline void end_files(pid_t server, const char *dir)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	rmdir(dir);
}

#endif
