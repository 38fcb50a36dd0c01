/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration file, sluice.conf(5): libvma.conf's grammar (VMA manual, 4.1) and a little
 * more.
 *
 *   application-id <program glob|*> <id|*>
 *   use os|vma|sluice|sdp|sa|* <role>[|<role>...]|* <addr>:<ports>[:<addr>:<ports>]
 *   pace <addr>:<port>|* <rate>[kbit|mbit|gbit] [burst <bytes>]
 *   log [destination stderr|syslog|file <path>] [min-level <n>]
 *
 * addr: *, IPv4[/len], [IPv6][/len]; ports: *, n, n-m. A # starts a comment. A wrong line is
 * reported with its place and the expected text, and skipped; the rest is read. */
#ifndef SL_CONF_H
#define SL_CONF_H

#include "base/base.h"
#include "steer.h"

/* A mistake in a line. */
struct sl_conf_error {
	unsigned line, col; /* from 1 */
	char expected[96];
	char found[32]; /* "" at the end of the line */
};
typedef void sl_conf_error_fn(void *arg, const struct sl_conf_error *err);

struct sl_conf {
	struct sl_rule rules[SL_MAX_RULES]; /* in order; those for the same programs together */
	unsigned n;
	unsigned nunnamed; /* of these, above the first application-id line */
	struct sl_pace_rule paces[SL_MAX_PACES];
	unsigned npaces;
	int min_level;      /* from `log`; 0: not given */
	char log_file[200]; /* "": not given, or stderr; may be SL_LOG_SYSLOG */
};

/* Parses text (any bytes, len of them). on_error (may be NULL) is called for each wrong line.
 * Returns the number of wrong lines. */
unsigned sl_conf_parse(const char *text, size_t len, struct sl_conf *conf,
		       sl_conf_error_fn *on_error, void *arg);

/* Parses one `use` line (no newline) into *rule: roles, ends, action; for any program. Returns 0,
 * or -EINVAL and *err (line is 1). */
int sl_conf_rule(const char *line, size_t len, struct sl_rule *rule, struct sl_conf_error *err);

/* Parses what stands behind `pace` in a line into *pace. 0, or -EINVAL and *err (line is 1). */
int sl_conf_pace(const char *line, size_t len, struct sl_pace_rule *pace,
		 struct sl_conf_error *err);

/* Reads and parses a file of at most 1 MB. Returns the number of wrong lines or -errno. */
int sl_conf_read(const char *path, struct sl_conf *conf, sl_conf_error_fn *on_error, void *arg);

/* Reads SLUICE_CONFIG_FILE, else /etc/sluice.conf, else /etc/libvma.conf, logs wrong lines, keeps
 * the rules. Call once, at start, after sl_settings_load(). Returns the number of rules, or -errno
 * when the file named by the setting cannot be read (logged). */
int sl_rules_load(void);
/* The loaded rules; valid for ever. */
const struct sl_rule *sl_rules(unsigned *n);
/* The loaded rates of destinations; valid for ever. */
const struct sl_pace_rule *sl_paces(unsigned *n);
/* Puts a line at the head of the rules of this process, before those of the file and of the daemon.
 * Sockets that are decided stay where they are. 0; -EINVAL and *err: the line is wrong; -ENOSPC.
 * Any thread. */
int sl_rules_add(const char *line, struct sl_conf_error *err);
/* These rules, the newest first. Readers may go on with an old array; it does not change. NULL:
 * there are none. */
const struct sl_rule *sl_rules_added(unsigned *n);
/* The file with the loaded rules, "" for none. */
const char *sl_rules_file(void);

#endif
