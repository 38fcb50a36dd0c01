/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks before this process trusts a file that it executes, a directory that it writes to, or the
 * environment of the user that started it. */
#ifndef SL_TRUST_H
#define SL_TRUST_H

#include "base/base.h"

/* True: the program has rights that the user that started it lacks (set-user-ID, file capabilities;
 * AT_SECURE of getauxval(3)), so trust neither the environment nor files of that user. */
bool sl_is_secure_exec(void);

/* This process's user, if its real, effective and saved user are the same; else UINT32_MAX, which
 * nobody is. A process that has taken a user's effective ID for a while (seteuid(2)) is not that
 * user's, whose other processes may not trace it: it trusts neither files nor processes of that
 * user. */
uint32_t sl_sole_user(void);

/* The absolute path without links in it, as the kernel has it now. False: there is no such file, it
 * is too long, or /proc is not there; real is "" then. Async-signal-safe. */
bool sl_path_resolve(const char *path, char *real, size_t size);

/* True: the file may be executed: only root and this process's user can write to it, or to a
 * directory on its way; sticky directories like /tmp may stand there. path: absolute; links are
 * followed. */
bool sl_file_is_trusted(const char *path);

/* Opens a directory that belongs to this process's user alone: its own, mode 0700, no link in
 * place of its last part; makes it where it is not there. The descriptor, -ENOENT and other errors
 * of mkdir(2) and open(2), or -EPERM: another user made one of that name. */
int sl_own_dir(const char *path);

/* Makes another process's text fit for a terminal, in place: control characters become question
 * marks, those of Unicode's second block (C2 80 to C2 9F) as well. */
void sl_make_printable(char *text);

#endif
