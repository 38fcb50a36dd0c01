/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice run: sets the environment for the preload library and runs the program. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"
#include "program.h"
#include "settings_doc.h"
#include "tools.h"

struct options {
	bool dry_run, explain;
	char **program; /* and its arguments, NULL-terminated */
};

static void usage(FILE *to)
{
	fputs("usage: sluice run [options] [NAME=value ...] [--] program [arguments]\n"
	      "\n"
	      "  --NAME=value, NAME=value   a setting: --rx-poll=-1, RX_POLL=-1, SLUICE_RX_POLL=-1\n"
	      "  --explain        say which devices would be offloaded, and which rules hold\n"
	      "  -n, --dry-run    say what would be run, and do not\n"
	      "  --help-settings  list the settings: values, defaults, what they do\n"
	      "  --help           print this\n"
	      "\n"
	      "See sluice-run(1).\n",
	      to);
}

bool sl_bpffs_mounted(void)
{
	struct statfs fs;

	return !statfs("/sys/fs/bpf", &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

bool sl_mounts_are_private(void)
{
	struct stat mine, init;

	return !stat("/proc/self/ns/mnt", &mine) && !stat("/proc/1/ns/mnt", &init) &&
	       mine.st_ino != init.st_ino;
}

bool sl_tool_number(const char *text, long lo, long hi, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || v < lo || v > hi)
		return false;
	*out = (int)v;
	return true;
}

/* Directory of the running tool, without the last slash. Returns buf. */
static const char *tool_dir(char *buf, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", buf, len - 1);
	char *slash;

	buf[n > 0 ? n : 0] = 0;
	slash = strrchr(buf, '/');
	if (slash)
		*slash = 0;
	return buf;
}

int sl_tool_preload_path(char *buf, size_t len)
{
	static const char *const places[] = {"/libsluice-preload.so",
					     "/../lib/libsluice-preload.so",
					     SLUICE_PREFIX "/lib/libsluice-preload.so"};
	char dir[512];

	tool_dir(dir, sizeof(dir));
	for (unsigned i = 0; i < sl_array_len(places); i++) {
		snprintf(buf, len, "%s%s", i < 2 ? dir : "", places[i]);
		if (!access(buf, R_OK))
			return 0;
	}
	return -ENOENT;
}

/* Finds the setting for "rx-poll" or "SLUICE_RX_POLL"; NULL: there is none. near: the one whose
 * name is the nearest then, or NULL. */
static const struct sl_setting *setting_named(const char *name, size_t len,
					      const struct sl_setting **near)
{
	char plain[SL_SETTING_NAME_MAX];
	const struct sl_setting *s;

	*near = NULL;
	if (len > 7 && !strncasecmp(name, "SLUICE_", 7)) {
		name += 7;
		len -= 7;
	} else if (len > 4 && !strncasecmp(name, "VMA_", 4)) {
		name += 4;
		len -= 4;
	}
	if (!len || len >= sizeof(plain))
		return NULL;
	for (size_t i = 0; i < len; i++)
		plain[i] = name[i] == '-' ? '_' : name[i];
	plain[len] = 0;
	s = sl_setting_find(plain);
	if (!s)
		*near = sl_setting_near(plain, len);
	return s;
}

/* Puts one setting into the environment. Returns 0 or an exit status. */
static int set(const char *arg, const char *eq)
{
	const struct sl_setting *near, *s = setting_named(arg, (size_t)(eq - arg), &near);
	char name[SL_SETTING_NAME_MAX], why[300];
	struct sl_settings scratch;

	if (!s) {
		fprintf(stderr, "sluice run: no setting '%.*s'; %s %s\n", (int)(eq - arg), arg,
			near ? "the nearest is" : "see",
			near ? sl_setting_name(near, name) : "sluice run --help-settings");
		return 2;
	}
	if (sl_setting_parse(s, eq + 1, &scratch, why, sizeof(why))) {
		fprintf(stderr, "sluice run: %s='%s': expected %s\n", sl_setting_name(s, name),
			eq + 1, why);
		return 2;
	}
	setenv(sl_setting_name(s, name), eq + 1, 1);
	return 0;
}

/* True: NAME=value in front of the program, the name all capitals, as env(1) has it. */
static bool is_assignment(const char *arg)
{
	size_t n = strspn(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && arg[n] == '=' && !isdigit((unsigned char)arg[0]);
}

/* Returns -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int i, err;

	for (i = 1; i < argc; i++) {
		const char *a = argv[i], *eq = strchr(a, '=');

		if (!strcmp(a, "--")) {
			i++;
			break;
		} else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
			usage(stdout);
			return 0;
		} else if (!strcmp(a, "--help-settings")) {
			sl_settings_doc_text(stdout);
			return 0;
		} else if (!strcmp(a, "--help-settings=man")) {
			sl_settings_doc_man(stdout);
			return 0;
		} else if (!strcmp(a, "--dry-run") || !strcmp(a, "-n")) {
			o->dry_run = true;
		} else if (!strcmp(a, "--explain")) {
			o->explain = true;
		} else if (!strncmp(a, "--", 2) && eq) {
			err = set(a + 2, eq);
			if (err)
				return err;
		} else if (is_assignment(a)) {
			err = set(a, eq);
			if (err)
				return err;
		} else if (a[0] == '-') {
			fprintf(stderr, "sluice run: no option '%s' (a setting is --name=value)\n",
				a);
			return 2;
		} else {
			break;
		}
	}
	o->program = argv + i;
	if (i < argc || o->explain)
		return -1;
	usage(stderr);
	return 2;
}

/* Raises the limit of locked memory as far as allowed: old kernels count packet memory. */
static void raise_memlock(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_MEMLOCK, &r) && r.rlim_cur != r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &r);
	}
}

/* Mounts bpffs for libxdp's dispatcher and the library's maps. `ip netns exec` gives the program a
 * /sys of its own without one; mounted there alone, where no other program sees it. */
static void want_bpffs(void)
{
	if (sl_bpffs_mounted())
		return;
	if (geteuid() == 0 && sl_mounts_are_private() &&
	    !mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL))
		return;
	sl_settings_load(NULL); /* the line goes to the program's log */
	sl_info("run",
		"no bpffs on /sys/fs/bpf: maps are not pinned, and other XDP programs cannot "
		"share a device with us (mount -t bpf bpf /sys/fs/bpf)");
}

/* The run time of AddressSanitizer ends a program in which another library was loaded before it.
 * This library may be: its calls find the run time's as the next ones. (The program may be started
 * by a script, so it is not looked at.) */
static int allow_sanitizer(void)
{
	const char *old = getenv("ASAN_OPTIONS");
	char *value;

	if (old && strstr(old, "verify_asan_link_order"))
		return 0;
	if (asprintf(&value, "%s%sverify_asan_link_order=0", old ? old : "",
		     old && *old ? ":" : "") < 0)
		return 1;
	setenv("ASAN_OPTIONS", value, 1);
	free(value);
	return 0;
}

static int add_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char path[1024], *value;

	if (sl_tool_preload_path(path, sizeof(path))) {
		fprintf(stderr,
			"sluice run: libsluice-preload.so is neither beside this program nor "
			"in ../lib nor in " SLUICE_PREFIX "/lib; remedy: make install, or run "
			"the tool from the build directory\n");
		return 1;
	}
	if (strpbrk(path, " :")) {
		fprintf(stderr, "sluice run: %s: LD_PRELOAD takes no blanks or colons in a path\n",
			path);
		return 1;
	}
	if (old && strstr(old, "libsluice-preload.so"))
		return 0;
	if (asprintf(&value, "%s%s%s", path, old && *old ? ":" : "", old ? old : "") < 0)
		return 1;
	setenv("LD_PRELOAD", value, 1);
	free(value);
	return allow_sanitizer();
}

static void explain_rules(void)
{
	unsigned n;
	const struct sl_rule *r;
	char text[SL_RULE_TEXT_MAX];

	sl_rules_load();
	r = sl_rules(&n);
	if (!n)
		puts("rules: none, everything is offloaded");
	else
		printf("rules: %s\n", sl_rules_file());
	for (unsigned i = 0; i < n; i++)
		printf("  %s%s%s%s\n", sl_rule_text(&r[i], text),
		       r[i].program[0] ? "  program " : "", r[i].program,
		       r[i].app_id[0] ? "  (with an application id)" : "");
}

static void explain(void)
{
	static struct sl_device dev[256];
	int n;

	sl_settings_load(NULL);
	n = sl_devices(dev, sl_array_len(dev));
	for (int i = 0; i < n; i++) {
		const char *remedy, *obstacle = sl_device_obstacle(&dev[i], &remedy);

		printf("%s: %s%s", dev[i].name, obstacle ? "kernel: " : "offloaded",
		       obstacle ? obstacle : "");
		if (obstacle && remedy)
			printf(" (%s)", remedy);
		if (!obstacle)
			printf(": driver %s, %u RX queue%s, MTU %u", dev[i].driver,
			       dev[i].rx_queues, dev[i].rx_queues == 1 ? "" : "s", dev[i].mtu);
		putchar('\n');
	}
	explain_rules();
}

/* Says why the program will run without the library. False: it must not be preloaded, since it
 * would not start. */
static bool check_program(const char *path)
{
	char who[1024];
	enum sl_program_kind kind = sl_program_kind(path, who, sizeof(who));
	const char *remedy, *obstacle = sl_program_obstacle(kind, &remedy);

	if (obstacle)
		fprintf(stderr, "sluice run: %s %s; its sockets stay with the kernel; remedy: %s\n",
			who, obstacle, remedy);
	return kind != SL_PROGRAM_LIBC;
}

/* A script without "#!" is the shell's, as with execvp(3), env(1) and nice(1). Returns only if that
 * fails. */
static void run_by_shell(char *path, char **program)
{
	size_t n = 0;
	char **args;

	while (program[n])
		n++;
	args = calloc(n + 2, sizeof(*args));
	if (!args)
		return;
	args[0] = "/bin/sh";
	args[1] = path;
	for (size_t i = 1; i < n; i++)
		args[i + 1] = program[i];
	execv(args[0], args);
	free(args);
}

int sl_tool_run(int argc, char **argv)
{
	struct options o = {0};
	int status = parse_options(argc, argv, &o);
	char path[1024];

	if (status >= 0)
		return status;
	if (o.explain) {
		explain();
		return 0;
	}
	status = sl_program_find(o.program[0], path, sizeof(path));
	if (status) {
		fprintf(stderr, "sluice run: %s: %s\n", o.program[0], strerror(-status));
		return status == -ENOENT ? 127 : 126;
	}
	if (check_program(path) && add_preload())
		return 1;
	if (o.dry_run) {
		sl_settings_load(NULL); /* tells mistakes, as the program's library does */
		sl_settings_doc_environment(stdout);
		for (char **a = o.program; *a; a++)
			printf("%s%c", *a, a[1] ? ' ' : '\n');
		return 0;
	}
	raise_memlock();
	want_bpffs();
	fflush(NULL);
	execv(path, o.program);
	if (errno == ENOEXEC) {
		run_by_shell(path, o.program);
		errno = ENOEXEC;
	}
	fprintf(stderr, "sluice run: %s: %s\n", path, strerror(errno));
	return 126;
}
