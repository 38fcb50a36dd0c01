/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP sockets, and the anchors of queues. */
#ifndef SL_CTL_XSK_H
#define SL_CTL_XSK_H

#include "ctl/device/device.h"
#include "ctl/umem/umem.h"

/* Ring sizes, in entries, when the options say nothing. */
#define SL_XSK_RX  4096
#define SL_XSK_TX  2048
#define SL_XSK_MAX 65536

/* Makes an XSK; queue: the sizes of the queue's rings, NULL: it shares another's. */
int sl_xsk_new(uint32_t rx, uint32_t tx, const struct sl_ring_sizes *queue);
/* Confines an unbound XSK that another process gets: without CAP_NET_RAW it cannot be bound to
 * another device (Linux 6.5 and stable kernels of 2023: f7306acec9aa; older ones ignore it). */
int sl_xsk_confine(int fd, const struct sl_device *port);
/* True: the steering program will be tried with its frags flag set. */
bool sl_xsk_may_have_frags(const struct sl_port_info *info);
int sl_xsk_bind(int fd, const struct sl_device *port, uint32_t queue, uint16_t flags, int share);
/* Chooses the sizes of a device's rings, by the options. */
void sl_queues_choose_rings(struct sl_ring_sizes *r);
/* Binds anchors on all queues of a part. Where rings are lent once this is only a trial, and the
 * anchors are closed again. */
int sl_queues_bind(struct sl_part *part, const char **why);
/* Frames below this number are registered with the queues' XSKs; 0: all. */
uint32_t sl_queues_near(const struct sl_part *part);
/* Bytes of the longest packet that these queues deliver. Needs the attachment and the packet
 * memory. */
uint32_t sl_queues_room(const struct sl_part *part);
/* Logs packets that the queues cannot deliver, if there are any. */
void sl_queues_say_room(const struct sl_part *part);
/* The device has this MTU now: logs if packets became too long for the queues. */
void sl_queues_check_mtu(const struct sl_part *part, uint32_t mtu);
/* Makes unbound anchors (unless they exist) whose rings another process maps. */
int sl_queues_make(struct sl_part *part, const char **why);
bool sl_queues_are_made(const struct sl_part *part); /* made but not bound */
/* Binds the anchors of sl_queues_make(). -EAGAIN: a queue is not free yet; all are closed. */
int sl_queues_bind_made(struct sl_part *part, const char **why);
/* Maps the rings of queues that are bound already. */
int sl_queues_map_again(struct sl_part *part);
/* unmap: no process works the rings any more. */
void sl_queues_close(struct sl_part *part, bool unmap);

#endif
