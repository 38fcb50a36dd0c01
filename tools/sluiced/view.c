/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of a device, for processes to read. A map that may only be read cannot be mapped
 * (bpf_map_mmap() wants a shared mapping, which a read-only descriptor does not give), so the
 * daemon keeps a copy in a sealed memfd, that is at most SL_VIEW_MS behind what bpftool writes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "ctl/broker_int.h"
#include "sluiced.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10 /* Linux 5.1 */
#endif
#define VIEW_BYTES ((SL_MAX_RULES + 1) * sizeof(struct sl_rule))

static struct view {
	uint32_t ifindex; /* 0: unused */
	int memfd;
	struct sl_rule *rules;
} views[SL_PORTS_MAX];

static struct view *find(uint32_t ifindex)
{
	for (unsigned i = 0; i < SL_PORTS_MAX; i++)
		if (views[i].ifindex == ifindex)
			return &views[i];
	return NULL;
}

static void drop(struct view *v)
{
	munmap(v->rules, VIEW_BYTES);
	sl_sys_close(v->memfd);
	v->ifindex = 0;
}

static int make(struct view *v, uint32_t ifindex)
{
	int err = 0;

	v->memfd = sl_sysi(SYS_memfd_create, "sluice-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (v->memfd < 0)
		return v->memfd;
	if (ftruncate(v->memfd, VIEW_BYTES))
		err = -errno;
	v->rules = err ? MAP_FAILED
		       : mmap(NULL, VIEW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, v->memfd, 0);
	if (!err && v->rules == MAP_FAILED)
		err = -errno;
	/* What is mapped already may be written, and nobody else's mapping. */
	if (!err && fcntl(v->memfd, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)) {
		err = -errno;
		munmap(v->rules, VIEW_BYTES);
	}
	if (err)
		sl_sys_close(v->memfd);
	else
		v->ifindex = ifindex;
	return err;
}

static void sync_view(struct view *v, const struct sl_device *d)
{
	if (memcmp(v->rules, d->rules, VIEW_BYTES))
		memcpy(v->rules, d->rules, VIEW_BYTES);
}

int sl_view_get(uint32_t ifindex)
{
	const struct sl_device *d = sl_device_find(ifindex);
	struct view *v = find(ifindex);
	int err = 0;

	if (!d)
		return -ENODEV;
	if (!v) {
		v = find(0);
		err = v ? make(v, ifindex) : -ENOSPC;
	}
	if (err)
		return err;
	sync_view(v, d);
	return sl_fd_dup(v->memfd);
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
			drop(&views[i]);
	}
}
