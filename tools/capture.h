/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of `sluice capture`: rings of programs, and the file that is written. */
#ifndef SL_TOOL_CAPTURE_H
#define SL_TOOL_CAPTURE_H

#include <stdio.h>

#include "base/addr.h"
#include "io/tap.h"
#include "stat_file.h"

/* A program whose packets are captured (capture_ring.c). */
struct sl_capture_source {
	struct sl_stat_file file;
	int sock;               /* connection to the program; -1: it has ended */
	uint8_t *mem;           /* the ring, SL_TAP_HEAD first */
	uint32_t bytes;         /* of the records */
	uint64_t tail;          /* read so far */
	uint64_t round_end;     /* where this round's reading ends */
	struct sl_stats *stats; /* a snapshot, of stats_ns; may be NULL */
	uint64_t stats_ns;
	uint64_t netns;              /* number of its network namespace */
	uint64_t lost[SL_TAP_PORTS]; /* as last told in the file */
};

/* Asks the program for a capture. Waits at most two seconds. 0 or -errno (-ETIMEDOUT: it does not
 * answer). s->file must be set. */
int sl_capture_open(struct sl_capture_source *s, const struct sl_tap_ask *ask);
void sl_capture_close(struct sl_capture_source *s);
/* Begins a round of reading. It gives at most what the ring holds, so that no program that writes
 * on and on keeps the tool from the others. */
void sl_capture_round(struct sl_capture_source *s);
/* Reads the next packet of the round: 1, and a copy of its record and bytes (buf, room for
 * SL_CAPTURE_BYTES); 0: there is none now; -EPROTO: the ring's content makes no sense. */
#define SL_CAPTURE_BYTES (256u << 10)
int sl_capture_next(struct sl_capture_source *s, struct sl_tap_rec *rec, uint8_t *buf);
/* True: the program is still connected. */
bool sl_capture_is_open(struct sl_capture_source *s);
/* Packets of a device that the program has had no room for. */
uint64_t sl_capture_lost(const struct sl_capture_source *s, unsigned port);
/* Takes a new snapshot of the program's counters if the last one is older than max_age_ns. */
void sl_capture_look(struct sl_capture_source *s, uint64_t now_ns, uint64_t max_age_ns);
/* Writes which program and socket the packet belongs to: "nginx[12] fd 7". */
void sl_capture_name(struct sl_capture_source *s, const struct sl_tap_rec *rec, const uint8_t *pkt,
		     char *out, size_t size);

/* The ends of a packet (capture_flow.c), as the program sees them. */
struct sl_capture_ends {
	struct sl_addr local, remote;
	uint16_t local_port, remote_port; /* 0: neither TCP nor UDP, or a fragment without them */
	uint8_t proto;
};
/* Reads them from a frame of len bytes; sent: the source is the local end. False: it is not IP. */
bool sl_capture_ends(const uint8_t *p, uint32_t len, bool sent, struct sl_capture_ends *e);

/* A flow that is selected: packets between these ends, in either direction. */
struct sl_capture_flow {
	uint8_t proto; /* 0: any */
	struct sl_capture_end {
		struct sl_addr addr; /* of zeros: any */
		uint16_t port;       /* 0: any */
	} end[2];
};
/* Reads "[PROTOCOL] ADDR:PORT [ADDR:PORT]", as `sluice flow` prints it; a comma may stand for the
 * blank between the ends. False: it is no flow. */
bool sl_capture_flow(const char *text, struct sl_capture_flow *f);
bool sl_capture_fits(const struct sl_capture_flow *f, const uint8_t *p, uint32_t len);

/* Completes the checksums of a packet that nobody has completed (capture_fix.c): always if told
 * (SL_TAP_CSUM), else if it has the pseudo-header's sum alone. */
void sl_capture_fix(uint8_t *pkt, uint32_t len, bool told);

/* Filters, as of tcpdump (capture_pcap.c). sl_capture_compile() says on stderr what is wrong: 0, or
 * the status of the program. sl_capture_passes(): code is of a filter that was compiled. */
struct bpf_program;
struct sl_capture_about { /* what a filter may ask that is not in the packet */
	uint32_t ifindex;
	bool sent;
};
int sl_capture_compile(const char *text, struct bpf_program *code);
bool sl_capture_passes(const struct bpf_program *code, const uint8_t *pkt, uint32_t wire,
		       uint32_t cap, const struct sl_capture_about *about);
#define SL_CAPTURE_SNAP 262144 /* bytes of a packet, at most */

/* The pcapng file (capture_pcapng.c). Functions return false when it cannot be written. */
struct sl_pcapng {
	FILE *to;
	uint32_t nifs;
	struct sl_pcapng_if {
		uint64_t netns;
		uint32_t ifindex;
		uint64_t received, lost; /* written, and without room or refused */
		uint64_t untold;         /* lost since the last packet */
		char name[16];
	} ifs[64];
};
bool sl_pcapng_begin(struct sl_pcapng *f, FILE *to);
/* The number of the device's interface block, which is written if it is new. -1: too many. */
int sl_pcapng_if(struct sl_pcapng *f, uint64_t netns, uint32_t ifindex, const char *name,
		 uint32_t snap, const char *filter);
struct sl_pcapng_pkt {
	int iface;
	uint64_t real_ns, hw_ns; /* CLOCK_REALTIME; the device's own time, 0: none */
	const uint8_t *data;
	uint32_t cap, wire;
	bool sent;
	const char *comment;
};
bool sl_pcapng_packet(struct sl_pcapng *f, const struct sl_pcapng_pkt *p);
/* Statistics of each interface, at the end. */
bool sl_pcapng_end(struct sl_pcapng *f, uint64_t begun_ns, uint64_t now_ns);

/* Wireshark's extcap (capture_extcap.c). True: it was a question, answered with *status. False: the
 * arguments, changed where extcap names them otherwise, ask for a capture. */
bool sl_capture_extcap(int *argc, char ***argv, int *status);

#endif
