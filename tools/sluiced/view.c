/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules and paces of a device, for processes to read. A map that may only be read cannot be
 * mapped (bpf_map_mmap() wants a shared mapping, which a read-only descriptor does not give), so
 * the daemon keeps a copy in a sealed memfd, which is a turn of the loop behind what bpftool
 * writes: look_ms() in main.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/lease/proto.h"
#include "ctl/rules/rule.h"
#include "grant.h"
#include "keep.h"
#include "sluiced.h"

#define VIEW_BYTES sizeof(struct sl_lease_view)

static struct view {
	uint32_t ifindex; /* 0: unused */
	int memfd;
	struct sl_lease_view *policy;
} views[SL_PORTS_MAX];

static struct view *find_view(uint32_t ifindex)
{
	for (unsigned i = 0; i < SL_PORTS_MAX; i++)
		if (views[i].ifindex == ifindex)
			return &views[i];
	return NULL;
}

static void drop_view(struct view *v)
{
	munmap(v->policy, VIEW_BYTES);
	sl_sys_close(v->memfd);
	sl_keep_view(v->ifindex, -1);
	v->ifindex = 0;
}

static int map_view(struct view *v)
{
	v->policy = mmap(NULL, VIEW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, v->memfd, 0);
	return v->policy == MAP_FAILED ? -errno : 0;
}

/* The next daemon maps it for writing, too, so it is not sealed against that: clients get a
 * descriptor for reading, and cannot open the file for more. */
static int make_view(struct view *v, uint32_t ifindex)
{
	int err = 0;

	if (!sl_file_fits(VIEW_BYTES))
		return -EFBIG;
	v->memfd = sl_sysi(SYS_memfd_create, "sluice-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (v->memfd < 0)
		return v->memfd;
	if (ftruncate(v->memfd, VIEW_BYTES) ||
	    fcntl(v->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (!err)
		err = sl_file_freeze(v->memfd);
	if (!err)
		err = map_view(v);
	if (err) {
		sl_sys_close(v->memfd);
		return err;
	}
	v->ifindex = ifindex;
	sl_keep_view(ifindex, v->memfd);
	return 0;
}

void sl_views_keep(void)
{
	for (unsigned i = 0; i < SL_PORTS_MAX; i++)
		if (views[i].ifindex)
			sl_keep_view(views[i].ifindex, views[i].memfd);
}

int sl_view_adopt(uint32_t ifindex, int memfd)
{
	struct view *v = find_view(0);
	int err = -ENOSPC;

	if (v) {
		v->memfd = memfd;
		err = map_view(v);
	}
	if (err)
		sl_sys_close(memfd);
	else
		v->ifindex = ifindex;
	return err;
}

int sl_open_to_read(int memfd)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", memfd);
	return sl_fd_keep(sl_sysi(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC));
}

/* Entries that are in use neither here nor there take no memory of the view. */
static void sync_rules(struct sl_rule *to, const struct sl_rule *from)
{
	unsigned were = sl_rules_used(to), are = sl_rules_used(from);
	size_t bytes = sl_max(were, are) * sizeof(*to);

	if (memcmp(to, from, bytes))
		memcpy(to, from, bytes);
	to += SL_MAX_RULES;
	from += SL_MAX_RULES;
	if (memcmp(to, from, sizeof(*to))) {
		sl_store_release(&to->hits, sl_load(&from->hits));
		memcpy(to, from, sizeof(*to));
	}
}

static void sync_view(struct view *v, const struct sl_device *d)
{
	sync_rules(v->policy->rules, d->rules);
	if (memcmp(v->policy->paces, d->paces, sizeof(v->policy->paces)))
		memcpy(v->policy->paces, d->paces, sizeof(v->policy->paces));
}

int sl_view_get(uint32_t ifindex)
{
	const struct sl_device *d = sl_device_find(ifindex);
	struct view *v = find_view(ifindex);
	int err = 0;

	if (!d)
		return -ENODEV;
	if (!v) {
		v = find_view(0);
		err = v ? make_view(v, ifindex) : -ENOSPC;
	}
	if (err)
		return err;
	sync_view(v, d);
	return sl_open_to_read(v->memfd);
}

void sl_views_sync(void)
{
	for (unsigned i = 0; i < SL_PORTS_MAX; i++) {
		const struct sl_device *d;

		if (!views[i].ifindex)
			continue;
		d = sl_device_find(views[i].ifindex);
		if (d)
			sync_view(&views[i], d);
		else
			drop_view(&views[i]);
	}
}
