/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: their packet memory, and the queues that they have. */
#ifndef SL_SLUICED_MEMORY_H
#define SL_SLUICED_MEMORY_H

#include "ctl/device/claim_req.h"

struct sl_device;
struct sl_session;

#define SL_MEMORIES_MAX  16 /* groups that have packet memory */
#define SL_MEMORIES_USER 4  /* groups made for processes of one user */

/* A group's packet memory, made for its first session and dropped with its last. Each queue belongs
 * to one group at a time. */
struct sl_memory {
	char group[32];
	uint32_t users;     /* 0: unused */
	uint32_t umem;      /* number of the packet memory */
	uint32_t uid;       /* user of the first session */
	uint64_t broken_ns; /* not 0: when it broke (broken.c) */
};

/* memory.c */
/* Adds a user of an existing memory. */
void sl_memory_get(struct sl_memory *m);
/* Removes a user. */
void sl_memory_put(struct sl_memory *m);
/* The group's memory with that number; NULL: none. */
struct sl_memory *sl_memory_by_umem(uint32_t umem);
/* True: that group has a part of the device. */
bool sl_memory_has_part(const struct sl_device *d, const char *group);
/* The session leaves its group. */
void sl_umem_put(struct sl_session *s);
/* Removes a use of the device by the group with that packet memory. */
void sl_port_release(uint32_t ifindex, uint32_t umem);

/* join.c */
/* The session was a member of that packet memory already under the daemon before us. */
void sl_memory_adopt(struct sl_session *s, uint32_t umem);
/* True: other groups certainly have all of the device, or, where rings are lent once, another
 * process has it. */
bool sl_memory_is_anothers(const struct sl_session *s, uint32_t ifindex, const char **why);

/* divide.c: NIC rules of devices that are divided among groups. sl_divide_get() has the NIC send a
 * claim's packets to its session's queues: 0 and *rule (0: no rule is needed), or -errno and *why.
 */
int sl_divide_get(const struct sl_session *s, const struct sl_claim_req *req, uint32_t *rule,
		  const char **why);
/* The rule serves one claim less; the last one removes it. */
void sl_divide_put(uint32_t rule);
/* After a restart: sl_divide_begin() reads a device's rules, before its claims are found;
 * sl_divide_end() removes those without a claim. */
void sl_divide_begin(struct sl_device *d);
void sl_divide_end(void);

/* broken.c: checks the locks of the groups' memories, four times a second. A group whose lock is
 * broken ends: its programs go on by the kernel. */
void sl_broken_look(void);
/* Refuses further grants to a session whose group is broken: 0, or -ESHUTDOWN and *why. */
int sl_broken_check(const struct sl_memory *m, const char **why);

#endif
