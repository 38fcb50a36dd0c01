/* SPDX-License-Identifier: BSD-2-Clause */
/* The board on which the keeper tells children that their letters are read.
 *
 * Theory of operation: the answer to a child must not need a descriptor of the child's: closing one
 * can block for as long as its maker likes (SO_LINGER, a file of FUSE, a pipe whose writer sleeps
 * in a page fault). So it is a word in memory that the child waits for by a futex. The page is a
 * sealed memfd: the mapping that the keeper writes is older than the seal and not inherited
 * (MADV_DONTFORK); the one that is inherited can never be made writable. Each letter brings a
 * ticket that the child has made up; the keeper puts it into the word that the ticket chooses among
 * those of the child's mailbox. A process with the same mailbox can overwrite a word by letters of
 * its own: then the waiting child is late, never wrong. */
#include "sock/core/board.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/sys.h"

#define OWN     8u    /* words of a mailbox, for threads that write at the same time */
#define COMMON  1024u /* words of the common one */
#define WORDS   (SL_BOARD_COMMON * OWN + COMMON)
#define BYTES   (WORDS * sizeof(uint32_t))
#define LOOK_NS 500000

static int make_file(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = sl_sysi(SYS_memfd_create, "sluice-board", flags | MFD_NOEXEC_SEAL);

	if (fd == -EINVAL) /* before Linux 6.3 */
		fd = sl_sysi(SYS_memfd_create, "sluice-board", flags);
	if (fd >= 0 && sl_sys(SYS_ftruncate, fd, BYTES) < 0) {
		sl_sys_close(fd);
		fd = -EIO;
	}
	return fd;
}

/* 0, or -errno: nothing is mapped. */
static int map(struct sl_board *b, int fd)
{
	void *own;
	long shown;
	int err = sl_sys_mmap(&own, NULL, BYTES, MAP_SHARED, fd, 0);

	if (err)
		return err;
	err = sl_sysi(SYS_madvise, own, BYTES, MADV_DONTFORK);
	if (!err)
		err = sl_sys_fcntl(fd, F_ADD_SEALS,
				   F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	shown = err ? err : sl_sys(SYS_mmap, NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (shown < 0 && shown > -4096) {
		sl_sys(SYS_munmap, own, BYTES);
		return (int)shown;
	}
	b->own = own;
	b->shown = (const uint32_t *)shown;
	return 0;
}

bool sl_board_open(struct sl_board *b)
{
	int fd = sl_file_fits(BYTES) ? make_file() : -EFBIG, err = fd;

	*b = (struct sl_board){NULL, NULL};
	if (fd < 0)
		return false;
	err = map(b, fd);
	sl_sys_close(fd);
	return err == 0;
}

void sl_board_close(struct sl_board *b)
{
	if (b->own)
		sl_sys(SYS_munmap, b->own, BYTES);
	if (b->shown)
		sl_sys(SYS_munmap, b->shown, BYTES);
	*b = (struct sl_board){NULL, NULL};
}

static uint32_t word_of(uint32_t place, uint32_t ticket)
{
	return place < SL_BOARD_COMMON ? place * OWN + ticket % OWN
				       : SL_BOARD_COMMON * OWN + ticket % COMMON;
}

uint32_t sl_board_ticket(void)
{
	uint64_t x = (sl_now_ns() ^ (uint64_t)sl_sys(SYS_gettid) << 32) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 32) | 1u << 31; /* never the 0 that the board begins with */
}

void sl_board_post(struct sl_board *b, uint32_t place, uint32_t ticket)
{
	uint32_t *word;

	if (!b->own)
		return;
	word = &b->own[word_of(place, ticket)];
	sl_store_release(word, ticket);
	sl_sys(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool sl_board_wait(const uint32_t *shown, uint32_t place, uint32_t ticket, uint64_t ns)
{
	struct timespec t = {.tv_nsec = LOOK_NS};
	const uint32_t *word;
	uint32_t was;

	if (!shown) {
		sl_sys(SYS_nanosleep, &t, NULL);
		return false;
	}
	t = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	word = &shown[word_of(place, ticket)];
	was = sl_load_acquire(word);
	if (was == ticket)
		return true;
	sl_sys(SYS_futex, word, FUTEX_WAIT, was, &t, NULL, 0);
	return sl_load_acquire(word) == ticket;
}
