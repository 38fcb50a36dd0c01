/* SPDX-License-Identifier: BSD-2-Clause */
/* Backtraces of segmentation faults (SLUICE_HANDLE_SIGSEGV). */
#ifndef SL_BACKTRACE_H
#define SL_BACKTRACE_H

/* After the settings are loaded: loads what sl_fault_tell() needs, if it is wanted. */
void sl_backtrace_begin(void);

#endif
