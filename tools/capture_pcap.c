/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of `sluice capture`, by libpcap.
 *
 * The tool loads libpcap when a filter is given, not before: libpcap brings libraries of D-Bus, of
 * systemd and of three ways to compress, and these doubled the time that any `sluice` takes to
 * start. Each program that has a device starts one (lib/ctl/broker/reaper.c). */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <pcap/pcap.h>
#include <stdio.h>

#include "base/base.h"
#include "capture.h"

#define SONAME "libpcap.so.0.8"

static struct {
	__typeof__(pcap_open_dead_with_tstamp_precision) *open;
	__typeof__(pcap_compile) *compile;
	__typeof__(pcap_offline_filter) *passes;
	__typeof__(pcap_geterr) *error;
	__typeof__(pcap_close) *close;
} lib;

static bool load(void)
{
	const struct {
		const char *name;
		void *at;
	} calls[] = {
		{"pcap_open_dead_with_tstamp_precision", &lib.open},
		{"pcap_compile", &lib.compile},
		{"pcap_offline_filter", &lib.passes},
		{"pcap_geterr", &lib.error},
		{"pcap_close", &lib.close},
	};
	void *so = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	for (unsigned i = 0; so && i < sl_array_len(calls); i++) {
		void *f = dlsym(so, calls[i].name);

		if (!f)
			return false;
		__builtin_memcpy(calls[i].at, &f, sizeof(f));
	}
	return so;
}

/* Instructions that ask the kernel for what is not in the packet (inbound, outbound, ifindex).
 * There is no kernel here, so they become constants, which are set for each packet. */
#define ASKED_MAX 64
static struct {
	unsigned insn;
	bool ifindex;
} asked[ASKED_MAX];
static unsigned n_asked;

static void note_asked(struct bpf_program *code)
{
	n_asked = 0;
	for (unsigned i = 0; i < code->bf_len && n_asked < ASKED_MAX; i++) {
		struct bpf_insn *insn = &code->bf_insns[i];
		bool ifindex = insn->k == (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX);

		if (BPF_CLASS(insn->code) != BPF_LD || BPF_MODE(insn->code) != BPF_ABS ||
		    (!ifindex && insn->k != (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)))
			continue;
		insn->code = BPF_LD | BPF_IMM;
		asked[n_asked].insn = i;
		asked[n_asked++].ifindex = ifindex;
	}
}

int sl_capture_compile(const char *text, struct bpf_program *code)
{
	pcap_t *p;
	int err;

	if (!load()) {
		fprintf(stderr, "sluice capture: a filter needs %s: %s\n", SONAME, dlerror());
		return 1;
	}
	p = lib.open(DLT_EN10MB, SL_CAPTURE_SNAP, PCAP_TSTAMP_PRECISION_NANO);
	err = !p || lib.compile(p, code, text, 1, PCAP_NETMASK_UNKNOWN) ? 2 : 0;
	if (err)
		fprintf(stderr, "sluice capture: %s: %s\n", text,
			p ? lib.error(p) : "out of memory");
	if (p)
		lib.close(p);
	if (!err)
		note_asked(code);
	return err;
}

bool sl_capture_passes(const struct bpf_program *code, const uint8_t *pkt, uint32_t wire,
		       uint32_t cap, const struct sl_capture_about *about)
{
	const struct pcap_pkthdr h = {.caplen = cap, .len = wire};

	for (unsigned i = 0; i < n_asked; i++)
		code->bf_insns[asked[i].insn].k =
			asked[i].ifindex ? about->ifindex
					 : (about->sent ? PACKET_OUTGOING : PACKET_HOST);
	return lib.passes(code, &h, pkt);
}
