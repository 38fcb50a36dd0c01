/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice qos, also called mlnx_qos: shows and changes the quality of service of a NIC. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "qos.h"
#include "tools.h"

static const char help[] =
	"usage: sluice qos -i INTF [options]\n"
	"\n"
	"Shows the quality of service of a NIC after it has changed what the options say. A LIST has a value\n"
	"for each of 8 priorities or traffic classes, divided by commas; those at its end that are not named\n"
	"stay as they are.\n"
	"\n"
	"  -i, --interface=INTF     the interface\n"
	"  -f, --pfc=LIST           priority flow control of each priority, 0 or 1\n"
	"  -F, --specific_pfc=LIST  the same, x for a priority that stays as it is; prints nothing\n"
	"  -P, --get_pfc=PRIO       prints 1 if this priority has flow control, else 0\n"
	"  -p, --prio_tc=LIST       the traffic class of each priority\n"
	"  -s, --tsa=LIST           the algorithm of each class: strict, ets or vendor\n"
	"  -t, --tcbw=LIST          the guaranteed share of each ets class in percent; the sum must be 100\n"
	"  -r, --ratelimit=LIST     the limit of each class in Gbit/s, 0: none\n"
	"  -d, --dcbx=MODE          DCBX by the operating system (os) or the firmware (fw); get: no change\n"
	"      --trust=STATE        priority by the VLAN tag (pcp) or the ToS (dscp)\n"
	"      --dscp2prio=ENTRY    set,DSCP,PRIO or del,DSCP,PRIO or flush; may be given several times\n"
	"      --cable_len=METRES   length of the cable, for the thresholds of the receive buffer\n"
	"      --prio2buffer=LIST   the receive buffer of each priority\n"
	"      --buffer_size=LIST   the size of each receive buffer in bytes\n"
	"  -a, --all                shows also classes that no priority uses\n"
	"      --version            prints the version\n";

struct options {
	const char *name, *pfc, *some_pfc, *asked_pfc, *prio_tc, *tsa, *shares, *rates, *dcbx,
		*trust, *cable, *prio2buffer, *sizes;
	const char *dscp[128];
	unsigned dscps;
	bool all;
};

/* The state of a run. */
struct run {
	const struct options *o;
	struct sl_dcb dcb;
	struct sl_qos q;
	bool dry; /* only checks the options: nothing is sent */
};

static int wrong(const char *option, const char *expected, const char *found)
{
	fprintf(stderr, "sluice qos: %s: %s expected, found '%s'\n", option, expected, found);
	return 2;
}

static const char *remedy_of(const struct run *r, int err)
{
	if (err == -EPERM || err == -EACCES)
		return "it takes CAP_NET_ADMIN: run it as root";
	if (err == -ENODEV)
		return "`ip link` lists the devices";
	if (r->q.has_dcbx && !(r->q.dcbx & DCB_CAP_DCBX_HOST))
		return "DCBX is the firmware's, which decides these settings: take it with -d os first";
	if (err == -EOPNOTSUPP)
		return "the driver does not offer it over DCB netlink: name the physical port of a NIC "
		       "whose driver does (`dcb ets show dev` works there), or use tc-mqprio(8)";
	if (err == -EINVAL || err == -ERANGE)
		return "the driver does not take these values: the kernel's log (dmesg) may say why";
	return NULL;
}

static int say_failure(const struct run *r, const char *what, int err)
{
	const char *remedy = remedy_of(r, err);

	fprintf(stderr, "sluice qos: %s: %s: %s%s%s\n", r->o->name, what, strerror(-err),
		remedy ? "; " : "", remedy ? remedy : "");
	return 1;
}

static int set_ieee(const struct run *r, uint16_t attr, const void *data, size_t bytes,
		    const char *what)
{
	int err = r->dry ? 0 : sl_dcb_set(&r->dcb, attr, data, bytes);

	return err ? say_failure(r, what, err) : 0;
}

/* lldpad writes the same settings from what its peer says. */
static void warn_of_lldpad(void)
{
	DIR *d = opendir("/proc");
	char path[280], comm[17] = "";
	struct dirent *e;
	bool runs = false;

	while (d && !runs && (e = readdir(d))) {
		FILE *f;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		runs = fscanf(f, "%16s", comm) == 1 && !strcmp(comm, "lldpad");
		fclose(f);
	}
	if (d)
		closedir(d);
	if (runs)
		fputs("sluice qos: lldpad is running and may overwrite these settings: stop it "
		      "(systemctl stop lldpad), or set them by lldptool(8)\n",
		      stderr);
}

/* The parts of a run: each checks its option and sends it. 0, 1 or 2 as an exit status. ----------
 */
static int set_dcbx(struct run *r)
{
	bool os = !strcmp(r->o->dcbx, "os");
	uint8_t mode =
		os ? (uint8_t)((r->q.dcbx | DCB_CAP_DCBX_HOST) & ~DCB_CAP_DCBX_LLD_MANAGED) : 0;
	int err;

	if (!strcmp(r->o->dcbx, "get"))
		return 0;
	if (!os && strcmp(r->o->dcbx, "fw"))
		return wrong("-d", "os, fw or get", r->o->dcbx);
	if (os && !(mode & (DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE)))
		mode |= DCB_CAP_DCBX_VER_IEEE;
	err = r->dry ? 0 : sl_dcb_set_dcbx(&r->dcb, mode);
	if (err == -EBUSY) {
		fprintf(stderr,
			"sluice qos: %s: the driver refused the DCBX mode '%s': the "
			"firmware has DCBX switched off, or has no control of it "
			"(mlxconfig's LLDP_NB_DCBX)\n",
			r->o->name, r->o->dcbx);
		return 1;
	}
	if (err)
		return say_failure(r, "DCBX mode", err);
	r->q.dcbx = mode;
	r->q.has_dcbx = true;
	return 0;
}

/* Sends the PFC settings. The kernel's counters in the struct are no part of a change. */
static int send_pfc(struct run *r)
{
	const struct ieee_pfc pfc = {
		.pfc_cap = r->q.pfc.pfc_cap, .pfc_en = r->q.pfc.pfc_en, .delay = r->q.pfc.delay};

	return set_ieee(r, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc), "priority flow control");
}

static int set_cable(struct run *r)
{
	int metres;

	if (!sl_tool_number(r->o->cable, 0, UINT16_MAX, &metres))
		return wrong("--cable_len", "a length from 0 to 65535", r->o->cable);
	r->q.pfc.delay = (uint16_t)metres;
	return send_pfc(r);
}

static int set_pfc(struct run *r)
{
	long on[8];
	int n = sl_qos_list(r->o->pfc, 0, 1, on);

	if (n < 0)
		return wrong("-f", "at most 8 of 0 and 1", r->o->pfc);
	for (int i = 0; i < n; i++)
		r->q.pfc.pfc_en = (uint8_t)((r->q.pfc.pfc_en & ~(1u << i)) | (unsigned)on[i] << i);
	return send_pfc(r);
}

static int set_some_pfc(struct run *r)
{
	const char *p = r->o->some_pfc;

	if (strlen(p) != 15)
		return wrong("-F", "8 of 0, 1 and x", p);
	for (unsigned i = 0; i < 8; i++) {
		char c = p[2 * i];

		if (!strchr("01x", c) || (i < 7 && p[2 * i + 1] != ','))
			return wrong("-F", "8 of 0, 1 and x", p);
		if (c == '0')
			r->q.pfc.pfc_en &= (uint8_t) ~(1u << i);
		else if (c == '1')
			r->q.pfc.pfc_en |= (uint8_t)(1u << i);
	}
	return send_pfc(r);
}

static int print_asked_pfc(struct run *r)
{
	int prio;

	if (!sl_tool_number(r->o->asked_pfc, 0, 7, &prio))
		return wrong("-P", "a priority from 0 to 7", r->o->asked_pfc);
	printf("%u\n", r->q.pfc.pfc_en >> prio & 1u);
	return 0;
}

static int map_dscp(struct run *r, bool gone, unsigned dscp, unsigned prio)
{
	int err = r->dry ? 0 : sl_dcb_map_dscp(&r->dcb, gone, (uint16_t)dscp, (uint8_t)prio);

	return err ? say_failure(r, gone ? "deleting a DSCP" : "mapping a DSCP", err) : 0;
}

/* Deletes the entries of this DSCP value (any, if it is SL_QOS_DSCPS) but the one with priority
 * kept (none, if it is 8). Many drivers let a value have several priorities: the old one must go.
 */
static int drop_dscps(struct run *r, unsigned dscp, unsigned kept)
{
	static struct sl_qos now; /* (what other options have changed in r->q stays) */
	int status = 0, err = sl_dcb_read(&r->dcb, &now);

	if (err)
		return say_failure(r, "the table of DSCP values", err);
	for (unsigned i = 0; i < now.apps && !status; i++) {
		const struct dcb_app *app = &now.app[i];

		if ((dscp == SL_QOS_DSCPS || app->protocol == dscp) && app->priority != kept)
			status = map_dscp(r, true, app->protocol, app->priority);
	}
	return status;
}

static bool has_dscp(const struct sl_qos *q, unsigned dscp)
{
	for (unsigned i = 0; i < q->apps; i++)
		if (q->app[i].protocol == dscp)
			return true;
	return false;
}

static bool dscp_entry(const char *text, bool *gone, long value[8])
{
	*gone = !strncmp(text, "del,", 4);
	return (*gone || !strncmp(text, "set,", 4)) &&
	       sl_qos_list(text + 4, 0, SL_QOS_DSCPS - 1, value) == 2 && value[1] < 8;
}

static int check_dscps(const struct options *o)
{
	long value[8];
	bool gone;

	for (unsigned i = 0; i < o->dscps; i++)
		if (strcmp(o->dscp[i], "flush") && !dscp_entry(o->dscp[i], &gone, value))
			return wrong("--dscp2prio", "set,DSCP,PRIO or del,DSCP,PRIO or flush",
				     o->dscp[i]);
	return 0;
}

static int set_dscps(struct run *r)
{
	int status = 0;

	for (unsigned i = 0; i < r->o->dscps && !status; i++) {
		long value[8];
		bool gone;

		if (!dscp_entry(r->o->dscp[i], &gone, value)) {
			status = drop_dscps(r, SL_QOS_DSCPS, 8); /* flush */
			continue;
		}
		status = map_dscp(r, gone, (unsigned)value[0], (unsigned)value[1]);
		if (!status && !gone)
			status = drop_dscps(r, (unsigned)value[0], (unsigned)value[1]);
	}
	return status;
}

/* A driver trusts the DSCP values while its table has any; the firmware's default has the priority
 * in the upper three bits. */
static int set_trust(struct run *r)
{
	int status = 0;

	if (!strcmp(r->o->trust, "pcp"))
		return drop_dscps(r, SL_QOS_DSCPS, 8);
	if (strcmp(r->o->trust, "dscp"))
		return wrong("--trust", "pcp or dscp", r->o->trust);
	for (unsigned dscp = 0; dscp < SL_QOS_DSCPS && !status && !sl_qos_trusts_dscp(&r->q);
	     dscp++)
		if (!has_dscp(&r->q, dscp))
			status = map_dscp(r, false, dscp, dscp >> 3);
	return status;
}

static int set_buffers(struct run *r)
{
	long prio[8], size[8];
	int prios = 0, sizes = 0;

	if (r->o->prio2buffer)
		prios = sl_qos_list(r->o->prio2buffer, 0, 7, prio);
	if (prios < 0)
		return wrong("--prio2buffer", "at most 8 numbers from 0 to 7", r->o->prio2buffer);
	if (r->o->sizes)
		sizes = sl_qos_list(r->o->sizes, 0, UINT32_MAX, size);
	if (sizes < 0)
		return wrong("--buffer_size", "at most 8 sizes in bytes", r->o->sizes);
	if (!r->q.has_buffer)
		return say_failure(r, "receive buffers", -EOPNOTSUPP);
	for (int i = 0; i < prios; i++)
		r->q.buffer.prio2buffer[i] = (uint8_t)prio[i];
	for (int i = 0; i < sizes; i++)
		r->q.buffer.buffer_size[i] = (uint32_t)size[i];
	return set_ieee(r, DCB_ATTR_DCB_BUFFER, &r->q.buffer, sizeof(r->q.buffer),
			"receive buffers");
}

static int set_rates(struct run *r)
{
	uint64_t kbps[8];
	int n = sl_qos_rates(r->o->rates, kbps);

	if (n < 0)
		return wrong("-r", "at most 8 rates in Gbit/s", r->o->rates);
	for (int i = 0; i < n; i++)
		r->q.rate.tc_maxrate[i] = kbps[i];
	return set_ieee(r, DCB_ATTR_IEEE_MAXRATE, &r->q.rate, sizeof(r->q.rate), "rate limits");
}

static int take_shares(struct run *r)
{
	struct ieee_ets *ets = &r->q.ets;
	long share[8];
	int n = r->o->shares ? sl_qos_list(r->o->shares, 0, 100, share) : 0;

	if (n < 0)
		return wrong("-t", "at most 8 shares from 0 to 100", r->o->shares);
	/* (A share of a class that is not ETS's is ignored.) */
	for (unsigned i = 0; i < 8; i++) {
		if ((int)i < n)
			ets->tc_tx_bw[i] = (uint8_t)share[i];
		if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_ETS)
			ets->tc_tx_bw[i] = 0;
	}
	return 0;
}

static int set_ets(struct run *r)
{
	struct ieee_ets *ets = &r->q.ets;
	char buf[160];
	const char *fault;
	long tc[8];
	int err, n;

	if (r->o->tsa && sl_qos_tsa(r->o->tsa, ets->tc_tsa) < 0)
		return wrong("-s", "at most 8 of strict, ets and vendor", r->o->tsa);
	n = r->o->prio_tc ? sl_qos_list(r->o->prio_tc, 0, 7, tc) : 0;
	if (n < 0)
		return wrong("-p", "at most 8 classes from 0 to 7", r->o->prio_tc);
	for (int i = 0; i < n; i++)
		ets->prio_tc[i] = (uint8_t)tc[i];
	err = take_shares(r);
	if (err)
		return err;
	fault = sl_qos_ets_fault(ets, buf, sizeof(buf));
	if (fault) {
		fprintf(stderr, "sluice qos: %s: %s\n", r->o->name, fault);
		return 2;
	}
	return set_ieee(r, DCB_ATTR_IEEE_ETS, ets, sizeof(*ets), "traffic classes");
}

/* In this order: the mode decides whether the rest may be set. */
static int change_all(struct run *r)
{
	const struct options *o = r->o;
	const struct {
		bool wanted;
		int (*set)(struct run *r);
	} parts[] = {
		{o->dcbx, set_dcbx},
		{o->cable, set_cable},
		{o->some_pfc, set_some_pfc},
		{o->pfc, set_pfc},
		{o->dscps > 0, set_dscps},
		{o->trust, set_trust},
		{o->prio2buffer || o->sizes, set_buffers},
		{o->rates, set_rates},
		{o->tsa || o->shares || o->prio_tc, set_ets},
	};
	int status = 0;

	for (unsigned i = 0; i < sl_array_len(parts) && !status; i++)
		if (parts[i].wanted)
			status = parts[i].set(r);
	return status;
}

/* Drivers answer 0 to what the firmware undoes when DCBX is the firmware's: compares what the
 * device has with what was asked for. */
static int check_result(const struct run *r, const struct sl_qos *asked)
{
	const struct options *o = r->o;
	const char *what = NULL;

	if ((o->tsa || o->shares || o->prio_tc) &&
	    (memcmp(r->q.ets.prio_tc, asked->ets.prio_tc, 8) ||
	     memcmp(r->q.ets.tc_tsa, asked->ets.tc_tsa, 8)))
		what = "traffic classes";
	else if ((o->pfc || o->some_pfc) && r->q.pfc.pfc_en != asked->pfc.pfc_en)
		what = "priority flow control";
	if (!what)
		return 0;
	fprintf(stderr, "sluice qos: %s: the device did not keep the %s%s\n", o->name, what,
		r->q.dcbx & DCB_CAP_DCBX_HOST
			? ""
			: ": DCBX is the firmware's, take it with -d os first");
	return 1;
}

static int run_on_device(struct run *r)
{
	static struct sl_qos asked;
	struct sl_skprio s;
	int err = sl_dcb_read(&r->dcb, &r->q), status;

	if (err)
		return say_failure(r, "DCB", err);
	if (r->o->asked_pfc)
		return print_asked_pfc(r);
	/* All options are checked before the first is sent. */
	asked = r->q;
	r->dry = true;
	status = change_all(r);
	r->dry = false;
	r->q = asked;
	if (!status)
		status = change_all(r);
	if (status)
		return status;
	asked = r->q;
	err = sl_dcb_read(&r->dcb, &r->q);
	if (err)
		return say_failure(r, "DCB", err);
	status = check_result(r, &asked);
	if (r->o->some_pfc)
		return status;
	sl_skprio_read(&s, r->o->name);
	sl_qos_print(&r->q, &s, r->o->all);
	return status;
}

static int run_qos(const struct options *o)
{
	static struct run r;
	int status = check_dscps(o);

	r.o = o;
	if (status)
		return status;
	if (o->dscps && o->trust) {
		fputs("sluice qos: --trust and --dscp2prio exclude each other: the trust follows the "
		      "table\n",
		      stderr);
		return 2;
	}
	status = sl_dcb_open(&r.dcb, o->name);
	if (status)
		return say_failure(&r, "netlink", status);
	warn_of_lldpad();
	status = run_on_device(&r);
	sl_dcb_close(&r.dcb);
	return status;
}

enum { TRUST = 256, DSCP2PRIO, CABLE, PRIO2BUFFER, SIZES, VERSION };

static bool take_option(struct options *o, int c)
{
	const struct {
		int c;
		const char **to;
	} texts[] = {
		{'i', &o->name},      {'f', &o->pfc},     {'F', &o->some_pfc},
		{'P', &o->asked_pfc}, {'p', &o->prio_tc}, {'s', &o->tsa},
		{'t', &o->shares},    {'r', &o->rates},   {'d', &o->dcbx},
		{TRUST, &o->trust},   {CABLE, &o->cable}, {PRIO2BUFFER, &o->prio2buffer},
		{SIZES, &o->sizes},
	};

	for (unsigned i = 0; i < sl_array_len(texts); i++) {
		if (texts[i].c != c)
			continue;
		*texts[i].to = optarg;
		return true;
	}
	if (c == 'a')
		o->all = true;
	else if (c == DSCP2PRIO && o->dscps < sl_array_len(o->dscp))
		o->dscp[o->dscps++] = optarg;
	else
		return false;
	return true;
}

int sl_tool_qos(int argc, char **argv)
{
	static const struct option longs[] = {
		{"interface", required_argument, NULL, 'i'},
		{"pfc", required_argument, NULL, 'f'},
		{"specific_pfc", required_argument, NULL, 'F'},
		{"get_pfc", required_argument, NULL, 'P'},
		{"prio_tc", required_argument, NULL, 'p'},
		{"tsa", required_argument, NULL, 's'},
		{"tcbw", required_argument, NULL, 't'},
		{"ratelimit", required_argument, NULL, 'r'},
		{"dcbx", required_argument, NULL, 'd'},
		{"trust", required_argument, NULL, TRUST},
		{"dscp2prio", required_argument, NULL, DSCP2PRIO},
		{"cable_len", required_argument, NULL, CABLE},
		{"prio2buffer", required_argument, NULL, PRIO2BUFFER},
		{"buffer_size", required_argument, NULL, SIZES},
		{"all", no_argument, NULL, 'a'},
		{"version", no_argument, NULL, VERSION},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct options o;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "i:f:F:P:p:s:t:r:d:ah", longs, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout), 0;
		if (c == VERSION)
			return puts("sluice qos " SL_VERSION), 0;
		if (!take_option(&o, c))
			return 2;
	}
	if (optind < argc)
		return wrong("arguments", "no other words are", argv[optind]);
	if (!o.name || strlen(o.name) > 15) {
		fputs("sluice qos: the name of an interface is needed (-i)\n", stderr);
		return 2;
	}
	return run_qos(&o);
}
