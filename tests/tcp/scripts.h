/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of scripts: its table is `scripts`; main() runs those whose names are given, or all,
 * each in a process of its own, so that one that fails does not hide the others. */
#ifndef SCRIPTS_H
#define SCRIPTS_H

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"

struct script {
	const char *name;
	void (*run)(struct t *t);
};
#define SCRIPT(f)                                                                                  \
	{                                                                                          \
#f, f                                                                              \
	}
extern const struct script scripts[];

static void run_script(const struct script *s)
{
	static struct t t;

	t_begin(&t, s->name);
	s->run(&t);
	t_end(&t);
}

int main(int argc, char **argv)
{
	int failed = 0, ran = 0, status;

	for (const struct script *s = scripts; s->name; s++) {
		bool wanted = argc == 1;
		pid_t pid;

		for (int i = 1; i < argc; i++)
			wanted |= strcmp(argv[i], s->name) == 0;
		if (!wanted)
			continue;
		ran++;
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			alarm(20);
			run_script(s);
			fflush(stdout);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0) {
			failed++;
			printf("FAILED: %s\n", s->name);
		}
	}
	printf("%d scripts, %d failed\n", ran, failed);
	return failed || !ran;
}

#endif
