/* SPDX-License-Identifier: BSD-2-Clause */
/* For `sluice doctor`: a NIC's own queues, by verbs: their offloads, and rates of flows. */
#include <errno.h>
#include <string.h>

#include "base/settings.h"
#include "doctor.h"
#include "io/verbs.h"
#include "pace.h"
#include "tools.h"

/* Shows the NIC's offloads; the library does the work itself where the NIC cannot. */
static void show_offloads(const struct sl_verbs_caps *c)
{
	if (c->checksums)
		sl_say_good("  checksums of what is sent");
	else
		sl_say_note("  no checksums of what is sent");
	if (c->tso_bytes)
		sl_say_good("  segmentation of up to %u bytes (TSO)", c->tso_bytes);
	else
		sl_say_note("  no segmentation (TSO)");
	if (c->pace_max_kbps)
		sl_say_good("  pacing from %u to %u kbit/s", c->pace_min_kbps, c->pace_max_kbps);
	else
		sl_say_note("  no pacing");
	if (c->memory_bytes)
		sl_say_good("  %llu bytes of device memory", (unsigned long long)c->memory_bytes);
	else
		sl_say_note("  no device memory");
	if (c->clock_khz)
		sl_say_good("  time stamps of what was sent, by a clock of %llu kHz",
			    (unsigned long long)c->clock_khz);
	else
		sl_say_note("  no time stamps of what was sent");
}

/* Shows whether the library can transmit by the NIC's own queues. */
static void check_verbs(const struct sl_device *d, bool leased)
{
	struct sl_verbs_caps c;
	int err = sl_verbs_caps(d->ifindex, d->name, (uint32_t)sl_settings.tx_max_inline, &c);

	if (err == -ENODEV)
		return;
	if (err == -ELIBACC) {
		sl_say_finding("apt-get install ibverbs-providers libibverbs1",
			       "RDMA device %s, and no libibverbs: AF_XDP transmit is used",
			       c.device);
		return;
	}
	if (err || c.raw_error == EPERM) {
		sl_say_finding("run as root, or with CAP_NET_RAW",
			       "RDMA device %s cannot be used (%s): AF_XDP transmit is used",
			       c.device, strerror(err ? -err : c.raw_error));
		return;
	}
	if (c.raw_error) {
		sl_say_note(
			"RDMA device %s has no raw-packet queue pairs (%s): AF_XDP transmit is used",
			c.device, strerror(c.raw_error));
		return;
	}
	sl_say_good("RDMA device %s, firmware %s: raw-packet queue pairs, inline up to %u bytes%s",
		    c.device, c.firmware, c.inline_bytes,
		    sl_settings.tx_backend == SL_TX_XSK ? " (with SLUICE_TX_BACKEND=auto)" : "");
	if (sl_settings.rx_backend != SL_RX_VERBS)
		sl_say_note("  may receive by them, without XDP (SLUICE_RX_BACKEND=verbs)");
	else if (leased)
		sl_say_note("  sluiced lends none to receive by (SLUICE_RX_BACKEND=verbs)");
	else
		sl_say_good("  receives by them, without XDP");
	show_offloads(&c);
}

static void check_pace(const struct sl_device *d)
{
	if (!strcmp(d->driver, "mlx5_core"))
		sl_say_note("%s",
			    sl_pace_nic_has_flows(d->name) ? SL_PACE_FLOWS : SL_PACE_NO_FLOWS);
}

void sl_doctor_nic(const struct sl_device *d, bool leased)
{
	check_verbs(d, leased);
	check_pace(d);
}
