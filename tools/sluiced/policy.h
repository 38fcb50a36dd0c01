/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy: which users may have a lease, and within which limits. */
#ifndef SL_POLICY_H
#define SL_POLICY_H

#include "base/base.h"

/* Limits of a lease. */
struct sl_limits {
	uint32_t lanes, flows;
	uint32_t frames;   /* 0: the daemon's default */
	bool repair;       /* connections may move between the kernel and the process */
	uint32_t clients;  /* leases of one user, at a time */
	char devices[128]; /* globs with commas between; "": all */
	char groups[128];  /* globs of named groups, likewise; "": none */
};

struct sl_policy_rule {
	bool allow;
	enum { SL_WHO_ALL, SL_WHO_USER, SL_WHO_GROUP } who;
	uint32_t id;
	struct sl_limits limits;
};
#define SL_POLICY_MAX 128
#define SL_DIVIDE_MAX 16
/* Devices that several groups may have at a time. */
struct sl_policy_divide {
	char devices[128]; /* globs with commas between */
	uint32_t groups;
};
struct sl_policy {
	struct sl_policy_rule rule[SL_POLICY_MAX];
	struct sl_policy_divide divide[SL_DIVIDE_MAX];
	unsigned n, ndivide;
};
/* Reports a wrong line: the text found, and the text expected. */
typedef void sl_policy_error_fn(void *arg, unsigned line, const char *expected, const char *found);
/* Turns a name of a user (or group) into its number; false: there is none. */
typedef bool sl_policy_name_fn(const char *name, bool group, uint32_t *id);

/* Parses len bytes of any text. Reports and skips wrong lines; returns how many. */
unsigned sl_policy_parse(const char *text, size_t len, struct sl_policy *p, sl_policy_name_fn *name,
			 sl_policy_error_fn *on_error, void *arg);
/* The first rule for a user in those groups; NULL: none, so no lease. */
const struct sl_policy_rule *sl_policy_find(const struct sl_policy *p, uint32_t uid,
					    const uint32_t *gids, unsigned ngids);
/* How many groups may have that device: 1, or the number in the first matching line. */
uint32_t sl_policy_groups(const struct sl_policy *p, const char *ifname);
bool sl_limits_allow_device(const struct sl_limits *l, const char *ifname);
bool sl_limits_allow_group(const struct sl_limits *l, const char *name);

#endif
