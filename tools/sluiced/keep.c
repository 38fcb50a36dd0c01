/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the daemon's state in the vault (ctl/lease/vault.h) as it changes, since the daemon may
 * die at any moment.
 *
 * Theory of operation: a record is stored before its process is told of the loan, and removed after
 * the loan has been taken back. So after a death no loan lacks a record, and records without a loan
 * are found (adopt.c). Claims are not stored: the maps have them.
 *
 * The vault may die, too: then the daemon starts another and gives it everything. A vault that does
 * not read what it is sent is killed. */
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/adopt.h"
#include "ctl/broker/helper.h"
#include "ctl/device/device.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"
#include "ctl/lease/vault.h"
#include "ctl/umem/umem.h"
#include "session.h"
#include "sluiced.h"

#define PATIENCE_MS    200         /* for a vault that does not read */
#define AGAIN_NS       1000000000u /* between two attempts to start one */
#define ANSWER_SECONDS 5
#define DYING_TRIES    100 /* of 10 ms: a daemon that was just killed lives that long */

static char path[108];
static int vault = -1;
static pid_t vault_pid;
static bool wanted;
static uint64_t tried_ns;
static void (*keep_others)(void); /* set by sl_keep_start() */
static struct sl_vault_msg out;

/* The versions that made the records: after any difference the records are not understood. */
static struct sl_keep_meta this_version(void)
{
	return (struct sl_keep_meta){
		.lease = SL_LEASE_VERSION,
		.steer = SL_STEER_ABI,
		.share = SL_SHARE_VERSION,
		.keep = SL_KEEP_VERSION,
		.claim_bytes = sizeof(struct sl_claim),
		.flow_bytes = sizeof(struct sl_flow_key),
		.rule_bytes = sizeof(struct sl_rule),
		.config_bytes = sizeof(struct sl_port_config),
		.session_bytes = sizeof(struct sl_session_kept),
		.device_bytes = (uint32_t)sl_device_kept_bytes(),
		.draining = sluiced.draining,
	};
}

/* Sending ---------------------------------------------------------------------------------------
 */

static void lose_vault(void)
{
	sl_sys_close(vault);
	vault = -1;
	tried_ns = 0;
}

/* Ends a vault that lacks records. It would hold what it has of the daemon's descriptors for as
 * long as one program lives, and so keep devices busy that the daemon has closed. */
static void end_vault(void)
{
	if (vault_pid > 1)
		sl_sys(SYS_kill, vault_pid, SIGKILL);
	lose_vault();
}

/* 0 or -errno. */
static int post_message(const struct sl_vault_msg *m)
{
	const struct timespec patience = {.tv_nsec = PATIENCE_MS * 1000000};
	struct pollfd p = {.fd = vault, .events = POLLOUT};
	int err = sl_vault_send(vault, m, MSG_DONTWAIT);

	while (err == -EAGAIN && sl_sys(SYS_ppoll, &p, 1, &patience, NULL, 8) == 1)
		err = sl_vault_send(vault, m, MSG_DONTWAIT);
	return err;
}

/* Without a vault nothing is kept; the next vault gets everything. */
static void send_out(uint8_t op, uint8_t kind, uint64_t key)
{
	int err;

	if (vault < 0)
		return;
	out.hdr = (struct sl_vault_hdr){
		.magic = SL_VAULT_MAGIC,
		.version = SL_VAULT_VERSION,
		.op = op,
		.kind = kind,
		.key = key,
	};
	err = post_message(&out);
	if (!err)
		return;
	sl_warn("sluiced",
		"the vault (process %d) takes nothing any more: %s; it is ended, and "
		"there will be another",
		vault_pid, sl_strerror(err));
	end_vault();
}

static void put_entry(enum sl_keep kind, uint64_t key)
{
	send_out(SL_VAULT_PUT, (uint8_t)kind, key);
	out.bytes = out.nfds = 0;
}

static void del_entry(enum sl_keep kind, uint64_t key)
{
	out.bytes = out.nfds = 0;
	send_out(SL_VAULT_DEL, (uint8_t)kind, key);
}

/* Records ---------------------------------------------------------------------------------------
 */

static void keep_meta(void)
{
	const struct sl_keep_meta meta = this_version();

	memcpy(out.body, &meta, sizeof(meta));
	out.bytes = sizeof(meta);
	put_entry(SL_KEEP_META, 0);
}

void sl_keep_draining(void)
{
	keep_meta();
}

static void keep_listen(void)
{
	sl_vault_add(&out, sluiced.listen_fd);
	put_entry(SL_KEEP_LISTEN, 0);
}

void sl_keep_umem(uint32_t id)
{
	const struct sl_umem *u = sl_umem_find(id);

	if (!u) {
		del_entry(SL_KEEP_UMEM, id);
		return;
	}
	sl_umem_keep(u, &out);
	put_entry(SL_KEEP_UMEM, id);
}

void sl_keep_device(uint32_t ifindex)
{
	const struct sl_device *d = sl_device_find(ifindex);

	if (!d) {
		del_entry(SL_KEEP_DEVICE, ifindex);
		return;
	}
	sl_device_keep(d, &out);
	put_entry(SL_KEEP_DEVICE, ifindex);
}

void sl_keep_view(uint32_t ifindex, int memfd)
{
	if (memfd < 0) {
		del_entry(SL_KEEP_VIEW, ifindex);
		return;
	}
	sl_vault_add(&out, memfd);
	put_entry(SL_KEEP_VIEW, ifindex);
}

static void fill_session(const struct sl_session *s, struct sl_session_kept *k)
{
	*k = (struct sl_session_kept){
		.id = s->id,
		.member = s->member,
		.umem = s->memory ? s->memory->umem : 0,
		.greeted = s->greeted,
		.share = s->share,
		.said = s->said,
		.outside = s->outside,
		.leaving = s->leaving,
		.eof = s->eof,
		.tries = s->tries,
		.begun = s->begun,
		.since_ns = s->since_ns,
		.cred = s->cred,
		.ngids = s->ngids,
		.limits = s->limits,
		.vlans = s->vlans,
		.layout = s->conns.gone.layout,
		.conn = sl_vault_add(&out, s->fd),
		.pidfd = sl_vault_add(&out, s->pidfd),
		.conns = sl_vault_add(&out, s->conns.gone.fd),
	};
	memcpy(k->gid, s->gid, sizeof(k->gid));
	memcpy(k->program, s->program, sizeof(k->program));
	memcpy(k->group, s->group, sizeof(k->group));
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++) {
		k->port[i].ifindex = s->port[i].ifindex;
		k->port[i].nqueues = s->port[i].nqueues;
		memcpy(k->port[i].ifname, s->port[i].ifname, sizeof(k->port[i].ifname));
	}
	k->nboxes = s->boxes.n;
	for (uint32_t i = 0; i < s->boxes.n; i++) {
		const struct sl_gone_box *b = &s->boxes.box[i];

		k->box[i].listener = b->listener;
		k->box[i].port = b->port;
		k->box[i].family = b->family;
		k->box[i].fd = sl_vault_add(&out, b->fd);
	}
}

void sl_keep_session(const struct sl_session *s)
{
	if (vault < 0)
		return;
	fill_session(s, (struct sl_session_kept *)out.body);
	out.bytes = sizeof(struct sl_session_kept);
	put_entry(SL_KEEP_SESSION, s->id);
}

void sl_keep_no_session(const struct sl_session *s)
{
	del_entry(SL_KEEP_SESSION, s->id);
}

void sl_keep_socket(enum sl_keep kind, uint64_t key, const void *record, uint32_t bytes, int fd)
{
	if (fd < 0) {
		del_entry(kind, key);
		return;
	}
	memcpy(out.body, record, bytes);
	out.bytes = bytes;
	sl_vault_add(&out, fd);
	put_entry(kind, key);
}

bool sl_session_begin(struct sl_session *s)
{
	if (s->again && s->begun == s->seq)
		return false;
	s->begun = s->seq;
	sl_keep_session(s);
	return true;
}

static uint64_t lane_key(const struct sl_session *s, const struct sl_session_port *p,
			 unsigned number)
{
	return (uint64_t)s->id << 32 | (uint64_t)(p - s->port) << 16 | number;
}

void sl_keep_lane(const struct sl_session *s, const struct sl_session_port *p, unsigned number)
{
	struct sl_lane_kept *k = (struct sl_lane_kept *)out.body;

	if (vault < 0)
		return;
	if (!p->lane[number] || p->lease[number][0].unbound) { /* (the process opens it again) */
		del_entry(SL_KEEP_LANE, lane_key(s, p, number));
		return;
	}
	*k = (struct sl_lane_kept){
		.session = s->id,
		.port = (uint32_t)(p - s->port),
		.number = number,
		.lane = p->lane[number] - 1u,
		.nqueues = p->nqueues,
		.packet_places = p->lease[number][0].packet_places,
	};
	for (uint32_t i = 0; i < p->nqueues; i++) {
		k->queue[i] = sl_lease_described(&p->lease[number][i]);
		sl_vault_add(&out, p->lease[number][i].fd);
	}
	if (k->packet_places)
		sl_vault_add(&out, p->lease[number][0].packet_fd);
	out.bytes = sizeof(*k);
	put_entry(SL_KEEP_LANE, lane_key(s, p, number));
}

/* Stores the versions last: a vault without them is incomplete. */
static void keep_all(void)
{
	keep_listen();
	for (const struct sl_umem *u = sl_umem_first(); u; u = u->next)
		sl_keep_umem(u->info.id);
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		sl_keep_device(d->info.ifindex);
	keep_others();
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		sl_keep_session(s);
		for (unsigned i = 0; i < SL_SESSION_PORTS; i++)
			for (unsigned l = 0; l < SL_SESSION_LANES; l++)
				if (s->port[i].lane[l])
					sl_keep_lane(s, &s->port[i], l);
	}
	keep_meta();
}

/* The vault --------------------------------------------------------------------------------------
 */

static int watch_vault(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = SL_TAG_VAULT};

	return sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, vault, &ev);
}

/* The socket where the next daemon finds the vault, for its own user only. */
static int open_door(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = sl_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return fd;
	strcpy(sun.sun_path, path);
	unlink(path);
	err = sl_sys_bind(fd, &sun, sizeof(sun));
	if (!err && (chmod(path, 0600) || listen(fd, 4)))
		err = -errno;
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

static int start_vault(void)
{
	int pair[2], door = open_door(), err;

	if (door < 0)
		return door;
	err = (int)sl_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	if (!err) {
		vault_pid = sl_helper_start(
			"vault", NULL,
			(int[SL_HELPER_FDS]){door, pair[0], pair[0], pair[0], pair[0], pair[0]});
		err = sl_min(vault_pid, 0);
		sl_sys_close(pair[0]);
		if (err)
			sl_sys_close(pair[1]);
		else
			vault = sl_fd_keep(pair[1]);
	}
	sl_sys_close(door);
	if (err)
		unlink(path);
	return err;
}

static void start_and_fill(void)
{
	int err;

	wanted = true;
	tried_ns = sl_now_ns();
	if (vault < 0) {
		err = start_vault();
		if (err) {
			sl_warn_once("sluiced",
				     "there is no vault (%s): if the daemon dies, what it lent ends"
				     " with it; remedy: install the sluice tool beside sluiced",
				     sl_strerror(err));
			wanted = err != -ENOENT;
			return;
		}
		keep_all();
	}
	if (vault >= 0 && watch_vault())
		end_vault();
}

void sl_keep_start(void (*others_keep)(void))
{
	keep_others = others_keep;
	start_and_fill();
}

bool sl_keep_is_missing(void)
{
	return wanted && vault < 0;
}

void sl_keep_tick(void)
{
	if (sl_keep_is_missing() && sl_now_ns() - tried_ns > AGAIN_NS)
		start_and_fill();
}

void sl_keep_readable(void)
{
	static struct sl_vault_msg m;
	int n = sl_vault_recv(vault, &m, MSG_DONTWAIT);

	if (n == 1) { /* (it has nothing to say) */
		sl_vault_close_fds(&m);
	} else if (n != -EAGAIN && n != -EINTR) {
		sl_warn("sluiced", "the vault (process %d) has gone: there will be another",
			vault_pid);
		lose_vault();
		sl_keep_tick();
	}
}

void sl_keep_bye(void)
{
	if (vault < 0)
		return;
	unlink(path);
	out.bytes = out.nfds = 0;
	send_out(SL_VAULT_BYE, 0, 0);
	/* A stopped one would keep devices busy. */
	if (vault >= 0 && vault_pid > 1)
		sl_sys(SYS_kill, vault_pid, SIGCONT);
}

/* Taking over -----------------------------------------------------------------------------------
 */

static struct sl_vault_msg **records;
static unsigned nrecords, max_records;

static int store(const struct sl_vault_msg *m)
{
	if (nrecords == max_records) {
		unsigned n = max_records ? 2 * max_records : 64;
		void *p = realloc(records, n * sizeof(*records));

		if (!p)
			return -ENOMEM;
		records = p;
		max_records = n;
	}
	records[nrecords] = malloc(sizeof(*m));
	if (!records[nrecords])
		return -ENOMEM;
	*records[nrecords++] = *m;
	return 0;
}

/* Reads all records of the vault. -EBUSY: the vault has a daemon. */
static int read_records(int fd)
{
	static struct sl_vault_msg m;
	int err;

	m.hdr = (struct sl_vault_hdr){
		.magic = SL_VAULT_MAGIC, .version = SL_VAULT_VERSION, .op = SL_VAULT_LIST};
	err = sl_vault_send(fd, &m, 0);
	/* (The vault hangs up on a second daemon: it may be gone before this request is sent, and
	 * its SL_VAULT_BUSY may be lost.) */
	if (err == -EPIPE)
		return -EBUSY;
	while (!err) {
		err = sl_vault_recv(fd, &m, 0);
		if (err <= 0)
			return err && err != -ECONNRESET ? err : -EBUSY;
		if (m.hdr.op == SL_VAULT_BUSY)
			return -EBUSY;
		if (m.hdr.op == SL_VAULT_END) {
			vault_pid = (pid_t)m.hdr.key;
			return 0;
		}
		err = store(&m);
	}
	return err;
}

/* Drops all records but those of one kind. */
static void forget_others(enum sl_keep kind)
{
	unsigned left = 0;

	for (unsigned i = 0; i < nrecords; i++) {
		if (records[i]->hdr.kind == kind) {
			records[left++] = records[i];
			continue;
		}
		sl_vault_close_fds(records[i]);
		free(records[i]);
	}
	nrecords = left;
}

static void forget_all(void)
{
	forget_others(SL_KEEP_KINDS);
	free(records);
	records = NULL;
	max_records = 0;
}

static const struct sl_keep_meta *find_meta(void)
{
	for (unsigned i = 0; i < nrecords; i++)
		if (records[i]->hdr.kind == SL_KEEP_META)
			return (const struct sl_keep_meta *)records[i]->body;
	return NULL;
}

/* A body of another length has zeros behind it, or is longer: the comparison sees both. */
static int check_version(void)
{
	const struct sl_keep_meta *meta = find_meta(), want = this_version();

	sluiced.draining = meta->draining;
	return memcmp(meta, &want, offsetof(struct sl_keep_meta, draining)) ? -EPROTO : 0;
}

static void say_other_version(void)
{
	const struct sl_keep_meta *m = find_meta(), want = this_version();

	sl_err("sluiced",
	       "programs are served by what a daemon of another version has left with the vault, "
	       "process %d (protocol %u, steering maps %u, packet memory %u, records %u; this "
	       "version: %u, %u, %u, %u). They go on. Remedy: start that version again and end it "
	       "(SIGTERM, or `sluice daemon drain`), then start this one; or kill %d, which ends "
	       "their offload, and TCP connections with it",
	       vault_pid, m ? m->lease : 0, m ? m->steer : 0, m ? m->share : 0, m ? m->keep : 0,
	       want.lease, want.steer, want.share, want.keep, vault_pid);
}

/* True: the vault is of the daemon's user. (Other users may be able to write to the folder.)
 * Somebody may have stopped it (SIGSTOP): then it goes on. */
static bool is_own(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    peer.uid != (uid_t)sl_sys(SYS_geteuid))
		return false;
	vault_pid = peer.pid;
	if (sl_process_is_stopped(vault_pid)) {
		sl_warn("sluiced", "the vault (process %d) was stopped: it goes on", vault_pid);
		sl_sys(SYS_kill, vault_pid, SIGCONT);
	}
	return true;
}

/* Connects to a vault and takes its records over. 0: there is no vault. */
static int take_message(void)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	int err = -EBUSY;

	for (int i = 0; i < DYING_TRIES && err == -EBUSY; i++) {
		int fd = sl_lease_dial(path, ANSWER_SECONDS);

		if (fd == -ENOENT || fd == -ECONNREFUSED)
			return 0;
		err = fd < 0 ? fd : is_own(fd) ? read_records(fd) : -EPERM;
		if (!err) {
			vault = sl_fd_keep(fd);
			return 1;
		}
		if (fd >= 0)
			sl_sys_close(fd);
		forget_all();
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return err;
}

int sl_keep_find(const char *socket_path)
{
	int err;

	if (snprintf(path, sizeof(path), "%s" SL_VAULT_SUFFIX, socket_path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = take_message();
	if (err == -EBUSY)
		sl_err("sluiced", "%s: another daemon has the vault", path);
	else if (err == -EAGAIN)
		sl_err("sluiced",
		       "the vault (process %d), which has what a daemon before has lent, answers "
		       "nothing (a debugger, a frozen control group?); remedy: let it go on, or "
		       "kill it, which ends what was lent",
		       vault_pid);
	if (err > 0 && !find_meta()) {
		sl_warn("sluiced", "the daemon before died before another vault had everything: "
				   "what it had lent is ended");
		/* (The vault has the socket until it has ended, and clients may wait there.)
		 */
		forget_others(SL_KEEP_LISTEN);
		sl_keep_bye();
		lose_vault();
		return 0;
	}
	if (err > 0 && check_version()) {
		say_other_version();
		return -EPROTO;
	}
	return err;
}

struct sl_vault_msg *sl_keep_next(enum sl_keep kind, unsigned *at)
{
	while (*at < nrecords)
		if (records[(*at)++]->hdr.kind == kind)
			return records[*at - 1];
	return NULL;
}

void sl_keep_taken(void)
{
	forget_all();
	keep_meta();
}

void sl_keep_drop(const struct sl_vault_msg *m)
{
	del_entry((enum sl_keep)m->hdr.kind, m->hdr.key);
}
