/* SPDX-License-Identifier: BSD-2-Clause */
/* A device has one owner at a time; see owner.c. */
#ifndef SL_CTL_OWNER_H
#define SL_CTL_OWNER_H

#include "base/base.h"

/* Takes the name that marks a device's owner. 0: it is ours now. */
int sl_owner_take(uint32_t ifindex, const char *ifname, int *owner_fd, const char **why);
/* True: an owner has the device, which may be this process. Much cheaper than an attempt to take
 * it. */
bool sl_owner_is_taken(uint32_t ifindex);
/* Another process of ours had the name; from now on this process answers those that ask. */
void sl_owner_again(int owner_fd);
/* Empties the queue of processes that asked for the owner. */
void sl_owner_drain(int owner_fd);

#endif
