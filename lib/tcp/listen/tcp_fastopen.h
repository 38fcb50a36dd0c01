/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own SYN with data (tcp_fastopen.c). */
#ifndef SL_TCP_FASTOPEN_H
#define SL_TCP_FASTOPEN_H

#include "tcp/tcp.h"

/* Call before sl_tcp_connect() for Fast Open; copies the cookie. With a cookie, the SYN waits for
 * the first sl_tcp_write(), which may be of no bytes; with len 0 the SYN asks for a cookie.
 * without: send data but no option. exp: by the
 * experimental option. mss: the peer's, from an earlier connection, 0: unknown. 0,
 * -ENOMEM, -EINVAL (the cookie is too long). */
int sl_tcp_fast_open(struct sl_tcp *c, const void *cookie, uint8_t len, bool without, bool exp,
		     uint16_t mss);

/* Inside lib/tcp ------------------------------------------------------------------------------- */

void sl_tcp_tfo_defer(struct sl_tcp *c); /* sets the segment size to use until the SYN is sent */
/* Adds the cookie, or the request for one, to the first SYN. */
void sl_tcp_tfo_option(const struct sl_tcp *c, struct sl_tcp_seg *seg);
/* Sends the SYN in seg together with the first piece. *sent: there was room. False: there are no
 * data for the SYN, nothing was sent. */
bool sl_tcp_tfo_send(struct sl_tcp *c, struct sl_tcp_seg *seg, bool *sent);
/* Call with the segment that completes our handshake, before snd_una passes its data. */
void sl_tcp_tfo_answer(struct sl_tcp *c, const struct sl_tcp_seg *seg);
/* Call when a router reports a smaller MTU: sends a plain SYN, if ours had data. */
void sl_tcp_tfo_too_big(struct sl_tcp *c);
/* Frees c->tfo, if c is no child. */
void sl_tcp_tfo_free(struct sl_tcp *c);

#endif
