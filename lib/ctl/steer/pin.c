/* SPDX-License-Identifier: BSD-2-Clause */
/* Pins of the maps: /sys/fs/bpf/sluice/<ifname>/, for bpftool and `sluice`. Of a second device of
 * that name, in another network namespace, they are in <ifname>:<number of the namespace>/.
 *
 * The `config` map in a directory says whose it is. Directories are made, filled and removed under
 * a lock on their parent, so one without a `config` is the remainder of a death. */
#include "ctl/steer/pin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/link.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/steer/attach.h"
#include "ctl/steer/maps.h"
#include "ctl/steer/whose.h"

#define LOCK_TRIES 500 /* of 10 ms: a holder may be stopped, for as long as it likes */

static int wait_for_lock(int fd)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return -ETIMEDOUT;
}

static int lock_root(void)
{
	int fd = sl_bpffs_dir(SL_PIN_ROOT), err;

	if (fd < 0)
		return fd;
	err = wait_for_lock(fd);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

/* Unlocked by name: a child that has a copy of the descriptor would keep the lock. */
static void unlock_root(int fd)
{
	flock(fd, LOCK_UN);
	sl_sys_close(fd);
}

static void pin_path(char path[128], const char *dir, enum sl_map map)
{
	snprintf(path, 128, "%s/%s", dir, sl_map_names[map]);
}

static bool read_config(const char *dir, struct sl_port_config *cfg)
{
	uint32_t zero = 0;
	char path[128];
	bool ok;
	int fd;

	pin_path(path, dir, SL_MAP_CONFIG);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	ok = !bpf_map_lookup_elem(fd, &zero, cfg);
	sl_sys_close(fd);
	return ok;
}

static void remove_dir(const char *dir)
{
	char path[128];

	for (unsigned i = 0; i < SL_MAP_COUNT; i++) {
		pin_path(path, dir, (enum sl_map)i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/" SL_PICKED_FLOWS, dir);
	unlink(path);
	rmdir(dir);
}

static bool is_of_device(const struct sl_port_config *cfg, uint32_t ifindex)
{
	return cfg->ifindex == ifindex && cfg->netns == sl_netns_ino();
}

void sl_pin_remove(uint32_t ifindex)
{
	struct sl_port_config cfg;
	char dir[sizeof(((struct sl_port_info *)0)->pin_dir)];
	struct dirent *e;
	int lock;
	DIR *d;

	if (!sl_bpffs_is_there())
		return;
	lock = lock_root();
	if (lock < 0)
		return;
	d = opendir(SL_PIN_ROOT);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(dir, sizeof(dir), SL_PIN_ROOT "/%.40s", e->d_name);
		if (read_config(dir, &cfg) && is_of_device(&cfg, ifindex))
			remove_dir(dir);
	}
	if (d)
		closedir(d);
	unlock_root(lock);
}

/* True: the device of this namespace is gone. A device that was made anew has another number. */
static bool device_is_gone(const struct sl_port_config *cfg)
{
	struct sl_link_now now;

	return cfg->netns == sl_netns_ino() && sl_link_look(cfg->ifindex, &now) == -ENODEV;
}

/* True: a steering program of it is loaded, or we may not look. */
static bool is_loaded(const struct sl_port_config *cfg)
{
	struct sl_port_config other;
	uint32_t id = 0;
	bool same = false;
	int err = 0, fd;

	while (!same && !(err = bpf_prog_get_next_id(id, &id))) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		same = sl_steer_config(fd, &other) && other.pid == cfg->pid &&
		       other.netns == cfg->netns && other.ifindex == cfg->ifindex;
		sl_sys_close(fd);
	}
	return same || err == -EPERM;
}

/* The number of a process in another container may be unknown here, or somebody else's. */
static bool is_alive(const struct sl_port_config *cfg)
{
	if (sl_sys(SYS_kill, cfg->pid, 0) != -ESRCH)
		return !device_is_gone(cfg);
	return cfg->netns != sl_netns_ino() && is_loaded(cfg);
}

/* False when a living process has its pins there, of a device that lives. */
static bool claim_dir(const char *dir)
{
	struct sl_port_config cfg;

	if (mkdir(dir, 0755) == 0)
		return true;
	if (read_config(dir, &cfg) && is_alive(&cfg))
		return false;
	remove_dir(dir);
	return mkdir(dir, 0755) == 0;
}

static int pin_all(const struct sl_device *port, const char *dir)
{
	char path[128];

	for (unsigned i = 0; i < SL_MAP_COUNT; i++) {
		pin_path(path, dir, (enum sl_map)i);
		if (bpf_obj_pin(port->attach.map_fd[i], path))
			return -errno;
	}
	return 0;
}

static int pin_maps(struct sl_device *port)
{
	char dir[sizeof(port->info.pin_dir)], name[SL_PIN_NAME];
	int err;

	sl_pin_name(name, port->info.ifname, 0);
	snprintf(dir, sizeof(dir), SL_PIN_ROOT "/%s", name);
	if (!claim_dir(dir)) {
		sl_pin_name(name, port->info.ifname, sl_netns_ino());
		snprintf(dir, sizeof(dir), SL_PIN_ROOT "/%s", name);
		if (!claim_dir(dir))
			return -EBUSY;
	}
	err = pin_all(port, dir);
	if (err)
		remove_dir(dir);
	else
		memcpy(port->info.pin_dir, dir, sizeof(dir));
	return err;
}

int sl_pin_maps(struct sl_device *port)
{
	int lock, err;

	port->info.pin_dir[0] = 0;
	if (!sl_bpffs_is_there()) {
		sl_info("port",
			"%s: no bpffs: the maps are not pinned and no other XDP program can "
			"be beside ours; remedy: mount -t bpf bpf /sys/fs/bpf",
			port->info.ifname);
		return -ENOENT;
	}
	lock = lock_root();
	err = lock < 0 ? lock : pin_maps(port);
	if (lock >= 0)
		unlock_root(lock);
	if (err)
		sl_info("port", "%s: the maps are not pinned below %s: %s%s", port->info.ifname,
			SL_PIN_ROOT, sl_strerror(err),
			err == -EPERM ? " (another user's directory; remedy: remove it)" : "");
	return err;
}
