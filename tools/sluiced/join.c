/* SPDX-License-Identifier: BSD-2-Clause */
/* Admits processes to groups, and so to packet memory.
 *
 * Theory of operation: a device, or each part of a divided one, belongs to one group at a time
 * (memory.c). Programs of other groups use the kernel there, and may have another device. A process
 * that could have no device at all is refused at once, and gets no memory. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/claim/bury.h"
#include "ctl/device/device.h"
#include "ctl/device/pair.h"
#include "ctl/device/part.h"
#include "ctl/kern/say.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"
#include "net/route.h"
#include "grant.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "session.h"
#include "sluiced.h"

/* Devices of others ------------------------------------------------------------------------------
 */

/* True: other groups have all parts of the device. */
static bool is_anothers(const struct sl_session *s, uint32_t ifindex)
{
	struct sl_device *d = sl_device_find(ifindex);

	return d && !sl_part_unused(d) && !sl_memory_has_part(d, s->group);
}

/* Names of the groups that have the device, with commas between. */
static const char *groups_of(uint32_t ifindex)
{
	static char text[SL_MAX_PARTS * 34];
	const struct sl_device *d = sl_device_find(ifindex);
	size_t at = 0;

	for (uint32_t i = 0; i < d->nparts; i++) {
		const struct sl_memory *m = sl_memory_by_umem(d->part[i].umem_id);

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "",
				       m ? m->group : "?");
	}
	return text;
}

/* Where rings are lent once: the session that has the device's rings, or had them a moment ago. */
static const struct sl_session *borrower(const struct sl_session *s, uint32_t ifindex)
{
	struct sl_session *o = sl_rings_lent_once() ? sluiced.sessions : NULL;

	while (o && (o == s || !sl_session_port(o, ifindex)))
		o = o->next;
	return o;
}

bool sl_memory_is_anothers(const struct sl_session *s, uint32_t ifindex, const char **why)
{
	const struct sl_session *o = borrower(s, ifindex);

	if (o) {
		sl_why(why,
		       "process %d (%s) has the queues of %s: there this process stays with the "
		       "kernel, since one process at a time can have them; remedy: Linux 6.4, or "
		       "end the former first",
		       o->cred.pid, o->program, sl_device_find(ifindex)->info.ifname);
		return true;
	}
	if (is_anothers(s, ifindex))
		sl_linger_end_all();
	if (!is_anothers(s, ifindex))
		return false;
	sl_why(why,
	       "group %s has the queues of %s: there this process, of group %s, stays with the "
	       "kernel; remedy: one group for both (SLUICE_GROUP), `divide` in the policy file, or "
	       "end the former's programs first",
	       groups_of(ifindex), sl_device_find(ifindex)->info.ifname, s->group);
	return true;
}

struct search {
	const struct sl_session *session;
	uint32_t anothers; /* a device that is another group's, 0: none */
	bool found;        /* a device that is not */
};

/* (Only opening a device shows whether it offers XDP and queues.) */
static bool look_at_link(const struct sl_link *link, void *arg)
{
	struct search *a = arg;

	if (link->master || link->flags & IFF_LOOPBACK || sl_pair_is(link->name, link->kind) ||
	    !sl_limits_allow_device(&a->session->limits, link->name))
		return true;
	if (is_anothers(a->session, link->ifindex))
		a->anothers = link->ifindex;
	else
		a->found = true;
	return !a->found;
}

/* True: every device that the session could have is another group's. */
static bool is_shut_out(const struct sl_session *s, const char **why)
{
	struct search a = {.session = s};

	sl_link_for_each(look_at_link, &a);
	return !a.found && a.anothers && sl_memory_is_anothers(s, a.anothers, why);
}

/* Members ----------------------------------------------------------------------------------------
 */

static struct sl_memory *memory_of_group(const char *group)
{
	for (struct sl_memory *m = sluiced.memory; m < sluiced.memory + SL_MEMORIES_MAX; m++)
		if (m->users && !strcmp(m->group, group))
			return m;
	return NULL;
}

static struct sl_memory *memory_new(const struct sl_session *s, const char **why)
{
	struct sl_memory *found = NULL;
	unsigned of_user = 0;

	for (struct sl_memory *m = sluiced.memory; m < sluiced.memory + SL_MEMORIES_MAX; m++)
		if (!m->users)
			found = m;
		else
			of_user += m->uid == s->cred.uid;
	if (!found || of_user >= SL_MEMORIES_USER) {
		sl_why(why,
		       "no more packet memory: there is that of at most %u groups, %u of them of "
		       "one user",
		       SL_MEMORIES_MAX, SL_MEMORIES_USER);
		return NULL;
	}
	*found = (struct sl_memory){.uid = s->cred.uid};
	memcpy(found->group, s->group, sizeof(found->group));
	return found;
}

/* Makes packet memory without a user. */
static struct sl_memory *memory_make(const struct sl_session *s, const char **why)
{
	struct sl_memory *m = memory_new(s, why);
	int err;

	if (!m)
		return NULL;
	m->umem = ++sluiced.last_umem;
	err = sl_umem_make(m->umem, sluiced.frames, sluiced.frame_size, why);
	if (err)
		return NULL;
	sl_keep_umem(m->umem);
	return m;
}

/* A quarter of the frames is for fill and receive rings. */
static int join(struct sl_session *s, const char **why)
{
	uint32_t quota = s->limits.frames ? s->limits.frames : sluiced.quota;
	struct sl_memory *m = memory_of_group(s->group);
	int member;

	if (!m && is_shut_out(s, why)) {
		s->outside = true;
		sl_keep_session(s);
		return -EBUSY;
	}
	if (!m)
		m = memory_make(s, why);
	if (!m)
		return -ENOMEM;
	member = sl_broken_check(m, why);
	if (member)
		return member;
	sl_memory_get(m);
	member = sl_broker_join(m->umem, quota, sluiced.frames / 4);
	if (member < 0) {
		sl_why(why,
		       "no %u frames are left for one more process; remedy: SLUICE_FRAMES=%u for "
		       "sluiced",
		       quota, 2 * sluiced.frames);
		sl_memory_put(m);
		return member;
	}
	s->memory = m;
	s->share = (uint8_t)member;
	s->outside = false;
	sl_keep_session(s);
	return 0;
}

int sl_on_umem(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	int err = s->share ? (s->again ? 0 : -EALREADY) : join(s, why);
	const struct sl_umem_info *u;

	if (err)
		return err;
	u = &sl_umem_find(s->memory->umem)->info;
	m->body.umem_ok = (struct sl_lease_umem_ok){
		.nframes = u->nframes,
		.frame_size = u->frame_size,
		.headroom = u->headroom,
		.huge = u->huge,
		.member = s->share,
		.geometry = u->geometry,
	};
	m->fd[0] = sl_fd_dup(u->memfd);
	m->fd[1] = sl_fd_dup(u->share_fd);
	m->fd[2] = sl_open_to_read(u->told_fd);
	m->nfds = 3;
	if (m->fd[0] < 0 || m->fd[1] < 0 || m->fd[2] < 0)
		return -EMFILE;
	return 0;
}

void sl_memory_adopt(struct sl_session *s, uint32_t umem)
{
	struct sl_memory *m = sl_memory_by_umem(umem);

	if (!m && sl_umem_find(umem)) {
		m = memory_new(s, NULL);
		if (m)
			m->umem = umem;
	}
	if (!m) {
		s->share = 0;
		return;
	}
	sl_memory_get(m);
	s->memory = m;
}
