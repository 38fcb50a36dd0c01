/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: which sockets are offloaded and which stay with the kernel. An array of struct sl_rule
 * in order, the first match wins. The array may be shared memory that others write meanwhile. */
#ifndef SL_RULE_H
#define SL_RULE_H

#include "base/addr.h"
#include "base/base.h"
#include "steer.h"

#define SL_ROLE_ALL                                                                                \
	(SL_ROLE_TCP_SERVER | SL_ROLE_TCP_CLIENT | SL_ROLE_UDP_SENDER | SL_ROLE_UDP_RECEIVER |     \
	 SL_ROLE_UDP_CONNECT)
/* Roles whose rules may name the local end too: remote:port:local:port. */
#define SL_ROLE_TWO_ENDS (SL_ROLE_TCP_CLIENT | SL_ROLE_UDP_CONNECT)

/* Reads this process's identity (program name, application id) for the rules that match on it. Call
 * at start and after a change of the name; sl_rules_load() does. */
void sl_rule_init(void);
/* Sets the identity instead, for tools and tests. NULL: no name, matched by * only. */
void sl_rule_set_identity(const char *program, const char *app_id);

/* Number of entries to be looked at in a `rules` map, whose last entry says how many are in use.
 * SL_RULES_SEEN to SL_MAX_RULES, whatever it says. Any thread, no system call, no lock. */
unsigned sl_rules_used(const struct sl_rule *rules);

/* A question to the rules. Ends as in struct sl_rule, ports in host order. */
struct sl_rule_ask {
	uint32_t role; /* one SL_ROLE_* bit */
	const struct sl_addr *first;
	uint16_t first_port;
	const struct sl_addr *second; /* NULL: not known, matched by * only */
	uint16_t second_port;         /* 0: not chosen yet */
	uint32_t vni_after;           /* VNI of the device + 1; 0: the device is no VXLAN device */
};
/* Decides where a socket belongs. rules, n: the array; entries may change meanwhile, n not. hit:
 * the rule that decided, NULL when none did (may be NULL). Returns SL_RULE_SLUICE or SL_RULE_OS;
 * SL_RULE_SLUICE when no rule matches, and SL_RULE_NONE when that depends on the port that is not
 * chosen yet. Any thread, no system calls, no lock. */
enum sl_rule_action sl_rule_decide(const struct sl_rule *rules, unsigned n,
				   const struct sl_rule_ask *ask, const struct sl_rule **hit);

/* Longest text of a rule, with the closing 0. */
#define SL_RULE_TEXT_MAX 256
/* The rule as a line of sluice.conf ("use os udp_connect *:53"), without its application-id line.
 * Returns buf. Safe on an entry that is being written or makes no sense. */
const char *sl_rule_text(const struct sl_rule *rule, char buf[SL_RULE_TEXT_MAX]);

/* The bit of that name, 0 when there is none. "*" is all. */
uint32_t sl_role_by_name(const char *name, size_t len);

/* True: both are for the same programs, by name and id. Neither is being written. */
bool sl_rule_is_for_same(const struct sl_rule *a, const struct sl_rule *b);

/* Whether text matches the pattern: * is any text, ? any character, as in `ls`. */
bool sl_glob_match(const char *pattern, const char *text);
/* SLUICE_DEVICES: globs of fnmatch(3), separated by commas or blanks; the last one that matches
 * decides, ! excludes, and a list that begins with an exclusion begins with all. */
bool sl_globs_match(const char *globs, const char *text);

#endif
