/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the maps of a device are pinned: SL_PIN_ROOT/<name>/<map>. */
#ifndef SL_PIN_H
#define SL_PIN_H

#include <stdint.h>
#include <stdio.h>

#define SL_PIN_ROOT "/sys/fs/bpf/sluice"
#define SL_PIN_NAME 32

/* Makes the directory's name. netns: not 0 when another namespace's device of the same name uses
 * the plain name. A name cannot contain a dot (bpf_lookup() of the kernel's bpf/inode.c), which
 * becomes a colon; no device's name has a colon (dev_valid_name()). */
static inline void sl_pin_name(char name[SL_PIN_NAME], const char *ifname, uint32_t netns)
{
	unsigned n = 0;

	for (; n < 15 && ifname[n]; n++)
		name[n] = ifname[n] == '.' ? ':' : ifname[n];
	name[n] = 0;
	if (netns)
		snprintf(name + n, SL_PIN_NAME - n, ":%u", netns);
}

struct sl_device;
int sl_pin_maps(struct sl_device *port);
/* Unlinks all pins of a device of this namespace: for the device's owner only. */
void sl_pin_remove(uint32_t ifindex);

#endif
