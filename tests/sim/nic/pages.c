/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages that a program maps beside the device's memory: clock, doorbells. They are of a file,
 * since a program may map one twice, and valgrind knows no other way to do that. */
#include <errno.h>
#include <sys/mman.h>

#include "nic.h"
#include "sys.h"

static int file = -1;
static uint8_t *pages;

int sim_pages_init(void)
{
	const size_t size = (size_t)SIM_PAGES * SIM_PAGE;

	file = (int)syscall(SYS_memfd_create, "simulated-nic-pages", 1u /* MFD_CLOEXEC */);
	if (file < 0 || syscall(SYS_ftruncate, (long)file, (long)size))
		return -errno;
	pages = sim_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (pages == MAP_FAILED)
		return -errno;
	file = sim_fd_keep(file);
	return 0;
}

void *sim_page(unsigned n)
{
	return pages + (size_t)n * SIM_PAGE;
}

void *sim_page_map(void *at, int prot, unsigned n)
{
	return sim_mmap(at, SIM_PAGE, prot, MAP_SHARED, file, (uint64_t)n * SIM_PAGE);
}
