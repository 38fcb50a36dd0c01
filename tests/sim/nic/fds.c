/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated NIC's own descriptors. A device has none, so a program that closes everything does
 * not reach these, nor do they take the numbers that it counts on. */
#include <errno.h>

#include "nic.h"
#include "sys.h"

#define FROM 512u
#define END  4096u

static bool own[END];

int sim_fd_keep(int fd)
{
	int high =
		fd < 0 ? -1 : (int)syscall(SYS_fcntl, (long)fd, (long)F_DUPFD_CLOEXEC, (long)FROM);

	if (high >= 0) {
		sim_close(fd);
		fd = high;
	} else if (errno == EBADF) {
		return -1; /* the program has closed it meanwhile, as closefrom(3) does */
	}
	if (fd >= 0 && (unsigned)fd < END)
		own[fd] = true;
	return fd;
}

void sim_fd_close(int fd)
{
	if ((unsigned)fd < END)
		own[fd] = false;
	sim_close(fd);
}

unsigned sim_fd_next(unsigned first)
{
	for (; first < END; first++)
		if (own[first])
			return first;
	return UINT32_MAX;
}
