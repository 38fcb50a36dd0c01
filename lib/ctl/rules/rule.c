/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates rules and writes them as text. The array is live shared memory: each field is read
 * once, and nothing in it is believed further than a wrong decision goes. */
#include "ctl/rules/rule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/settings.h"
#include "base/sys.h"

static struct {
	char base[SL_RULE_NAME]; /* last part of argv[0] */
	char comm[32];           /* what the kernel calls it: a script's own name */
	char app_id[SL_RULE_NAME];
} self;

static const struct {
	uint32_t role;
	const char *name;
} roles[] = {
	{SL_ROLE_TCP_SERVER, "tcp_server"},   {SL_ROLE_TCP_CLIENT, "tcp_client"},
	{SL_ROLE_UDP_SENDER, "udp_sender"},   {SL_ROLE_UDP_RECEIVER, "udp_receiver"},
	{SL_ROLE_UDP_CONNECT, "udp_connect"},
};

uint32_t sl_role_by_name(const char *name, size_t len)
{
	if (len == 1 && *name == '*')
		return SL_ROLE_ALL;
	for (unsigned i = 0; i < sl_array_len(roles); i++)
		if (strlen(roles[i].name) == len && !strncasecmp(roles[i].name, name, len))
			return roles[i].role;
	return 0;
}

static void copy_text(char *dst, size_t size, const char *src)
{
	size_t n = src ? strnlen(src, size - 1) : 0;

	if (n)
		memcpy(dst, src, n);
	dst[n] = 0;
}

void sl_rule_set_identity(const char *program, const char *app_id)
{
	copy_text(self.base, sizeof(self.base), program);
	copy_text(self.comm, sizeof(self.comm), program);
	copy_text(self.app_id, sizeof(self.app_id), app_id);
}

/* The last part of argv[0], however long the path is. */
static void read_base(void)
{
	char some[256];
	size_t n = 0;
	long got;
	int fd = (int)sl_sys(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	do {
		got = sl_sys_read(fd, some, sizeof(some));
		for (long i = 0; i < got; i++) {
			if (!some[i])
				got = 0;
			else if (some[i] == '/')
				n = 0;
			else if (n < sizeof(self.base) - 1)
				self.base[n++] = some[i];
		}
	} while (got > 0 || got == -EINTR);
	(void)sl_sys_close(fd);
	self.base[n] = 0;
}

void sl_rule_init(void)
{
	read_base();
	sl_read_text("/proc/self/comm", self.comm, sizeof(self.comm));
	copy_text(self.app_id, sizeof(self.app_id), sl_settings.application_id);
}

bool sl_rule_is_for_same(const struct sl_rule *a, const struct sl_rule *b)
{
	return !strncmp(a->program, b->program, sizeof(a->program)) &&
	       !strncmp(a->app_id, b->app_id, sizeof(a->app_id));
}

/* Iterative, so that a hostile pattern costs at most pattern * text steps. */
bool sl_glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool sl_globs_match(const char *globs, const char *text)
{
	bool match = *globs == '!';

	while (*globs) {
		size_t n = strcspn(globs, ", ");
		bool exclude = *globs == '!';
		char glob[256];

		snprintf(glob, sizeof(glob), "%.*s", (int)(n - exclude), globs + exclude);
		if (glob[0] && !fnmatch(glob, text, 0))
			match = !exclude;
		globs += n + (globs[n] != 0);
	}
	return match;
}

static bool end_is_any(const struct sl_rule_end *e)
{
	return !e->prefix_len && !e->port_min && e->port_max == 65535;
}

static bool prefix_matches(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	uint32_t bytes = bits / 8, rest = bits % 8;

	if (bits > 128)
		return false;
	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a[bytes] ^ b[bytes]) >> (8 - rest));
}

static bool end_matches(const struct sl_rule_end *shared, const struct sl_addr *addr, uint16_t port)
{
	struct sl_rule_end e = *shared;

	if (!addr)
		return end_is_any(&e);
	return port >= e.port_min && port <= e.port_max &&
	       prefix_matches(e.addr, addr->b, e.prefix_len);
}

/* end_matches() for an end whose port number is not chosen yet. *some: only some port numbers
 * match, so the caller has to choose first. */
static bool end_may_match(const struct sl_rule_end *shared, const struct sl_addr *addr, bool *some)
{
	struct sl_rule_end e = *shared;

	*some = e.port_min > 1 || e.port_max < 65535;
	return prefix_matches(e.addr, addr->b, e.prefix_len);
}

/* A text of the rule, which need not be terminated, against the name or names we have. */
static bool program_matches(const char shared[SL_RULE_NAME])
{
	char pattern[SL_RULE_NAME + 1];

	if (!shared[0])
		return true;
	memcpy(pattern, shared, SL_RULE_NAME);
	pattern[SL_RULE_NAME] = 0;
	return sl_glob_match(pattern, self.base) || sl_glob_match(pattern, self.comm);
}

static bool app_id_matches(const char shared[SL_RULE_NAME])
{
	return !shared[0] || !strncmp(shared, self.app_id, SL_RULE_NAME);
}

static bool vni_matches(const struct sl_rule *r, uint32_t vni_after)
{
	return !(sl_load(&r->match) & SL_RULE_VNI) || sl_load(&r->vni) + 1 == vni_after;
}

unsigned sl_rules_used(const struct sl_rule *rules)
{
	/* Pairs with the release of the writer, which fills the entries before it counts them. */
	uint32_t n = sl_load_acquire(&rules[SL_MAX_RULES].hits);

	n = sl_max(n, (uint32_t)SL_RULES_SEEN);
	return sl_min(n, (uint32_t)SL_MAX_RULES);
}

/* The first entry from r on that may be a rule. Most of the array is empty, and each connection
 * asks. */
static const struct sl_rule *skip_empty(const struct sl_rule *r, const struct sl_rule *end)
{
	while (end - r >= 4 && !(sl_load(&r[0].action) | sl_load(&r[1].action) |
				 sl_load(&r[2].action) | sl_load(&r[3].action)))
		r += 4;
	return r;
}

enum sl_rule_action sl_rule_decide(const struct sl_rule *rules, unsigned n,
				   const struct sl_rule_ask *ask, const struct sl_rule **hit)
{
	const bool unchosen = ask->second && !ask->second_port;
	const struct sl_rule *end = rules + n;

	if (hit)
		*hit = NULL;
	for (const struct sl_rule *r = skip_empty(rules, end); r < end;
	     r = skip_empty(r + 1, end)) {
		bool some = false;
		/* Pairs with the release of the writer, which stores the action last. */
		uint32_t action = sl_load_acquire(&r->action);

		if (action != SL_RULE_SLUICE && action != SL_RULE_OS)
			continue;
		if (!(sl_load(&r->roles) & ask->role) ||
		    !end_matches(&r->first, ask->first, ask->first_port))
			continue;
		if ((ask->role & SL_ROLE_TWO_ENDS) &&
		    !(unchosen ? end_may_match(&r->second, ask->second, &some)
			       : end_matches(&r->second, ask->second, ask->second_port)))
			continue;
		if (!program_matches(r->program) || !app_id_matches(r->app_id) ||
		    !vni_matches(r, ask->vni_after))
			continue;
		if (some)
			return SL_RULE_NONE;
		if (hit)
			*hit = r;
		return action;
	}
	return SL_RULE_SLUICE;
}

/* Text at buf[n..], cut to the room there is; returns the new length. */
SL_PRINTF(3, 4)
static size_t add(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	int k;

	va_start(ap, fmt);
	k = vsnprintf(buf + n, SL_RULE_TEXT_MAX - n, fmt, ap);
	va_end(ap);
	return k < 0 ? n : sl_min(n + (size_t)k, (size_t)SL_RULE_TEXT_MAX - 1);
}

static size_t add_end(char *buf, size_t n, const struct sl_rule_end *e)
{
	uint32_t bits = sl_min(e->prefix_len, 128u);
	struct sl_addr a;
	char text[SL_ADDR_STRLEN];

	memcpy(a.b, e->addr, 16);
	if (!bits) {
		n = add(buf, n, "*");
	} else if (sl_addr_is_v4(&a) && bits >= 96) {
		n = add(buf, n, "%s", sl_addr_str(&a, text));
		if (bits < 128)
			n = add(buf, n, "/%u", bits - 96);
	} else {
		n = add(buf, n, "[%s]", inet_ntop(AF_INET6, a.b, text, sizeof(text)));
		if (bits < 128)
			n = add(buf, n, "/%u", bits);
	}
	if (!e->port_min && e->port_max == 65535)
		return add(buf, n, ":*");
	if (e->port_min == e->port_max)
		return add(buf, n, ":%u", e->port_min);
	return add(buf, n, ":%u-%u", e->port_min, e->port_max);
}

static void add_narrowing(char *buf, size_t n, const struct sl_rule *r)
{
	const struct sl_marks *is = &r->narrow.marks, *mask = &r->narrow.mask;

	if (mask->dscp)
		n = add(buf, n, " dscp %u", is->dscp);
	if (mask->label)
		n = add(buf, n, " flow-label 0x%05x/0x%05x", is->label, mask->label);
	if (r->match & SL_RULE_VNI)
		add(buf, n, " vni %u", r->vni);
}

const char *sl_rule_text(const struct sl_rule *shared, char buf[SL_RULE_TEXT_MAX])
{
	struct sl_rule r = *shared;
	size_t n;
	bool more = false;

	n = add(buf, 0, "use %s ",
		r.action == SL_RULE_OS       ? "os"
		: r.action == SL_RULE_SLUICE ? "sluice"
					     : "none");
	if ((r.roles & SL_ROLE_ALL) == SL_ROLE_ALL) {
		n = add(buf, n, "*");
	} else {
		for (unsigned i = 0; i < sl_array_len(roles); i++)
			if (r.roles & roles[i].role) {
				n = add(buf, n, "%s%s", more ? "|" : "", roles[i].name);
				more = true;
			}
	}
	n = add(buf, n, " ");
	n = add_end(buf, n, &r.first);
	if ((r.roles & SL_ROLE_TWO_ENDS) && !end_is_any(&r.second)) {
		n = add(buf, n, ":");
		n = add_end(buf, n, &r.second);
	}
	add_narrowing(buf, n, &r);
	return buf;
}
