/* SPDX-License-Identifier: BSD-2-Clause */
/* The histograms of times in `sluice stat`: in words, in JSON, and for Prometheus. */
#include "stat.h"

typedef unsigned long long ull;

static const struct {
	const char *name, *title, *help;
} times[SL_TIMES] = {
	[SL_TIME_RX_WAIT] = {"rx_wait", "Rx wait", "how long data waited before it was read"},
	[SL_TIME_RX_WIRE] = {"rx_wire", "Rx wire",
			     "from the device's stamp until the data was read"},
	[SL_TIME_TX_CALL] = {"tx_call", "Tx call",
			     "from the beginning of a send call until its data was on the ring"},
	[SL_TIME_ANSWER] = {"answer", "Answer",
			    "from a stream's last byte sent until what came then was read"},
};

static uint64_t count_of(const struct sl_times *t)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < SL_TIME_PLACES; i++)
		all += t->place[i];
	return all;
}

/* The least power of two that this part of the times is below; the last place has no such. */
static const char *below(const struct sl_times *t, double part, char text[32])
{
	uint64_t all = count_of(t), seen = 0;
	unsigned i = 0;

	while (i < SL_TIME_PLACES - 1 && (double)(seen += t->place[i]) < part * (double)all)
		i++;
	if (i == SL_TIME_PLACES - 1)
		snprintf(text, 32, ">= %.3g ms", (double)sl_times_below_ns(i - 1) / 1e6);
	else
		snprintf(text, 32, "< %.4g us", (double)sl_times_below_ns(i) / 1e3);
	return text;
}

void sl_stat_times(FILE *to, const struct sl_sock_stats *k)
{
	char half[32], most[32], all[32];

	for (int i = 0; i < SL_TIMES; i++) {
		const struct sl_times *t = &k->time[i];

		if (count_of(t))
			fprintf(to, "%s: 50%% %s / 99%% %s / 100%% %s\n", times[i].title,
				below(t, 0.5, half), below(t, 0.99, most), below(t, 1, all));
	}
}

void sl_stat_times_json(FILE *to, const struct sl_sock_stats *k)
{
	for (int i = 0; i < SL_TIMES; i++) {
		const struct sl_times *t = &k->time[i];

		fprintf(to, ",\"%s_ns\":%llu,\"%s\":[", times[i].name, (ull)t->ns, times[i].name);
		for (unsigned p = 0, n = 0; p < SL_TIME_PLACES; p++)
			if (t->place[p])
				fprintf(to, "%s{\"below_ns\":%llu,\"count\":%llu}", n++ ? "," : "",
					p < SL_TIME_PLACES - 1 ? (ull)sl_times_below_ns(p)
							       : UINT64_MAX,
					(ull)t->place[p]);
		fputc(']', to);
	}
}

void sl_stat_times_head(FILE *to, enum sl_time what)
{
	fprintf(to, "# HELP sluice_socket_%s_seconds %s (SLUICE_LATENCY_STATS)\n", times[what].name,
		times[what].help);
	fprintf(to, "# TYPE sluice_socket_%s_seconds histogram\n", times[what].name);
}

void sl_stat_times_samples(FILE *to, enum sl_time what, const struct sl_stats *s,
			   const struct sl_sock_stats *k, sl_stat_labels_fn *labels)
{
	const struct sl_times *t = &k->time[what];
	uint64_t all = count_of(t), seen = 0;

	for (unsigned i = 0; all && i < SL_TIME_PLACES; i++) {
		seen += t->place[i];
		fprintf(to, "sluice_socket_%s_seconds_bucket", times[what].name);
		labels(to, s, k);
		if (i < SL_TIME_PLACES - 1)
			fprintf(to, ",le=\"%.9g\"} %llu\n", (double)sl_times_below_ns(i) / 1e9,
				(ull)seen);
		else
			fprintf(to, ",le=\"+Inf\"} %llu\n", (ull)seen);
	}
	if (!all)
		return;
	fprintf(to, "sluice_socket_%s_seconds_sum", times[what].name);
	labels(to, s, k);
	fprintf(to, "} %.9f\nsluice_socket_%s_seconds_count", (double)t->ns / 1e9,
		times[what].name);
	labels(to, s, k);
	fprintf(to, "} %llu\n", (ull)all);
}
