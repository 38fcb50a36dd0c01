/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the steering program. */
#ifndef SL_CTL_LOAD_H
#define SL_CTL_LOAD_H

#include "ctl/device/device.h"

#define SL_HINT_STAMP (1u << 0) /* hardware time stamps */
#define SL_HINT_TAG   (1u << 1) /* VLAN tags outside the frame, which the driver reports */
#define SL_HINT_SUM   (1u << 2) /* checksums that senders have left to a device */

/* Opens the form of the program that is not bound to a device, without loading it: for packets in
 * several buffers, and for VXLAN, as a says, with its key and maps. NULL: errno. */
struct bpf_object *sl_steer_open(const struct sl_attach *a);
/* The key of the hash that spreads a group's flows: a peer that knew it could choose the process
 * that gets its connections. It lies in memory that no child has (base/apart.h). make: a random
 * one, or an empty one for the caller to fill; false: no memory. drop: overwrites and frees it. */
bool sl_steer_make_key(struct sl_attach *a, bool random);
void sl_steer_drop_key(struct sl_attach *a);
/* Sets the constants of an open object, and the entries of its tables, or has it use the maps that
 * a has. key: the place of the hash key in constants, which has a copy while the function runs. 0
 * or -errno. */
struct sl_steer_constants {
	void *bytes;
	size_t size;
	uint64_t *key;
};
int sl_steer_prepare(const struct sl_attach *a, struct bpf_object *obj,
		     const struct sl_steer_constants *c);
/* True: a program that was loaded with `insns` instructions, and has xlated_bytes bytes now, still
 * fits in the pages that it was given. */
bool sl_steer_fits(size_t insns, size_t xlated_bytes, size_t page);
/* Loads the best form into a->obj, prog_id and hints; its descriptor or -errno. */
int sl_steer_load(struct sl_attach *a, uint32_t ifindex, bool native);
/* Makes the maps alone, for a device where nothing is attached: obj and kind. 0 or -errno. */
int sl_steer_load_maps(struct sl_attach *a);
/* After a failed attempt: true when this kernel's verifier refuses the program, in the form that
 * receives VXLAN or that without; why then says its reason. */
bool sl_steer_refused(int err, const char *ifname, bool vxlan, const char **why);
/* True: a device opened now is to take packets out of VXLAN, since there is a VXLAN device and this
 * kernel's verifier has not refused that form. */
bool sl_steer_wants_vxlan(void);
bool sl_steer_may_vxlan(void); /* it has not refused it */
/* Notes that the verifier has refused it: no other attachment of this process tries it. */
void sl_steer_refuse_vxlan(struct sl_attach *a, const char *why);
/* Returns the last line of a verifier's log that is not about the verifier's own work; cuts the log
 * into lines. */
const char *sl_verifier_reason(char *log);

#endif
