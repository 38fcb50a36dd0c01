/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that `sluice doctor` prints, as text or as JSON, and its test of a path by RDMA. */
#ifndef SL_TOOLS_DOCTOR_H
#define SL_TOOLS_DOCTOR_H

#include "base/base.h"

/* Opens the report. json: one object is printed in place of lines of text. */
void sl_say_begin(bool json);
/* Begins the lines about a device, or about the machine (driver NULL). */
void sl_say_about(const char *name, const char *driver);
/* Prints something that is as it should be. */
void sl_say_good(const char *fmt, ...) SL_PRINTF(1, 2);
/* Prints something that stands in the way or costs speed, and its remedy. */
void sl_say_finding(const char *remedy, const char *fmt, ...) SL_PRINTF(2, 3);
/* Prints something that cannot be mended and need not be. */
void sl_say_note(const char *fmt, ...) SL_PRINTF(1, 2);
/* Ends the report with the number of findings. Returns the exit status: 1 if there is any. */
int sl_say_end(void);

/* Loads the settings from the environment, without a word on wrong ones. */
void sl_doctor_load(void);
/* Each reports mistakes: in the settings of the environment, in the file of rules, in LD_PRELOAD,
 * in the names of SLUICE_DEVICES. */
void sl_doctor_settings(void);
void sl_doctor_rules(void);
void sl_doctor_preloads(void);
void sl_doctor_names(void);
/* Reports whether the library can be preloaded into a program (a path, or a name in PATH). */
void sl_doctor_program(const char *name);

/* Reports the abilities of the NIC's own queues. leased: programs get their lanes from the daemon.
 */
struct sl_device;
void sl_doctor_nic(const struct sl_device *d, bool leased);
/* Reports a queueing discipline that offloaded packets pass by, and an old version of IGMP. */
void sl_doctor_link(const struct sl_device *d);

/* Tests a path to peer ("ADDR[:PORT]", a name, "[ADDR6]:PORT") by RDMA, or serves such tests at
 * that address (NULL: each) until a signal ends it. Each step that fails is a finding. */
struct sl_rdma_test {
	unsigned count;   /* messages of each kind */
	unsigned bytes;   /* of a message */
	unsigned timeout; /* time-out of the queue pair: 4.096 us times two to this power */
	bool once;        /* serve one client */
};
void sl_doctor_rdma(const char *peer, const struct sl_rdma_test *t);
void sl_doctor_rdma_serve(const char *where, const struct sl_rdma_test *t);

#endif
