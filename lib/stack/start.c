/* SPDX-License-Identifier: BSD-2-Clause */
/* Start of the stack, its new start after a fork or a change of daemons, and its end in a child. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/front/broker.h"
#include "io/verbs.h"
#include "stack/due.h"
#include "stack/hwclock.h"
#include "stack/lane.h"
#include "stack/nic_rx.h"
#include "stack/pace.h"
#include "stack/port.h"
#include "stack/retire.h"

int sl_stack_init(void (*on_room)(struct sl_list *entry))
{
	struct sl_umem_info umem;
	const char *why = NULL;
	int err;

	sl_lanes_init(on_room);
	sl_nic_rx_init();
	err = sl_broker_umem((uint32_t)sl_settings.frames, (uint32_t)sl_settings.frame_size, &umem,
			     &why);
	if (err < 0) {
		sl_warn("lane", "no packet memory: %s", why ? why : strerrorname_np(-err));
		return err;
	}
	return sl_pool_attach(umem.base, sl_umem_mtu(&umem), &umem.share, umem.member);
}

void sl_stack_renew(void)
{
	sl_lanes_renew();
	sl_ports_close(false);
}

void sl_stack_child(void)
{
	sl_port_child();
	sl_lost_child();
	sl_lanes_due_child();
	sl_pace_child();
	sl_hwclock_child();
	sl_lanes_child();
	sl_nic_rx_child();
	sl_verbs_child();
}
