/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: what the kernel answers `sluice qos` (DCB, mqprio, VLAN devices), and the lists of
 * its options (the text up to a NUL). */
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "base/base.h"
#include "tools/qos.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lists(const char *text)
{
	struct ieee_ets ets = {.tc_tsa = {IEEE_8021QAZ_TSA_ETS}};
	char buf[160];
	uint64_t rate[8];
	long out[8];
	int n = sl_qos_list(text, 0, 100, out);

	for (int i = 0; i < n; i++) {
		if (out[i] < 0 || out[i] > 100)
			abort();
		ets.tc_tx_bw[i] = (uint8_t)out[i];
	}
	if (n > 8 || sl_qos_rates(text, rate) > 8 || sl_qos_tsa(text, ets.tc_tsa) > 8)
		abort();
	(void)sl_qos_ets_fault(&ets, buf, sizeof(buf));
}

static void answer(struct sl_qos *q, struct sl_skprio *s)
{
	struct sl_dcb d;

	if (sl_dcb_open(&d, "lo"))
		abort();
	if (!sl_dcb_read(&d, q)) {
		if (q->apps > SL_QOS_APPS_MAX)
			abort();
		for (unsigned i = 0; i < q->apps; i++)
			if (q->app[i].protocol >= SL_QOS_DSCPS)
				abort();
		sl_qos_print(q, s, true);
	}
	sl_dcb_close(&d);
	if (sl_dcb_open(&d, "lo"))
		abort();
	(void)sl_dcb_map_dscp(&d, false, 1, 1);
	(void)sl_dcb_set_dcbx(&d, 1);
	sl_dcb_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sl_qos q;
	static struct sl_skprio s;
	char *text = fuzz_text(&data, &size);

	lists(text);
	free(text);
	fuzz_answers(data, size);
	memset(&s, 0, sizeof(s));
	sl_skprio_read(&s, "lo");
	if (s.n > sl_array_len(s.map))
		abort();
	for (unsigned i = 0; i < s.n; i++)
		if (s.map[i].up >= IEEE_8021QAZ_MAX_TCS)
			abort();
	answer(&q, &s);
	fuzz_answers(NULL, 0);
	return 0;
}
