/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists that the options of `sluice qos` take: texts to values, and their checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "qos.h"

/* The next word up to a comma, without it. False: there is none, or it does not fit. */
static bool next_word(const char **text, char *word, size_t len)
{
	size_t n = strcspn(*text, ",");

	if (!n || n >= len)
		return false;
	memcpy(word, *text, n);
	word[n] = '\0';
	*text += n;
	/* (A comma at the end begins a word that is not there.) */
	return **text != ',' || *++*text;
}

int sl_qos_list(const char *text, long lo, long hi, long out[8])
{
	char word[24], *end;
	int n = 0;

	do {
		if (n == 8 || !next_word(&text, word, sizeof(word)))
			return -EINVAL;
		if (word[0] < '0' || word[0] > '9')
			return -EINVAL;
		errno = 0;
		out[n] = strtol(word, &end, 10);
		if (errno || *end || out[n] < lo || out[n] > hi)
			return -EINVAL;
		n++;
	} while (*text);
	return n;
}

/* Gbit/s with up to six decimals, as kbit/s. */
static bool rate_of(const char *word, uint64_t *kbps)
{
	uint64_t whole = 0, part = 0, unit = 1000000;
	const char *p = word;

	for (; *p >= '0' && *p <= '9' && whole <= 1000000; p++)
		whole = whole * 10 + (uint64_t)(*p - '0');
	if (p == word || whole > 1000000)
		return false;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9' && unit > 1; p++) {
			unit /= 10;
			part += (uint64_t)(*p - '0') * unit;
		}
		if (p[-1] == '.')
			return false;
	}
	*kbps = whole * 1000000 + part;
	return !*p;
}

int sl_qos_rates(const char *text, uint64_t out[8])
{
	char word[24];
	int n = 0;

	do {
		if (n == 8 || !next_word(&text, word, sizeof(word)) || !rate_of(word, &out[n]))
			return -EINVAL;
		n++;
	} while (*text);
	return n;
}

static const struct {
	const char *name;
	uint8_t tsa;
} algorithms[] = {
	{"strict", IEEE_8021QAZ_TSA_STRICT},
	{"ets", IEEE_8021QAZ_TSA_ETS},
	{"vendor", IEEE_8021QAZ_TSA_VENDOR},
};

static bool algorithm_of(const char *word, uint8_t *tsa)
{
	for (unsigned i = 0; i < sl_array_len(algorithms); i++) {
		if (strcmp(word, algorithms[i].name))
			continue;
		*tsa = algorithms[i].tsa;
		return true;
	}
	return false;
}

int sl_qos_tsa(const char *text, uint8_t out[8])
{
	char word[24];
	int n = 0;

	do {
		if (n == 8 || !next_word(&text, word, sizeof(word)) || !algorithm_of(word, &out[n]))
			return -EINVAL;
		n++;
	} while (*text);
	return n;
}

const char *sl_qos_ets_fault(const struct ieee_ets *ets, char *buf, size_t len)
{
	unsigned sum = 0, classes = 0;

	for (unsigned tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++) {
		if (ets->tc_tsa[tc] != IEEE_8021QAZ_TSA_ETS)
			continue;
		sum += ets->tc_tx_bw[tc];
		classes++;
	}
	if (!classes || sum == 100)
		return NULL;
	snprintf(
		buf, len,
		"the shares of the %u ETS classes sum to %u %%, not 100: give each a share with -t, "
		"or make classes strict with -s",
		classes, sum);
	return buf;
}
