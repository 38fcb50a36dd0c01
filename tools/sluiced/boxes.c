/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that wait to be accepted by a process that dies go into the box of the listener, from
 * which all processes with that listener accept (sock/listen/share.c). The daemon has the box's
 * writing end.
 */
#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/say.h"
#include "conns.h"
#include "foreign.h"
#include "handlers.h"
#include "facts.h"
#include "keep.h"
#include "proof.h"

#define BOX_BYTES (1 << 20) /* a backlog's worth of packets, of a kilobyte each */

static struct sl_gone_box *find_box(struct sl_boxes *b, uint32_t listener)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->box[i].listener == listener)
			return &b->box[i];
	return NULL;
}

const struct sl_gone_box *sl_box_find(void *session, uint32_t listener)
{
	return find_box(&((struct sl_session *)session)->boxes, listener);
}

static void drop_box(struct sl_session *s, struct sl_gone_box *box)
{
	sl_foreign_close(s, box->fd);
	*box = s->boxes.box[--s->boxes.n];
}

void sl_boxes_free(struct sl_session *s)
{
	while (s->boxes.n)
		drop_box(s, &s->boxes.box[0]);
}

int sl_on_box(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_gone_box box = {.listener = m->body.box.listener}, *old;
	int size = BOX_BYTES, err = s->limits.repair ? 0 : -EPERM;

	if (!err)
		err = sl_proof_pair(m->fd[0], why);
	if (!err)
		err = sl_proof_listener(m->fd[1], &box.port, &box.family, why);
	if (err)
		return err;
	old = find_box(&s->boxes, box.listener);
	if (old)
		drop_box(s, old);
	if (s->boxes.n == SL_SESSION_BOXES) {
		sl_why(why, "a lease has at most %u listeners that others have, too",
		       SL_SESSION_BOXES);
		return -ENOSPC;
	}
	box.fd = sl_fd_dup(m->fd[0]);
	if (box.fd < 0)
		return box.fd;
	(void)sl_facts_setsockopt(box.fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	s->boxes.box[s->boxes.n++] = box;
	sl_keep_session(s);
	return 0;
}

int sl_on_unbox(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_gone_box *box = find_box(&s->boxes, m->body.box.listener);

	if (!box)
		return -ENOENT;
	drop_box(s, box);
	sl_keep_session(s);
	return 0;
}
