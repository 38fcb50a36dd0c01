/* SPDX-License-Identifier: BSD-2-Clause */
/* The file in which the TCP connections of a process lie. */
#ifndef SL_CTL_CONNS_H
#define SL_CTL_CONNS_H

#include "base/base.h"

/* Layout of this process's TCP connections in a shared file, so that their peers can be told if the
 * process dies without a word. All in bytes; offsets are within an entry. */
struct sl_conns_layout {
	uint32_t stride;
	uint32_t max;           /* number of entries */
	uint32_t host;          /* a pointer that is not NULL while the entry is in use */
	uint32_t dead;          /* one byte, not 0: the connection is over */
	uint32_t state;         /* one byte, as in TCP_INFO */
	uint32_t local, remote; /* 16 bytes each */
	uint32_t lport, rport;  /* uint16_t */
	uint32_t owner;    /* a pointer that is not NULL while the program has a socket of it */
	uint32_t oif;      /* uint32_t: interface of its link-local addresses */
	uint32_t listener; /* uint32_t: number of its listener (sl_broker_box()) */
	/* Offset and form of the protocol's own state: sl_tcp_repair_form(). */
	uint32_t tcp, form;
	/* Requests (sl_tcp_repair_dead_req()): offset in the file, size and number of records; and
	 * the offset in a record of its listener's number. */
	uint64_t req_at;
	uint32_t req_stride, req_max, req_listener;
	/* int32_t, negative: the complement of the low 31 bits of the inode of the program's
	 * socket. 0: there is no such place. */
	uint32_t inode;
};

#endif
