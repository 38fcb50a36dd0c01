/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the settings from the environment; everything comes from the table in settings.def. */
#include "base/settings.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): a string in parentheses initialises no array */
struct sl_settings sl_settings = {
#define SL_SETTING(type, field, def, min, max, unit, status, title, help) .field = def,
#include "base/settings.def"
#undef SL_SETTING
};
/* NOLINTEND(bugprone-macro-parentheses) */

#define SL_NUM_INT(d)   .def = (d)
#define SL_NUM_RATIO(d) .def = (d)
#define SL_NUM_BOOL(d)  .def = (d)
#define SL_NUM_ENUM(d)  .def = (d)
#define SL_NUM_SIZE(d)  .def = (d)
#define SL_NUM_STR(d)   .def_str = (d)

const struct sl_setting sl_setting_table[SL_SETTING_COUNT] = {
#define SL_SETTING(type_, field_, def_, min_, max_, unit_, status_, title_, help_)                 \
	[SL_SETTING_##field_] = {                                                                  \
		.field = #field_,                                                                  \
		.type = SL_TYPE_##type_,                                                           \
		.status = SL_STATUS_##status_,                                                     \
		.offset = offsetof(struct sl_settings, field_),                                    \
		SL_NUM_##type_(def_),                                                              \
		.min = (min_),                                                                     \
		.max = (max_),                                                                     \
		.unit = (unit_),                                                                   \
		.title = (title_),                                                                 \
		.help = (help_),                                                                   \
	},
#include "base/settings.def"
#undef SL_SETTING
};

static const struct {
	const char *name;
	enum sl_setting_id id;
} aliases[] = {
#define SL_SETTING(type, field, def, min, max, unit, status, title, help)
#define SL_ALIAS(old, field) {#old, SL_SETTING_##field},
#include "base/settings.def"
#undef SL_ALIAS
#undef SL_SETTING
};

static const struct {
	int spec;
	enum sl_setting_id id;
	int value;
} presets[] = {
#define SL_SETTING(type, field, def, min, max, unit, status, title, help)
#define SL_PRESET(spec, field, value) {spec, SL_SETTING_##field, value},
#include "base/settings.def"
#undef SL_PRESET
#undef SL_SETTING
};

/* Where each value came from: a variable of the environment, and how much that name counts. */
struct source {
	const char *var; /* "SLUICE_RX_POLL=0" */
	int rank;
};
enum { RANK_NONE, RANK_VMA_OLD, RANK_VMA, RANK_SLUICE_OLD, RANK_SLUICE };
static bool given[SL_SETTING_COUNT];

bool sl_setting_is_set(enum sl_setting_id id)
{
	return given[id];
}

const char *sl_setting_name(const struct sl_setting *s, char buf[SL_SETTING_NAME_MAX])
{
	size_t n = sizeof("SLUICE_") - 1;

	memcpy(buf, "SLUICE_", n);
	for (const char *c = s->field; *c && n < SL_SETTING_NAME_MAX - 1; c++)
		buf[n++] = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	buf[n] = 0;
	return buf;
}

static const struct sl_setting *find(const char *name, size_t len, bool *old)
{
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++)
		if (!strncasecmp(sl_setting_table[i].field, name, len) &&
		    !sl_setting_table[i].field[len]) {
			*old = false;
			return &sl_setting_table[i];
		}
	for (unsigned i = 0; i < sl_array_len(aliases); i++)
		if (!strncasecmp(aliases[i].name, name, len) && !aliases[i].name[len]) {
			*old = true;
			return &sl_setting_table[aliases[i].id];
		}
	return NULL;
}

const struct sl_setting *sl_setting_find(const char *name)
{
	bool old;

	return find(name, strlen(name), &old);
}

/* How many letters must be put in, left out or changed to make the name another one; a long name
 * counts as far as a name of ours could go. */
static unsigned distance(const char *name, size_t len, const char *field)
{
	unsigned char row[SL_SETTING_NAME_MAX];
	size_t n = strlen(field);

	for (size_t i = 0; i <= n; i++)
		row[i] = (unsigned char)i;
	for (size_t k = 1; k <= len; k++) {
		unsigned left_above = row[0];

		row[0] = (unsigned char)k;
		for (size_t i = 1; i <= n; i++) {
			unsigned above = row[i];
			unsigned changed = left_above + ((name[k - 1] | 32) != (field[i - 1] | 32));
			unsigned shifted = (unsigned)sl_min(row[i - 1], row[i]) + 1;

			row[i] = (unsigned char)sl_min(changed, shifted);
			left_above = above;
		}
	}
	return row[n];
}

const struct sl_setting *sl_setting_near(const char *name, size_t len)
{
	const struct sl_setting *near = NULL;
	unsigned most = (unsigned)sl_min((len + 1) / 3, (size_t)3);

	for (unsigned i = 0; len < SL_SETTING_NAME_MAX && i < SL_SETTING_COUNT; i++) {
		unsigned d = distance(name, len, sl_setting_table[i].field);

		if (d > most || (near && d == most))
			continue;
		near = &sl_setting_table[i];
		most = d;
	}
	return near;
}

/* A number, decimal or 0x; no locale, no errno. Returns the first character after it, or NULL. */
static const char *parse_number(const char *t, int64_t *out)
{
	bool neg = *t == '-';
	unsigned base = 10;
	uint64_t v = 0;
	const char *first;

	if (*t == '-' || *t == '+')
		t++;
	if (t[0] == '0' && (t[1] | 32) == 'x') {
		base = 16;
		t += 2;
	}
	for (first = t;; t++) {
		unsigned c = (unsigned char)*t;
		unsigned digit = c - '0' < 10         ? c - '0'
				 : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10
						      : 99;

		if (digit >= base)
			break;
		v = v * base + digit;
		if (v > INT64_MAX / 32)
			return NULL;
	}
	*out = neg ? -(int64_t)v : (int64_t)v;
	return t == first ? NULL : t;
}

static bool is_blank(const char *t)
{
	while (*t == ' ' || *t == '\t')
		t++;
	return !*t;
}

static bool word_is(const char *text, const char *word, size_t len)
{
	return !strncasecmp(text, word, len) && is_blank(text + len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a name in "name=value,...". */
static bool enum_by_name(const char *list, const char *text, int64_t *out)
{
	for (const char *p = list; *p;) {
		const char *eq = strchr(p, '=');
		const char *end;

		if (!eq)
			return false;
		end = parse_number(eq + 1, out);
		if (word_is(text, p, (size_t)(eq - p)))
			return true;
		p = end && *end == ',' ? end + 1 : "";
	}
	return false;
}

static const char *enum_name(const char *list, int64_t value, size_t *len)
{
	for (const char *p = list; *p;) {
		const char *eq = strchr(p, '=');
		const char *end;
		int64_t v = 0;

		if (!eq)
			return NULL;
		end = parse_number(eq + 1, &v);
		if (v == value) {
			*len = (size_t)(eq - p);
			return p;
		}
		p = end && *end == ',' ? end + 1 : "";
	}
	return NULL;
}

static int parse_enum(const struct sl_setting *s, const char *text, int64_t *v, char *why,
		      size_t why_len)
{
	const char *end, *name;
	int64_t named = 0;
	size_t len;

	if (enum_by_name(s->unit, text, v))
		return 0;
	end = parse_number(text, v);
	name = end && is_blank(end) ? enum_name(s->unit, *v, &len) : NULL;
	if (name && is_digit(*name)) /* 29=4: the value 4 has the name 29, and 4 is no name */
		parse_number(name, &named);
	if (name && (!is_digit(*name) || named == *v))
		return 0;
	snprintf(why, why_len, "one of %s (name or number)", s->unit);
	return -EINVAL;
}

static int parse_bool(const char *text, int64_t *v, char *why, size_t why_len)
{
	static const char names[] =
		"0=0,1=1,no=0,yes=1,off=0,on=1,false=0,true=1,disable=0,enable=1,"
		"disabled=0,enabled=1";

	if (enum_by_name(names, text, v))
		return 0;
	snprintf(why, why_len, "0 or 1");
	return -EINVAL;
}

static int parse_int(const struct sl_setting *s, const char *text, int64_t *v, char *why,
		     size_t why_len)
{
	const char *end = parse_number(text, v);

	if (end && s->type == SL_TYPE_SIZE) {
		unsigned shift = (*end | 32) == 'k' ? 10 : (*end | 32) == 'm' ? 20 : 30;

		if (*end && strchr("kKmMgG", *end) && *v >= 0 && *v <= s->max) {
			*v <<= shift;
			end++;
		}
	}
	if (end && is_blank(end) && *v >= s->min && *v <= s->max)
		return 0;
	snprintf(why, why_len, "a whole number from %lld to %lld", (long long)s->min,
		 (long long)s->max);
	return -EINVAL;
}

int sl_setting_parse(const struct sl_setting *s, const char *text, struct sl_settings *set,
		     char *why, size_t why_len)
{
	char *field = (char *)set + s->offset;
	int64_t v = 0;
	int err;

	if (s->type == SL_TYPE_STR) {
		size_t len = strlen(text);

		if (len > (size_t)s->max) {
			snprintf(why, why_len, "a text of at most %lld characters",
				 (long long)s->max);
			return -EINVAL;
		}
		memcpy(field, text, len + 1);
		return 0;
	}
	if (s->type == SL_TYPE_ENUM)
		err = parse_enum(s, text, &v, why, why_len);
	else if (s->type == SL_TYPE_BOOL)
		err = parse_bool(text, &v, why, why_len);
	else
		err = parse_int(s, text, &v, why, why_len);
	if (err)
		return err;
	if (s->type == SL_TYPE_SIZE)
		*(uint64_t *)field = (uint64_t)v;
	else
		*(int *)field = (int)v;
	return 0;
}

static int64_t value_of(const struct sl_setting *s, const struct sl_settings *set)
{
	const char *field = (const char *)set + s->offset;

	return s->type == SL_TYPE_SIZE ? (int64_t) * (const uint64_t *)field : *(const int *)field;
}

/* The value in set as text ("thread", "100000", "Disabled"), cut to len. Returns buf. */
static const char *setting_text(const struct sl_setting *s, const struct sl_settings *set,
				char *buf, size_t len)
{
	const char *name = NULL;
	size_t name_len;
	int64_t v;

	if (s->type == SL_TYPE_STR) {
		snprintf(buf, len, "%s", (const char *)set + s->offset);
		return buf;
	}
	v = value_of(s, set);
	if (s->type == SL_TYPE_BOOL)
		snprintf(buf, len, "%s", v ? "Enabled" : "Disabled");
	else if (s->type == SL_TYPE_ENUM && (name = enum_name(s->unit, v, &name_len)) &&
		 is_digit(*name))
		snprintf(buf, len, "%.*s", (int)name_len, name);
	else if (s->type == SL_TYPE_ENUM && name)
		snprintf(buf, len, "%lld (%.*s)", (long long)v, (int)name_len, name);
	else
		snprintf(buf, len, "%lld", (long long)v);
	return buf;
}

/* True: the setting has another value than the default. */
static bool is_changed(enum sl_setting_id id)
{
	const struct sl_setting *s = &sl_setting_table[id];

	if (s->type == SL_TYPE_STR)
		return strcmp((const char *)&sl_settings + s->offset, s->def_str) != 0;
	return value_of(s, &sl_settings) != s->def;
}

/* Notes the variable when it is one of ours and its name counts more than what was seen. */
static void note_variable(struct source *src, const char *var)
{
	bool ours = !strncmp(var, "SLUICE_", 7);
	const char *name = var + (ours ? 7 : 4);
	const struct sl_setting *s;
	const char *eq;
	bool old;
	int rank;

	if (!ours && strncmp(var, "VMA_", 4))
		return;
	eq = strchr(name, '=');
	if (!eq)
		return;
	s = find(name, (size_t)(eq - name), &old);
	if (!s)
		return;
	rank = ours ? (old ? RANK_SLUICE_OLD : RANK_SLUICE) : (old ? RANK_VMA_OLD : RANK_VMA);
	if (rank > src[s - sl_setting_table].rank)
		src[s - sl_setting_table] = (struct source){var, rank};
}

/* Takes the setting's value over. Returns 1 when it is wrong. */
static int apply(enum sl_setting_id id, const struct source *src)
{
	const struct sl_setting *s = &sl_setting_table[id];
	const char *value;
	char why[300];

	if (!src->var)
		return 0;
	value = strchr(src->var, '=') + 1;
	if (sl_setting_parse(s, value, &sl_settings, why, sizeof(why))) {
		sl_warn("settings", "%.*s='%.64s': expected %s; the default stays",
			(int)(value - 1 - src->var), src->var, value, why);
		return 1;
	}
	given[id] = true;
	return 0;
}

/* True: the variable (len is of its name) bears our prefix and names no setting; the text says so.
 * A variable with libvma's prefix may be another program's, so its name must be near one of ours.
 */
static bool is_unknown(const char *var, size_t len, char *text, size_t text_len)
{
	size_t prefix = !strncmp(var, "SLUICE_", 7) ? 7 : 4;
	const struct sl_setting *near;
	char name[SL_SETTING_NAME_MAX];
	bool old;

	if ((prefix == 4 && strncmp(var, "VMA_", 4)) || len <= prefix || !var[len] ||
	    find(var + prefix, len - prefix, &old))
		return false;
	near = sl_setting_near(var + prefix, len - prefix);
	if (!near && prefix == 4)
		return false;
	snprintf(text, text_len, "%.*s is no setting; %s %s", (int)sl_min(len, (size_t)64), var,
		 near ? "the nearest is" : "these are listed by",
		 near ? sl_setting_name(near, name) : "sluice run --help-settings");
	return true;
}

bool sl_setting_fault(const char *var, char *text, size_t text_len)
{
	size_t len = strcspn(var, "=");
	size_t prefix = !strncmp(var, "SLUICE_", 7) ? 7 : 4;
	const struct sl_setting *s;
	struct sl_settings scratch;
	char why[300];
	bool old;

	if (is_unknown(var, len, text, text_len))
		return true;
	if ((prefix == 4 && strncmp(var, "VMA_", 4)) || len <= prefix || !var[len])
		return false;
	s = find(var + prefix, len - prefix, &old);
	if (!s || !sl_setting_parse(s, var + len + 1, &scratch, why, sizeof(why)))
		return false;
	snprintf(text, text_len, "%.*s='%.64s': expected %s", (int)len, var, var + len + 1, why);
	return true;
}

static void say_unknown(const char *var)
{
	char text[200];

	if (is_unknown(var, strcspn(var, "="), text, sizeof(text)))
		sl_warn("settings", "%s", text);
}

/* Says once that a setting which was given has no effect. */
static void say_no_effect(enum sl_setting_id id, const struct source *src)
{
	const struct sl_setting *s = &sl_setting_table[id];
	int len;

	if (!given[id] || s->status == SL_STATUS_WORKS)
		return;
	len = (int)strcspn(src->var, "=");
	sl_info("settings", "%.*s has no effect: %s", len, src->var, s->help);
}

static int round_up_pow2(int v)
{
	int p = 1;

	while (p < v)
		p <<= 1;
	return p;
}

static void preset(const struct sl_setting *s, int value)
{
	void *field = (char *)&sl_settings + s->offset;

	if (s->type == SL_TYPE_SIZE)
		*(uint64_t *)field = (uint64_t)value;
	else
		*(int *)field = value;
}

/* TX_BUFS and RX_BUFS: frames of one pool. */
static int frames_of_bufs(const struct sl_settings *s)
{
	const struct sl_setting *f = &sl_setting_table[SL_SETTING_frames];
	int64_t half = s->frames / 2;
	int64_t n = (given[SL_SETTING_tx_bufs] ? s->tx_bufs : half) +
		    (given[SL_SETTING_rx_bufs] ? s->rx_bufs : half);

	n = sl_min(n, (int64_t)f->max);
	return (int)sl_max(n, (int64_t)f->min);
}

/* Applies the preset, and derives the values that depend on several settings. */
static void settle(void)
{
	struct sl_settings *s = &sl_settings;

	for (unsigned i = 0; i < sl_array_len(presets); i++)
		if (presets[i].spec == s->spec && !given[presets[i].id])
			preset(&sl_setting_table[presets[i].id], presets[i].value);
	if (given[SL_SETTING_ring] && s->ring >= 0)
		s->ring_allocation_logic_rx = s->ring_allocation_logic_tx = s->ring;
	if (s->hugetbl && !given[SL_SETTING_mem_alloc_type])
		s->mem_alloc_type = SL_MEM_HUGE;
	if (s->tracelevel >= SL_LOG_DETAILS && !given[SL_SETTING_log_details])
		s->log_details = 2;
	s->rx_wre = round_up_pow2(s->rx_wre);
	s->tx_wre = round_up_pow2(s->tx_wre);
	if ((given[SL_SETTING_tx_bufs] || given[SL_SETTING_rx_bufs]) && !given[SL_SETTING_frames])
		s->frames = frames_of_bufs(s);
	s->frames = round_up_pow2(s->frames);
}

int sl_settings_load(char **env)
{
	struct source src[SL_SETTING_COUNT];
	int wrong = 0;

	memset(src, 0, sizeof(src));
	memset(given, 0, sizeof(given));
	for (char **e = env ? env : environ; e && *e; e++)
		note_variable(src, *e);
	/* The settings of the log first, so that complaints go where they should. */
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		wrong += apply(i, &src[i]);
		if (i == SL_SETTING_log_file)
			sl_log_open(sl_settings.tracelevel, sl_settings.log_details,
				    sl_settings.log_colors, sl_settings.log_file);
	}
	settle();
	sl_log_open(sl_settings.tracelevel, sl_settings.log_details, sl_settings.log_colors,
		    sl_settings.log_file);
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++)
		say_no_effect(i, &src[i]);
	for (char **e = env ? env : environ; e && *e; e++)
		say_unknown(*e);
	return wrong;
}

/* The time of the start in UTC: the C library's own functions read the time zone from files and
 * allocate. A year is counted from the first of March, so that the day of a leap year is its last
 * one. */
static void banner_time(void)
{
	struct timespec now;
	int64_t day, era, of_era, year, of_year, month, second;

	if (clock_gettime(CLOCK_REALTIME, &now))
		return;
	second = (int64_t)now.tv_sec % 86400;
	day = (int64_t)now.tv_sec / 86400 + 719468; /* since 0000-03-01 */
	era = day / 146097;
	of_era = day % 146097;
	year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year + year / 4 - year / 100);
	month = (5 * of_year + 2) / 153;
	sl_debug("settings", "Current Time: %lld-%02d-%02d %02d:%02d:%02d UTC",
		 (long long)(year + era * 400 + (month >= 10)),
		 (int)(month < 10 ? month + 3 : month - 9),
		 (int)(of_year - (153 * month + 2) / 5 + 1), (int)(second / 3600),
		 (int)(second / 60 % 60), (int)(second % 60));
}

static void banner_process(void)
{
	struct utsname u;
	char cmd[256];
	long n = sl_read_text("/proc/self/cmdline", cmd, sizeof(cmd));

	if (n > 0) {
		for (long i = 0; i < n - 1; i++)
			if (!cmd[i])
				cmd[i] = ' ';
		sl_debug("settings", "Cmd Line: %s", cmd);
	}
	banner_time();
	sl_debug("settings", "Pid: %ld", sl_sys(SYS_getpid));
	if (sl_sys(SYS_uname, &u) == 0) {
		sl_debug("settings", "System: %s", u.release);
		sl_debug("settings", "Architecture: %s", u.machine);
		sl_debug("settings", "Node: %s", u.nodename);
	}
}

void sl_settings_banner(void)
{
	char value[256], name[SL_SETTING_NAME_MAX];
	bool any = false;

	sl_info("settings", "Sluice version " SL_VERSION);
	if (sl_load(&sl_log_level) >= SL_LOG_DEBUG)
		banner_process();
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++)
		any |= given[i] || is_changed(i);
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		const struct sl_setting *s = &sl_setting_table[i];
		/* VMA shows these two whenever it shows any setting, and so do we. */
		bool always = any && (i == SL_SETTING_tracelevel || i == SL_SETTING_log_file);
		int level = always || is_changed(i) ? SL_LOG_INFO : SL_LOG_DEBUG;

		sl_log(level, "settings", "%-32s %-26s [%s]", s->title,
		       setting_text(s, &sl_settings, value, sizeof(value)),
		       sl_setting_name(s, name));
	}
	if (sl_load(&sl_log_level) >= SL_LOG_DETAILS)
		sl_warn("settings", "the log level is high: good for finding faults, not for "
				    "live runs or measurements (SLUICE_TRACELEVEL=3)");
}
