/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP_INFO (tcp_info.c). */
#ifndef SL_TCP_INFO_H
#define SL_TCP_INFO_H

#include "base/base.h"

struct sl_tcp;
struct tcp_info;

/* Fills linux/tcp.h's struct as far as known; values that are not measured are 0. Host held. */
void sl_tcp_info(const struct sl_tcp *c, struct tcp_info *info);

/* Fields that newer kernels have after tcpi_snd_wnd, in their order. */
struct sl_tcp_info_more {
	uint32_t rcv_wnd, rehash;
	uint16_t total_rto, total_rto_recoveries;
	uint32_t total_rto_time_ms;
};
/* Fills these as far as known. Host held. */
void sl_tcp_info_more(const struct sl_tcp *c, struct sl_tcp_info_more *more);

#endif
