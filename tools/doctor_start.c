/* SPDX-License-Identifier: BSD-2-Clause */
/* For `sluice doctor`: how a program is started from here, by the settings in the environment, the
 * file of rules, LD_PRELOAD, and the program itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "ctl/device/dev.h"
#include "ctl/rules/conf.h"
#include "doctor.h"
#include "program.h"
#include "tools.h"

void sl_doctor_load(void)
{
	size_t n = 0, good = 0;
	char text[400], **vars;

	while (environ[n])
		n++;
	vars = calloc(n + 1, sizeof(*vars));
	for (size_t i = 0; vars && i < n; i++)
		if (!sl_setting_fault(environ[i], text, sizeof(text)))
			vars[good++] = environ[i];
	sl_settings_load(vars);
	free(vars);
}

void sl_doctor_settings(void)
{
	char text[400];

	for (char **e = environ; *e; e++)
		if (sl_setting_fault(*e, text, sizeof(text)))
			sl_say_finding("sluice run --help-settings", "%s", text);
}

void sl_doctor_names(void)
{
	const char *list = sl_settings.devices;
	char name[16];

	while (sl_dev_next_missing(&list, name))
		sl_say_finding("a name that ip link shows in this network namespace",
			       "SLUICE_DEVICES names %s: there is no such device", name);
}

static void say_line(void *arg, const struct sl_conf_error *e)
{
	const char *const *path = arg;

	sl_say_finding("man sluice.conf",
		       "%s:%u:%u: expected %s, found %s%s%s; the line is skipped", *path, e->line,
		       e->col, e->expected, e->found[0] ? "'" : "",
		       e->found[0] ? e->found : "the end of the line", e->found[0] ? "'" : "");
}

void sl_doctor_rules(void)
{
	static const char *const defaults[] = {"/etc/sluice.conf", "/etc/libvma.conf"};
	static struct sl_conf conf;
	bool named = sl_settings.config_file[0];
	int err = -ENOENT;

	for (unsigned i = 0; i < (named ? 1 : sl_array_len(defaults)) && err == -ENOENT; i++) {
		const char *path = named ? sl_settings.config_file : defaults[i];

		err = sl_conf_read(path, &conf, say_line, &path);
		if (err >= 0)
			sl_say_good("%u rules in %s", conf.n, path);
		else if (named || err != -ENOENT)
			sl_say_finding("a file that this user may read, in SLUICE_CONFIG_FILE",
				       "%s: %s; no rules, everything is offloaded", path,
				       strerror(-err));
	}
	if (err == -ENOENT && !named)
		sl_say_good("no /etc/sluice.conf: everything is offloaded");
}

static bool is_named(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	return !strncmp(base ? base + 1 : path, name, strlen(name));
}

void sl_doctor_preloads(void)
{
	const char *list = getenv("LD_PRELOAD");
	char path[1024];

	while (list && *list) {
		size_t n = strcspn(list, ": ");

		snprintf(path, sizeof(path), "%.*s", (int)n, list);
		list += n + (list[n] != 0);
		if (is_named(path, "libsluice.so"))
			sl_say_finding("LD_PRELOAD=libsluice-preload.so, which stands beside it",
				       "LD_PRELOAD has %s, which takes no calls over", path);
		else if (is_named(path, "libvma.so"))
			sl_say_finding("sluice run, without LD_PRELOAD",
				       "LD_PRELOAD has %s, which is not Sluice", path);
		else if (is_named(path, "libsluice-preload.so") && strchr(path, '/') &&
			 access(path, R_OK))
			sl_say_finding("sluice run, which finds the library",
				       "LD_PRELOAD has %s: %s; programs run without", path,
				       strerror(errno));
	}
}

void sl_doctor_program(const char *name)
{
	char path[1024], who[1024];
	const char *remedy, *obstacle;
	int err = sl_program_find(name, path, sizeof(path));

	if (err) {
		sl_say_finding("the path of an executable file", "program %s: %s", name,
			       strerror(-err));
		return;
	}
	obstacle = sl_program_obstacle(sl_program_kind(path, who, sizeof(who)), &remedy);
	if (obstacle)
		sl_say_finding(remedy, "%s %s; its sockets stay with the kernel", who, obstacle);
	else
		sl_say_good("program %s can be preloaded", path);
}
