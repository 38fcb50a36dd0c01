/* SPDX-License-Identifier: BSD-2-Clause */
/* Where closed legs and retired ports point to (leg_open.c). */
#ifndef SL_LEG_OPEN_H
#define SL_LEG_OPEN_H

#include "stack/port.h"

/* The port of closed legs, without a device; it drops what is sent. Never freed. */
extern struct sl_port sl_port_nowhere;

#endif
