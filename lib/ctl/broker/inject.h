/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets to and from sockets of this host: sl_broker_inject() and others by this process. */
#ifndef SL_CTL_INJECT_H
#define SL_CTL_INJECT_H

#include "base/base.h"

int sl_embedded_drop_packets(int fd, bool on);
int sl_embedded_inject(const void *packet, size_t bytes, uint32_t scope);
int sl_embedded_may_inject(void);

#endif
