/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans of addresses that the kernel's routing cannot tell apart: one answer is good for all. */
#ifndef SL_SPAN_H
#define SL_SPAN_H

#include "base/addr.h"

/* Questions to the kernel that one lane may ask for each window before spans are used. */
#define SL_ASKS_WINDOW_SHIFT 27 /* of the time in ns: 134 ms */
#define SL_ASKS_WINDOW_MOST  32
struct sl_span_asks {
	uint64_t window; /* number of the window that `made` is of */
	uint32_t made;
};

/* Call before the kernel is asked about a new peer that has proved nothing yet (a SYN's source).
 * True: many such questions were asked in this window and the address's span is known; *addr is
 * then the span's first address, to be asked about and remembered in its place. False: ask about
 * the address itself. asks: the lane's, lane held. */
bool sl_span_use(struct sl_span_asks *asks, uint64_t now_ns, struct sl_addr *addr);

/* Replaces *addr by the first address of its span. False: the spans are not known, or the kernel
 * may answer differently within this one. Any thread. */
bool sl_span_first(struct sl_addr *addr);

/* Called by the keeper: reads the prefixes of all tables and rules, if sl_span_use() wants it. */
void sl_spans_work(void);
/* Reads them at once. 0, -E2BIG: there are too many prefixes, or an error of sl_rtnl_dump(). */
int sl_spans_read(void);
/* In a child of fork. */
void sl_spans_child(void);

#endif
