/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls as requests to sluiced. */
#include "ctl/lease/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/broker_int.h"

/* A daemon that takes longer is as good as dead; a device takes a while, and so does a daemon that
 * is started again. */
#define ANSWER_SECONDS 10
#define SOON_MS        10 /* where nobody is to wait: usual are below 100 us */

static bool leased; /* this process works by a daemon, be it there or not */
static int conn = -1;
static bool over = true; /* it is not used (any more) */
static uint32_t seq;
static bool late; /* an answer is to come that nobody waits for */
static struct sl_umem_info umem = {.memfd = -1};
static struct sl_umem_info parents; /* what a child has in the place of it: a hole */
static void *share_mem;
static size_t share_bytes;
static bool may_repair;

static void views_part(void);

static size_t umem_bytes(const struct sl_umem_info *u)
{
	return (size_t)u->nframes * u->frame_size;
}

/* Asking -----------------------------------------------------------------------------------------
 */

/* The descriptor is not closed: while it is open the daemon knows that threads may be at work on
 * what is lent. The kernel closes it at exit and at exec, after it has taken the memory from the
 * last of them (do_exit(), begin_new_exec()). */
static void hang_up(const char *reason)
{
	over = true;
	sl_warn("lease",
		"sluiced %s: what is offloaded goes on, new sockets stay with the kernel; "
		"remedy: start this program anew when the daemon is back",
		reason);
}

static int no_daemon(const char **why)
{
	sl_why(why, "the daemon is gone");
	return -ENOTCONN;
}

/* Judges the last request's answer; err: of receiving it. */
static int judge(struct sl_lease_msg *m, enum sl_lease_op op, int err, const char **why)
{
	late = false;
	if (err <= 0 || m->hdr.op != op || m->hdr.seq != seq) {
		hang_up(err == 0                              ? "has gone"
			: err == -EAGAIN                      ? "does not answer"
			: err == -EPIPE || err == -ECONNRESET ? "has gone"
							      : "does not keep to the protocol");
		if (err > 0)
			sl_lease_close_fds(m);
		return no_daemon(why);
	}
	if (m->hdr.err)
		sl_why(why, "sluiced: %s", m->body.why);
	return m->hdr.err;
}

/* Sends m, and receives the answer into m. 0, -errno of the daemon's, -ENOTCONN: it is gone. */
static int ask(struct sl_lease_msg *m, enum sl_lease_op op, const char **why)
{
	if (over)
		return no_daemon(why);
	seq++;
	return judge(m, op, sl_lease_ask(conn, m, op, seq), why);
}

int sl_lease_request(struct sl_lease_msg *m, enum sl_lease_op op, const char **why)
{
	return ask(m, op, why);
}

int sl_lease_give(struct sl_lease_msg *m, enum sl_lease_op op, const char **why)
{
	int err;

	if (over)
		return no_daemon(why);
	seq++;
	m->hdr = (struct sl_lease_hdr){
		.magic = SL_LEASE_MAGIC,
		.version = SL_LEASE_VERSION,
		.op = (uint16_t)op,
		.seq = seq,
	};
	err = sl_lease_send(conn, m, false, 0);
	if (err)
		return judge(m, op, err, why);
	sl_lease_close_fds(m);
	return judge(m, op, sl_lease_answer(conn, m, seq, 0), why);
}

static bool answers_soon(void)
{
	const struct timespec patience = {.tv_nsec = late ? 0 : SOON_MS * 1000000};
	struct pollfd p = {.fd = conn, .events = POLLIN};

	return sl_sys(SYS_ppoll, &p, 1, &patience, NULL, 8) == 1;
}

/* Asks without waiting, for the keeper, which must not wait for a daemon that is being started
 * again: -EAGAIN when there is no answer yet. Only for requests that may fail. */
static int ask_soon(struct sl_lease_msg *m, enum sl_lease_op op)
{
	int err;

	if (over)
		return -ENOTCONN;
	if (late && !answers_soon())
		return -EAGAIN;
	seq++;
	m->hdr = (struct sl_lease_hdr){
		.magic = SL_LEASE_MAGIC,
		.version = SL_LEASE_VERSION,
		.op = (uint16_t)op,
		.seq = seq,
	};
	late = false;
	err = sl_lease_send(conn, m, false, MSG_DONTWAIT);
	m->nfds = 0;
	if (!err && !answers_soon()) {
		late = true;
		return -EAGAIN;
	}
	return judge(m, op, err ? err : sl_lease_answer(conn, m, seq, 0), NULL);
}

/* Makes a request about a device, or a lane of it. */
int sl_lease_ask_port(struct sl_lease_msg *m, enum sl_lease_op op, uint32_t ifindex, uint32_t lane,
		      const char **why)
{
	m->nfds = 0;
	m->body.port = (struct sl_lease_port){.ifindex = ifindex, .lane = lane};
	return ask(m, op, why);
}

/* Coming and going ------------------------------------------------------------------------------
 */

static int hello(const char *group, const char **why)
{
	struct sl_lease_msg m = {0};
	int err, ns = (int)sl_sys(SYS_openat, AT_FDCWD, "/proc/thread-self/ns/net",
				  O_RDONLY | O_CLOEXEC);

	if (ns < 0) {
		sl_why(why, "/proc is not there: %s", sl_strerror(ns));
		return ns;
	}
	sl_read_text("/proc/self/comm", m.body.hello.program, sizeof(m.body.hello.program));
	strncpy(m.body.hello.group, group, sizeof(m.body.hello.group) - 1);
	m.fd[m.nfds++] = ns;
	err = ask(&m, SL_LEASE_HELLO, why);
	sl_sys_close(ns);
	if (err)
		return err;
	may_repair = m.body.hello_ok.repair;
	sl_debug("lease", "lease %u: %u lanes, %u flows", m.body.hello_ok.member,
		 m.body.hello_ok.max_lanes, m.body.hello_ok.max_flows);
	return 0;
}

int sl_lease_open(const char *path, const char *group, const char **why)
{
	int err = sl_lease_dial(path, ANSWER_SECONDS);

	if (err < 0) {
		sl_why(why, "%s: %s", path, sl_strerror(err));
		return err;
	}
	conn = sl_fd_keep(err);
	over = false;
	err = hello(group, why);
	if (!err) {
		leased = true;
	} else {
		sl_sys_close(conn);
		conn = -1;
		over = true;
	}
	return err;
}

bool sl_lease_on(void)
{
	return leased;
}

/* The mappings stay: threads may be at work in them. See hang_up(). */
void sl_lease_fini(void)
{
	over = true;
}

/* The process is its own again. */
static void end_lease(void)
{
	if (conn >= 0)
		sl_sys_close(conn);
	conn = -1;
	over = true;
	late = false;
	leased = false;
}

/* The daemon sees the end when nothing of what it has lent is mapped any more. */
void sl_lease_part(void)
{
	sl_umem_part(&umem, share_mem, share_bytes);
	views_part();
	share_mem = NULL;
	umem = (struct sl_umem_info){.memfd = -1};
	end_lease();
}

void sl_lease_child(void)
{
	end_lease();
	if (umem.memfd >= 0) {
		sl_sys_close(umem.memfd);
		sl_sys_close(umem.share_fd);
		sl_sys_close(umem.told_fd);
	}
	(void)sl_apart_hole(share_mem, share_bytes);
	(void)sl_apart_hole(umem.share.told, umem.geometry.told_bytes);
	sl_lease_rings_child();
	share_mem = NULL;
	if (sl_apart_hole(umem.base, umem_bytes(&umem)))
		parents = umem;
	umem = (struct sl_umem_info){.memfd = -1};
}

/* Packet memory ---------------------------------------------------------------------------------
 */

static bool umem_sound(const struct sl_lease_umem_ok *u)
{
	return u->nframes && (u->frame_size == 2048 || u->frame_size == 4096) &&
	       u->headroom < u->frame_size && u->member && u->member < SL_SHARE_BROKER &&
	       u->geometry.nframes == u->nframes && sl_share_geometry_is_sound(&u->geometry) &&
	       1u << u->geometry.frame_shift == u->frame_size;
}

/* Maps the group's table of frame owners. A child must not touch it: see sl_lease_child(). (The
 * pages are not mapped in advance, since few programs touch all of them: mapping each at once took
 * 10 to 18 ms, in every child of a server.) */
static int share_take(int fd, int told_fd, struct sl_umem_info *u)
{
	int err = sl_share_open(&u->share, &u->geometry, fd, told_fd, false);

	if (err)
		return err;
	share_mem = u->share.head;
	share_bytes = u->geometry.bytes;
	return 0;
}

static int umem_take(const struct sl_lease_umem_ok *u, const int fd[3], const char **why)
{
	size_t bytes = (size_t)u->nframes * u->frame_size;
	struct sl_umem_info info = {
		.base = sl_pages_map(fd[0], bytes),
		.nframes = u->nframes,
		.frame_size = u->frame_size,
		.headroom = u->headroom,
		.huge = u->huge,
		.member = (uint8_t)u->member,
		.geometry = u->geometry,
	};
	int err = info.base ? sl_share_check_file(fd[0], bytes) : -ENOMEM;

	if (!err)
		err = share_take(fd[1], fd[2], &info);
	if (err) {
		if (info.base)
			munmap(info.base, bytes);
		sl_why(why, "the packet memory cannot be mapped: %s", sl_strerror(err));
		return err;
	}
	/* No frame is taken yet: we are the first member, and the daemon has not registered the
	 * memory. */
	if (!u->huge && sl_settings.mem_alloc_type != SL_MEM_ANON &&
	    sl_share_left(&info.share) == u->nframes)
		sl_pages_want_huge(info.base, bytes, sl_settings.mem_alloc_type == SL_MEM_HUGE);
	info.memfd = sl_fd_keep(fd[0]);
	info.share_fd = sl_fd_keep(fd[1]);
	info.told_fd = sl_fd_keep(fd[2]);
	umem = info;
	return 0;
}

const struct sl_umem_info *sl_lease_memory(void)
{
	return &umem;
}

/* Most children never come here, so it is not done at the fork. */
static void unmap_parents(void)
{
	if (parents.base)
		munmap(parents.base, umem_bytes(&parents));
	parents.base = NULL;
}

int sl_lease_umem(struct sl_umem_info *out, const char **why)
{
	struct sl_lease_msg m = {0};
	int err = umem.base ? 0 : ask(&m, SL_LEASE_UMEM, why);

	unmap_parents();
	if (!err && !umem.base) {
		err = umem_sound(&m.body.umem_ok) ? umem_take(&m.body.umem_ok, m.fd, why) : -EPROTO;
		if (err)
			sl_lease_close_fds(&m);
	}
	if (!err)
		*out = umem;
	return err;
}

/* Ports ------------------------------------------------------------------------------------------
 */

#define VIEW_BYTES ((SL_MAX_RULES + 1) * sizeof(struct sl_rule))

/* The view of the rules outlives the port, by some others: who reads it takes no lock. */
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
	void *rules = mmap(NULL, VIEW_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (rules == MAP_FAILED)
		return -errno;
	sl_apart(rules, VIEW_BYTES);
	*out = (struct sl_port_info){
		.ifindex = p->ifindex,
		.mtu = p->mtu,
		.nqueues = p->nqueues,
		.flags = p->flags,
		.max_lanes = p->max_lanes,
		.rules = rules,
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
	int err = sl_lease_ask_port(&m, SL_LEASE_PORT_OPEN, ifindex, 0, why);

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

/* Without the daemon, or while none answers: whatever program the device runs is taken for ours. */
enum sl_port_end sl_lease_port_end(uint32_t ifindex)
{
	struct sl_lease_msg m = {.body.port.ifindex = ifindex};
	struct sl_link_now now;
	int err = ask_soon(&m, SL_LEASE_PORT_ALIVE);

	if (err == -ENOTCONN || err == -EAGAIN) {
		err = sl_link_look(ifindex, &now);
		if (err)
			return err == -ENODEV ? SL_PORT_END_GONE : SL_PORT_END_UNKNOWN;
		return now.xdp_id ? SL_PORT_END_STEERED : SL_PORT_END_TAKEN_OFF;
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

void sl_lease_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave)
{
	struct sl_lease_msg m = {0};

	m.body.vlan = (struct sl_lease_vlan){.ifindex = ifindex, .nr = nr, .leave = leave};
	(void)ask(&m, SL_LEASE_VLAN_LEAVE, NULL);
}

void sl_lease_port_unguard(uint32_t ifindex)
{
	struct sl_lease_msg m;

	(void)sl_lease_ask_port(&m, SL_LEASE_UNGUARD, ifindex, 0, NULL);
}

unsigned sl_lease_port_strays(uint32_t ifindex, unsigned skip, struct sl_flow_key *out,
			      unsigned max)
{
	struct sl_lease_msg m = {.body.strays = {.ifindex = ifindex, .skip = skip}};
	unsigned n;

	if (ask_soon(&m, SL_LEASE_STRAYS))
		return 0;
	n = sl_min(m.body.strays_ok.n, (uint32_t)SL_STRAYS_TOLD);
	n = sl_min(n, max);
	memcpy(out, m.body.strays_ok.key, n * sizeof(*out));
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
	};
}

int sl_lease_claim(const struct sl_claim_req *req, bool update, const char **why)
{
	struct sl_lease_msg m = {.nfds = !update, .fd = {req->shadow_fd}};

	fill_claim(&m.body.claim, req);
	return ask(&m, update ? SL_LEASE_CLAIM_UPDATE : SL_LEASE_CLAIM, why);
}

void sl_lease_unclaim(const struct sl_claim_req *req)
{
	struct sl_lease_msg m = {0};

	fill_claim(&m.body.claim, req);
	(void)ask(&m, SL_LEASE_UNCLAIM, NULL);
}

int sl_lease_drop_packets(int fd, bool on)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};

	m.body.drop.on = on;
	return ask(&m, SL_LEASE_DROP, NULL);
}

int sl_lease_buffer(int fd, int opt, uint32_t bytes)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};

	m.body.buffer = (struct sl_lease_buffer){.opt = opt, .bytes = bytes};
	return ask(&m, SL_LEASE_BUFFER, NULL);
}

int sl_lease_holders(int fd)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {fd}};
	int err = ask(&m, SL_LEASE_HOLDERS, NULL);

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
	return ask(&m, SL_LEASE_INJECT, NULL);
}

int sl_lease_may_inject(void)
{
	return may_repair ? 0 : -EPERM;
}

int sl_lease_conns(int memfd, const struct sl_conns_layout *layout)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {memfd}};

	m.body.conns = *layout;
	return ask(&m, SL_LEASE_CONNS, NULL);
}

int sl_lease_box(uint32_t listener, int out, int fd)
{
	struct sl_lease_msg m = {.nfds = 2, .fd = {out, fd}};

	if (!may_repair)
		return -EPERM;
	m.body.box.listener = listener;
	return ask(&m, SL_LEASE_BOX, NULL);
}

void sl_lease_unbox(uint32_t listener)
{
	struct sl_lease_msg m = {0};

	m.body.box.listener = listener;
	(void)ask(&m, SL_LEASE_UNBOX, NULL);
}

int sl_lease_neigh_use(uint32_t ifindex, const uint8_t addr[16])
{
	struct sl_lease_msg m = {0};

	m.body.neigh.ifindex = ifindex;
	memcpy(m.body.neigh.addr, addr, sizeof(m.body.neigh.addr));
	return ask_soon(&m, SL_LEASE_NEIGH);
}
