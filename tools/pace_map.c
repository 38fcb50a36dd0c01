/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice pace: rates of destinations in the pinned maps of offloaded devices. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/kern/libbpf.h"
#include "ctl/rules/pace_rule.h"
#include "pace.h"
#include "tools.h"

/* The place of the entry for the same destinations, or of a free one if there is none.
 * SL_MAX_PACES: all are used. */
static __u32 place_of(int fd, const struct sl_pace_rule *r, bool *found)
{
	__u32 unused = SL_MAX_PACES;
	struct sl_pace_rule e;

	*found = false;
	for (__u32 i = 0; i < SL_MAX_PACES; i++) {
		if (bpf_map_lookup_elem(fd, &i, &e))
			continue;
		if (!e.rate_kbps) {
			unused = sl_min(unused, i);
		} else if (sl_pace_rule_is_for_same(&e, r)) {
			*found = true;
			return i;
		}
	}
	return unused;
}

static int write_entry(int fd, __u32 at, const struct sl_pace_rule *r)
{
	return bpf_map_update_elem(fd, &at, r, BPF_ANY) ? -errno : 0;
}

/* Writes by over the entry of the destination of r; NULL: takes the entry out. */
static int replace(const char *device, const struct sl_pace_rule *r, const struct sl_pace_rule *by)
{
	static const struct sl_pace_rule none;
	int fd = sl_pins_open(device, "paces"), err;
	bool found;
	__u32 at;

	if (fd < 0)
		return fd;
	at = place_of(fd, r, &found);
	if (!by && !found)
		err = -ENOENT;
	else
		err = at == SL_MAX_PACES ? -ENOSPC : write_entry(fd, at, by ? by : &none);
	close(fd);
	return err;
}

int sl_pace_map_set(const char *device, const struct sl_pace_rule *r)
{
	return replace(device, r, r);
}

int sl_pace_map_unset(const char *device, const struct sl_pace_rule *r)
{
	return replace(device, r, NULL);
}

int sl_pace_map_clear(const char *device)
{
	static const struct sl_pace_rule none;
	int fd = sl_pins_open(device, "paces"), err = 0;

	if (fd < 0)
		return fd;
	for (__u32 i = 0; i < SL_MAX_PACES && !err; i++)
		err = write_entry(fd, i, &none);
	close(fd);
	return err;
}

int sl_pace_map_print(const char *device)
{
	char text[SL_PACE_TEXT_MAX];
	struct sl_pace_rule e;
	int fd = sl_pins_open(device, "paces"), n = 0;

	if (fd < 0)
		return fd;
	for (__u32 i = 0; i < SL_MAX_PACES; i++) {
		if (bpf_map_lookup_elem(fd, &i, &e) || !e.rate_kbps)
			continue;
		printf("%s: %s, each offloaded socket", device, sl_pace_rule_text(&e, text));
		if (e.line)
			printf("  (line %u)", e.line);
		putchar('\n');
		n++;
	}
	close(fd);
	return n;
}
