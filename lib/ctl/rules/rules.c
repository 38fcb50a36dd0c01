/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds, reads and keeps the rules of the configuration file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"

#define MAX_FILE_BYTES (1 << 20)

static struct sl_conf loaded;
static char loaded_from[256];

/* Fills buf; returns the number of bytes or -errno. */
static long read_conf(int fd, char *buf, size_t size)
{
	size_t n = 0;

	while (n < size) {
		long k = sl_sys_read(fd, buf + n, size - n);

		if (k == -EINTR)
			continue;
		if (k < 0)
			return k;
		if (k == 0)
			break;
		n += (size_t)k;
	}
	return (long)n;
}

int sl_conf_read(const char *path, struct sl_conf *conf, sl_conf_error_fn *on_error, void *arg)
{
	char *mem;
	long n = -ENOMEM;
	int fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fd;
	mem = sl_sys_pages(MAX_FILE_BYTES + 1, 0);
	if (!mem)
		goto close_file;
	n = read_conf(fd, mem, MAX_FILE_BYTES + 1);
	if (n > MAX_FILE_BYTES)
		n = -EFBIG;
	if (n >= 0)
		n = sl_conf_parse(mem, (size_t)n, conf, on_error, arg);
	(void)sl_sys(SYS_munmap, mem, (long)MAX_FILE_BYTES + 1);
close_file:
	(void)sl_sys_close(fd);
	return (int)n;
}

static void log_error(void *arg, const struct sl_conf_error *e)
{
	const char *const *path = arg;

	sl_warn("conf", "%s:%u:%u: expected %s, found %s%s%s; the line is skipped", *path, e->line,
		e->col, e->expected, e->found[0] ? "'" : "",
		e->found[0] ? e->found : "the end of the line", e->found[0] ? "'" : "");
}

/* Reads the file that the setting names, else the first default that exists. */
static int read_first(const char **from)
{
	static const char *const defaults[] = {"/etc/sluice.conf", "/etc/libvma.conf"};
	int err = -ENOENT;

	*from = sl_settings.config_file;
	if (**from)
		return sl_conf_read(*from, &loaded, log_error, from);
	for (unsigned i = 0; i < sl_array_len(defaults) && err == -ENOENT; i++) {
		*from = defaults[i];
		err = sl_conf_read(*from, &loaded, log_error, from);
	}
	return err;
}

/* `log destination` counts when no setting names a log file. Its min-level was that of
 * libvma's parser and matcher alone, counted the other way round; the log level is
 * SLUICE_TRACELEVEL. */
static void apply_log_statement(void)
{
	if (!loaded.log_file[0] || sl_settings.log_file[0])
		return;
	memcpy(sl_settings.log_file, loaded.log_file, sizeof(loaded.log_file));
	sl_log_open(sl_settings.tracelevel, sl_settings.log_details, sl_settings.log_colors,
		    sl_settings.log_file);
}

int sl_rules_load(void)
{
	const char *from;
	int err;

	_Static_assert(sizeof(loaded.log_file) <= sizeof(sl_settings.log_file), "log file");
	sl_rule_init();
	err = read_first(&from);
	if (err == -ENOENT && !sl_settings.config_file[0])
		return 0;
	if (err < 0) {
		sl_warn("conf", "%s: %s; no rules, everything is offloaded", from,
			strerrorname_np(-err));
		return err;
	}
	memcpy(loaded_from, from, strlen(from) + 1);
	apply_log_statement();
	sl_debug("conf", "%s: %u rules, %u paces", from, loaded.n, loaded.npaces);
	return (int)loaded.n;
}

const struct sl_rule *sl_rules(unsigned *n)
{
	*n = loaded.n;
	return loaded.rules;
}

const struct sl_pace_rule *sl_paces(unsigned *n)
{
	*n = loaded.npaces;
	return loaded.paces;
}

/* Filled from the end, so that an array that a reader has found stays as it is. */
static struct sl_rule added[SL_MAX_RULES];
static unsigned nadded; /* atomic */
static struct sl_lock adding;

int sl_rules_add(const char *line, struct sl_conf_error *err)
{
	size_t len = strnlen(line, SL_RULE_TEXT_MAX + 1);
	struct sl_rule rule;
	int ret = -ENOSPC;

	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	memset(&rule, 0, sizeof(rule));
	if (sl_conf_rule(line, len, &rule, err))
		return -EINVAL;
	if (!sl_lock(&adding))
		return -EBUSY;
	if (nadded < SL_MAX_RULES) {
		added[SL_MAX_RULES - nadded - 1] = rule;
		sl_store_release(&nadded, nadded + 1);
		ret = 0;
	}
	sl_unlock(&adding);
	return ret;
}

const struct sl_rule *sl_rules_added(unsigned *n)
{
	*n = sl_load_acquire(&nadded);
	return *n ? &added[SL_MAX_RULES - *n] : NULL;
}

const char *sl_rules_file(void)
{
	return loaded_from;
}
