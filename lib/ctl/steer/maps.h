/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of the steering program. */
#ifndef SL_CTL_MAPS_H
#define SL_CTL_MAPS_H

#include "ctl/device/device.h"

extern const char *const sl_map_names[SL_MAP_COUNT];

int sl_maps_open(struct sl_device *port, const char **why);
/* Opens maps that are in use: they stay as they are, except for the host's addresses. */
int sl_maps_open_again(struct sl_device *port, const char **why);
/* Unmaps; the maps themselves go with the attachment. */
void sl_maps_close(struct sl_device *port);
void sl_maps_set_config(struct sl_device *port);
/* Makes the table of `picked`, for the device's first TCP group; it has its share of the entries of
 * `flows`. Where it cannot be made (a program that has lost its rights since), each flow is found
 * by its hash alone. */
void sl_maps_want_picked(struct sl_device *port);
/* Maps the page of `ports` with that word. Before, its words read as zero, and a claim must not
 * change them. 0 or -errno. */
int sl_maps_use_port(struct sl_device *port, uint32_t index);

/* Changes bits in a word of `ports`, which only its broker writes, and its generation, so that the
 * steering program forgets what it remembers of the port. Call it after changing the maps of
 * claims. */
static inline void sl_port_word_change(uint64_t *word, uint64_t set, uint64_t clear)
{
	sl_store_release(word, ((sl_load(word) + SL_L4_PORT_GEN) | set) & ~clear);
}

/* Calls of broker.h by the broker in this process: they take the lock. */
void sl_embedded_local_add(const uint8_t addr[16]);
void sl_embedded_local_del(const uint8_t addr[16]);
int sl_embedded_rules_set(const struct sl_rule *rules, unsigned n);
int sl_embedded_paces_set(const struct sl_pace_rule *paces, unsigned n);

#endif
