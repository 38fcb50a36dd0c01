/* SPDX-License-Identifier: BSD-2-Clause */
/* Children that have the old file of a connection, after the daemon made a new one for it. */
#ifndef SL_HEIRS_H
#define SL_HEIRS_H

#include "sock/core/sock.h"

/* Makes the kernel's socket `file` the socket of sk, with the options of the old one, and takes it
 * in any case. 0; -ECONNABORTED: it failed, and the file is closed with all it holds. slow held. */
int sl_heirs_put(struct sl_sock *sk, int file);
/* The socket's older file, which children may still have; without one the socket's own. */
int sl_heirs_file(const struct sl_sock *sk);
/* 0: no process has an older file of sk's any more; else -EBUSY. slow held. */
int sl_heirs_gone(struct sl_sock *sk);
void sl_heirs_drop(struct sl_sock *sk); /* forgets sk, which ends */
/* sk's last number fd is being closed, and a child may have the connection. True: the child will
 * ask for it, and until then sk goes on without the program's number. slow held. */
bool sl_heirs_park(struct sl_sock *sk, int fd);
/* The parent's answer to a letter about sk, by the socket `to`; and the child's part: receives the
 * new file by `from`, or by `will` from a parent that has ended, and puts it on its numbers, which
 * stand for `inode` so far. True: they stand for the new file now. */
void sl_heirs_send(struct sl_sock *sk, int to);
bool sl_heirs_receive(struct sl_sock *sk, uint32_t inode, int from, int will);
/* At the end of the process: leaves its children the files that they may ask for later. */
void sl_heirs_exit(void);

/* The keeper's job: ends connections that no child asks for any more. When to look next; 0: nothing
 * to look at. */
void sl_heirs_look(uint64_t now_ns);
uint64_t sl_heirs_due_ns(uint64_t now_ns, bool quiet);
void sl_heirs_look_now(void);
/* In a child: closes and forgets what it has of its parent's old files. */
void sl_heirs_child(struct sl_sock *sk);

#endif
