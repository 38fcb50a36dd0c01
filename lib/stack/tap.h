/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts taps in front of a lane's backends, and takes them off (tap.c). */
#ifndef SL_STACK_TAP_H
#define SL_STACK_TAP_H

#include "base/base.h"

struct sl_lane;
struct sl_leg;

/* Makes the lane's backends as sl_taps_on() says: tapped or not. Lane held. Call when a leg has
 * got another queue. */
void sl_lane_tap(struct sl_lane *lane);
/* Takes the taps off a leg that is closed. Lane held. */
void sl_leg_untap(struct sl_leg *leg);

#endif
