/* SPDX-License-Identifier: BSD-2-Clause */
/* The device as a whole: its settings, the contexts that have it open, its report at the end. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "nic.h"
#include "sys.h"

struct sim_config sim_config = {
	.real_time = 1,
	.burst = 1,
	.rates = 16,
	.rate_min_kbps = 1,
	.rate_max_kbps = 100000000,
	.tso = 1,
	.dm = 131072,
	.csum = 1,
	.scheduled = 1,
	.clock_khz = 156250,
	.flows = 2048,
};
struct sim_nic sim_nic;
struct sim_ctx sim_ctx[SIM_MAX_CTX];
static int open_devices;
pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
	const char *name;
	uint32_t *value;
	uint32_t most;
} options[] = {
	{"min_inline", &sim_config.min_inline, 18},
	{"real_time", &sim_config.real_time, 1},
	{"burst", &sim_config.burst, 1},
	{"rates", &sim_config.rates, SIM_MAX_RATES},
	{"rate_min", &sim_config.rate_min_kbps, UINT32_MAX},
	{"rate_max", &sim_config.rate_max_kbps, UINT32_MAX},
	{"tso", &sim_config.tso, 1},
	{"csum", &sim_config.csum, 1},
	{"dm", &sim_config.dm, SIM_MAX_DM},
	{"lose", &sim_config.lose, UINT32_MAX},
	{"scheduled", &sim_config.scheduled, 1},
	{"clock_khz", &sim_config.clock_khz, 1000000},
	{"deny_raw", &sim_config.deny_raw, 1},
	{"flows", &sim_config.flows, 2048},
	{"refuse", &sim_config.refuse, 15},
	{"verbose", &sim_config.verbose, 1},
};

void sim_say(const char *fmt, ...)
{
	char text[512];
	va_list args;
	int n = snprintf(text, sizeof(text), "simulated NIC: "), m;

	va_start(args, fmt);
	m = vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, args);
	va_end(args);
	n += m < (int)sizeof(text) - n - 1 ? m : (int)sizeof(text) - n - 2;
	text[n++] = '\n';
	if (sim_write(STDERR_FILENO, text, n) < 0)
		return;
}

static int set_option(const char *name, const char *value)
{
	char *end;
	unsigned long v = strtoul(value, &end, 0);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strcmp(options[i].name, name))
			continue;
		if (end == value || *end || v > options[i].most)
			return -ERANGE;
		*options[i].value = (uint32_t)v;
		return 0;
	}
	return -ENOENT;
}

static int read_options(const char *list)
{
	char copy[512], *save = NULL;

	if (snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy))
		return -E2BIG;
	for (char *one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		char *value = strchr(one, '=');

		if (!value)
			return -EINVAL;
		*value++ = '\0';
		if (set_option(one, value)) {
			sim_say("no such option or value: %s=%s", one, value);
			return -EINVAL;
		}
	}
	return sim_config.min_inline == 0 || sim_config.min_inline == 18 ? 0 : -EINVAL;
}

static void read_text(const char *name, char *to, size_t size)
{
	const char *value = getenv(name);

	snprintf(to, size, "%s", value ? value : "");
}

static __attribute__((constructor)) void start(void)
{
	const char *list = getenv("SIM_NIC_OPTIONS");

	read_text("SIM_NIC", sim_config.dir, sizeof(sim_config.dir));
	read_text("SIM_NIC_NETDEV", sim_config.netdev, sizeof(sim_config.netdev));
	read_text("SIM_NIC_CAPTURE", sim_config.capture, sizeof(sim_config.capture));
	if (!sim_config.dir[0])
		return;
	if (list && read_options(list)) {
		sim_say("SIM_NIC_OPTIONS is wrong: there is no device");
		return;
	}
	if (sim_wire_open()) {
		sim_say("no network device '%s': there is no device", sim_config.netdev);
		return;
	}
	if (sim_pages_init())
		return;
	sim_clock_init();
	sim_nic.rates_usable = sim_config.rates;
	sim_nic.dm_usable = sim_config.dm;
	sim_nic.flows_usable = sim_config.flows;
	sim_nic.running = true;
}

unsigned sim_device_report(char *text, size_t size)
{
	const struct sim_nic *n = &sim_nic;
	int len = snprintf(
		text, size,
		"simulated device %s on %s\n"
		"frames %lu\nbytes %lu\ndrops %lu\nrequests %lu\nblocks %lu\nsegments %lu\n"
		"inline_bytes %lu\ndm_sends %lu\ndm_bytes %lu\n"
		"completions %lu\nerrors %lu\nevents_lost %lu\n"
		"bells %lu\nbells_wrong %lu\nblue_flames %lu\n"
		"received %lu\nreceived_bytes %lu\nout_of_buffer %lu\nrules %lu\n",
		SIM_NAME, sim_config.netdev, n->frames, n->bytes, n->drops, n->requests, n->blocks,
		n->segments, n->inline_bytes, n->dm_sends, n->dm_bytes, n->completions, n->errors,
		n->events_lost, n->bells, n->bells_wrong, n->blue_flames, n->received,
		n->received_bytes, n->out_of_buffer, n->rules);

	return len < (int)size ? (unsigned)len : (unsigned)size - 1;
}

/* The report is a file beside the sysfs tree. */
static __attribute__((destructor)) void stop(void)
{
	char path[256], text[1024];
	struct sim_obj *obj;
	uint32_t at = 0;
	int fd;

	if (sim_nic.pid != sim_getpid())
		return;
	sim_engine_stop();
	pthread_mutex_lock(&sim_lock);
	while ((obj = sim_obj_next(&at, SIM_QP)))
		sim_bell_end(&obj->qp);
	pthread_mutex_unlock(&sim_lock);
	sim_capture_flush();
	sim_control_close();
	if (!sim_nic.requests && !sim_nic.received)
		return;
	snprintf(path, sizeof(path), "%s/report.%d", sim_config.dir, sim_getpid());
	fd = sim_open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd >= 0) {
		unsigned n = sim_device_report(text, sizeof(text));

		if (sim_write(fd, text, n) != (ssize_t)n)
			sim_say("cannot write %s", path);
		sim_close(fd);
	}
}

/* A descriptor's copies must keep its context: the file itself holds the context's number, where
 * nobody reads it, as the signal (F_SETSIG) of a file that raises none. */
#define FIRST_SIGNAL (64 - SIM_MAX_CTX + 1)

static bool is_stand_in(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, (long)fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(1, 3);
}

struct sim_ctx *sim_ctx_of(int fd)
{
	int i;

	if (fd < 0 || !open_devices)
		return NULL;
	i = (int)syscall(SYS_fcntl, (long)fd, (long)F_GETSIG, 0L) - FIRST_SIGNAL;
	return i >= 0 && i < SIM_MAX_CTX && sim_ctx[i].used && is_stand_in(fd) ? &sim_ctx[i] : NULL;
}

/* Nothing of the device is the child's: not the thread, and not what the lock protected. */
static void in_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	sim_nic.running = false;
	sim_arrive_child();
	sim_steal_child();
	memset(sim_ctx, 0, sizeof(sim_ctx));
	open_devices = 0;
	sim_lock = fresh;
}

/* The first one starts what runs beside the program. */
static int first_open(void)
{
	static bool done;
	int err;

	if (!done) {
		sim_say("%s is simulated: frames leave on %s, nothing here is hardware", SIM_NAME,
			sim_config.netdev);
		sim_nic.pid = sim_getpid();
		pthread_atfork(NULL, NULL, in_child);
		if (sim_config.capture[0] && (err = sim_capture_open(sim_config.capture)))
			sim_say("no capture file %s: errno %d", sim_config.capture, -err);
		if ((err = sim_control_open()))
			sim_say("no control socket: errno %d", -err);
	}
	done = true;
	return sim_engine_start();
}

int sim_device_open(int fd)
{
	int err = sim_nic.gone ? -ENXIO : first_open();

	if (err)
		return err;
	for (int i = 0; i < SIM_MAX_CTX; i++) {
		if (sim_ctx[i].used)
			continue;
		if (syscall(SYS_fcntl, (long)fd, (long)F_SETSIG, (long)(FIRST_SIGNAL + i)))
			return -errno;
		sim_ctx[i] = (struct sim_ctx){.used = true, .event_fd = -1};
		open_devices++;
		return 0;
	}
	return -EMFILE;
}

void sim_device_close(struct sim_ctx *ctx)
{
	sim_obj_free_all((int)(ctx - sim_ctx));
	if (ctx->event_fd >= 0)
		sim_fd_close(ctx->event_fd);
	ctx->used = false;
	open_devices--;
}
