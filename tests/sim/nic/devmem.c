/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory on the device. As on the real one an allocation has pages of its own in the window that
 * the program maps, so that many small ones use it up sooner than their bytes say. */
#include <errno.h>
#include <sys/mman.h>

#include "nic.h"
#include "sys.h"

#define UNIT 64u /* sizes are rounded up to it */

static int memory_fd = -1;
static uint8_t *memory;

static int make(void)
{
	int fd = (int)syscall(SYS_memfd_create, "simulated-nic-memory", 1u /* MFD_CLOEXEC */);

	if (fd < 0 || syscall(SYS_ftruncate, (long)fd, (long)SIM_MAX_DM))
		return errno;
	memory = sim_mmap(NULL, SIM_MAX_DM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return errno;
	memory_fd = sim_fd_keep(fd);
	return 0;
}

static uint32_t page_up(uint32_t n)
{
	return (n + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
}

static bool overlaps(uint32_t off, uint32_t len)
{
	uint32_t at = 0;
	struct sim_obj *obj;

	while ((obj = sim_obj_next(&at, SIM_DM))) {
		if (off < page_up(obj->dm.off + obj->dm.len) && obj->dm.off < off + len)
			return true;
	}
	return false;
}

int sim_dm_alloc(struct sim_dm *dm, uint64_t len, uint32_t log_align)
{
	uint32_t want, off;
	int err;

	if (!sim_nic.dm_usable)
		return EOPNOTSUPP;
	if (!len || log_align > 12)
		return EINVAL;
	if (len > sim_nic.dm_usable)
		return ENOMEM;
	if (memory_fd < 0 && (err = make()))
		return err;
	want = ((uint32_t)len + UNIT - 1) & ~(UNIT - 1);
	for (off = 0; off + want <= sim_nic.dm_usable; off += SIM_PAGE) {
		if (overlaps(off, want))
			continue;
		*dm = (struct sim_dm){.off = off, .len = want};
		return 0;
	}
	return ENOMEM;
}

uint8_t *sim_dm_bytes(const struct sim_dm *dm)
{
	return memory + dm->off;
}

int sim_dm_fd(void)
{
	return memory_fd;
}
