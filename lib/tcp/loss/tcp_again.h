/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of sequence numbers (tcp_again.c): the pieces behind loss_hint that were found lost. */
#ifndef SL_TCP_AGAIN_H
#define SL_TCP_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: empty, and without memory. The lane's. */
struct sl_tcp_again {
	uint32_t n, size;
	uint32_t *seq; /* seq[0] is the least; all lie within half of the number space */
};

bool sl_tcp_again_push(struct sl_tcp_again *h, uint32_t seq); /* false: no memory */
void sl_tcp_again_pop(struct sl_tcp_again *h);                /* removes the least; n is above 0 */
void sl_tcp_again_free(struct sl_tcp_again *h);               /* makes it all zero */

#endif
