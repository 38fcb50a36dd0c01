/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells our steering programs from programs of others. */
#ifndef SL_CTL_WHOSE_H
#define SL_CTL_WHOSE_H

#include "ctl/device/device.h"

/* True when the pinned or attached program is a steering program of that device. */
bool sl_steer_config(int prog_fd, struct sl_port_config *cfg);
/* True: the owner of the device may remove the program. attached: a program that the device itself
 * runs belongs to the device's owner, whatever its config says: its process died before it wrote
 * the config (ifindex 0), or the device had another number, or was in another network namespace,
 * where the sockets are dead. */
bool sl_steer_may_remove(int prog_fd, uint32_t ifindex, bool attached);

#endif
