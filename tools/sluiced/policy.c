/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy file, sluiced.conf(5): which users may have which devices, and how much.
 *
 *   allow|deny  user <name|number|*> | group <name|number>  [device <glob>[,<glob>...]]
 *               [join <glob>[,<glob>...]] [lanes <n>] [flows <n>] [frames <n>] [clients <n>]
 *               [repair yes|no]
 *   divide <glob>[,<glob>...] <n>
 *
 * The first line that fits the user (or the device) decides; a user that no line fits gets nothing.
 * # starts a comment. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/device/device.h"
#include "ctl/rules/rule.h"
#include "session.h"
#include "sluiced.h"

#define LANES_DEFAULT 64
#define FLOWS_DEFAULT 65536

struct words {
	char *at;
	sl_policy_name_fn *name;
	/* The mistake found. */
	const char *expected, *found;
};

static char *next_word(struct words *w)
{
	static const char blanks[] = " \t\r";
	char *word;

	w->at += strspn(w->at, blanks);
	if (!*w->at || *w->at == '#')
		return NULL;
	word = w->at;
	w->at += strcspn(w->at, " \t\r#");
	if (*w->at == '#')
		*w->at = 0; /* the comment is all that follows */
	else if (*w->at)
		*w->at++ = 0;
	return word;
}

static bool wrong_word(struct words *w, const char *expected, const char *found)
{
	w->expected = expected;
	w->found = found ? found : "";
	return false;
}

static bool take_number(struct words *w, uint32_t max, const char *expected, uint32_t *out)
{
	char *word = next_word(w), *end;
	unsigned long v;

	if (!word || *word < '0' || *word > '9')
		return wrong_word(w, expected, word);
	v = strtoul(word, &end, 10);
	if (*end || v > max)
		return wrong_word(w, expected, word);
	*out = (uint32_t)v;
	return true;
}

static bool take_id(struct words *w, bool group, uint32_t *id)
{
	const char *expected = group ? "the name or number of a group"
				     : "the name or number of a "
				       "user, or *";
	char *word = next_word(w), *end;
	unsigned long v;

	if (!word)
		return wrong_word(w, expected, word);
	if (*word < '0' || *word > '9')
		return w->name(word, group, id) || wrong_word(w, expected, word);
	v = strtoul(word, &end, 10);
	if (*end || v >= UINT32_MAX)
		return wrong_word(w, expected, word);
	*id = (uint32_t)v;
	return true;
}

static bool take_who(struct words *w, struct sl_policy_rule *r)
{
	char *word = next_word(w);
	const char *rest;

	if (word && !strcmp(word, "group")) {
		r->who = SL_WHO_GROUP;
		return take_id(w, true, &r->id);
	}
	if (!word || strcmp(word, "user"))
		return wrong_word(w, "user or group", word);
	rest = w->at + strspn(w->at, " \t");
	if (*rest == '*') {
		r->who = SL_WHO_ALL;
		word = next_word(w);
		return !word[1] || wrong_word(w, "*, or a user's name", word);
	}
	r->who = SL_WHO_USER;
	return take_id(w, false, &r->id);
}

static bool take_globs(struct words *w, const char *expected, char out[128])
{
	char *word = next_word(w);

	if (!word || strlen(word) >= 128)
		return wrong_word(w, expected, word);
	strcpy(out, word);
	return true;
}

static bool take_yes(struct words *w, bool *out)
{
	char *word = next_word(w);

	if (!word || (strcmp(word, "yes") && strcmp(word, "no")))
		return wrong_word(w, "yes or no", word);
	*out = *word == 'y';
	return true;
}

static bool take_limit(struct words *w, const char *word, struct sl_limits *l)
{
	if (!strcmp(word, "device"))
		return take_globs(w, "names of devices with commas between, at most 127 characters",
				  l->devices);
	if (!strcmp(word, "join"))
		return take_globs(w, "names of groups with commas between, at most 127 characters",
				  l->groups);
	if (!strcmp(word, "lanes"))
		return take_number(w, SL_SESSION_LANES, "a number of lanes from 0 to 256",
				   &l->lanes);
	if (!strcmp(word, "flows"))
		return take_number(w, SL_MAX_FLOWS, "a number of flows from 0 to 262144",
				   &l->flows);
	if (!strcmp(word, "frames"))
		return take_number(w, 1u << 20, "a number of frames from 0 to 1048576", &l->frames);
	if (!strcmp(word, "clients"))
		return take_number(w, SL_SESSIONS_MAX, "a number of programs from 0 to 1024",
				   &l->clients);
	if (!strcmp(word, "repair"))
		return take_yes(w, &l->repair);
	return wrong_word(
		w, "device, join, lanes, flows, frames, clients, repair or the end of the line",
		word);
}

static bool take_rule(struct words *w, char *verb, struct sl_policy_rule *r)
{
	char *word;

	*r = (struct sl_policy_rule){
		.allow = !strcmp(verb, "allow"),
		.limits = {.lanes = LANES_DEFAULT,
			   .flows = FLOWS_DEFAULT,
			   .clients = SL_CLIENTS,
			   .repair = true},
	};
	if (!r->allow && strcmp(verb, "deny"))
		return wrong_word(w, "allow, deny or divide", verb);
	if (!take_who(w, r))
		return false;
	while ((word = next_word(w)))
		if (!take_limit(w, word, &r->limits))
			return false;
	return true;
}

static bool take_divide(struct words *w, struct sl_policy_divide *d)
{
	static const char expected[] = "how many groups may have these devices, from 2 to 8";
	char *word;

	if (!take_globs(w, "names of devices with commas between, at most 127 characters",
			d->devices) ||
	    !take_number(w, SL_MAX_PARTS, expected, &d->groups))
		return false;
	if (d->groups < 2)
		return wrong_word(w, expected, "1");
	word = next_word(w);
	return !word || wrong_word(w, "the end of the line", word);
}

/* A line that is too long, or has a 0 in it, is cut there, and then most likely wrong. */
static bool parse_line(const char *text, size_t len, struct sl_policy *p, struct words *w)
{
	static char line[512];
	char *verb;

	if (len >= sizeof(line))
		return wrong_word(w, "a line of at most 511 characters", "");
	memcpy(line, text, len);
	line[len] = 0;
	w->at = line;
	verb = next_word(w);
	if (!verb)
		return true;
	if (!strcmp(verb, "divide")) {
		if (p->ndivide == SL_DIVIDE_MAX)
			return wrong_word(w, "at most 16 lines of that kind", verb);
		p->ndivide += take_divide(w, &p->divide[p->ndivide]);
		return !w->expected;
	}
	if (p->n == SL_POLICY_MAX)
		return wrong_word(w, "at most 128 lines", verb);
	if (!take_rule(w, verb, &p->rule[p->n]))
		return false;
	p->n++;
	return true;
}

unsigned sl_policy_parse(const char *text, size_t len, struct sl_policy *p, sl_policy_name_fn *name,
			 sl_policy_error_fn *on_error, void *arg)
{
	unsigned line = 0, bad = 0;

	p->n = p->ndivide = 0;
	for (size_t i = 0; i < len;) {
		const char *eol = memchr(text + i, '\n', len - i);
		size_t n = eol ? (size_t)(eol - text) - i : len - i;
		struct words w = {.name = name};

		line++;
		if (!parse_line(text + i, n, p, &w)) {
			bad++;
			if (on_error)
				on_error(arg, line, w.expected, w.found);
		}
		i += n + 1;
	}
	return bad;
}

static bool fits_user(const struct sl_policy_rule *r, uint32_t uid, const uint32_t *gids,
		      unsigned ngids)
{
	if (r->who == SL_WHO_ALL)
		return true;
	if (r->who == SL_WHO_USER)
		return r->id == uid;
	for (unsigned i = 0; i < ngids; i++)
		if (gids[i] == r->id)
			return true;
	return false;
}

const struct sl_policy_rule *sl_policy_find(const struct sl_policy *p, uint32_t uid,
					    const uint32_t *gids, unsigned ngids)
{
	for (unsigned i = 0; i < p->n; i++)
		if (fits_user(&p->rule[i], uid, gids, ngids))
			return p->rule[i].allow ? &p->rule[i] : NULL;
	return NULL;
}

static bool one_matches(const char globs[128], const char *name)
{
	char list[128], *save = NULL;

	memcpy(list, globs, sizeof(list));
	for (char *g = strtok_r(list, ",", &save); g; g = strtok_r(NULL, ",", &save))
		if (sl_glob_match(g, name))
			return true;
	return false;
}

uint32_t sl_policy_groups(const struct sl_policy *p, const char *ifname)
{
	for (unsigned i = 0; i < p->ndivide; i++)
		if (one_matches(p->divide[i].devices, ifname))
			return p->divide[i].groups;
	return 1;
}

bool sl_limits_allow_device(const struct sl_limits *l, const char *ifname)
{
	return !l->devices[0] || one_matches(l->devices, ifname);
}

bool sl_limits_allow_group(const struct sl_limits *l, const char *name)
{
	return one_matches(l->groups, name);
}
