/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice daemon: shows sluiced's report of itself, its devices and its leases. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trust.h"
#include "ctl/lease/msg.h"
#include "tools.h"

static int conn = -1;

static void usage(FILE *to)
{
	fputs("usage: sluice daemon status|ports|leases|drain [--socket PATH]\n\n"
	      "  status  version, age, counts\n"
	      "  ports   the devices that are leased\n"
	      "  leases  who has one, and what of it\n"
	      "  drain   give no more, and end with the last (root)\n"
	      "\nThe socket is SLUICE_DAEMON's, or " SL_LEASE_PATH ".\n",
	      to);
}

static bool dial(const char *path)
{
	conn = sl_lease_dial(path, 5);
	if (conn >= 0)
		return true;
	fprintf(stderr,
		"sluice: no daemon answers at %s: %s; remedy: systemctl start sluiced, or sluiced "
		"in this network namespace (--socket, SLUICE_DAEMON name another path)\n",
		path, strerror(-conn));
	return false;
}

/* Makes an answer's text fit for a terminal: names of devices may have any character. */
static const char *shown(char *text, size_t bytes)
{
	text[bytes - 1] = 0;
	sl_make_printable(text);
	return text;
}
#define SHOWN(text) shown(text, sizeof(text))

/* 0; -ENOENT: the daemon has no such entry. Other errors are printed. */
static int ask_daemon(struct sl_lease_msg *m, enum sl_lease_op op)
{
	int err;

	m->nfds = 0;
	err = sl_lease_ask(conn, m, op, 0);
	if (err <= 0) {
		fprintf(stderr, "sluice: the daemon does not answer: %s\n",
			err ? strerror(-err) : "it has gone");
		return err ? err : -ENOTCONN;
	}
	if (m->hdr.err && m->hdr.err != -ENOENT)
		fprintf(stderr, "sluice: %s\n", SHOWN(m->body.why));
	return m->hdr.err;
}

static int status(void)
{
	struct sl_lease_msg m;
	struct sl_lease_status_ok *s = &m.body.status_ok;
	int err = ask_daemon(&m, SL_LEASE_STATUS);

	if (err)
		return 1;
	printf("sluiced %s, process %u, network namespace %u, up %" PRIu64 " s%s\n",
	       SHOWN(s->version), s->pid, s->netns, s->uptime_ns / 1000000000,
	       s->draining ? ", draining" : "");
	printf("%u leases, %u connections, %u devices\n", s->leases, s->clients, s->ports);
	printf("%" PRIu64 " requests, %" PRIu64 " refused, %" PRIu64 " broken\n", s->requests,
	       s->refused, s->broken);
	return 0;
}

static const char *state_of(uint32_t state, uint8_t end)
{
	static const char *const names[] = {"not steered", "steering", "down", "gone"};
	static const char *const ends[] = {
		[SL_PORT_END_TAKEN_OFF] = "taken off",
		[SL_PORT_END_REPLACED] = "replaced",
		[SL_PORT_END_QUEUES] = "queues changed",
	};

	if (state == SL_LEASE_DEVICE_OFF && end < sl_array_len(ends) && ends[end])
		return ends[end];
	return state < sl_array_len(names) ? names[state] : "?";
}

static int ports(void)
{
	struct sl_lease_msg m;
	int err;

	printf("%-16s %-12s %7s %6s %6s %6s %8s %-16s %s\n", "DEVICE", "DRIVER", "QUEUES", "MTU",
	       "LEASES", "LANES", "FLOWS", "GROUP", "STATE");
	for (uint32_t n = 0;; n++) {
		struct sl_lease_show_port_ok *p = &m.body.show_port_ok;

		m.body.show.n = n;
		err = ask_daemon(&m, SL_LEASE_SHOW_PORT);
		if (err)
			return err != -ENOENT;
		printf("%-16s %-12s %7u %6u %6u %6u %8u %-16s %s%s%s", SHOWN(p->port.ifname),
		       SHOWN(p->port.driver), p->port.nqueues, p->port.mtu, p->users, p->lanes,
		       p->flows, SHOWN(p->group), state_of(p->state, p->port.end),
		       p->port.flags & SL_PORT_ZEROCOPY ? ", zero-copy" : ", copy mode",
		       p->port.flags & SL_PORT_PACKET    ? ", packet sockets"
		       : p->port.flags & SL_PORT_GENERIC ? ", generic"
							 : "");
		if (p->outsiders)
			printf(", kernel for %u %s", p->outsiders,
			       p->lent_once ? "others" : "of other groups");
		putchar('\n');
	}
}

static int leases(void)
{
	struct sl_lease_msg m;
	int err;

	printf("%6s %8s %-16s %8s %-16s %6s %8s %8s %8s %s\n", "LEASE", "PID", "PROGRAM", "USER",
	       "GROUP", "LANES", "FLOWS", "FRAMES", "AGE", "DEVICES");
	for (uint32_t n = 0;; n++) {
		struct sl_lease_show_lease_ok *l = &m.body.show_lease_ok;

		m.body.show.n = n;
		err = ask_daemon(&m, SL_LEASE_SHOW_LEASE);
		if (err)
			return err != -ENOENT;
		printf("%6u %8u %-16s %8u %-16s %6u %8u %8u %7" PRIu64 "s %s\n", l->member, l->pid,
		       SHOWN(l->program), l->uid, SHOWN(l->group), l->lanes, l->flows, l->frames,
		       l->age_ns / 1000000000, SHOWN(l->devices));
	}
}

static int drain_daemon(void)
{
	struct sl_lease_msg m;

	return ask_daemon(&m, SL_LEASE_DRAIN) ? 1 : 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} actions[] = {{"status", status}, {"ports", ports}, {"leases", leases}, {"drain", drain_daemon}};

static const char *default_path(void)
{
	const char *path = getenv("SLUICE_DAEMON");

	return path && *path && strcmp(path, "auto") && strcmp(path, "off") ? path : SL_LEASE_PATH;
}

int sl_tool_daemon(int argc, char **argv)
{
	const char *path = default_path();
	int (*run)(void) = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			usage(stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--socket") && i + 1 < argc) {
			path = argv[++i];
			continue;
		}
		for (unsigned a = 0; !run && a < sl_array_len(actions); a++)
			if (!strcmp(argv[i], actions[a].name))
				run = actions[a].run;
	}
	if (!run) {
		usage(stderr);
		return 2;
	}
	return dial(path) ? run() : 1;
}
