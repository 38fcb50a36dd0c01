/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics files: finding them, taking a snapshot, sending the process a request. */
#ifndef SL_STAT_FILE_H
#define SL_STAT_FILE_H

#include "base/stats_read.h"

struct sl_stat_file {
	char path[512];
	int pid;
	bool alive; /* the process is there and has the file mapped */
};

/* Lists the files in dir (SL_STATS_AUTO: where they are by default), at most max. Returns how many
 * or -errno. */
int sl_stat_files(const char *dir, struct sl_stat_file *out, unsigned max);
/* Opens the file with these flags; only a plain one of the process's user, or root's, without
 * another name. A descriptor, or -1 and errno. */
int sl_stat_open(const struct sl_stat_file *f, int flags);
/* A snapshot for the caller to free(3). NULL: *why says what is wrong. */
struct sl_stats *sl_stat_snapshot(const struct sl_stat_file *f, const char **why);
/* The next snapshot of a running program from file *i on, which becomes its number; NULL: there is
 * none. pid: of that process alone; 0: of all. Counts in *hidden those that cannot be read. */
struct sl_stats *sl_stat_next(const struct sl_stat_file *files, int n, int pid, int *i,
			      unsigned *hidden);
/* True: the process is still there. */
bool sl_stat_alive(const struct sl_stat_file *f);
/* Asks for level or details of the log; -1 leaves one as it is. 0 or -errno. */
int sl_stat_ask_log(const struct sl_stat_file *f, int level, int details);
/* Asks the process to move n sockets: sock[i] of s as move[i] says (enum sl_stat_move). Waits until
 * the process has looked, at most a second and a half: 0, -ETIMEDOUT, -errno. */
int sl_stat_ask_move(const struct sl_stat_file *f, const struct sl_stats *s, const uint8_t *move,
		     uint32_t n);
/* Asks the process to set its counters to zero and waits for it. 0; -ETIMEDOUT: it will do so when
 * it next wakes; -errno. */
int sl_stat_ask_zero(const struct sl_stat_file *f);
/* Asks the process to write a descriptor's counters (0: of all) to its log, at that level, and
 * waits for it, as above. */
int sl_stat_ask_dump(const struct sl_stat_file *f, int fd, int level);

#endif
