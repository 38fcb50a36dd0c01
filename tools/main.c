/* SPDX-License-Identifier: BSD-2-Clause */
/* The sluice command: a table of subcommands. */
#include <stdlib.h>
#include <string.h>

#include "sluice.h"
#include "tools.h"

static int tool_version(int argc, char **argv)
{
	puts("sluice " SLUICE_VERSION);
	return 0;
}

static int tool_help(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: not for users */
} commands[] = {
	{"run", sl_tool_run, "run a program with its sockets offloaded"},
	{"stat", sl_tool_stat, "counters of running programs (vma_stats)"},
	{"top", sl_tool_top, "the busiest offloaded sockets, live"},
	{"rule", sl_tool_rule, "list, test and change the rules"},
	{"flow", sl_tool_flow, "list connections and sockets, and move them to the kernel or back"},
	{"ss", sl_tool_ss, "sockets as ss(8) lists them, offloaded ones included"},
	{"capture", sl_tool_capture, "packets of offloaded sockets, for Wireshark and tshark"},
	{"pace", sl_tool_pace, "list sockets with a rate; give rates to destinations and queues"},
	{"qos", sl_tool_qos, "quality of service of a NIC (mlnx_qos, tc_wrap)"},
	{"doctor", sl_tool_doctor, "what this machine can do, and what is in the way"},
	{"daemon", sl_tool_daemon, "what sluiced lends, and to whom"},
	{"demo", sl_tool_demo, "two namespaces, a program on the kernel and on Sluice"},
	{"reaper", sl_tool_reaper, NULL},
	{"vault", sl_tool_vault, NULL},
	{"tc_wrap", sl_tool_tc_wrap, NULL},
	{"version", tool_version, "print the version"},
	{"help", tool_help, "print this"},
};

/* Names under which the tool may be called directly. */
static const struct {
	const char *name, *command;
} aliases[] = {
	{"vma_stats", "stat"},
	{"--version", "version"},
	{"-V", "version"},
	{"--help", "help"},
	{"-h", "help"},
	/* Names of programs whose work the commands do: the tool is installed under these names,
	   too. */
	{"mlnx_qos", "qos"},
	{"tc_wrap.py", "tc_wrap"},
};

/* True: the tool, called by this name, is that command alone. */
static bool is_program(const char *name)
{
	return !strcmp(name, "vma_stats") || !strcmp(name, "mlnx_qos") ||
	       !strncmp(name, "tc_wrap", strlen("tc_wrap"));
}

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < sl_array_len(aliases); i++)
		if (!strcmp(name, aliases[i].name))
			name = aliases[i].command;
	for (unsigned i = 0; i < sl_array_len(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static void print_commands(FILE *to)
{
	fputs("usage: sluice <command> [arguments]\n\n", to);
	for (unsigned i = 0; i < sl_array_len(commands); i++)
		if (commands[i].help)
			fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n`sluice <command> --help` says more; so does the manual, sluice(1).\n", to);
}

static int tool_help(int argc, char **argv)
{
	print_commands(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/');
	const struct command *c;
	int status;

	base = base ? base + 1 : argv[0];
	c = is_program(base) ? find_command(base) : NULL;
	if (c)
		return c->run(argc, argv);
	if (argc < 2) {
		print_commands(stderr);
		return 2;
	}
	c = find_command(argv[1]);
	if (!c) {
		fprintf(stderr, "sluice: no command '%s'; see `sluice help`\n", argv[1]);
		return 2;
	}
	status = c->run(argc - 1, argv + 1);
	/* A report that could not be written is a failure. */
	if (fflush(stdout) && !status)
		status = 1;
	return status;
}
