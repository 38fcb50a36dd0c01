/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls as requests to sluiced. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/link.h"
#include "ctl/device/port.h"
#include "ctl/kern/say.h"
#include "ctl/lease/client.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"

/* Ports ------------------------------------------------------------------------------------------
 */

#define VIEW_BYTES sizeof(struct sl_lease_view)

/* The view of the rules outlives the port, by some others: its readers take no lock. */
static const struct sl_rule *old[8];

static void views_part(void)
{
	for (unsigned i = 0; i < sl_array_len(old); i++)
		if (old[i])
			(void)sl_apart_become((void *)(uintptr_t)old[i], NULL, VIEW_BYTES);
}

static void drop_view(const struct sl_rule *rules)
{
	static unsigned at;

	if (old[at])
		munmap((void *)(uintptr_t)old[at], VIEW_BYTES);
	old[at] = rules;
	at = (at + 1) % sl_array_len(old);
}

static int port_take(const struct sl_lease_port_ok *p, int fd, struct sl_port_info *out)
{
	struct sl_lease_view *view = mmap(NULL, VIEW_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (view == MAP_FAILED)
		return -errno;
	sl_apart(view, VIEW_BYTES);
	*out = (struct sl_port_info){
		.ifindex = p->ifindex,
		.mtu = p->mtu,
		.nqueues = p->nqueues,
		.flags = p->flags,
		.max_lanes = p->max_lanes,
		.rules = view->rules,
		.paces = view->paces,
	};
	memcpy(out->mac, p->mac, sizeof(out->mac));
	memcpy(out->ifname, p->ifname, sizeof(out->ifname) - 1);
	memcpy(out->driver, p->driver, sizeof(out->driver) - 1);
	memcpy(out->pin_dir, p->pin_dir, sizeof(out->pin_dir) - 1);
	return 0;
}

int sl_lease_port_open(uint32_t ifindex, struct sl_port_info *out, const char **why)
{
	struct sl_lease_msg m;
	int err;

	sl_lease_umem_pages(ifindex);
	err = sl_lease_ask_port(&m, SL_LEASE_PORT_OPEN, ifindex, 0, why);
	if (err)
		return err;
	(void)sl_link_open();
	if (m.body.port_ok.ifindex != ifindex || m.body.port_ok.nqueues == 0 ||
	    m.body.port_ok.nqueues > SL_MAX_QUEUES) {
		sl_lease_close_fds(&m);
		return -EPROTO;
	}
	err = port_take(&m.body.port_ok, m.fd[0], out);
	sl_lease_close_fds(&m);
	if (err) {
		sl_why(why, "the rules cannot be mapped: %s", sl_strerror(err));
		sl_lease_port_close(ifindex, NULL);
	} else {
		sl_info("port", "%s: offloaded by sluiced: driver %s, %u RX queue%s, MTU %u",
			out->ifname, out->driver, out->nqueues, out->nqueues == 1 ? "" : "s",
			out->mtu);
	}
	return err;
}

void sl_lease_port_close(uint32_t ifindex, const struct sl_rule *rules)
{
	struct sl_lease_msg m;

	if (rules)
		drop_view(rules);
	sl_lease_rings_drop(ifindex);
	(void)sl_lease_ask_port(&m, SL_LEASE_PORT_CLOSE, ifindex, 0, NULL);
}

/* Without the daemon, or while none answers: whatever program the device runs is taken for ours. (A
 * tc program cannot be looked for without privileges.) */
enum sl_port_end sl_lease_port_end(uint32_t ifindex, uint32_t flags)
{
	struct sl_lease_msg m = {.body.port.ifindex = ifindex};
	struct sl_link_now now;
	int err = sl_lease_request_soon(&m, SL_LEASE_PORT_ALIVE);

	if (err == -ENOTCONN || err == -EAGAIN) {
		err = sl_link_look(ifindex, &now);
		if (err)
			return err == -ENODEV ? SL_PORT_END_GONE : SL_PORT_END_UNKNOWN;
		return now.xdp_id || flags & SL_PORT_PACKET ? SL_PORT_END_STEERED
							    : SL_PORT_END_TAKEN_OFF;
	}
	if (err)
		return SL_PORT_END_LEFT;
	if (m.body.alive_ok.alive)
		return SL_PORT_END_STEERED;
	return m.body.alive_ok.end ? m.body.alive_ok.end : SL_PORT_END_UNKNOWN;
}

bool sl_lease_port_has_tags(uint32_t ifindex)
{
	struct sl_lease_msg m;

	return !sl_lease_ask_port(&m, SL_LEASE_PORT_TAGS, ifindex, 0, NULL) && m.body.tags_ok.tags;
}

int sl_lease_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why)
{
	struct sl_lease_msg m = {0};
	int err;

	m.body.vlan_get = (struct sl_lease_vlan_get){.ifindex = ifindex, .vlan = vlan, .tag = tag};
	err = sl_lease_request(&m, SL_LEASE_VLAN_GET, why);
	if (err)
		return err;
	return m.body.vlan_ok.nr && m.body.vlan_ok.nr < SL_MAX_VLANS ? (int)m.body.vlan_ok.nr
								     : -EPROTO;
}

void sl_lease_vlan_put(uint32_t ifindex, uint32_t nr)
{
	struct sl_lease_msg m = {0};

	m.body.vlan = (struct sl_lease_vlan){.ifindex = ifindex, .nr = nr};
	(void)sl_lease_request(&m, SL_LEASE_VLAN_PUT, NULL);
}

void sl_lease_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave)
{
	struct sl_lease_msg m = {0};

	m.body.vlan = (struct sl_lease_vlan){.ifindex = ifindex, .nr = nr, .leave = leave};
	(void)sl_lease_request(&m, SL_LEASE_VLAN_LEAVE, NULL);
}

/* (A daemon that is late sends the frame, too.) */
int sl_lease_vxlan_send(uint32_t ifindex, uint32_t nr, const void *frame, size_t bytes)
{
	struct sl_lease_msg m = {0};

	if (bytes > sizeof(m.body.frame.frame))
		return -EMSGSIZE;
	m.body.frame.ifindex = ifindex;
	m.body.frame.nr = nr;
	m.body.frame.bytes = (uint32_t)bytes;
	memcpy(m.body.frame.frame, frame, bytes);
	return sl_lease_request_soon(&m, SL_LEASE_VXLAN_SEND);
}

void sl_lease_port_unguard(uint32_t ifindex)
{
	struct sl_lease_msg m;

	(void)sl_lease_ask_port(&m, SL_LEASE_UNGUARD, ifindex, 0, NULL);
}

unsigned sl_lease_port_strays(uint32_t ifindex, unsigned skip, struct sl_stray_told *out,
			      unsigned max)
{
	struct sl_lease_msg m = {.body.strays = {.ifindex = ifindex, .skip = skip}};
	unsigned n;

	if (sl_lease_request_soon(&m, SL_LEASE_STRAYS))
		return 0;
	n = sl_min(m.body.strays_ok.n, (uint32_t)SL_STRAYS_TOLD);
	n = sl_min(n, max);
	memcpy(out, m.body.strays_ok.stray, n * sizeof(*out));
	for (unsigned i = 0; i < n; i++)
		out[i].n = sl_min(out[i].n, (uint32_t)SL_STRAY_NOTES);
	return n;
}

/* Claims -----------------------------------------------------------------------------------------
 */

static void fill_claim(struct sl_lease_claim *c, const struct sl_claim_req *req)
{
	*c = (struct sl_lease_claim){
		.ifindex = req->ifindex,
		.flags =
			(req->spread ? SL_LEASE_SPREAD : 0) | (req->replace ? SL_LEASE_REPLACE : 0),
		.key = req->key,
		.claim = req->claim,
		.narrow = req->narrow,
	};
}

int sl_lease_claim(const struct sl_claim_req *req, bool update, const char **why)
{
	struct sl_lease_msg m = {.nfds = !update, .fd = {req->shadow_fd}};

	fill_claim(&m.body.claim, req);
	return sl_lease_request(&m, update ? SL_LEASE_CLAIM_UPDATE : SL_LEASE_CLAIM, why);
}

void sl_lease_unclaim(const struct sl_claim_req *req)
{
	struct sl_lease_msg m = {0};

	fill_claim(&m.body.claim, req);
	(void)sl_lease_request(&m, SL_LEASE_UNCLAIM, NULL);
}

void sl_lease_unclaim_all(const struct sl_claim_req *reqs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sl_lease_unclaim(&reqs[i]);
}

int sl_lease_drop_packets(int fd, bool on)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};

	m.body.drop.on = on;
	return sl_lease_request(&m, SL_LEASE_DROP, NULL);
}

int sl_lease_buffer(int fd, int opt, uint32_t bytes)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};

	m.body.buffer = (struct sl_lease_buffer){.opt = opt, .bytes = bytes};
	return sl_lease_request(&m, SL_LEASE_BUFFER, NULL);
}

int sl_lease_holders(int fd)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};
	int err = sl_lease_request(&m, SL_LEASE_HOLDERS, NULL);

	return err ? err : (int)m.body.holders_ok.n;
}

int sl_lease_inject(int fd, const void *packet, size_t bytes, uint32_t scope)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};

	if (bytes > sizeof(m.body.inject.packet))
		return -EMSGSIZE;
	m.body.inject.bytes = (uint32_t)bytes;
	m.body.inject.scope = scope;
	memcpy(m.body.inject.packet, packet, bytes);
	return sl_lease_request(&m, SL_LEASE_INJECT, NULL);
}

int sl_lease_may_inject(void)
{
	return sl_lease_may_repair() ? 0 : -EPERM;
}

int sl_lease_conns(int memfd, const struct sl_conns_layout *layout)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {memfd}};

	m.body.conns = *layout;
	return sl_lease_request(&m, SL_LEASE_CONNS, NULL);
}

int sl_lease_box(uint32_t listener, int out, int fd)
{
	struct sl_lease_msg m = {.nfds = 2, .fd = {out, fd}};

	if (!sl_lease_may_repair())
		return -EPERM;
	m.body.box.listener = listener;
	return sl_lease_request(&m, SL_LEASE_BOX, NULL);
}

void sl_lease_unbox(uint32_t listener)
{
	struct sl_lease_msg m = {0};

	m.body.box.listener = listener;
	(void)sl_lease_request(&m, SL_LEASE_UNBOX, NULL);
}

int sl_lease_neigh_use(uint32_t ifindex, const uint8_t addr[16])
{
	struct sl_lease_msg m = {0};

	m.body.neigh.ifindex = ifindex;
	memcpy(m.body.neigh.addr, addr, sizeof(m.body.neigh.addr));
	return sl_lease_request_soon(&m, SL_LEASE_NEIGH);
}

/* Coming apart -----------------------------------------------------------------------------------
 */

/* The daemon sees that we are gone once nothing that it lent is mapped any more. */
void sl_lease_part(void)
{
	sl_lease_umem_part();
	views_part();
	sl_lease_end();
}

void sl_lease_child(void)
{
	sl_lease_end();
	sl_lease_umem_child();
	sl_lease_rings_child();
}
