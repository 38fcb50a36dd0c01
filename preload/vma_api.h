/* SPDX-License-Identifier: BSD-2-Clause */
/* libvma's extra API (compat/vma_extra.h), under its own names and layouts. */
#ifndef SL_VMA_API_H
#define SL_VMA_API_H

#include <stdbool.h>
#include <sys/socket.h>

/* Its options of SOL_SOCKET, between which Linux has none. */
#define SL_VMA_FIRST 2800
#define SL_VMA_LAST  2821

/* getsockopt() of descriptor -1. True: it asked for the API, and *val points to it now. False: it
 * is for the kernel, also while libsluice.so cannot be loaded. */
bool sl_vma_api(int level, int name, void *val, socklen_t *len)
	__attribute__((visibility("hidden")));
/* setsockopt() of such an option for a socket of ours. 0 or -errno. */
int sl_vma_setsockopt(int fd, int name, const void *val, socklen_t len)
	__attribute__((visibility("hidden")));
/* getsockopt() of such an option. 0 or -errno. */
int sl_vma_getsockopt(int fd, int name, void *val, socklen_t *len)
	__attribute__((visibility("hidden")));

#endif
