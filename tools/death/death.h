/* SPDX-License-Identifier: BSD-2-Clause */
/* What is left to be said to the peers of a process that is dead. The daemon says it for its
 * clients, the reaper (ctl/reaper.h) for the process that it watches. */
#ifndef SL_DEATH_H
#define SL_DEATH_H

#include "ctl/broker.h"
#include "tcp/tcp.h"

/* rescue.c: who waits to be accepted by a process that dies waits for others who listen with it --
 */

/* Where those of a listener go: a packet socket that these read. */
struct sl_gone_box {
	int fd;
	uint32_t listener; /* the dead process's number of it */
	uint16_t port;
	uint8_t family; /* of its sockets */
};
struct sl_rescue;
/* req: it was a handshake; whether the peer has heard the answer is to be seen.
 * Makes the connection the kernel's, which drops what comes for it as yet. Packets to it must not
 * reach others meanwhile. NULL: it cannot. The box must be there until the end. */
struct sl_rescue *sl_rescue_begin(const struct sl_tcp_dead *d, bool req,
				  const struct sl_tcp_frames *m, const struct sl_gone_box *box);
/* Packets to it reach the kernel: it lives, and is put into the box; when nobody is there to read
 * it, it is reset. Frees it. */
void sl_rescue_end(struct sl_rescue *r);
/* Looks what the peers of handshakes have said. True: of some it is yet to be seen. */
bool sl_rescue_look(void);

/* conns.c: the TCP connections, read out of the process's own memory ----------------------------
 */

/* One of them. */
struct sl_gone {
	struct sl_flow_key key;
	uint32_t entry;           /* in the file */
	bool req;                 /* of the requests: only to be rescued */
	struct sl_rescue *rescue; /* NULL: none */
};

/* Where they lie, and then what was found. */
struct sl_gone_conns {
	int fd; /* -1: it has not said, or all is done */
	struct sl_conns_layout layout;
	uint64_t at;  /* read so far, bytes */
	bool in_reqs; /* of the requests, which come after the connections */
	bool read;    /* all of it */
	struct sl_gone *gone;
	uint32_t n, max;
	uint32_t looked; /* at so many of them to see who can be rescued */
	uint32_t told;
};

/* Is it a file in which connections may lie like that? fd becomes the receiver's. 0 or -EINVAL. */
int sl_gone_open(struct sl_gone_conns *c, int fd, const struct sl_conns_layout *layout);
/* May the process have had that connection? */
typedef bool sl_gone_mine_fn(void *arg, const struct sl_flow_key *k);
/* Reads a piece; true: there is more to read. */
bool sl_gone_read(struct sl_gone_conns *c, sl_gone_mine_fn *mine, void *arg);
/* Where goes what waits at that listener? NULL: nowhere. */
typedef const struct sl_gone_box *sl_gone_box_fn(void *arg, uint32_t listener);
/* When all is read: begins to rescue who waits to be accepted, while packets to them still are the
 * dead process's. Looks at up to n; true: there are more. */
bool sl_gone_rescue(struct sl_gone_conns *c, uint32_t n, const struct sl_tcp_frames *m,
		    sl_gone_box_fn *box, void *arg);
/* Tells up to n of the peers, to whom packets must not be the process's any more. repair: the
 * connection may be made the kernel's for that. True: there is more to do; else all is closed. */
bool sl_gone_tell(struct sl_gone_conns *c, uint32_t n, bool repair);

/* last.c ---------------------------------------------------------------------------------------
 */

/* Ends a connection whose queues are empty as the kernel does at the end of a process: a FIN, and
 * whatever follows. False: nothing was sent. */
bool sl_last_fin(const struct sl_tcp_repair *r);

/* time_wait.c ----------------------------------------------------------------------------------
 */

/* The kernel forgets a TIME_WAIT between these two ends, if it has one. */
void sl_time_wait_forget(const struct sl_flow_key *key);
/* Opens what that needs, as the first call does: who counts descriptors knows them beforehand. */
void sl_time_wait_open(void);

/* farewell.c -----------------------------------------------------------------------------------
 */

/* Makes the peer of a connection whose process is dead find that out: see there. scope: of
 * link-local addresses. ends: where the connection was, NULL: nobody knows. */
void sl_farewell(const struct sl_flow_key *key, uint32_t scope, const struct sl_tcp_ends *ends);
/* Opens what that needs, likewise. */
void sl_farewell_open(void);

#endif
