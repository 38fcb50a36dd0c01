/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the maps of a device are pinned: SL_PIN_ROOT/<name>/<map>. */
#ifndef SL_PIN_H
#define SL_PIN_H

#define SL_PIN_ROOT "/sys/fs/bpf/sluice"

/* The directory's name. A dot cannot be in it (bpf_lookup() of the kernel's bpf/inode.c), and is a
 * colon there, which no device's name has (dev_valid_name()). */
static inline void sl_pin_name(char name[16], const char *ifname)
{
	unsigned n = 0;

	for (; n < 15 && ifname[n]; n++)
		name[n] = ifname[n] == '.' ? ':' : ifname[n];
	name[n] = 0;
}

#endif
