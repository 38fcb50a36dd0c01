/* SPDX-License-Identifier: BSD-2-Clause */
/* Wireshark's questions to a capture program (extcap, wireshark's doc/extcap.adoc). */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sluice.h"

#define INTERFACE "sluice"

static const char *value_of(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name) && i + 1 < argc)
			return argv[i + 1];
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	}
	return NULL;
}

static bool has(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static void interfaces(void)
{
	puts("extcap {version=" SLUICE_VERSION "}{help=man:sluice-capture(1)}\n"
	     "interface {value=" INTERFACE "}{display=Sockets offloaded by Sluice}");
}

static void config(void)
{
	puts("arg {number=0}{call=--pid}{display=Process}{tooltip=Number of a process, or all}"
	     "{type=string}{default=all}\n"
	     "arg {number=1}{call=--device}{display=Device}{tooltip=Name of a network device}"
	     "{type=string}\n"
	     "arg {number=2}{call=--snaplen}{display=Bytes of a packet}{type=unsigned}"
	     "{range=0,262144}{default=0}");
}

/* Makes the arguments those of a capture that is asked for by hand. */
static int translate(int *argcp, char ***argvp)
{
	int argc = *argcp;
	char **argv = *argvp;
	static const char *const passed[] = {"--pid",  "--device", "--snaplen",
					     "--lane", "--flow",   "--directory"};
	const char *fifo = value_of(argc, argv, "--fifo"), *v;
	static char *args[24];
	int n = 0;

	if (!fifo) {
		fputs("sluice capture: --capture needs --fifo\n", stderr);
		return 2;
	}
	args[n++] = argv[0];
	args[n++] = sl_unconst("-w");
	args[n++] = sl_unconst(fifo);
	for (unsigned i = 0; i < sl_array_len(passed); i++) {
		v = value_of(argc, argv, passed[i]);
		if (!v || !*v)
			continue;
		args[n++] = sl_unconst(passed[i]);
		args[n++] = sl_unconst(v);
	}
	v = value_of(argc, argv, "--extcap-capture-filter");
	if (v && *v) {
		args[n++] = sl_unconst("--");
		args[n++] = sl_unconst(v);
	}
	*argcp = n;
	*argvp = args;
	return -1;
}

bool sl_capture_extcap(int *argcp, char ***argvp, int *status)
{
	int argc = *argcp;
	char **argv = *argvp;

	*status = -1;
	if (has(argc, argv, "--capture")) {
		*status = translate(argcp, argvp);
	} else if (has(argc, argv, "--extcap-interfaces")) {
		interfaces();
		*status = 0;
	} else if (has(argc, argv, "--extcap-dlts")) {
		puts("dlt {number=1}{name=EN10MB}{display=Ethernet}");
		*status = 0;
	} else if (has(argc, argv, "--extcap-config")) {
		config();
		*status = 0;
	}
	return *status >= 0;
}
