/* SPDX-License-Identifier: BSD-2-Clause */
/* The board: here the keeper posts which letters of children it has read. Children can only read
 * it. */
#ifndef SL_BOARD_H
#define SL_BOARD_H

#include <stdbool.h>
#include <stdint.h>

struct sl_board {
	uint32_t *own;         /* written by the keeper; not mapped in a child. NULL: no board */
	const uint32_t *shown; /* the same pages to read; a child of fork has them, too */
};

/* Each child has a few words of its own, by its mailbox's place; SL_BOARD_COMMON: those who share
 * the common mailbox share words, too. */
#define SL_BOARD_COMMON 512u

/* False: this kernel cannot (before 5.1, or a limit is in the way). */
bool sl_board_open(struct sl_board *b);
void sl_board_close(struct sl_board *b);
/* Tells the children that the letter with that ticket is read. Only the keeper calls it. */
void sl_board_post(struct sl_board *b, uint32_t place, uint32_t ticket);
/* A ticket for a letter. */
uint32_t sl_board_ticket(void);
/* In a child: waits until the keeper has posted the ticket, at most ns. True: it has. If shown is
 * NULL, only sleeps for a moment. */
bool sl_board_wait(const uint32_t *shown, uint32_t place, uint32_t ticket, uint64_t ns);

#endif
