/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines: made on the stack, written whole with one write(2).
 *
 * We are a guest in the program: a line never blocks it (a full pipe costs the line, counted),
 * never kills it (SIGPIPE and SIGXFSZ are held back) and never lands in a descriptor that has
 * become something else since (a daemon that closed all its descriptors, an inetd service whose
 * standard error is the client's connection). */
#include "base/log.h"

#include <fcntl.h>
#include <linux/termios.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/roomy.h"
#include "base/sys.h"

#define LINE_MAX_BYTES 1024
#define FACILITY       (1 << 3) /* LOG_USER, syslog(3) */
#define NOWHERE        -2       /* this user may not write the log file */

int sl_log_level = SL_LOG_INFO;
int sl_log_details;

static struct {
	int fd;     /* of the log file; -1: standard error, NOWHERE */
	dev_t dev;  /* what fd was when it was opened */
	ino_t ino;  /* (both 0 for standard error) */
	int colors; /* wanted */
	uint64_t start_ns;
	uint32_t lost; /* lines not written: the reader does not read */
	bool syslog;   /* fd is connected to /dev/log */
	bool parted;   /* the process has become another user since the file was opened */
	bool refused;  /* path could not be opened, and no other is open */
	char path[300];
} out = {.fd = -1};

static const char *const names[] = {"PANIC",   "ERROR", "WARNING", "INFO",
				    "DETAILS", "DEBUG", "FINE"};

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	if (sl_sys(SYS_clock_gettime, CLOCK_MONOTONIC, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The file's name with the first %d replaced by the process id. */
static void expand_path(char *dst, size_t len, const char *pattern)
{
	const char *d = strstr(pattern, "%d");

	if (d)
		snprintf(dst, len, "%.*s%ld%s", (int)(d - pattern), pattern, sl_sys(SYS_getpid),
			 d + 2);
	else
		snprintf(dst, len, "%s", pattern);
}

static int open_syslog(void)
{
	static const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = sl_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return fd;
	err = sl_sys_connect(fd, &at, sizeof(at));
	if (!err)
		return fd;
	(void)sl_sys_close(fd);
	return err;
}

static int open_log(const char *path)
{
	struct stat st;
	bool syslog = !strcmp(path, SL_LOG_SYSLOG);
	int fd;

	if (syslog)
		fd = open_syslog();
	else
		fd = (int)sl_sys(SYS_openat, AT_FDCWD, path,
				 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				 0640);
	if (fd < 0)
		return fd;
	sl_store(&out.syslog, syslog);
	fd = sl_fd_keep(fd);
	if (sl_sys(SYS_fstat, fd, &st) == 0) {
		out.dev = st.st_dev;
		out.ino = st.st_ino;
	}
	return fd;
}

void sl_log_open(int level, int details, bool colors, const char *file)
{
	char path[sizeof(out.path)];
	int fd;

	if (!out.start_ns)
		out.start_ns = monotonic_ns();
	sl_store(&sl_log_level, level);
	sl_store(&sl_log_details, details);
	out.colors = colors;
	if (!file[0])
		return;
	expand_path(path, sizeof(path), file);
	if ((out.fd >= 0 || out.refused) && !strcmp(path, out.path))
		return;
	fd = open_log(path);
	if (fd < 0) {
		sl_warn("log", "%s: %s; logging to standard error", path, strerrorname_np(-fd));
		if (out.fd < 0)
			memcpy(out.path, path, sizeof(path));
		out.refused = out.fd < 0;
		return;
	}
	if (out.fd >= 0)
		(void)sl_sys_close(out.fd);
	memcpy(out.path, path, sizeof(path));
	out.refused = false;
	sl_store(&out.fd, fd);
}

/* False: the program has closed it; the number may be the program's own by now. */
static bool is_log(int fd)
{
	struct stat st;

	return sl_sys(SYS_fstat, fd, &st) == 0 && st.st_dev == out.dev && st.st_ino == out.ino;
}

/* (Another thread may be about to write to that number, so it stays open, for the next line.) */
void sl_log_part(void)
{
	int fd = sl_load(&out.fd), null;

	if (fd < 0 || sl_load(&out.syslog) || !is_log(fd))
		return;
	sl_store(&out.parted, true);
	null = (int)sl_sys(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0)
		(void)sl_sys(SYS_dup3, null, fd, O_CLOEXEC);
	(void)sl_sys_close(null >= 0 ? null : fd);
}

/* The descriptor that the line goes to; -1: none. */
static int target(void)
{
	int fd = sl_load(&out.fd);
	int domain = AF_UNIX;
	socklen_t len = sizeof(domain);

	if (fd == NOWHERE)
		return -1;
	if (fd < 0) {
		/* A service's connection is not a place for our lines; a journal is. */
		if (sl_sys_getsockopt(2, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
		    domain != AF_UNIX)
			return -1;
		return 2;
	}
	if (is_log(fd))
		return fd;
	fd = open_log(out.path);
	sl_store(&out.fd, fd >= 0 ? fd : sl_load(&out.parted) ? NOWHERE : -1);
	return fd < 0 ? -1 : fd;
}

static bool is_terminal(int fd)
{
	struct termios t;

	return sl_sys_ioctl(fd, TCGETS, &t) == 0;
}

static bool write_line(int fd, const char *line, size_t len)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	struct timespec none = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &none, NULL, 8) == 1 && p.revents & POLLOUT &&
	       sl_write_quietly(fd, line, len) >= 0;
}

/* The daemon of syslog(3) has been started again: fd is connected to the new one, under the same
 * number, which other threads may be about to use. */
static bool write_anew(int fd, const char *line, size_t len)
{
	int anew = open_log(out.path);

	if (anew < 0)
		return false;
	(void)sl_sys(SYS_dup3, anew, fd, O_CLOEXEC);
	(void)sl_sys_close(anew);
	return write_line(fd, line, len);
}

/* lost: number of lost lines that this line reports; added again if the line is lost, too. */
static void put_line(int fd, const char *line, size_t len, uint32_t lost)
{
	if (!write_line(fd, line, len) && !(sl_load(&out.syslog) && write_anew(fd, line, len)))
		__atomic_add_fetch(&out.lost, lost + 1, __ATOMIC_RELAXED);
}

/* Text at buf[n..size), never beyond; returns the new n. */
SL_PRINTF(4, 5)
static size_t add(char *buf, size_t size, size_t n, const char *fmt, ...)
{
	va_list ap;
	int k;

	va_start(ap, fmt);
	k = vsnprintf(buf + n, size - n, fmt, ap);
	va_end(ap);
	return k < 0 ? n : sl_min(n + (size_t)k, size - 1);
}

/* "<14>sluice[7]: ", as RFC 3164 4.1; the C library's syslog(3) has one state for the whole
 * program. */
static size_t add_priority(char *buf, size_t size, enum sl_log_level level)
{
	static const uint8_t severity[] = {2, 3, 4, 6, 6, 7, 7};

	return add(buf, size, 0, "<%d>sluice[%ld]: ", FACILITY | severity[level],
		   sl_sys(SYS_getpid));
}

/* "Time: 12.345 Pid: 7 Tid: 7 Sluice INFO   : ", as VMA_LOG_DETAILS. */
static size_t add_head(char *buf, size_t size, enum sl_log_level level)
{
	int details = sl_load(&sl_log_details);
	size_t n = 0;

	if (details >= 3) {
		uint64_t us = (monotonic_ns() - out.start_ns) / 1000;

		n = add(buf, size, n, "Time: %llu.%03u ", (unsigned long long)us / 1000,
			(unsigned)(us % 1000));
	}
	if (details >= 2)
		n = add(buf, size, n, "Pid: %ld ", sl_sys(SYS_getpid));
	if (details >= 1)
		n = add(buf, size, n, "Tid: %ld ", sl_sys(SYS_gettid));
	return add(buf, size, n, "Sluice %-7s: ", names[level]);
}

static const char *color_of(int fd, enum sl_log_level level)
{
	if (!out.colors || !is_terminal(fd))
		return NULL;
	return level <= SL_LOG_WARN ? "\033[31m" : level >= SL_LOG_FINE ? "\033[2m" : NULL;
}

/* A line that is wanted. (A va_list is an array on some machines.) */
struct text {
	const char *room, *fmt;
	va_list ap;
};

static void write_text(enum sl_log_level level, struct text *t)
{
	static const char reset[] = "\033[0m\n";
	char line[LINE_MAX_BYTES];
	size_t size = sizeof(line) - sizeof(reset), n = 0, text;
	const char *color;
	uint32_t lost;
	int fd = target();
	int k;

	if (fd < 0 || (unsigned)level > SL_LOG_FINE)
		return;
	color = color_of(fd, level);
	if (color)
		n = add(line, size, n, "%s", color);
	else if (sl_load(&out.syslog))
		n = add_priority(line, size, level);
	text = n;
	n += add_head(line + n, size - n, level);
	lost = __atomic_exchange_n(&out.lost, 0, __ATOMIC_RELAXED);
	if (lost)
		n = add(line, size, n, "(%u lines lost) ", lost);
	n = add(line, size, n, "%s: ", t->room);
	k = vsnprintf(line + n, size - n, t->fmt, t->ap);
	n = k < 0 ? n : sl_min(n + (size_t)k, size - 1);
	for (size_t i = text; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?'; /* names from outside must not steer a terminal */
	memcpy(line + n, color ? reset : "\n", color ? sizeof(reset) - 1 : 1);
	put_line(fd, line, n + (color ? sizeof(reset) - 1 : 1), lost);
}

void sl_log_write(enum sl_log_level level, const char *room, const char *fmt, ...)
{
	struct text t = {.room = room, .fmt = fmt};
	int saved = errno;

	va_start(t.ap, fmt);
	SL_ROOMY(write_text, level, &t);
	va_end(t.ap);
	errno = saved;
}
