/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics files: which there are, taking a snapshot, asking the process for something. */
#ifndef SL_STAT_FILE_H
#define SL_STAT_FILE_H

#include "base/stats_read.h"

struct sl_stat_file {
	char path[512];
	int pid;
	bool alive; /* the process is there and has the file mapped */
};

/* The files in dir (or where they are by default: SL_STATS_AUTO), at most max. Returns how many or
 * -errno. */
int sl_stat_files(const char *dir, struct sl_stat_file *out, unsigned max);
/* A snapshot, to be freed with free(3). NULL: *why says what is wrong. */
struct sl_stats *sl_stat_snapshot(const struct sl_stat_file *f, const char **why);
/* Is the process still there? */
bool sl_stat_alive(const struct sl_stat_file *f);
/* Asks for level or details of the log; -1 leaves one as it is. 0 or -errno. */
int sl_stat_ask_log(const struct sl_stat_file *f, int level, int details);
/* Asks for sockets to be moved: of sock[i] to what move[i] says (enum sl_stat_move), n of them, as
 * s has them. Waits until the process has looked, and until then at most a second and a half: 0,
 * -ETIMEDOUT, -errno. */
int sl_stat_ask_move(const struct sl_stat_file *f, const struct sl_stats *s, const uint8_t *move,
		     uint32_t n);
/* Asks for zeroes and waits until they are there. 0, -ETIMEDOUT: when the process next wakes,
 * -errno. */
int sl_stat_ask_zero(const struct sl_stat_file *f);

#endif
