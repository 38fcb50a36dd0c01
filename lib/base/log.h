/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the library: levels 0-6 and details 0-3 as in the VMA manual, table 4
 * (VMA_TRACELEVEL, VMA_LOG_DETAILS, VMA_LOG_FILE, VMA_LOG_COLORS). */
#ifndef SL_LOG_H
#define SL_LOG_H

#include "base/base.h"

enum sl_log_level {
	SL_LOG_PANIC,
	SL_LOG_ERROR,
	SL_LOG_WARN,
	SL_LOG_INFO,
	SL_LOG_DETAILS,
	SL_LOG_DEBUG,
	SL_LOG_FINE,
};

extern int sl_log_level; /* lines above it are not made; may change at run time (sluice stat -l) */

#define SL_LOG_SYSLOG "syslog" /* a file of this name is the socket of syslog(3) */

/* Takes over the settings tracelevel, log_details, log_colors and log_file, and opens the file ("":
 * standard error). Until then: level 3 to standard error. sl_settings_load() calls it; file is read
 * in this call only. */
void sl_log_open(int level, int details, bool colors, const char *file);
extern int sl_log_details; /* 0-3, may change at run time */
/* The process is about to become another user, which must not have the old one's file: the next
 * line opens it again, as the new user; what that user may not write is lost. Any thread. */
void sl_log_part(void);

/* Writes one line, whole, with one write(2) to standard error or the log file. Leaves errno and
 * stdio alone; safe in any thread and before init. room: the part that speaks ("port", "udp"). */
void sl_log_write(enum sl_log_level level, const char *room, const char *fmt, ...) SL_PRINTF(3, 4);

#define sl_log(level, room, ...)                                                                   \
	do {                                                                                       \
		if (sl_unlikely((int)(level) <= sl_load(&sl_log_level)))                           \
			sl_log_write((level), (room), __VA_ARGS__);                                \
	} while (0)
#define sl_err(room, ...)     sl_log(SL_LOG_ERROR, room, __VA_ARGS__)
#define sl_warn(room, ...)    sl_log(SL_LOG_WARN, room, __VA_ARGS__)
#define sl_info(room, ...)    sl_log(SL_LOG_INFO, room, __VA_ARGS__)
#define sl_details(room, ...) sl_log(SL_LOG_DETAILS, room, __VA_ARGS__)
#define sl_debug(room, ...)   sl_log(SL_LOG_DEBUG, room, __VA_ARGS__)
#define sl_fine(room, ...)    sl_log(SL_LOG_FINE, room, __VA_ARGS__)
/* Like sl_warn(), but this line of the source logs only once in the life of the process. */
#define sl_warn_once(room, ...)                                                                    \
	do {                                                                                       \
		static bool said_;                                                                 \
		if (!__atomic_exchange_n(&said_, true, __ATOMIC_RELAXED))                          \
			sl_warn(room, __VA_ARGS__);                                                \
	} while (0)

#endif
