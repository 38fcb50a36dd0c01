/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets sluiced's broker outlive sluiced: stores its state as records of the vault and restores it.
 */
#ifndef SL_BROKER_ADOPT_H
#define SL_BROKER_ADOPT_H

#include "ctl/lease/vault.h"
#include "ctl/umem/memory.h"

struct sl_device;
struct sl_umem;

size_t sl_device_kept_bytes(void);
/* Writes the body and adds the descriptors. */
void sl_umem_keep(const struct sl_umem *u, struct sl_vault_msg *m);
void sl_device_keep(const struct sl_device *d, struct sl_vault_msg *m);

/* Restores the state, in this order: packet memory, devices, lanes, then sl_broker_again(), claims.
 * Takes the needed descriptors out of the record. 0 or -errno. */
int sl_umem_adopt(struct sl_vault_msg *m);
int sl_device_adopt(struct sl_vault_msg *m, const char **why);
/* The leases have everything but their mappings; the caller keeps owning their descriptors. */
int sl_lane_adopt(uint32_t ifindex, uint32_t umem, uint32_t lane, struct sl_xsk_lease *leases,
		  uint32_t n);
/* Mends changes to the groups' memory that the daemon before left half done. is_used: true when
 * that member of that packet memory is in use. */
void sl_broker_again(bool (*is_used)(uint32_t umem, uint8_t member));

#endif
