/* SPDX-License-Identifier: BSD-2-Clause */
/* Brings the packets of a claim to a queue of its lane, by rules of the NIC.
 *
 * Theory of operation: each lane receives from all queues of a device, so a flow may come by any
 * queue, and a core that another lane's thread runs on may take its interrupts. A rule for the
 * local end (or for the flow, where a process has connected) keeps it on the queue by which the
 * lane sends. The rule of an end that several sockets share leads to a context (ethtool -X ...
 * context): the NIC spreads the packets over the queues of the sockets' lanes, and those of other
 * lanes see none of them. A rule costs a call that may take the NIC milliseconds.
 *
 * Rules outlive the process. Each is noted in a file that the reaper has, too, before it is made,
 * and the reaper removes what is noted there and found in the NIC: a rule of somebody else's for
 * the same flow lies in another place, and stays. (A context has its number only when the NIC has
 * made it: a kill in that call leaves one that no rule leads to.) */
#include "ctl/device/aim.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/addr.h"
#include "base/apart.h"
#include "base/fds.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/dev.h"
#include "ctl/device/nic.h"

#define NOTES   2048u /* rules of all devices */
#define NEAR    16u   /* places of the table in which a rule may be noted */
#define DEVICES 16u
#define UNKNOWN UINT32_MAX /* it is being made, or the NIC has not said where */

struct note {
	uint32_t ifindex; /* 0: free */
	uint32_t place;   /* in the NIC */
	uint64_t queues;  /* a bit set */
	uint32_t context; /* 0: none, there is one queue */
	struct sl_flow_key key;
};

struct notes {
	struct {
		uint32_t ifindex;     /* 0: free */
		uint32_t made_ntuple; /* rules were off before */
		uint32_t refuses;     /* it takes none */
		uint32_t spreads_not; /* it has no contexts */
	} device[DEVICES];
	struct note note[NOTES];
};

static struct notes *notes;
static int notes_fd = -1;

int sl_aims_fd(void)
{
	void *p;
	int fd;

	if (notes_fd >= 0)
		return notes_fd;
	fd = sl_fd_keep(sl_sysi(SYS_memfd_create, "sluice-rules", MFD_CLOEXEC));
	if (fd < 0)
		return -1;
	p = sl_sys(SYS_ftruncate, fd, sizeof(*notes))
		    ? MAP_FAILED
		    : mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		sl_sys_close(fd);
		return -1;
	}
	sl_apart(p, sizeof(*notes));
	notes = p;
	notes_fd = fd;
	return fd;
}

void sl_aims_child(void)
{
	if (notes_fd >= 0)
		sl_sys_close(notes_fd);
	notes_fd = -1;
	notes = NULL;
}

/* The device's place among notes->device, or a free one; DEVICES: there is none. */
static uint32_t place_of(const struct sl_device *d)
{
	uint32_t i = 0;

	while (i < DEVICES && notes->device[i].ifindex &&
	       notes->device[i].ifindex != d->info.ifindex)
		i++;
	return i;
}

/* Makes the NIC ready at its first rule. False: it takes none. */
static bool is_ready(struct sl_device *d)
{
	const char *why = "";
	uint32_t i = place_of(d);

	if (i == DEVICES)
		return false;
	if (notes->device[i].ifindex)
		return !notes->device[i].refuses;
	notes->device[i].ifindex = d->info.ifindex;
	notes->device[i].refuses = sl_nic_open(d, &why) != 0;
	notes->device[i].made_ntuple = d->nic.made_ntuple;
	if (notes->device[i].refuses)
		sl_info("port", "%s: no rules in the NIC: %s", d->info.ifname, why);
	return !notes->device[i].refuses;
}

static uint32_t first_of(uint32_t ifindex, const struct sl_flow_key *k)
{
	uint32_t h = ifindex * 31 + k->local_port * 65537u + k->remote_port * 257u + k->proto;

	for (unsigned i = 0; i < sizeof(k->remote); i++)
		h = (h ^ k->remote[i] ^ (uint32_t)k->local[i] << 8) * 16777619u;
	return h;
}

static bool is_key(const struct note *n, uint32_t ifindex, const struct sl_flow_key *k)
{
	return n->ifindex == ifindex && !memcmp(&n->key, k, sizeof(*k));
}

/* The rule's note; with `add` else a free place. NULL: there is none. */
static struct note *find(uint32_t ifindex, const struct sl_flow_key *k, bool add)
{
	uint32_t at = first_of(ifindex, k);
	struct note *unused = NULL, *n;

	for (uint32_t i = 0; notes && i < NEAR; i++) {
		n = &notes->note[(at + i) % NOTES];
		if (is_key(n, ifindex, k))
			return n;
		if (!n->ifindex && !unused)
			unused = n;
	}
	return add ? unused : NULL;
}

/* The rule names the end that the packets go to, whatever their VLAN. */
static struct sl_flow_key key_of(const struct sl_flow_key *k)
{
	struct sl_flow_key key = *k;

	key.vlan = 0;
	memset(key.pad, 0, sizeof(key.pad));
	return key;
}

/* True: the rule of the flow's local end brings it to that queue already, as it does for
 * connections that a listener has accepted. */
static bool is_brought(uint32_t ifindex, const struct sl_flow_key *k, uint64_t queues)
{
	struct sl_flow_key end = *k;
	const struct note *n;

	if (!k->remote_port)
		return false;
	memset(end.remote, 0, sizeof(end.remote));
	end.remote_port = 0;
	for (int i = 0; i < 2; i++) {
		const struct sl_addr local = sl_addr_of(k->local);

		n = find(ifindex, &end, false);
		if (n && n->queues == queues)
			return true;
		memset(end.local, 0, sl_addr_is_v4(&local) ? 0 : 16);
		if (sl_addr_is_v4(&local))
			memset(end.local + 12, 0, 4);
	}
	return false;
}

void sl_aim_end(struct sl_device *d, const struct sl_flow_key *of)
{
	const struct sl_flow_key key = key_of(of);
	struct note *n = find(d->info.ifindex, &key, false);

	if (!n)
		return;
	if (n->place != UNKNOWN)
		sl_nic_rule_del(d, n->place);
	if (n->context)
		sl_nic_context_del(d, n->context);
	sl_store_release(&n->ifindex, 0);
}

/* Several queues: the context of the rule gets their table; it is noted at once. */
static int spread_over(struct sl_device *d, struct note *n, uint64_t queues)
{
	uint32_t at = place_of(d), context = n->context;
	int err = -EOPNOTSUPP;

	if (at < DEVICES && !notes->device[at].spreads_not)
		err = sl_nic_context_set(d, queues, &context);
	if (!err) {
		sl_store_release(&n->context, context);
		return 0;
	}
	/* (-EINVAL of a context that was there: somebody has removed it.) */
	if (at < DEVICES && (err == -EOPNOTSUPP || (err == -EINVAL && !context)) &&
	    !notes->device[at].spreads_not) {
		notes->device[at].spreads_not = 1;
		sl_info("port",
			"%s: the packets of sockets that share a port come by all queues: its driver "
			"(%s) has no RSS contexts",
			d->info.ifname, d->info.driver);
	}
	return err;
}

static bool is_one(uint64_t queues)
{
	return !(queues & (queues - 1));
}

/* Makes the rule that the note is of. */
static int make(struct sl_device *d, struct note *n, uint32_t *place)
{
	int err;

	if (is_one(n->queues))
		return sl_nic_rule_add(d, &n->key, (uint32_t)__builtin_ctzll(n->queues), place);
	err = spread_over(d, n, n->queues);
	if (err)
		return err;
	err = sl_nic_rule_add_spread(d, &n->key, n->context, place);
	if (err)
		sl_nic_context_del(d, n->context);
	return err;
}

void sl_aim(struct sl_device *d, const struct sl_flow_key *of, uint64_t queues)
{
	const struct sl_flow_key key = key_of(of);
	struct note *n;
	uint32_t place;
	int err;

	if (d->reaper_fd < 0 || sl_aims_fd() < 0 || of->vlan & SL_VXLAN_TAG_BIT || !is_ready(d))
		return;
	n = find(d->info.ifindex, &key, true);
	if (n && n->ifindex && n->queues == queues)
		return;
	if (n && n->ifindex && n->context && !is_one(queues) && !spread_over(d, n, queues)) {
		n->queues = queues; /* (no packet takes another way while the table changes) */
		return;
	}
	sl_aim_end(d, &key);
	if (!n || is_brought(d->info.ifindex, &key, queues))
		return;
	*n = (struct note){.queues = queues, .place = UNKNOWN, .key = key};
	sl_store_release(&n->ifindex, d->info.ifindex);
	err = make(d, n, &place);
	if (!err) {
		sl_store_release(&n->place, place);
		return;
	}
	sl_store_release(&n->ifindex, 0);
	if (err == -ENOSPC)
		sl_warn_once("port", "%s takes no more rules: other flows come by any queue",
			     d->info.ifname);
	else
		sl_debug("port", "%s: no rule: %s", d->info.ifname, strerrorname_np(-err));
}

void sl_aims_close(struct sl_device *d)
{
	for (uint32_t i = 0; notes && i < NOTES; i++) {
		struct note *n = &notes->note[i];

		if (n->ifindex != d->info.ifindex)
			continue;
		if (n->place != UNKNOWN)
			sl_nic_rule_del(d, n->place);
		if (n->context)
			sl_nic_context_del(d, n->context);
		n->ifindex = 0;
	}
	for (uint32_t i = 0; notes && i < DEVICES; i++)
		if (notes->device[i].ifindex == d->info.ifindex) {
			if (!notes->device[i].refuses)
				sl_nic_close(d);
			notes->device[i].ifindex = 0;
			notes->device[i].made_ntuple = notes->device[i].refuses = 0;
			notes->device[i].spreads_not = 0;
		}
}

/* The reaper ------------------------------------------------------------------------------------
 */

/* True: the rule stays. */
static bool is_others(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place)
{
	const struct sl_device *d = arg;

	for (uint32_t i = 0; i < NOTES; i++) {
		const struct note *n = &notes->note[i];

		if (is_key(n, d->info.ifindex, key) &&
		    (n->context ? !queue : n->queues == 1ull << queue) &&
		    (n->place == UNKNOWN || n->place == place))
			return false;
	}
	return true;
}

void sl_aims_clean(uint32_t ifindex, int fd)
{
	struct sl_device *d;
	struct stat st;

	if (fstat(fd, &st) || st.st_size != (off_t)sizeof(*notes))
		return;
	notes = mmap(NULL, sizeof(*notes), PROT_READ, MAP_SHARED, fd, 0);
	d = notes == MAP_FAILED ? NULL : sl_calloc(1, sizeof(*d));
	for (uint32_t i = 0; d && i < DEVICES; i++) {
		if (notes->device[i].ifindex != ifindex || notes->device[i].refuses ||
		    sl_dev_query(ifindex, &d->info, NULL))
			continue;
		d->nic.made_ntuple = notes->device[i].made_ntuple;
		sl_nic_rules(d, 0, is_others, d);
		for (uint32_t k = 0; k < NOTES; k++)
			if (notes->note[k].ifindex == ifindex && notes->note[k].context)
				sl_nic_context_del(d, notes->note[k].context);
		sl_nic_close(d);
	}
	sl_free(d);
}
