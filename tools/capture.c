/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice capture: packets of offloaded sockets as pcapng, which tcpdump cannot see. */
#include <errno.h>
#include <getopt.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "capture.h"
#include "program.h"
#include "tools.h"
#include "wire/finish.h"

#define SOURCES 256
#define FLOWS   16
#define IDLE_NS 2000000 /* pause when all rings are empty */
#define SCAN_NS 500000000ull
/* Bounds for a large segment. Its headers are Ethernet, IPv4 and TCP without options at least, and
 * all of them with options and two tags at most; GSO_MIN is the kernel's least payload of a part
 * (TCP_MIN_GSO_SIZE). A hostile program cannot make much of little. */
#define HDR_MIN 54
#define HDR_MAX 256
#define GSO_MIN 8

static const char help[] =
	"usage: sluice capture [-w FILE|-] [options] [filter]\n"
	"       sluice capture --extcap-interfaces    (and so on, as Wireshark asks)\n"
	"\n"
	"  -w, --write FILE     pcapng; - (the default): to standard output\n"
	"  -i, --device DEV     packets of that device\n"
	"  -p, --pid PID|all    of that program (default: all programs of this user)\n"
	"      --lane N         of that lane\n"
	"      --flow '[PROTO] ADDR:PORT [ADDR:PORT]'   as sluice flow prints it; * is any\n"
	"      --in, --out      received packets only, or sent ones\n"
	"  -c, --count N        end after so many packets\n"
	"  -s, --snaplen N      bytes of a packet (default: all)\n"
	"  -B, --buffer MIB     of each program's ring: 1, 2, 4... 256 (default 8)\n"
	"  -k, --directory DIR  where the counters are (SLUICE_STATS_SHMEM_DIR, default: of the user)\n"
	"\n"
	"filter: as of tcpdump, pcap-filter(7)\n";

struct capture {
	const char *to, *dir, *device;
	int pid; /* 0: all */
	int count, snap, mib;
	char filter[1024];
	struct bpf_program code;
	struct sl_capture_flow flows[FLOWS];
	unsigned nflows;
	bool filters;
	struct sl_tap_ask ask;
	struct sl_pcapng file;
	struct sl_capture_source *src[SOURCES];
	unsigned n;
	uint64_t begun_ns, real_minus_mono, written, scanned_ns;
	int refused[SOURCES]; /* programs that were asked and did not answer */
	unsigned nrefused;
	bool good, found;
};

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	ended = 1;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Packets --------------------------------------------------------------------------------------
 */

static const char *device_name(struct sl_capture_source *s, uint32_t ifindex)
{
	for (int tries = 0; tries < 2; tries++) {
		for (unsigned i = 0; s->stats && i < SL_STATS_PORTS; i++)
			if (s->stats->port[i].used == 1 && s->stats->port[i].ifindex == ifindex)
				return s->stats->port[i].ifname;
		sl_capture_look(s, clock_ns(CLOCK_MONOTONIC), 0);
	}
	return "?";
}

static bool passes(const struct capture *c, const struct sl_tap_rec *rec, const uint8_t *pkt,
		   uint32_t wire, uint32_t cap)
{
	struct sl_capture_about about = {rec->ifindex, rec->flags & SL_TAP_OUT};
	bool fits = !c->nflows;

	for (unsigned i = 0; i < c->nflows && !fits; i++)
		fits = sl_capture_fits(&c->flows[i], pkt, cap);
	return fits && (!c->filters || sl_capture_passes(&c->code, pkt, wire, cap, &about));
}

/* Writes one packet of the wire. */
static void write_packet(struct capture *c, struct sl_capture_source *s,
			 const struct sl_tap_rec *rec, uint8_t *pkt, uint32_t wire, uint32_t cap)
{
	char comment[200];
	struct sl_pcapng_pkt out = {.data = pkt, .wire = wire, .comment = comment};
	const char *name;

	if (rec->flags & SL_TAP_CSUM || rec->flags & SL_TAP_IN)
		sl_capture_fix(pkt, cap, rec->flags & SL_TAP_CSUM);
	if ((c->count && c->written >= (uint64_t)c->count) || !passes(c, rec, pkt, wire, cap))
		return;
	name = device_name(s, rec->ifindex);
	if (c->device && strcmp(c->device, name) != 0)
		return;
	out.iface =
		sl_pcapng_if(&c->file, s->netns, rec->ifindex, name, (uint32_t)c->snap, c->filter);
	if (out.iface < 0) {
		c->good = false;
		return;
	}
	/* The device's losses so far, less those that were told. */
	if (rec->lost > s->lost[rec->port]) {
		c->file.ifs[out.iface].lost += rec->lost - s->lost[rec->port];
		c->file.ifs[out.iface].untold += rec->lost - s->lost[rec->port];
		s->lost[rec->port] = rec->lost;
	}
	sl_capture_name(s, rec, pkt, comment, sizeof(comment));
	out.real_ns = rec->ts_ns + c->real_minus_mono;
	out.hw_ns = rec->hw_ns;
	out.cap = sl_min(cap, (uint32_t)c->snap);
	out.sent = rec->flags & SL_TAP_OUT;
	c->good &= sl_pcapng_packet(&c->file, &out);
	c->written++;
}

/* Cuts a large segment into those that the device sends. */
static void write_segments(struct capture *c, struct sl_capture_source *s,
			   const struct sl_tap_rec *rec, const uint8_t *pkt)
{
	static uint8_t seg[SL_CAPTURE_BYTES];
	uint32_t left = rec->cap - rec->hdr, at = 0;

	for (unsigned nr = 0; left; nr++) {
		uint32_t n = sl_min(left, (uint32_t)rec->gso);

		memcpy(seg, pkt, rec->hdr);
		memcpy(seg + rec->hdr, pkt + rec->hdr + at, n);
		sl_finish_segment(seg, rec->hdr + n, nr, at, n == left);
		write_packet(c, s, rec, seg, rec->hdr + n, rec->hdr + n);
		at += n;
		left -= n;
	}
}

/* Writes what the ring has. False: its content makes no sense. */
static bool drain(struct capture *c, struct sl_capture_source *s, bool *any)
{
	static uint8_t buf[SL_CAPTURE_BYTES];
	struct sl_tap_rec rec;
	int got;

	sl_capture_round(s);
	c->real_minus_mono = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	while (!ended && c->good && (got = sl_capture_next(s, &rec, buf)) != 0) {
		if (got < 0)
			return false;
		*any = true;
		if (rec.gso >= GSO_MIN && rec.hdr >= HDR_MIN && rec.hdr <= HDR_MAX &&
		    rec.cap == rec.wire)
			write_segments(c, s, &rec, buf);
		else
			write_packet(c, s, &rec, buf, rec.wire, rec.cap);
		if (c->count && c->written >= (uint64_t)c->count)
			break;
	}
	return true;
}

/* Losses after the last packet of each device. */
static void tell_losses(struct capture *c, struct sl_capture_source *s)
{
	for (unsigned p = 0; p < SL_TAP_PORTS; p++) {
		uint64_t lost = sl_capture_lost(s, p) - s->lost[p];

		if (!lost || lost > UINT32_MAX)
			continue;
		s->lost[p] += lost;
		for (uint32_t i = 0; i < c->file.nifs; i++)
			if (c->file.ifs[i].netns == s->netns) {
				c->file.ifs[i].lost += lost;
				break;
			}
	}
}

/* Programs ------------------------------------------------------------------------------------- */

static bool is_known(const struct capture *c, int pid)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->src[i]->file.pid == pid)
			return true;
	for (unsigned i = 0; i < c->nrefused; i++)
		if (c->refused[i] == pid)
			return true;
	return false;
}

static void open_source(struct capture *c, const struct sl_stat_file *f)
{
	struct sl_capture_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return;
	s->file = *f;
	err = sl_capture_open(s, &c->ask);
	if (!err) {
		sl_capture_look(s, clock_ns(CLOCK_MONOTONIC), 0);
		c->src[c->n++] = s;
		c->found = true;
		return;
	}
	fprintf(stderr, "sluice capture: process %d: %s\n", f->pid,
		err == -ETIMEDOUT ? "it does not answer" : strerror(-err));
	if (c->nrefused < SOURCES)
		c->refused[c->nrefused++] = f->pid;
	free(s);
}

static void scan(struct capture *c)
{
	static struct sl_stat_file files[4096];
	int n = sl_stat_files(c->dir, files, sl_array_len(files));

	for (int i = 0; i < n && c->n < SOURCES && !ended; i++)
		if (files[i].alive && (!c->pid || files[i].pid == c->pid) &&
		    !is_known(c, files[i].pid) && !access(files[i].path, R_OK | W_OK))
			open_source(c, &files[i]);
}

static void drop_source(struct capture *c, unsigned i)
{
	tell_losses(c, c->src[i]);
	sl_capture_close(c->src[i]);
	free(c->src[i]);
	c->src[i] = c->src[--c->n];
}

/* Looks at all rings once. True: there was something. */
static bool turn(struct capture *c)
{
	bool any = false;

	for (unsigned i = 0; i < c->n;) {
		struct sl_capture_source *s = c->src[i];
		bool open = sl_capture_is_open(s), sane = drain(c, s, &any);

		if (!sane)
			fprintf(stderr, "sluice capture: process %d wrote what is no packet\n",
				s->file.pid);
		if (open && sane)
			i++;
		else
			drop_source(c, i);
	}
	return any;
}

/* True: one of the programs has the device that was named. */
static bool has_device(struct capture *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct sl_capture_source *s = c->src[i];

		sl_capture_look(s, clock_ns(CLOCK_MONOTONIC), 0);
		for (unsigned k = 0; s->stats && k < SL_STATS_PORTS; k++)
			if (s->stats->port[k].used == 1 &&
			    !strcmp(s->stats->port[k].ifname, c->device))
				return true;
	}
	return false;
}

static int run(struct capture *c)
{
	const struct sigaction end = {.sa_handler = on_end};
	uint64_t now;

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	c->begun_ns = clock_ns(CLOCK_REALTIME);
	scan(c);
	c->scanned_ns = clock_ns(CLOCK_MONOTONIC);
	if (c->pid && !c->found) {
		fprintf(stderr, "sluice capture: no program %d with offloaded sockets: %s\n",
			c->pid, sl_program_unseen(c->pid));
		return 1;
	}
	fprintf(stderr, "sluice capture: %u programs\n", c->n);
	if (c->device && !has_device(c))
		fprintf(stderr,
			"sluice capture: no program has device %s offloaded now (sluice doctor %s)\n",
			c->device, c->device);
	while (!ended && c->good && (!c->count || c->written < (uint64_t)c->count)) {
		if (!turn(c)) {
			struct timespec pause = {0, IDLE_NS};

			c->good &= !fflush(c->file.to);
			nanosleep(&pause, NULL);
		}
		if (c->pid && !c->n)
			break;
		now = clock_ns(CLOCK_MONOTONIC);
		if (!c->pid && now - c->scanned_ns > SCAN_NS) {
			scan(c);
			c->scanned_ns = now;
		}
	}
	ended = 0;
	while (c->n) {
		bool any;

		if (c->good && (!c->count || c->written < (uint64_t)c->count))
			drain(c, c->src[0], &any);
		drop_source(c, 0);
	}
	c->good &= sl_pcapng_end(&c->file, c->begun_ns, clock_ns(CLOCK_REALTIME));
	fprintf(stderr, "sluice capture: %llu packets", (unsigned long long)c->written);
	for (uint32_t i = 0; i < c->file.nifs; i++)
		fprintf(stderr, "; %s: %llu lost", c->file.ifs[i].name,
			(unsigned long long)c->file.ifs[i].lost);
	fputc('\n', stderr);
	return c->good ? 0 : 1;
}

/* Options -------------------------------------------------------------------------------------- */

static int wrong_usage(const char *expected, const char *found)
{
	fprintf(stderr, "sluice capture: expected %s, found '%s'\n", expected, found);
	return 2;
}

static int parse_flow(struct capture *c, const char *text)
{
	if (c->nflows == FLOWS)
		return wrong_usage("no more than 16 flows", text);
	if (!sl_capture_flow(text, &c->flows[c->nflows]))
		return wrong_usage("[tcp|udp] ADDR:PORT [ADDR:PORT]", text);
	c->nflows++;
	return -1;
}

static int number_option(const char *text, int lo, int hi, int *out)
{
	char expected[64];

	if (sl_tool_number(text, lo, hi, out))
		return -1;
	snprintf(expected, sizeof(expected), "a number from %d to %d", lo, hi);
	return wrong_usage(expected, text);
}

static int one_option(int o, struct capture *c)
{
	int n = 0, status;

	switch (o) {
	case 'w':
		c->to = optarg;
		return -1;
	case 'i':
		c->device = optarg;
		return -1;
	case 'p':
		return strcmp(optarg, "all") ? number_option(optarg, 1, INT32_MAX, &c->pid) : -1;
	case 'L':
		status = number_option(optarg, 0, SL_STATS_LANES - 1, &n);
		c->ask.lane = (uint32_t)n;
		return status;
	case 'F':
		return parse_flow(c, optarg);
	case 'I':
		c->ask.directions |= SL_TAP_IN;
		return -1;
	case 'O':
		c->ask.directions |= SL_TAP_OUT;
		return -1;
	case 'c':
		return number_option(optarg, 1, INT32_MAX, &c->count);
	case 's':
		status = number_option(optarg, 0, SL_CAPTURE_SNAP, &c->snap);
		if (!c->snap)
			c->snap = SL_CAPTURE_SNAP;
		return status;
	case 'B':
		status = number_option(optarg, 1, 256, &c->mib);
		return status < 0 && c->mib & (c->mib - 1) ? wrong_usage("a power of two", optarg)
							   : status;
	case 'k':
		c->dir = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	}
	return 2;
}

/* The rest of the arguments is the filter. */
static int make_filter(struct capture *c, int argc, char **argv)
{
	char *text = c->filter;
	int status;

	for (; optind < argc; optind++)
		snprintf(text + strlen(text), sizeof(c->filter) - strlen(text), "%s%s",
			 *text ? " " : "", argv[optind]);
	if (!*text)
		return -1;
	if (strlen(text) + 1 >= sizeof(c->filter))
		return wrong_usage("a shorter filter", text);
	status = sl_capture_compile(text, &c->code);
	if (status)
		return status;
	c->filters = true;
	return -1;
}

static int open_file(struct capture *c)
{
	FILE *to = strcmp(c->to, "-") ? fopen(c->to, "wbe") : stdout;

	if (to == stdout && isatty(STDOUT_FILENO))
		return wrong_usage("-w FILE", "a terminal");
	if (!to || !sl_pcapng_begin(&c->file, to)) {
		fprintf(stderr, "sluice capture: %s: %s\n", c->to, strerror(errno));
		return 1;
	}
	return -1;
}

int sl_tool_capture(int argc, char **argv)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'i'},
		{"pid", required_argument, NULL, 'p'},
		{"lane", required_argument, NULL, 'L'},
		{"flow", required_argument, NULL, 'F'},
		{"in", no_argument, NULL, 'I'},
		{"out", no_argument, NULL, 'O'},
		{"count", required_argument, NULL, 'c'},
		{"snaplen", required_argument, NULL, 's'},
		{"buffer", required_argument, NULL, 'B'},
		{"write", required_argument, NULL, 'w'},
		{"directory", required_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct capture c = {.to = "-", .snap = SL_CAPTURE_SNAP, .mib = 8, .good = true};
	int o, status = -1;

	if (sl_capture_extcap(&argc, &argv, &status))
		return status;
	sl_settings_load(NULL);
	c.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir : SL_STATS_AUTO;
	c.ask.lane = SL_TAP_ANY;
	optind = 1;
	while (status < 0 && (o = getopt_long(argc, argv, "w:i:p:c:s:B:k:h", longs, NULL)) != -1)
		status = one_option(o, &c);
	if (status < 0)
		status = make_filter(&c, argc, argv);
	if (status < 0)
		status = open_file(&c);
	if (status >= 0)
		return status;
	c.ask.magic = SL_TAP_MAGIC;
	c.ask.version = SL_TAP_VERSION;
	c.ask.bytes = (uint32_t)c.mib << 20;
	/* A filter or a flow looks at the whole packet, and checksums are completed over it. */
	c.ask.snap = c.filters || c.nflows ? SL_CAPTURE_SNAP : (uint32_t)c.snap;
	return run(&c);
}
