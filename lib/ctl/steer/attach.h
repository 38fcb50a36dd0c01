/* SPDX-License-Identifier: BSD-2-Clause */
/* The attachment of the steering program to a device. */
#ifndef SL_CTL_ATTACH_H
#define SL_CTL_ATTACH_H

#include "ctl/device/device.h"
#include "ctl/kern/libbpf.h"

/* -EBUSY: another owner's program has the device exclusively. Call it before building anything,
 * since a refused caller asks again. */
int sl_attach_held(uint32_t ifindex, const char *ifname, const char **why);
/* Attaches the steering program. reaper: a reaper runs, so the attachment may outlive this process.
 * packet: tries the program for packet sockets first, with VXLAN if a->vxlan; a->kind tells which
 * program it is. 0 or -errno, and *why. */
int sl_attach_open(struct sl_attach *a, const struct sl_port_info *info, bool reaper, bool packet,
		   const char **why);
void sl_attach_close(struct sl_attach *a, uint32_t ifindex);
/* xdp_id: program that the device runs now. */
bool sl_attach_alive(struct sl_attach *a, uint32_t ifindex, uint32_t xdp_id);
bool sl_attach_is_generic(const struct sl_attach *a);
/* Takes the program of that number off the device. The next four calls are made between
 * sl_libs_quiet() and sl_libs_restore(). */
void sl_attach_take_off(uint32_t ifindex, uint32_t prog_id);
/* Attaches the form that a says by libxdp's dispatcher. Sets obj, prog and prog_id. 0 or -errno. */
int sl_attach_beside(struct sl_attach *a, uint32_t ifindex, enum xdp_attach_mode mode);
/* After an attach: notes the program that the device runs now, and whether others have room. */
void sl_attach_note_main(struct sl_attach *a, uint32_t ifindex);
void sl_attach_unload(struct sl_attach *a); /* closes obj and prog; the device keeps the program */
uint32_t sl_attach_mode_flag(enum xdp_attach_mode mode); /* XDP_FLAGS_* */
/* Removes every XDP steering program from this namespace's device: for the device's owner only. */
void sl_attach_clean(uint32_t ifindex);
/* In a forked child. Async-signal-safe. */
void sl_attach_child(struct sl_attach *a);
/* Directory where libxdp looks for a bpffs, and whether one is mounted there. */
const char *sl_bpffs_root(void);
bool sl_bpffs_is_there(void);
/* Opens a directory in a bpffs, and makes it if there is none. A bpffs lets every user make
 * directories (unless it is mounted with another mode), and a user that can open one can lock it
 * for ever (flock(2)). So it must be root's or this user's, and no other user can open it from here
 * on; an empty one of another user is replaced. A descriptor; -EPERM: another user has it; -errno.
 */
int sl_bpffs_dir(const char *path);

#endif
