/* SPDX-License-Identifier: BSD-2-Clause */
/* The vault's process: keeps records, gives them to the next daemon. It has no privilege but the
 * descriptors, and looks into nothing. */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/closer.h"
#include "base/heap.h"
#include "base/sys.h"
#include "ctl/lease/vault.h"

#define BUCKETS  1024u
#define LOOK_MS  1000 /* without a daemon: how often it looks for programs */
#define ALONE    10   /* the vault ends after so many empty looks: a daemon may be just starting */
#define BACKLOG  4
#define POLL_MAX 2048 /* connections of programs */

struct record {
	struct record *next;
	struct sl_vault_hdr hdr;
	uint32_t bytes, nfds;
	int *fd;
	uint8_t body[];
};

static struct record *records[BUCKETS];
static struct sl_vault_msg msg;

static struct record **place(uint8_t kind, uint64_t key)
{
	struct record **at = &records[sl_mix((uint64_t)kind << 56, key) >> 54];

	while (*at && ((*at)->hdr.kind != kind || (*at)->hdr.key != key))
		at = &(*at)->next;
	return at;
}

/* Frees a record. Descriptors that a program has passed may be slow to close: sl_closer_add() does
 * it. */
static void discard(struct record *r)
{
	for (uint32_t i = 0; i < r->nfds; i++)
		if (r->hdr.kind == SL_KEEP_SESSION)
			sl_closer_add(r->fd[i], (uint32_t)r->hdr.key, false);
		else
			sl_sys_close(r->fd[i]);
	sl_free(r);
}

static void del(uint8_t kind, uint64_t key)
{
	struct record **at = place(kind, key), *r = *at;

	if (r) {
		*at = r->next;
		discard(r);
	}
}

/* If there is no memory for the record, it is lost, and so is what it describes when the daemon
 * dies. */
static void put(struct sl_vault_msg *m)
{
	size_t fds_at = (m->bytes + 7u) & ~7u;
	struct record **at, *r = sl_malloc(sizeof(*r) + fds_at + m->nfds * sizeof(int));

	if (!r) {
		sl_vault_close_fds(m);
		return;
	}
	r->hdr = m->hdr;
	r->bytes = m->bytes;
	r->nfds = m->nfds;
	r->fd = (int *)(r->body + fds_at);
	memcpy(r->body, m->body, m->bytes);
	memcpy(r->fd, m->fd, m->nfds * sizeof(int));
	del(m->hdr.kind, m->hdr.key);
	at = place(m->hdr.kind, m->hdr.key);
	r->next = *at;
	*at = r;
}

static int answer(int to, const struct sl_vault_hdr *hdr, uint8_t op, uint64_t key)
{
	static struct sl_vault_msg m;

	m.hdr = (struct sl_vault_hdr){
		.magic = SL_VAULT_MAGIC, .version = SL_VAULT_VERSION, .op = op, .key = key};
	return sl_vault_send(to, &m, MSG_DONTWAIT);
}

static int send_record(int to, const struct record *r)
{
	static struct sl_vault_msg m;

	m.hdr = r->hdr;
	m.bytes = r->bytes;
	m.nfds = r->nfds;
	memcpy(m.body, r->body, r->bytes);
	memcpy(m.fd, r->fd, r->nfds * sizeof(int));
	return sl_vault_send(to, &m, 0);
}

static void list(int to)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct record *r = records[i]; r; r = r->next)
			if (send_record(to, r))
				return;
	answer(to, &msg.hdr, SL_VAULT_END, (uint64_t)sl_sys(SYS_getpid));
}

/* False: the daemon has gone. */
static bool serve(int daemon)
{
	int n = sl_vault_recv(daemon, &msg, 0);

	if (n == -EINTR)
		return true;
	if (n <= 0)
		return false;
	if (msg.hdr.op == SL_VAULT_PUT) {
		put(&msg);
		return true;
	}
	sl_vault_close_fds(&msg);
	if (msg.hdr.op == SL_VAULT_DEL)
		del(msg.hdr.kind, msg.hdr.key);
	else if (msg.hdr.op == SL_VAULT_LIST)
		list(daemon);
	else if (msg.hdr.op == SL_VAULT_BYE)
		sl_sys(SYS_exit_group, 0);
	return true;
}

/* Accepts a connection. Returns the daemon's: the new one if there was no daemon, else the one that
 * is there; -1: none. A second daemon is told that the first one lives, and tries again. */
static int admit(int listen_fd, int daemon)
{
	int fd = (int)sl_sys(SYS_accept4, listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return daemon;
	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    peer.uid != (uid_t)sl_sys(SYS_geteuid)) {
		sl_sys_close(fd);
		return daemon;
	}
	if (daemon < 0)
		return fd;
	answer(fd, &msg.hdr, SL_VAULT_BUSY, 0);
	sl_sys_close(fd);
	return daemon;
}

/* True: the connection of at least one program still stands. */
static bool anybody(void)
{
	static struct pollfd fds[POLL_MAX];
	const struct timespec now = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct record *r = records[i]; r && n < POLL_MAX; r = r->next)
			if (r->hdr.kind == SL_KEEP_SESSION && r->nfds)
				fds[n++] = (struct pollfd){.fd = r->fd[0]};
	sl_sys(SYS_ppoll, fds, n, &now, NULL, 8);
	while (n)
		if (!(fds[--n].revents & POLLHUP))
			return true;
	return false;
}

static void give_privileges_up(void)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	sl_sys(SYS_capset, &hdr, none);
}

int sl_vault_run(void)
{
	struct pollfd fds[2] = {
		{.fd = 3 + SL_VAULT_FD_LISTEN, .events = POLLIN},
		{.fd = 3 + SL_VAULT_FD_DAEMON, .events = POLLIN},
	};
	const struct timespec look = {.tv_sec = LOOK_MS / 1000};
	const struct timespec soon = {.tv_nsec = SL_CLOSER_LOOK_MS * 1000000};
	unsigned alone = 0;
	sigset_t set;

	/* A signal to the daemon's session must not stop this process, which outlives the daemon.
	 */
	sigfillset(&set);
	sigdelset(&set, SIGTERM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sl_sys(SYS_chdir, "/");
	give_privileges_up();
	/* From now on SO_PEERCRED tells the next daemon this process, no longer the one that made
	 * the socket. */
	(void)sl_sys(SYS_listen, fds[0].fd, BACKLOG);
	/* The vault, like the daemon, lets another process do slow closes. */
	(void)sl_closer_start();
	while (alone < ALONE) {
		bool closing = sl_closer_look();
		const struct timespec *limit = fds[1].fd < 0 ? &look : closing ? &soon : NULL;
		long n = sl_sys(SYS_ppoll, fds, 2, limit, NULL, 8);

		/* Serve the old connection first: messages that a dead daemon had sent before it
		 * died count. */
		if (n > 0 && fds[1].revents && !serve(fds[1].fd)) {
			sl_sys_close(fds[1].fd);
			fds[1].fd = -1;
		} else if (n > 0 && !fds[1].revents && fds[0].revents) {
			fds[1].fd = admit(fds[0].fd, fds[1].fd);
		}
		alone = fds[1].fd >= 0 || anybody() ? 0 : alone + (n == 0);
		sl_closer_go();
	}
	return 0;
}
