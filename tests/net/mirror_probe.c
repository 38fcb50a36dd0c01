/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirror of the kernel's tables by hand: commands on standard input, one line of answer each
 * (mirror.sh speaks to it). Events are worked off before each command, but for `raw` ones. */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/neigh.h"
#include "net/route.h"

static char events[65536];
static unsigned nevents;

static void note(const char *fmt, const char *a, const char *b, bool gone)
{
	size_t n = strlen(events);

	nevents++;
	snprintf(events + n, sizeof(events) - n, fmt, a, b, gone ? "gone" : "there");
}

static void on_link(const struct sl_link *link, bool gone)
{
	note(" %s%s=%s", "link:", link->name, gone);
}

static void on_addr(uint32_t ifindex, const struct sl_addr *addr, bool gone)
{
	char name[IF_NAMESIZE] = "?", text[SL_ADDR_STRLEN];

	if_indextoname(ifindex, name);
	note(" addr:%s/%s=%s", name, sl_addr_str(addr, text), gone);
}

static bool parse_addr(const char *text, struct sl_addr *out)
{
	uint8_t b[16];

	if (text && inet_pton(AF_INET, text, b) == 1)
		*out = sl_addr_v4(*(uint32_t *)b);
	else if (text && inet_pton(AF_INET6, text, b) == 1)
		*out = sl_addr_v6(b);
	else
		return false;
	return true;
}

static void catch_up(void)
{
	struct pollfd p = {.fd = sl_net_fd(), .events = POLLIN};

	while (poll(&p, 1, 0) > 0)
		sl_net_on_readable();
}

static void cmd_route(char **word, unsigned n)
{
	static const char *const kinds[] = {"device",    "multicast",   "local",
					    "broadcast", "unreachable", "other"};
	struct sl_route_key key = {.src = {{{0}}}};
	char src[SL_ADDR_STRLEN], hop[SL_ADDR_STRLEN], name[IF_NAMESIZE] = "-";
	struct sl_route r;
	int err;

	if (n < 2 || !parse_addr(word[1], &key.dst)) {
		puts("usage");
		return;
	}
	for (unsigned i = 2; i + 1 < n; i += 2) {
		if (!strcmp(word[i], "src"))
			parse_addr(word[i + 1], &key.src);
		else if (!strcmp(word[i], "oif"))
			key.oif = if_nametoindex(word[i + 1]);
		else if (!strcmp(word[i], "tos"))
			key.tos = (uint8_t)strtoul(word[i + 1], NULL, 0);
		else if (!strcmp(word[i], "mark"))
			key.mark = (uint32_t)strtoul(word[i + 1], NULL, 0);
	}
	err = sl_route_get(&key, &r);
	if (err) {
		printf("error %s\n", strerrorname_np(-err));
		return;
	}
	if (r.kind == SL_ROUTE_UNREACHABLE) {
		printf("unreachable %s\n", strerrorname_np(-r.error));
		return;
	}
	if_indextoname(r.ifindex, name);
	printf("%s %s mtu %u src %s hop %s hl %u\n", kinds[r.kind], name, r.mtu,
	       sl_addr_str(&r.src, src), sl_addr_str(&r.nexthop, hop), r.hoplimit);
}

static void cmd_neigh(char **word, unsigned n, bool use)
{
	struct sl_addr addr;
	struct sl_neigh *e;
	uint8_t m[6];
	uint32_t seq;

	if (n < 3 || !parse_addr(word[2], &addr)) {
		puts("usage");
		return;
	}
	e = sl_neigh_get(if_nametoindex(word[1]), &addr);
	if (use)
		sl_neigh_use(e);
	if (sl_neigh_read(e, m, &seq))
		printf("%02x:%02x:%02x:%02x:%02x:%02x%s\n", m[0], m[1], m[2], m[3], m[4], m[5],
		       e->wants_probe ? " probe" : "");
	else
		puts("none");
}

static void cmd_link(const char *name)
{
	uint8_t *m;
	struct sl_link l;

	if (!sl_link_get((uint32_t)strtoul(name, NULL, 0), &l) &&
	    !sl_link_get(if_nametoindex(name), &l)) {
		puts("none");
		return;
	}
	m = l.mac;
	printf("%s mtu %u %s %s kind %s mac %02x:%02x:%02x:%02x:%02x:%02x master %u\n", l.name,
	       l.mtu, l.flags & IFF_UP ? "up" : "down", l.carrier_up ? "carrier" : "no-carrier",
	       l.kind, m[0], m[1], m[2], m[3], m[4], m[5], l.master);
}

static bool print_link(const struct sl_link *link, void *arg)
{
	(void)arg;
	printf("%s ", link->name);
	return true;
}

static bool print_local(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	char name[IF_NAMESIZE] = "?", text[SL_ADDR_STRLEN];

	(void)arg;
	if_indextoname(ifindex, name);
	printf("%s/%s ", name, sl_addr_str(addr, text));
	return true;
}

static bool count_local(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	(void)ifindex;
	(void)addr;
	++*(unsigned *)arg;
	return true;
}

/* Nanoseconds for one sl_route_get() and one sl_neigh_read(). */
static void cmd_bench(const char *dst, const char *dev)
{
	struct sl_route_key key = {.src = {{{0}}}};
	struct sl_neigh *n;
	struct sl_route r;
	uint64_t t0, t1, t2;
	uint32_t seq;
	uint8_t mac[6];

	parse_addr(dst, &key.dst);
	n = sl_neigh_get(if_nametoindex(dev), &key.dst);
	t0 = sl_now_ns();
	for (unsigned i = 0; i < 100000; i++)
		sl_route_get(&key, &r);
	t1 = sl_now_ns();
	for (unsigned i = 0; i < 10000000; i++)
		sl_neigh_read(n, mac, &seq);
	t2 = sl_now_ns();
	printf("route_get %.0f ns neigh_read %.2f ns\n", (double)(t1 - t0) / 1e5,
	       (double)(t2 - t1) / 1e7);
}

/* A child after fork has no route at first, then makes a mirror of its own. */
static void cmd_fork(const char *dst)
{
	struct sl_route_key key = {.src = {{{0}}}};
	struct sl_route r = {0};
	int before, after, status;
	pid_t pid = fork();

	if (pid != 0) {
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			printf("the child died: status %x\n", status);
		return;
	}
	sl_net_child();
	parse_addr(dst, &key.dst);
	before = sl_route_get(&key, &r);
	after = sl_net_open(NULL);
	if (!after)
		after = sl_route_get(&key, &r);
	printf("before %s after %d kind %d mtu %u\n", strerrorname_np(-before), after, r.kind,
	       r.mtu);
	fflush(stdout);
	_exit(0);
}

static void cmd_events(void)
{
	printf("%u%s\n", nevents, events);
	nevents = 0;
	events[0] = 0;
}

static void run(char **word, unsigned n)
{
	struct sl_addr addr;
	unsigned count = 0;

	if (!strcmp(word[0], "route")) {
		cmd_route(word, n);
	} else if (!strcmp(word[0], "neigh") || !strcmp(word[0], "use")) {
		cmd_neigh(word, n, word[0][0] == 'u');
	} else if (!strcmp(word[0], "link") && n > 1) {
		cmd_link(word[1]);
	} else if (!strcmp(word[0], "local") && n > 1) {
		puts(parse_addr(word[1], &addr) && sl_addr_is_local(&addr) ? "yes" : "no");
	} else if (!strcmp(word[0], "links")) {
		sl_link_for_each(print_link, NULL);
		puts("");
	} else if (!strcmp(word[0], "locals")) {
		sl_local_for_each(print_local, NULL);
		puts("");
	} else if (!strcmp(word[0], "count")) {
		sl_local_for_each(count_local, &count);
		printf("%u\n", count);
	} else if (!strcmp(word[0], "gen")) {
		printf("%u\n", sl_load(&sl_route_gen));
	} else if (!strcmp(word[0], "events")) {
		cmd_events();
	} else if (!strcmp(word[0], "fork") && n > 1) {
		cmd_fork(word[1]);
	} else if (!strcmp(word[0], "bench") && n > 2) {
		cmd_bench(word[1], word[2]);
	} else {
		puts("unknown");
	}
}

int main(void)
{
	static const struct sl_net_events cb = {.link_changed = on_link, .addr_changed = on_addr};
	char line[256], *word[16], *save;
	unsigned n;
	int err;

	sl_clock_init();
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = sl_net_open(&cb);
	if (err) {
		printf("sl_net_open: %s\n", strerror(-err));
		return 1;
	}
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		for (char *w = strtok_r(line, " \n", &save); w && n < 16;
		     w = strtok_r(NULL, " \n", &save))
			word[n++] = w;
		catch_up();
		if (n)
			run(word, n);
	}
	sl_net_close();
	return 0;
}
