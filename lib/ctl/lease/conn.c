/* SPDX-License-Identifier: BSD-2-Clause */
/* This process's connection to sluiced: joining, asking, the end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/say.h"
#include "ctl/lease/client.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"

/* A daemon that takes longer is as good as dead; a device takes a while, and so does a daemon that
 * is started again. */
#define ANSWER_SECONDS 10
#define HEIR_SECONDS   5
#define SOON_MS        10 /* for the keeper, which must not wait: usually below 100 us */

static bool leased;     /* this process uses a daemon, even if that is gone now */
static bool was_leased; /* so does or did this process, or one before it */
static int conn = -1;
static bool over = true; /* the connection is not used (any more) */
static uint32_t seq;
static bool late; /* an answer will come that no thread waits for */
static bool may_repair;

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
	if (err == -ETOOMANYREFS) { /* the kernel sent nothing: the next request may pass */
		sl_why(why, "more descriptors of this user wait in sockets than RLIMIT_NOFILE "
			    "allows");
		return err;
	}
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

int sl_lease_request(struct sl_lease_msg *m, enum sl_lease_op op, const char **why)
{
	if (over)
		return no_daemon(why);
	seq++;
	return judge(m, op, sl_lease_ask(conn, m, op, seq), why);
}

static struct sl_lease_hdr next_header(enum sl_lease_op op)
{
	return (struct sl_lease_hdr){
		.magic = SL_LEASE_MAGIC,
		.version = SL_LEASE_VERSION,
		.op = (uint16_t)op,
		.seq = ++seq,
	};
}

int sl_lease_give(struct sl_lease_msg *m, enum sl_lease_op op, const char **why)
{
	int err;

	if (over)
		return no_daemon(why);
	m->hdr = next_header(op);
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

int sl_lease_request_soon(struct sl_lease_msg *m, enum sl_lease_op op)
{
	int err;

	if (over)
		return -ENOTCONN;
	if (late && !answers_soon())
		return -EAGAIN;
	m->hdr = next_header(op);
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
	return sl_lease_request(m, op, why);
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
	err = sl_lease_request(&m, SL_LEASE_HELLO, why);
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
		leased = was_leased = true;
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

bool sl_lease_was_on(void)
{
	return was_leased;
}

int sl_lease_heir(const char *path, int shadow)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {shadow}};
	int at = sl_lease_dial(path, HEIR_SECONDS), err;

	if (at < 0)
		return at;
	err = sl_lease_ask(at, &m, SL_LEASE_HEIR, 1);
	sl_sys_close(at);
	/* The daemon hangs up when a user has too many connections without a lease. */
	if (!err || err == -EPIPE || err == -ECONNRESET)
		return -EAGAIN;
	if (err < 0)
		return err;
	return m.hdr.err ? m.hdr.err : m.fd[0];
}

/* The mappings stay: threads may be at work in them. See hang_up(). */
void sl_lease_fini(void)
{
	over = true;
}

/* The process does without the daemon from now on. */
void sl_lease_end(void)
{
	if (conn >= 0)
		sl_sys_close(conn);
	conn = -1;
	over = true;
	late = false;
	leased = false;
}

bool sl_lease_may_repair(void)
{
	return may_repair;
}
