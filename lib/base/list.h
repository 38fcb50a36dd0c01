/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubly linked intrusive list; an entry that is in no list points to itself. */
#ifndef SL_LIST_H
#define SL_LIST_H

#include "base/base.h"

struct sl_list {
	struct sl_list *next, *prev;
};

static inline void sl_list_init(struct sl_list *l)
{
	l->next = l->prev = l;
}

static inline bool sl_list_empty(const struct sl_list *l)
{
	return l->next == l;
}

static inline void sl_list_add_tail(struct sl_list *head, struct sl_list *e)
{
	e->prev = head->prev;
	e->next = head;
	head->prev->next = e;
	head->prev = e;
}

static inline void sl_list_add(struct sl_list *head, struct sl_list *e)
{
	sl_list_add_tail(head->next, e);
}

static inline void sl_list_del(struct sl_list *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	sl_list_init(e);
}

#define sl_list_for_each(it, head)                                                                 \
	for (struct sl_list *it = (head)->next; it != (head); it = it->next)
/* The entry under the cursor may be deleted. */
#define sl_list_for_each_safe(it, head)                                                            \
	for (struct sl_list *it = (head)->next, *it##_n = it->next; it != (head);                  \
	     it = it##_n, it##_n = it->next)

#endif
