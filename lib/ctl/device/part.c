/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a device, each for one group of processes.
 *
 * Theory of operation: a queue has one packet memory, so two groups need different queues, and each
 * group's packets must come by its own. Only the NIC can do that. A device whose NIC takes rules
 * (device/nic.c) is divided when it is opened, if the policy says so. Packets without a rule go to
 * the queues of the first part: the kernel's traffic, and all of the group's that has this part.
 * For the claims of the other groups the daemon adds rules, one by one (tools/sluiced/divide.c).
 * Queues cannot be taken from a group that works with them, so the division is decided before there
 * is a group. */
#include "ctl/device/part.h"

#include <errno.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/log.h"
#include "ctl/device/dev.h"
#include "ctl/device/device.h"
#include "ctl/device/nic.h"
#include "ctl/device/port.h"
#include "ctl/kern/say.h"

static void part_set(struct sl_device *port, uint32_t nr, uint32_t first, uint32_t n)
{
	port->part[nr] = (struct sl_part){.port = port, .first = first, .n = n};
}

static void make_whole(struct sl_device *port)
{
	port->nparts = 1;
	part_set(port, 0, 0, port->info.nqueues);
}

/* False for each rule: the process that put it there is gone, or must not have put it there. */
static bool is_left(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place)
{
	return false;
}

static int divide(struct sl_device *port, uint32_t n, bool lent_once, const char **why)
{
	uint32_t each = port->info.nqueues / n, first = port->info.nqueues - (n - 1) * each;
	int err;

	if (!each) {
		sl_why(why, "it has %u receive queues; remedy: ethtool -L %s combined %u",
		       port->info.nqueues, port->info.ifname, n);
		return -EINVAL;
	}
	if (lent_once) {
		sl_why(why, "its rings are lent to one process at a time");
		return -EOPNOTSUPP;
	}
	err = sl_nic_open(port, why);
	if (err)
		return err;
	err = sl_nic_spread(port, first, why);
	if (err) {
		sl_nic_close(port);
		return err;
	}
	sl_nic_rules(port, first, is_left, NULL);
	part_set(port, 0, 0, first);
	for (uint32_t i = 1; i < n; i++)
		part_set(port, i, first + (i - 1) * each, each);
	port->nparts = n;
	return 0;
}

void sl_parts_make(struct sl_device *port, uint32_t want, bool lent_once)
{
	const char *why = "";

	make_whole(port);
	if (want < 2)
		return;
	if (divide(port, sl_min(want, (uint32_t)SL_MAX_PARTS), lent_once, &why))
		sl_warn("port", "%s is not divided, so one group at a time can have it: %s",
			port->info.ifname, why);
	else
		sl_info("port",
			"%s: divided among %u groups: %u queues are the first's, %u each of "
			"the others'",
			port->info.ifname, port->nparts, port->part[0].n, port->part[1].n);
}

void sl_parts_end(struct sl_device *port)
{
	if (port->nparts > 1) {
		sl_nic_rules(port, port->part[1].first, is_left, NULL);
		sl_nic_close(port);
	}
	make_whole(port);
}

/* Writes ",2,1": the first part has 2 queues; 1: the reaper must switch rules off again. */
void sl_parts_word(const struct sl_device *port, char word[SL_PARTS_WORD])
{
	*word = 0;
	if (port->nparts > 1)
		snprintf(word, SL_PARTS_WORD, ",%u,%u", port->part[0].n, port->nic.made_ntuple);
}

/* (The former table of queues is not known any more: the driver's default is set.) */
void sl_parts_clean(uint32_t ifindex, const char *word)
{
	struct sl_device *d = sl_device_new();
	unsigned first, made;

	if (d && sscanf(word, ",%u,%u", &first, &made) == 2 &&
	    !sl_dev_query(ifindex, &d->info, NULL)) {
		d->nic = (struct sl_nic){.made_ntuple = made, .nspread = 1, .spread_usual = true};
		sl_nic_rules(d, first, is_left, NULL);
		sl_nic_close(d);
	}
	sl_free(d);
}

struct sl_part *sl_part_of(struct sl_device *port, uint32_t umem)
{
	for (struct sl_part *p = port->part; p < port->part + port->nparts; p++)
		if (p->taken && p->umem_id == umem)
			return p;
	return NULL;
}

struct sl_part *sl_part_unused(struct sl_device *port)
{
	for (struct sl_part *p = port->part; p < port->part + port->nparts; p++)
		if (!p->taken)
			return p;
	return NULL;
}

bool sl_queue_is_bound(const struct sl_device *port, uint32_t queue)
{
	for (uint32_t i = 0; i < port->nparts; i++)
		if (port->part[i].bound && queue - port->part[i].first < port->part[i].n)
			return true;
	return false;
}

bool sl_part_is_same(const struct sl_device *port, const struct sl_claim *a,
		     const struct sl_claim *b)
{
	uint32_t n = port->info.nqueues;

	return port->nparts == 1 || (a->flags | b->flags) & SL_CLAIM_PASS ||
	       port->lane_part[a->lane / n] == port->lane_part[b->lane / n];
}

void sl_part_take(struct sl_part *part, uint32_t umem)
{
	part->taken = true;
	part->umem_id = umem;
	part->users++;
	part->port->users++;
}

void sl_part_describe(const struct sl_part *part, struct sl_port_info *out)
{
	*out = part->port->info;
	out->nqueues = part->n;
	out->flags |= part->zerocopy ? SL_PORT_ZEROCOPY : 0;
}
