/* SPDX-License-Identifier: BSD-2-Clause */
/* libbpf and libxdp in a process that is another program's.
 *
 * Theory of operation: their messages go to our log, at a level that nobody sees by accident, and
 * only while we call them. libxdp 1.3 leaks a descriptor of the program when it looks at a device
 * without a dispatcher. Such a leak would keep a dead process's program and maps for as long as we
 * live, and would occupy a number that the program counts on. It can be found: nobody else in this
 * process has descriptors of our program. */
#include "ctl/device/libs.h"

#include <stdio.h>
#include <string.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/kern/libbpf.h"

#define LEAKS_END 1024

static libbpf_print_fn_t saved_bpf_print;
static libxdp_print_fn_t saved_xdp_print;

static void log_line(enum sl_log_level level, const char *room, const char *fmt, va_list ap)
{
	char line[512];
	int n;

	if ((int)level > sl_load(&sl_log_level))
		return;
	n = vsnprintf(line, sizeof(line), fmt, ap);
	if (n > 0 && n < (int)sizeof(line) && line[n - 1] == '\n')
		line[n - 1] = 0;
	sl_log_write(level, room, "%s", line);
}

static int on_bpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	log_line(level == LIBBPF_DEBUG ? SL_LOG_FINE : SL_LOG_DEBUG, "libbpf", fmt, ap);
	return 0;
}

static int on_xdp_print(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	log_line(level == LIBXDP_DEBUG ? SL_LOG_FINE : SL_LOG_DEBUG, "libxdp", fmt, ap);
	return 0;
}

void sl_libs_quiet(void)
{
	saved_bpf_print = libbpf_set_print(on_bpf_print);
	saved_xdp_print = libxdp_set_print(on_xdp_print);
}

void sl_libs_restore(void)
{
	libbpf_set_print(saved_bpf_print);
	libxdp_set_print(saved_xdp_print);
}

static void close_leak(int fd, void *arg)
{
	const uint32_t *prog_id = arg;
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info), id = 0;

	if (fd < 3 || fd >= LEAKS_END)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		id = info.id;
	if (id && id == *prog_id && !strcmp(info.name, SL_STEER_PROG))
		sl_sys_close(fd);
}

void sl_libs_close_leaks(uint32_t prog_id)
{
	if (sl_fd_each(close_leak, &prog_id)) /* no /proc */
		for (int fd = 3; fd < LEAKS_END; fd++)
			close_leak(fd, &prog_id);
}
