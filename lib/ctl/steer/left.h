/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that lost its link when it was left. */
#ifndef SL_CTL_LEFT_H
#define SL_CTL_LEFT_H

#include "base/base.h"

/* True: the device has a link, or had one until it was left, moments ago. */
bool sl_left_had_link(uint32_t ifindex);
/* The device had a link before it was left; if it has none now, the next user must know. */
void sl_left_without(uint32_t ifindex);

#endif
