/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket, DIR/control.PID (SEQPACKET): a command a packet, each answered by "ok", a
 * text or "error: why". It is how a test makes things go wrong.
 *
 *   stat                         what the device counted
 *   link down | link up          the port, and its event
 *   fatal                        the device is dead: event, posts never complete, ioctls give EIO
 *   unplug | replug              the same, and it is gone from sysfs; back, as good as new
 *   fail N SYNDROME [QP]         the Nth request from now on fails (of that queue, of every one)
 *   fail_nop SYNDROME [QP]       the next request that sends nothing fails
 *   stall 0|1 [QP]               queues send nothing
 *   lose_events N                the next N completion events are lost
 *   fail_call N [ERRNO]          the Nth ioctl from now on fails (ENOMEM)
 *   rates N | dm BYTES           so much of the table of rates, of device memory, is there
 *   flows N                      so many rules fit */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "nic.h"
#include "sys.h"

#define MAX_PEERS 4
#define MAX_TEXT  1024

static int listen_fd = -1, peers[MAX_PEERS] = {-1, -1, -1, -1};
static struct sockaddr_un address = {.sun_family = AF_UNIX};

void sim_event_all(uint32_t type, uint64_t element)
{
	struct ib_uverbs_async_event_desc event = {.element = element, .event_type = type};

	for (int i = 0; i < SIM_MAX_CTX; i++) {
		if (sim_ctx[i].used && sim_ctx[i].event_fd >= 0)
			sim_send(sim_ctx[i].event_fd, &event, sizeof(event));
	}
}

int sim_control_open(void)
{
	int fd = sim_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.%d", sim_config.dir,
		     sim_getpid()) >= (int)sizeof(address.sun_path)) {
		sim_close(fd);
		return -ENAMETOOLONG;
	}
	syscall(SYS_unlink, address.sun_path);
	if (sim_bind(fd, &address, sizeof(address)) || sim_listen(fd, MAX_PEERS)) {
		int err = -errno;

		sim_close(fd);
		return err;
	}
	listen_fd = sim_fd_keep(fd);
	return 0;
}

void sim_control_close(void)
{
	if (listen_fd >= 0)
		syscall(SYS_unlink, address.sun_path);
}

/* Moves the device's entry out of and back into the sysfs tree. */
static int move_in_sysfs(bool away)
{
	char here[256], there[256];

	snprintf(here, sizeof(here), "%s/sys/class/infiniband_verbs/uverbs0", sim_config.dir);
	snprintf(there, sizeof(there), "%s/unplugged", sim_config.dir);
	return (int)syscall(SYS_rename, away ? here : there, away ? there : here);
}

static int link_change(unsigned args, const unsigned *v, const char *word)
{
	if (strcmp(word, "up") && strcmp(word, "down"))
		return -EINVAL;
	/* The engine's look at the link makes the event. */
	sim_nic.link_down = !strcmp(word, "down");
	return 0;
}

static int fatal(unsigned args, const unsigned *v, const char *word)
{
	sim_nic.fatal = true;
	for (int i = 0; i < SIM_MAX_CTX; i++)
		sim_ctx[i].dead = sim_ctx[i].used;
	sim_event_all(IBV_EVENT_DEVICE_FATAL, 0);
	return 0;
}

static int unplug(unsigned args, const unsigned *v, const char *word)
{
	if (move_in_sysfs(true))
		return -errno;
	sim_nic.gone = true;
	return fatal(args, v, word);
}

static int replug(unsigned args, const unsigned *v, const char *word)
{
	if (move_in_sysfs(false))
		return -errno;
	for (int i = 0; i < SIM_MAX_CTX; i++) {
		if (sim_ctx[i].used)
			sim_obj_free_all(i);
	}
	sim_nic.gone = sim_nic.fatal = false;
	return 0;
}

/* Every queue pair, or the one of that number. */
static struct sim_qp *next_qp(uint32_t *at, unsigned number)
{
	struct sim_obj *obj;

	while ((obj = sim_obj_next(at, SIM_QP))) {
		if (!number || obj->qp.number == number)
			return &obj->qp;
	}
	return NULL;
}

static int fail(unsigned args, const unsigned *v, const char *word)
{
	struct sim_qp *qp;
	uint32_t at = 0;

	if (args < 2 || v[1] > 0xff)
		return -EINVAL;
	while ((qp = next_qp(&at, args > 2 ? v[2] : 0))) {
		qp->fail_after = v[0];
		qp->fail_syndrome = (uint8_t)v[1];
	}
	return 0;
}

/* The next that sends nothing: of all others one may have a completion, so that it is not asked
 * for. */
static int fail_nop(unsigned args, const unsigned *v, const char *word)
{
	struct sim_qp *qp;
	uint32_t at = 0;

	if (args < 1 || v[0] > 0xff)
		return -EINVAL;
	while ((qp = next_qp(&at, args > 1 ? v[1] : 0)))
		qp->nop_syndrome = (uint8_t)v[0];
	return 0;
}

static int stall(unsigned args, const unsigned *v, const char *word)
{
	struct sim_qp *qp;
	uint32_t at = 0;

	if (args < 1)
		return -EINVAL;
	while ((qp = next_qp(&at, args > 1 ? v[1] : 0)))
		qp->stalled = v[0] != 0;
	return 0;
}

static int lose_events(unsigned args, const unsigned *v, const char *word)
{
	sim_nic.lose_events = args ? v[0] : 0;
	return args ? 0 : -EINVAL;
}

static int fail_call(unsigned args, const unsigned *v, const char *word)
{
	sim_nic.fail_call = args ? v[0] : 0;
	sim_nic.fail_errno = args > 1 ? (int)v[1] : ENOMEM;
	return args ? 0 : -EINVAL;
}

static int rates(unsigned args, const unsigned *v, const char *word)
{
	if (!args || v[0] > SIM_MAX_RATES)
		return -EINVAL;
	sim_nic.rates_usable = v[0];
	return 0;
}

static int dm(unsigned args, const unsigned *v, const char *word)
{
	if (!args || v[0] > SIM_MAX_DM)
		return -EINVAL;
	sim_nic.dm_usable = v[0];
	return 0;
}

static int flows(unsigned args, const unsigned *v, const char *word)
{
	sim_nic.flows_usable = args ? v[0] : 0;
	return args ? 0 : -EINVAL;
}

static const struct {
	const char *name;
	int (*run)(unsigned args, const unsigned *v, const char *word);
} commands[] = {
	{"link", link_change}, {"fatal", fatal},         {"unplug", unplug},
	{"replug", replug},    {"fail", fail},           {"fail_nop", fail_nop},
	{"stall", stall},      {"rates", rates},         {"dm", dm},
	{"flows", flows},      {"fail_call", fail_call}, {"lose_events", lose_events},
};

static int run(const char *line)
{
	char name[32] = "", word[32] = "";
	unsigned v[3] = {0}, args = 0;
	const char *rest = line;

	if (sscanf(line, "%31s %31s", name, word) < 1)
		return -EINVAL;
	for (rest += strlen(name); args < 3; args++) {
		char *end;

		v[args] = (unsigned)strtoul(rest, &end, 0);
		if (end == rest)
			break;
		rest = end;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, name))
			return commands[i].run(args, v, word);
	}
	return -ENOSYS;
}

static void answer(int fd, char *line)
{
	char text[MAX_TEXT];
	int err, n;

	pthread_mutex_lock(&sim_lock);
	if (!strcmp(line, "stat")) {
		n = (int)sim_device_report(text, sizeof(text));
	} else {
		err = run(line);
		n = err ? snprintf(text, sizeof(text), "error: %s", strerror(-err))
			: snprintf(text, sizeof(text), "ok");
	}
	pthread_mutex_unlock(&sim_lock);
	sim_send(fd, text, (size_t)n);
}

static void serve(int *peer)
{
	char line[MAX_TEXT];
	ssize_t n;

	while (*peer >= 0 && (n = sim_recv(*peer, line, sizeof(line) - 1)) != -1) {
		if (n == 0) {
			sim_fd_close(*peer);
			*peer = -1;
			return;
		}
		line[n] = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		answer(*peer, line);
	}
}

void sim_control_poll(void)
{
	bool asked = false; /* (once is enough: the next round comes soon) */

	if (listen_fd < 0)
		return;
	sim_capture_flush();
	for (int i = 0; i < MAX_PEERS; i++) {
		if (peers[i] < 0 && !asked)
			peers[i] = sim_fd_keep(sim_accept(listen_fd, SOCK_CLOEXEC));
		asked |= peers[i] < 0;
		serve(&peers[i]);
	}
}
