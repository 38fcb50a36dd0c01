/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of sluice.conf: one statement a line, by recursive descent, no allocation. */
#include "ctl/rules/conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/addr.h"
#include "base/log.h"
#include "ctl/rules/rule.h"

/* A line being read. The text is not terminated. */
struct line {
	const char *start, *p, *end;
	unsigned number;
	struct sl_conf_error *err;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static void skip_blanks(struct line *l)
{
	while (l->p < l->end && is_blank(*l->p))
		l->p++;
}

static bool at_end(struct line *l)
{
	skip_blanks(l);
	return l->p == l->end;
}

/* Notes what should have been here, and what is. Returns -EINVAL. */
static int expected(struct line *l, const char *what)
{
	struct sl_conf_error *e = l->err;
	size_t n = 0;

	e->line = l->number;
	e->col = (unsigned)(l->p - l->start) + 1;
	snprintf(e->expected, sizeof(e->expected), "%s", what);
	for (const char *c = l->p; c < l->end && !is_blank(*c) && n < sizeof(e->found) - 1; c++)
		e->found[n++] = *c ? *c : '?';
	e->found[n] = 0;
	return -EINVAL;
}

/* The word here, without moving on. */
static size_t word(struct line *l, const char **w)
{
	const char *c;

	skip_blanks(l);
	*w = l->p;
	for (c = l->p; c < l->end && !is_blank(*c);)
		c++;
	return (size_t)(c - l->p);
}

/* Moves over the keyword when it is the next word. */
static bool take_word(struct line *l, const char *keyword)
{
	const char *w;
	size_t n = word(l, &w);

	if (n != strlen(keyword) || strncasecmp(w, keyword, n))
		return false;
	l->p += n;
	return true;
}

static bool take_char(struct line *l, char c)
{
	if (l->p == l->end || *l->p != c)
		return false;
	l->p++;
	return true;
}

/* A decimal number up to max. */
static int take_number(struct line *l, uint32_t max, const char *what, uint32_t *out)
{
	const char *first = l->p;
	uint64_t v = 0;

	while (l->p < l->end && *l->p >= '0' && *l->p <= '9' && v <= max)
		v = v * 10 + (uint64_t)(*l->p++ - '0');
	if (l->p == first || v > max) {
		l->p = first;
		return expected(l, what);
	}
	*out = (uint32_t)v;
	return 0;
}

static int take_ipv4(struct line *l, struct sl_rule_end *e)
{
	const char *first = l->p;
	uint32_t bytes[4], bits = 32;
	struct sl_addr a;

	for (int i = 0; i < 4; i++) {
		if ((i && !take_char(l, '.')) ||
		    take_number(l, 255, "an IPv4 address", &bytes[i])) {
			l->p = first;
			return expected(l, "an address: *, a.b.c.d[/length] or [IPv6][/length]");
		}
	}
	if (take_char(l, '/') && take_number(l, 999, "a prefix length from 0 to 32", &bits))
		return -EINVAL;
	bits = sl_min(bits, 32u); /* (as libvma) */
	a = sl_addr_v4(htonl(bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]));
	memcpy(e->addr, a.b, 16);
	e->prefix_len = 96 + bits;
	return 0;
}

/* [addr]/len or [addr/len] */
static int take_ipv6(struct line *l, struct sl_rule_end *e)
{
	static const char what[] = "an IPv6 address in brackets";
	const char *first = l->p;
	char text[INET6_ADDRSTRLEN];
	size_t n = 0;
	uint32_t bits = 128;
	bool inside;

	l->p++;
	while (l->p < l->end && *l->p != ']' && *l->p != '/' && n < sizeof(text) - 1)
		text[n++] = *l->p++;
	text[n] = 0;
	if (strlen(text) != n || inet_pton(AF_INET6, text, e->addr) != 1) {
		l->p = first;
		return expected(l, what);
	}
	inside = take_char(l, '/');
	if (inside && take_number(l, 128, "a prefix length from 0 to 128", &bits))
		return -EINVAL;
	if (!take_char(l, ']'))
		return expected(l, "]");
	if (!inside && take_char(l, '/') &&
	    take_number(l, 128, "a prefix length from 0 to 128", &bits))
		return -EINVAL;
	e->prefix_len = bits;
	return 0;
}

static int take_ports(struct line *l, struct sl_rule_end *e)
{
	static const char what[] = "a port: *, or n or n-m from 0 to 65535";
	uint32_t lo = 0, hi;

	if (take_char(l, '*')) {
		e->port_min = 0;
		e->port_max = 65535;
		return 0;
	}
	if (take_number(l, 65535, what, &lo))
		return -EINVAL;
	hi = lo;
	if (take_char(l, '-') && take_number(l, 65535, what, &hi))
		return -EINVAL;
	if (hi < lo)
		return expected(l, "a port range whose end is not below its start");
	e->port_min = (uint16_t)lo;
	e->port_max = (uint16_t)hi;
	return 0;
}

/* addr:ports */
static int take_end(struct line *l, struct sl_rule_end *e)
{
	int err = 0;

	skip_blanks(l);
	memset(e, 0, sizeof(*e));
	if (l->p < l->end && *l->p == '[')
		err = take_ipv6(l, e);
	else if (!take_char(l, '*'))
		err = take_ipv4(l, e);
	if (err)
		return err;
	skip_blanks(l);
	if (!take_char(l, ':'))
		return expected(l, "':' and a port");
	skip_blanks(l);
	return take_ports(l, e);
}

static int take_transport(struct line *l, uint32_t *action)
{
	/* sdp, sa and * are transports of libvma's forebears: whatever is faster than the kernel.
	 */
	static const char *const ours[] = {"sluice", "vma", "sdp", "sa", "*"};

	if (take_word(l, "os")) {
		*action = SL_RULE_OS;
		return 0;
	}
	*action = SL_RULE_SLUICE;
	for (unsigned i = 0; i < sl_array_len(ours); i++)
		if (take_word(l, ours[i]))
			return 0;
	return expected(l, "os, sluice or vma");
}

static int take_roles(struct line *l, uint32_t *roles)
{
	const char *w;
	size_t n = word(l, &w);
	const char *end = w + n;

	*roles = 0;
	do {
		const char *bar = memchr(w, '|', (size_t)(end - w));
		size_t len = (size_t)((bar ? bar : end) - w);
		uint32_t role = len ? sl_role_by_name(w, len) : 0;

		if (!role) {
			l->p = w;
			return expected(l, "a role: tcp_server, tcp_client, udp_sender, "
					   "udp_receiver, udp_connect or *");
		}
		*roles |= role;
		w = bar ? bar + 1 : end + 1;
	} while (w <= end);
	l->p = end;
	return 0;
}

/* A number, decimal or with 0x in front. */
static int take_any_number(struct line *l, uint32_t max, const char *what, uint32_t *out)
{
	const char *first = l->p;
	uint64_t v = 0;

	skip_blanks(l);
	if (l->end - l->p < 3 || l->p[0] != '0' || (l->p[1] != 'x' && l->p[1] != 'X'))
		return take_number(l, max, what, out);
	for (l->p += 2; l->p < l->end && isxdigit((unsigned char)*l->p) && v <= max; l->p++)
		v = v * 16 + (uint64_t)(*l->p <= '9' ? *l->p - '0' : (*l->p | 32) - 'a' + 10);
	if (l->p == first + 2 || v > max) {
		l->p = first;
		return expected(l, what);
	}
	*out = (uint32_t)v;
	return 0;
}

static int take_label(struct line *l, struct sl_narrow *narrow)
{
	static const char what[] = "a flow label from 0 to 0xfffff, and perhaps /mask";
	uint32_t label = 0, mask = SL_MARKS_LABEL;
	int err = take_any_number(l, SL_MARKS_LABEL, what, &label);

	if (!err && take_char(l, '/'))
		err = take_any_number(l, SL_MARKS_LABEL, what, &mask);
	if (!err && (!mask || label & ~mask))
		err = expected(l, "a mask with ones, at least where the flow label has them");
	if (err)
		return err;
	narrow->marks.label = label & SL_MARKS_LABEL;
	narrow->mask.label = mask & SL_MARKS_LABEL;
	narrow->mask.v4 = 1;
	return 0;
}

/* Roles of packets that arrive and that their marks can tell apart. (A connection to a server is
 * offloaded or not by the marks of its first packet; of a client's the peer chooses them.) */
#define ROLES_NARROWED (SL_ROLE_TCP_SERVER | SL_ROLE_UDP_RECEIVER | SL_ROLE_UDP_CONNECT)

/* Parses what may stand behind the ends of a rule. */
static int take_narrowing(struct line *l, struct sl_rule *r)
{
	const char *first = l->p;
	uint32_t v = 0;
	int err = 0;

	while (!err && !at_end(l)) {
		if (take_word(l, "dscp")) {
			err = take_any_number(l, 63, "a DSCP from 0 to 63", &v);
			r->narrow.marks.dscp = v & 0x3f;
			r->narrow.mask.dscp = 0x3f;
		} else if (take_word(l, "flow-label")) {
			err = take_label(l, &r->narrow);
		} else if (take_word(l, "vni")) {
			err = take_any_number(l, 0xffffff, "a VNI from 0 to 16777215", &r->vni);
			r->match |= SL_RULE_VNI;
		} else {
			err = expected(l, "dscp, flow-label, vni or the end of the line");
		}
	}
	if (err || !r->narrow.mask.word)
		return err;
	l->p = first;
	skip_blanks(l);
	if (r->action != SL_RULE_SLUICE)
		return expected(l, "dscp and flow-label behind `use sluice` alone");
	if (r->roles & ~ROLES_NARROWED)
		return expected(l, "dscp and flow-label with the roles tcp_server, udp_receiver "
				   "and udp_connect alone");
	l->p = l->end;
	return 0;
}

/* Parses the rest of a `use` line. */
static int take_use(struct line *l, struct sl_rule *r)
{
	struct sl_rule_end any = {.port_max = 65535};
	int err;

	err = take_transport(l, &r->action);
	if (!err)
		err = take_roles(l, &r->roles);
	if (!err)
		err = take_end(l, &r->first);
	if (err)
		return err;
	r->second = any;
	skip_blanks(l);
	if (take_char(l, ':')) {
		err = take_end(l, &r->second);
		if (err)
			return err;
		if (!(r->roles & SL_ROLE_TWO_ENDS)) /* libvma reads a second end and ignores it */
			r->second = any;
	}
	err = take_narrowing(l, r);
	if (err)
		return err;
	r->line = l->number;
	return 0;
}

/* A name that fits in a rule; "*" becomes "", which matches all. */
static int take_name(struct line *l, const char *what, char out[SL_RULE_NAME])
{
	const char *w;
	size_t n = word(l, &w);

	if (!n)
		return expected(l, what);
	if (n >= SL_RULE_NAME)
		return expected(l, "a name of at most 127 characters");
	if (memchr(w, 0, n))
		return expected(l, what);
	memset(out, 0, SL_RULE_NAME);
	if (n != 1 || *w != '*')
		memcpy(out, w, n);
	l->p += n;
	return 0;
}

/* Parses the rest of an `application-id` line, which holds for the rules after it. */
static int take_application_id(struct line *l, struct sl_rule *target)
{
	char program[SL_RULE_NAME], app_id[SL_RULE_NAME];
	int err;

	err = take_name(l, "a program name, with * and ? as in ls", program);
	if (!err)
		err = take_name(l, "an application id or *", app_id);
	if (!err && !at_end(l))
		err = expected(l, "the end of the line");
	if (err)
		return err;
	memcpy(target->program, program, sizeof(program));
	memcpy(target->app_id, app_id, sizeof(app_id));
	target->line = l->number;
	return 0;
}

/* A rate: a number, in Mbit/s where no unit stands behind it. */
static int take_rate(struct line *l, __u64 *kbps)
{
	static const struct {
		const char *name;
		uint32_t kbit;
	} units[] = {{"kbit", 1}, {"mbit", 1000}, {"gbit", 1000000}, {"", 1000}};
	static const char what[] =
		"a rate above 0: a number, and kbit, mbit (without a unit) or gbit";
	const char *w;
	uint32_t v = 0;
	size_t n;

	skip_blanks(l);
	if (take_number(l, 1000000000, what, &v))
		return -EINVAL;
	for (n = 0, w = l->p; w + n < l->end && !is_blank(w[n]);)
		n++;
	for (unsigned i = 0; v && i < sl_array_len(units); i++) {
		if (n != strlen(units[i].name) || strncasecmp(w, units[i].name, n))
			continue;
		l->p += n;
		*kbps = (uint64_t)v * units[i].kbit;
		return 0;
	}
	return expected(l, what);
}

/* The bits of an address's byte i that a prefix of this length holds. */
static uint8_t prefix_byte(uint32_t bits, unsigned i)
{
	uint32_t left = bits > 8 * i ? sl_min(bits - 8 * i, 8u) : 0;

	return (uint8_t)(0xff00 >> left);
}

/* Parses the rest of a `pace` line. */
static int take_pace(struct line *l, struct sl_pace_rule *r)
{
	struct sl_rule_end e;
	int err = take_end(l, &e);

	if (!err && e.port_min != e.port_max && (e.port_min || e.port_max != 65535))
		err = expected(l, "one port or *, not a range");
	if (!err)
		err = take_rate(l, &r->rate_kbps);
	if (!err && take_word(l, "burst")) {
		skip_blanks(l);
		err = take_number(l, 1u << 30, "the bytes of the burst", &r->burst_bytes);
	}
	if (!err && !at_end(l))
		err = expected(l, "burst or the end of the line");
	if (err)
		return err;
	/* Without the bits beyond the prefix, two spellings of a network are one rule. */
	for (unsigned i = 0; i < sizeof(r->addr); i++)
		r->addr[i] = e.addr[i] & prefix_byte(e.prefix_len, i);
	r->prefix_len = e.prefix_len;
	r->port = e.port_min == e.port_max ? e.port_min : 0;
	r->line = l->number;
	return 0;
}

static int add_pace(struct line *l, struct sl_conf *conf)
{
	struct sl_pace_rule r = {0};
	int err = take_pace(l, &r);

	if (err)
		return err;
	if (conf->npaces == SL_MAX_PACES) {
		l->p = l->start;
		return expected(l, "no more than 64 paces");
	}
	conf->paces[conf->npaces++] = r;
	return 0;
}

static int take_destination(struct line *l, struct sl_conf *conf)
{
	const char *w;
	size_t n;

	conf->log_file[0] = 0;
	if (take_word(l, "stderr") || take_word(l, "ystderr")) /* (libvma's scanner says ystderr) */
		return 0;
	if (take_word(l, SL_LOG_SYSLOG)) {
		strcpy(conf->log_file, SL_LOG_SYSLOG);
		return 0;
	}
	if (!take_word(l, "file") && !take_word(l, "yfile"))
		return expected(l, "stderr, syslog or file");
	n = word(l, &w);
	if (!n || n >= sizeof(conf->log_file) || memchr(w, 0, n))
		return expected(l, "the path of a file, at most 199 characters");
	memcpy(conf->log_file, w, n);
	conf->log_file[n] = 0;
	l->p += n;
	return 0;
}

static int take_log(struct line *l, struct sl_conf *conf)
{
	while (!at_end(l)) {
		uint32_t level;
		int err;

		if (take_word(l, "destination")) {
			err = take_destination(l, conf);
		} else if (take_word(l, "min-level")) {
			skip_blanks(l);
			err = take_number(l, 9, "a level from 1 to 9", &level);
			if (!err)
				conf->min_level = (int)level;
		} else {
			err = expected(l, "destination or min-level");
		}
		if (err)
			return err;
	}
	return 0;
}

/* Rules for the same programs stand together, in the order of the file, where the first of them
 * stands: so libvma tries them. Those above the first application-id line stay in front. */
static void add_rule(struct sl_conf *conf, const struct sl_rule *r, bool named)
{
	unsigned at = conf->n;

	if (!named)
		conf->nunnamed = conf->n + 1;
	while (at > conf->nunnamed && !sl_rule_is_for_same(&conf->rules[at - 1], r))
		at--;
	if (at <= conf->nunnamed)
		at = conf->n;
	memmove(&conf->rules[at + 1], &conf->rules[at], (conf->n - at) * sizeof(*r));
	conf->rules[at] = *r;
	conf->n++;
}

/* Parses a line. target holds the program and id in force, and the line that said so; 0: none. */
static int take_statement(struct line *l, struct sl_conf *conf, struct sl_rule *target)
{
	struct sl_rule r = *target;
	int err;

	if (at_end(l))
		return 0;
	if (take_word(l, "application-id"))
		return take_application_id(l, target);
	if (take_word(l, "log"))
		return take_log(l, conf);
	if (take_word(l, "pace"))
		return add_pace(l, conf);
	if (!take_word(l, "use"))
		return expected(l, "use, pace, application-id or log");
	err = take_use(l, &r);
	if (err)
		return err;
	if (conf->n == SL_MAX_RULES) {
		l->p = l->start;
		return expected(l, "no more than 512 rules");
	}
	add_rule(conf, &r, target->line != 0);
	return 0;
}

static struct line line_of(const char *text, size_t len, unsigned number, struct sl_conf_error *err)
{
	const char *hash = len ? memchr(text, '#', len) : NULL;

	return (struct line){text, text, hash ? hash : text + len, number, err};
}

unsigned sl_conf_parse(const char *text, size_t len, struct sl_conf *conf,
		       sl_conf_error_fn *on_error, void *arg)
{
	struct sl_rule target = {0};
	unsigned number = 0, wrong = 0;

	memset(conf, 0, sizeof(*conf));
	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;
		struct sl_conf_error err = {0};
		struct line l = line_of(text, n, ++number, &err);

		if (take_statement(&l, conf, &target)) {
			wrong++;
			if (on_error)
				on_error(arg, &err);
		}
		n += nl != NULL;
		text += n;
		len -= n;
	}
	return wrong;
}

int sl_conf_rule(const char *text, size_t len, struct sl_rule *rule, struct sl_conf_error *err)
{
	struct line l = line_of(text, len, 1, err);

	memset(rule, 0, sizeof(*rule));
	if (!take_word(&l, "use"))
		return expected(&l, "use");
	return take_use(&l, rule);
}

int sl_conf_pace(const char *text, size_t len, struct sl_pace_rule *pace, struct sl_conf_error *err)
{
	struct line l = line_of(text, len, 1, err);

	memset(pace, 0, sizeof(*pace));
	return take_pace(&l, pace);
}
