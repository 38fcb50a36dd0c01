/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket proves a claim; see proof.c. */
#ifndef SL_PROOF_H
#define SL_PROOF_H

#include "base/base.h"
#include "steer.h"

/* Checks that the socket gives the right to that claim: it is of the daemon's network namespace and
 * of the protocol, and bound to the claim's local port, and to its address or a wildcard. 0 or
 * -EPERM. */
int sl_proof_check(int fd, const struct sl_flow_key *key, const char **why);
/* True: the socket is bound to no device. */
bool sl_proof_is_everywhere(int fd);
/* Checks that the socket is a TCP socket of the daemon's namespace. 0 or -EPERM. */
int sl_proof_tcp(int fd, const char **why);
/* Checks that the socket is a listening TCP socket of the daemon's namespace; *port is its port
 * number, *family that of its connections. 0 or -EPERM. */
int sl_proof_listener(int fd, uint16_t *port, uint8_t *family, const char **why);
/* Checks that the socket belongs to a pair of packet sockets, so that only a holder of the other
 * end can be reached by it. 0 or -EPERM. */
int sl_proof_pair(int fd, const char **why);
/* Checks that the packet is addressed to the local end of the socket, and for TCP comes from its
 * remote end. 0 or -EPERM. */
int sl_proof_packet(int fd, const uint8_t *packet, size_t bytes, const char **why);
uint64_t sl_netns_cookie(int fd);

#endif
