/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/sys/net/ipv4/tcp_*, so that an offloaded program behaves as the machine is set. */
#include "sock/stream/tcp_sysctl.h"

#include <fcntl.h>

#include "base/log.h"
#include "base/sys.h"
#include "tcp/loss/cc.h"

#define FILE_BYTES 256 /* of a file are looked at: all of ours are far shorter */

enum type { U8, U32, BOOL };

/* The n-th number of a file, within limits (Linux' or our own), times unit. */
struct entry {
	const char *file;
	uint8_t nth, type;
	uint16_t offset;
	uint32_t min, max, unit;
};

#define P(field) offsetof(struct sl_tcp_params, field)
#define SECONDS  1000
#define BUF_MAX  0x7fffffff

static const struct entry entries[] = {
	{"tcp_rmem", 0, U32, P(rmem_min), 256, BUF_MAX, 1},
	{"tcp_rmem", 1, U32, P(rmem_default), 256, BUF_MAX, 1},
	{"tcp_rmem", 2, U32, P(rmem_max), 256, BUF_MAX, 1},
	{"tcp_wmem", 0, U32, P(wmem_min), 256, BUF_MAX, 1},
	{"tcp_wmem", 1, U32, P(wmem_default), 256, BUF_MAX, 1},
	{"tcp_wmem", 2, U32, P(wmem_max), 256, BUF_MAX, 1},
	{"tcp_syn_retries", 0, U32, P(syn_retries), 1, 127, 1},
	{"tcp_syn_linear_timeouts", 0, U32, P(syn_linear_timeouts), 0, 127, 1},
	{"tcp_synack_retries", 0, U32, P(synack_retries), 0, 255, 1},
	{"tcp_retries2", 0, U32, P(retries2), 0, 255, 1},
	{"tcp_orphan_retries", 0, U32, P(orphan_retries), 0, 255, 1},
	{"tcp_max_orphans", 0, U32, P(max_orphans), 0, 0x7fffffff, 1},
	{"tcp_keepalive_time", 0, U32, P(keepalive_time_ms), 1, 32767, SECONDS},
	{"tcp_keepalive_intvl", 0, U32, P(keepalive_intvl_ms), 1, 32767, SECONDS},
	{"tcp_keepalive_probes", 0, U32, P(keepalive_probes), 1, 127, 1},
	{"tcp_notsent_lowat", 0, U32, P(notsent_lowat), 1, UINT32_MAX - 1, 1},
	{"tcp_fin_timeout", 0, U32, P(fin_timeout_ms), 1, 32767, SECONDS},
	{"tcp_rto_min_us", 0, U32, P(rto_min_ms), 1000, 1000000, 0}, /* 0: a thousandth */
	{"tcp_rto_max_ms", 0, U32, P(rto_max_ms), 1000, 120000, 1},
	{"tcp_timestamps", 0, U8, P(timestamps), 0, 2, 1},
	{"tcp_window_scaling", 0, BOOL, P(window_scaling), 0, 1, 1},
	{"tcp_sack", 0, BOOL, P(sack), 0, 1, 1},
	{"tcp_dsack", 0, BOOL, P(dsack), 0, 1, 1},
	{"tcp_ecn", 0, U8, P(ecn), 0, 5, 1},
	{"tcp_ecn_fallback", 0, BOOL, P(ecn_fallback), 0, 1, 1},
	{"tcp_reflect_tos", 0, BOOL, P(reflect_tos), 0, 1, 1},
	{"tcp_stdurg", 0, BOOL, P(stdurg), 0, 1, 1},
	{"tcp_max_tw_buckets", 0, U32, P(max_tw), 0, 0x7fffffff, 1},
	{"tcp_moderate_rcvbuf", 0, BOOL, P(moderate_rcvbuf), 0, 1, 1},
	{"tcp_abort_on_overflow", 0, BOOL, P(abort_on_overflow), 0, 1, 1},
	{"tcp_slow_start_after_idle", 0, BOOL, P(slow_start_after_idle), 0, 1, 1},
	{"tcp_autocorking", 0, BOOL, P(autocorking), 0, 1, 1},
	{"tcp_retrans_collapse", 0, BOOL, P(retrans_collapse), 0, 1, 1},
	{"tcp_thin_linear_timeouts", 0, BOOL, P(thin_linear_timeouts), 0, 1, 1},
	{"tcp_frto", 0, BOOL, P(frto), 0, 2, 1},
	{"tcp_no_metrics_save", 0, BOOL, P(no_metrics_save), 0, 1, 1},
	{"tcp_no_ssthresh_metrics_save", 0, BOOL, P(no_ssthresh_metrics_save), 0, 1, 1},
	{"tcp_reordering", 0, U32, P(reordering), 1, 300, 1},
	{"tcp_max_reordering", 0, U32, P(max_reordering), 1, 0x7fffffff, 1},
	{"tcp_min_rtt_wlen", 0, U32, P(min_rtt_s), 0, 86400, 1},
	{"tcp_pacing_ss_ratio", 0, U32, P(pacing_ss), 0, 1000, 1},
	{"tcp_pacing_ca_ratio", 0, U32, P(pacing_ca), 0, 1000, 1},
	{"tcp_rfc1337", 0, BOOL, P(rfc1337), 0, 1, 1},
	{"tcp_syncookies", 0, U8, P(syncookies), 0, 2, 1},
	{"tcp_max_syn_backlog", 0, U32, P(max_syn_backlog), 1, 0x7fffffff, 1},
	{"tcp_fastopen", 0, U32, P(tfo), 0, UINT32_MAX, 1},
	{"tcp_fastopen_blackhole_timeout_sec", 0, U32, P(tfo_blackhole_s), 0, 0x7fffffff, 1},
	{"tcp_mtu_probing", 0, U8, P(mtu_probing), 0, 2, 1},
	{"tcp_mtu_probe_floor", 0, U32, P(mtu_probe_floor), 48, 65535, 1},
	{"tcp_probe_threshold", 0, U32, P(probe_threshold), 0, 0x7fffffff, 1},
	{"tcp_probe_interval", 0, U32, P(probe_interval_s), 0, UINT32_MAX, 1},
	{"tcp_base_mss", 0, U32, P(base_mss), 64, 65495, 1},
	{"tcp_min_snd_mss", 0, U32, P(min_snd_mss), 48, 65535, 1},
	{"tcp_challenge_ack_limit", 0, U32, P(challenge_ack_limit), 0, 0x7fffffff, 1},
	{"tcp_invalid_ratelimit", 0, U32, P(invalid_ratelimit_ms), 0, 0x7fffffff, 1},
};

/* Reads the file's text and ends it with a zero. dir: the directory, open: the kernel takes longer
 * to walk the path of one of these files than to open and read it. False: there is none. */
static bool read_file(int dir, const char *file, char buf[FILE_BYTES])
{
	return sl_read_text_at(dir, file, buf, FILE_BYTES) > 0;
}

/* Reads the n-th number of the text. False: there is none. */
static bool number(const char *s, unsigned nth, uint64_t *out)
{
	uint64_t v = 0;
	bool digits;

	for (unsigned i = 0; i <= nth; i++) {
		s += strspn(s, " \t\n");
		for (v = 0, digits = false; *s >= '0' && *s <= '9' && v < UINT32_MAX; s++) {
			v = v * 10 + (uint64_t)(*s - '0');
			digits = true;
		}
		if (!digits || (*s && !strchr(" \t\n", *s)))
			return false;
	}
	*out = v;
	return true;
}

static void apply(struct sl_tcp_params *p, const struct entry *e, const char *text)
{
	uint8_t *at = (uint8_t *)p + e->offset;
	uint64_t v;

	if (!number(text, e->nth, &v) || v < e->min || v > e->max)
		return;
	v = e->unit ? v * e->unit : v / 1000;
	switch (e->type) {
	case U8:
		*at = (uint8_t)v;
		break;
	case BOOL:
		*(bool *)at = v != 0;
		break;
	default:
		*(uint32_t *)(void *)at = (uint32_t)v;
	}
}

/* The kernel's choice when we have it, too; else its name is in `unknown`. */
static void congestion(struct sl_tcp_params *p, int dir, char unknown[FILE_BYTES])
{
	char buf[FILE_BYTES];

	if (!read_file(dir, "tcp_congestion_control", buf))
		return;
	buf[strcspn(buf, " \t\n")] = 0;
	for (const char *const *name = sl_tcp_congestions(); *name; name++) {
		if (strcmp(*name, buf) == 0 && strlen(buf) < sizeof(p->congestion)) {
			memcpy(p->congestion, buf, strlen(buf) + 1);
			return;
		}
	}
	memcpy(unknown, buf, FILE_BYTES);
}

static void say_unknown(const struct sl_tcp_params *p, const char *unknown)
{
	static char said[FILE_BYTES];

	if (!*unknown || strcmp(said, unknown) == 0)
		return;
	memcpy(said, unknown, sizeof(said));
	sl_info("tcp",
		"net.ipv4.tcp_congestion_control is %s, which is not done in user space: %s "
		"instead (a program that sets TCP_CONGESTION itself has the kernel's)",
		unknown, p->congestion);
}

/* Settings that are bits of a file. */
static void bits(struct sl_tcp_params *p, int dir)
{
	char buf[FILE_BYTES];
	uint64_t v;

	if (read_file(dir, "tcp_recovery", buf) && number(buf, 0, &v))
		p->recovery_rack = v & 1;
	if (read_file(dir, "tcp_early_retrans", buf) && number(buf, 0, &v) && v <= 4)
		p->tlp = v >= 3;
}

/* Reads the port range, unless ports are reserved: only the kernel avoids those. */
static void ports(struct sl_tcp_params *p, int dir)
{
	char buf[FILE_BYTES];
	uint64_t lo, hi;

	if (read_file(dir, "ip_local_reserved_ports", buf) && buf[strspn(buf, " \t\n")])
		return;
	if (!read_file(dir, "ip_local_port_range", buf) || !number(buf, 0, &lo) ||
	    !number(buf, 1, &hi) || !lo || lo > hi || hi > UINT16_MAX)
		return;
	p->port_min = (uint16_t)lo;
	p->port_max = (uint16_t)hi;
}

struct reading {
	struct sl_tcp_params *p;
	const char *dir;
	bool is_there;
	char unknown[FILE_BYTES]; /* congestion control */
};

/* Makes descriptors and leaves them alone: see sl_aside(). */
static void read_all(void *arg)
{
	struct reading *r = arg;
	struct sl_tcp_params *p = r->p;
	int dir = sl_sysi(SYS_openat, AT_FDCWD, r->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *last = "";
	char buf[FILE_BYTES];
	bool there = false;

	sl_tcp_params_default(p);
	for (unsigned i = 0; i < sl_array_len(entries); i++) {
		const struct entry *e = &entries[i];

		if (strcmp(e->file, last) != 0)
			there = read_file(dir, e->file, buf);
		last = e->file;
		r->is_there |= there;
		if (there)
			apply(p, e, buf);
	}
	bits(p, dir);
	congestion(p, dir, r->unknown);
	ports(p, dir);
	if (dir >= 0)
		sl_sysi(SYS_close, dir);
	/* tcp_ecn: 1 asks and answers, 2 answers. 3 to 5 do so with AccECN (RFC 9768), whose peers
	 * go on by RFC 3168's ECN where it is not known: 3 and 4 ask. */
	p->ecn_out = p->ecn == 1 || p->ecn == 3 || p->ecn == 4;
	p->ecn_in = p->ecn != 0;
}

void sl_tcp_sysctl_read(struct sl_tcp_params *p, const char *dir)
{
	struct reading r = {.p = p, .dir = dir};

	read_all(&r);
	say_unknown(p, r.unknown);
}

void sl_tcp_sysctl_follow(struct sl_tcp_params *p, const char *dir)
{
	typedef uint64_t __attribute__((may_alias)) word;
	struct sl_tcp_params now = {0};
	const word *from = (const word *)&now;
	word *to = (word *)p;
	struct reading r = {.p = &now, .dir = dir};

	_Static_assert(sizeof(now) % sizeof(word) == 0, "whole words");
	/* A name is in one word, so that no reader sees a half of it. */
	_Static_assert(offsetof(struct sl_tcp_params, congestion) % sizeof(word) == 0, "aligned");
	sl_aside(read_all, &r);
	if (!r.is_there)
		return;
	say_unknown(&now, r.unknown);
	sl_tcp_settings_apply(&now);
	for (unsigned i = 0; i < sizeof(now) / sizeof(word); i++)
		if (to[i] != from[i])
			sl_store(&to[i], from[i]);
}
