/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF programs of the process's control group that decide or change where its sockets go. */
#ifndef SL_CGROUP_H
#define SL_CGROUP_H

#include "base/base.h"

/* True: connect(2) or sendmsg(2) of this process runs such a program, attached to its control group
 * or to one above it. What the kernel does not tell (that takes CAP_NET_ADMIN, and the file
 * system of control groups) counts as none. Asks the kernel each time, by two descriptors that stay
 * open until sl_cgroup_forget(): 8 system calls. Any thread. */
bool sl_cgroup_has_programs(void);
void sl_cgroup_forget(void); /* any thread */

/* Why the sockets of such a process stay with the kernel. */
#define SL_CGROUP_DECIDES                                                                          \
	"BPF programs of its control group decide where it connects or sends (bpftool cgroup "     \
	"tree); remedy: a group without them"

#endif
