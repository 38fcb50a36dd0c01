/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that have the C library itself use a descriptor: streams, formatted output, POSIX
 * asynchronous I/O.
 *
 * Theory of operation: these read, write and close inside the C library, past any wrapper, so the
 * socket becomes the kernel's first. One that gets the number 0, 1 or 2 is handed back by dup2(2)
 * (fd.c), and one that the program inherits as such never leaves the kernel (given.c). */
#include "real.h"

#include <execinfo.h>

/* The library could not see a later close, so the number is dropped, too. */
static void give_to_stream(int fd)
{
	int saved = errno;

	if (ours(fd) && lib.hand_back(fd) == 0)
		lib.replace(fd);
	errno = saved;
}

FILE *fdopen(int fd, const char *mode)
{
	give_to_stream(fd);
	return REAL(fdopen)(fd, mode);
}

/* The stream closes its descriptor, after it has written what is left: the program may have made a
 * socket with the number of a stream (it closed 0, 1 or 2 before). */
static void end_stream(FILE *f)
{
	int saved = errno, fd;

	if (!f || !lib_is_there())
		return;
	fd = fileno(f);
	if (fd >= 0) {
		sl_given_forget((unsigned)fd, (unsigned)fd);
		give_to_stream(fd);
		if (ours(fd)) /* it cannot go to the kernel */
			lib.replace(fd);
	}
	errno = saved;
}

int fclose(FILE *f)
{
	end_stream(f);
	return REAL(fclose)(f);
}

FILE *freopen(const char *path, const char *mode, FILE *f)
{
	end_stream(f);
	return REAL(freopen)(path, mode, f);
}

FILE *freopen64(const char *path, const char *mode, FILE *f) __attribute__((alias("freopen")));
int _IO_fclose(FILE *f) __attribute__((alias("fclose")));

FILE *_IO_fdopen(int fd, const char *mode)
{
	return fdopen(fd, mode);
}

int vdprintf(int fd, const char *fmt, va_list ap)
{
	if (ours(fd))
		lib.hand_back(fd);
	return REAL(vdprintf)(fd, fmt, ap);
}

int dprintf(int fd, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vdprintf(fd, fmt, ap);
	va_end(ap);
	return r;
}

int __vdprintf_chk(int fd, int flag, const char *fmt, va_list ap)
{
	if (ours(fd))
		lib.hand_back(fd);
	return REAL(__vdprintf_chk)(fd, flag, fmt, ap);
}

int __dprintf_chk(int fd, int flag, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __vdprintf_chk(fd, flag, fmt, ap);
	va_end(ap);
	return r;
}

__attribute__((visibility("default"))) void backtrace_symbols_fd(void *const *at, int n, int fd)
{
	if (ours(fd))
		lib.hand_back(fd);
	REAL(backtrace_symbols_fd)(at, n, fd);
}

/* POSIX asynchronous I/O: by threads of the C library ------------------------------------------ */

static void give_to_aio(const struct aiocb *cb)
{
	if (ours(cb->aio_fildes))
		lib.hand_back(cb->aio_fildes);
}

int aio_read(struct aiocb *cb)
{
	give_to_aio(cb);
	return REAL(aio_read)(cb);
}

int aio_write(struct aiocb *cb)
{
	give_to_aio(cb);
	return REAL(aio_write)(cb);
}

int lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *event)
{
	for (int i = 0; i < n; i++)
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)
			give_to_aio(list[i]);
	return REAL(lio_listio)(mode, list, n, event);
}

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "aio_read64() is aio_read()");
int aio_read64(struct aiocb64 *cb) __attribute__((alias("aio_read")));
int aio_write64(struct aiocb64 *cb) __attribute__((alias("aio_write")));
int lio_listio64(int mode, struct aiocb64 *const list[], int n, struct sigevent *event)
	__attribute__((alias("lio_listio")));
