/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings: read from the environment once, then plain fields. settings.def names each one once;
 * the parser, the banner, `sluice run --help-settings` and the manual page are made from it. */
#ifndef SL_SETTINGS_H
#define SL_SETTINGS_H

#include "base/base.h"

#define SL_FIELD_INT(f, max)   int f;
#define SL_FIELD_RATIO(f, max) int f;
#define SL_FIELD_BOOL(f, max)  int f;
#define SL_FIELD_ENUM(f, max)  int f;
#define SL_FIELD_SIZE(f, max)  uint64_t f;
#define SL_FIELD_STR(f, max)   char f[(max) + 1];

/* A field for each setting; settings.def says what it means. Only sl_settings_load() writes it,
 * before other threads use the library. */
struct sl_settings {
#define SL_SETTING(type, field, def, min, max, unit, status, title, help)                          \
	SL_FIELD_##type(field, max)
#include "base/settings.def"
#undef SL_SETTING
};
extern struct sl_settings sl_settings; /* holds the defaults before it is loaded */

/* Values of xdp_mode, zerocopy, mem_alloc_type, tx_backend, ring_allocation_logic_*. */
enum { SL_XDP_AUTO, SL_XDP_NATIVE, SL_XDP_GENERIC };
enum { SL_ZEROCOPY_AUTO, SL_ZEROCOPY_OFF, SL_ZEROCOPY_FORCE };
enum { SL_TX_AUTO, SL_TX_XSK };
enum { SL_RX_AUTO, SL_RX_XDP, SL_RX_PACKET, SL_RX_VERBS };      /* rx_backend */
enum { SL_REQUESTS_AUTO, SL_REQUESTS_IBV, SL_REQUESTS_DIRECT }; /* tx_requests */
enum { SL_HW_TS_OFF, SL_HW_TS_RAW, SL_HW_TS_BEST, SL_HW_TS_SYSTEM, SL_HW_TS_PTP, SL_HW_TS_RTC };
enum { SL_START_BACKGROUND, SL_START_WAIT, SL_START_AUTO };
enum { SL_MEM_ANON, SL_MEM_CONTIG, SL_MEM_HUGE };
enum { SL_CTL_NONE, SL_CTL_WAKEUP, SL_CTL_NO_WAKEUP }; /* tcp_ctl_thread */
enum { SL_THREADS_SINGLE, SL_THREADS_SPIN, SL_THREADS_MUTEX, SL_THREADS_PLENTY };
enum {
	SL_RING_INTERFACE = 0,
	SL_RING_IP = 1,
	SL_RING_SOCKET = 10,
	SL_RING_THREAD = 20,
	SL_RING_CORE = 30,
	SL_RING_CORE_ATTACH = 31,
};

enum sl_setting_id {
#define SL_SETTING(type, field, def, min, max, unit, status, title, help) SL_SETTING_##field,
#include "base/settings.def"
#undef SL_SETTING
	SL_SETTING_COUNT
};

enum sl_setting_type {
	SL_TYPE_INT,
	SL_TYPE_RATIO,
	SL_TYPE_BOOL,
	SL_TYPE_ENUM,
	SL_TYPE_SIZE,
	SL_TYPE_STR
};
enum sl_setting_status { SL_STATUS_WORKS, SL_STATUS_ACCEPTED };

/* A row of the table, for programs that print it. */
struct sl_setting {
	const char *field; /* lower case; sl_setting_name() makes the variable's name */
	enum sl_setting_type type;
	enum sl_setting_status status;
	uint32_t offset;     /* in struct sl_settings */
	int64_t def;         /* all but text */
	const char *def_str; /* text */
	int64_t min, max;    /* of text: its length */
	const char *unit;    /* of SL_TYPE_ENUM: "name=value,..." */
	const char *title;   /* in the banner */
	const char *help;
};
extern const struct sl_setting sl_setting_table[SL_SETTING_COUNT];

/* Reads the settings: from env (like environ, NULL: environ). SLUICE_<NAME> wins over
 * VMA_<NAME>, that over an old name. A wrong value gives one WARNING and the default stays; so does
 * a name that is none.
 * Starts the log as configured. Call once, before the first other thread. Returns the number of
 * wrong values. */
int sl_settings_load(char **env);

/* Logs the banner: version, then each setting that was changed at INFO, all at DEBUG. */
void sl_settings_banner(void);

/* True: the setting was given, even with its default value. */
bool sl_setting_is_set(enum sl_setting_id id);

#define SL_SETTING_NAME_MAX 64
/* "SLUICE_RX_POLL" into buf; returns buf. */
const char *sl_setting_name(const struct sl_setting *s, char buf[SL_SETTING_NAME_MAX]);

/* Parses text into the field of set. 0; or -EINVAL and what was expected in why (cut to
 * why_len), set untouched. */
int sl_setting_parse(const struct sl_setting *s, const char *text, struct sl_settings *set,
		     char *why, size_t why_len);

/* The setting of that name (without prefix, any case, old names too), or NULL. */
const struct sl_setting *sl_setting_find(const char *name);
/* The setting with the name that is nearest to one that is none (len letters, without prefix, any
 * case); NULL: none is near. */
const struct sl_setting *sl_setting_near(const char *name, size_t len);
/* True: the variable ("SLUICE_RX_POL=5") names no setting, or its value is wrong; the text says
 * what was expected. */
bool sl_setting_fault(const char *var, char *text, size_t text_len);

#endif
