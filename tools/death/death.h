/* SPDX-License-Identifier: BSD-2-Clause */
/* Final messages to the peers of a dead process. The daemon sends them for its clients, the reaper
 * (ctl/broker/reaper.h) for the process that it watches. */
#ifndef SL_DEATH_H
#define SL_DEATH_H

#include "ctl/front/broker.h"
#include "sock/repair/repair.h"
#include "tcp/tcp_dead.h"

/* rescue.c: a connection that waits to be accepted by a dying process goes to other listeners. */

/* Where a listener's waiting connections go: a packet socket that the other listeners read. */
struct sl_gone_box {
	int fd;
	uint32_t listener; /* the dead process's number of the listener */
	uint16_t port;
	uint8_t family; /* address family of the listener's sockets */
};
struct sl_rescue;
/* Makes the connection the kernel's, which drops its packets for now, without its bytes. req: a
 * handshake whose peer may not have got the SYN-ACK. Until the end no other socket may get its
 * packets, and the box must exist. NULL: impossible, or those under way have a quarter of the
 * descriptors. */
struct sl_rescue *sl_rescue_begin(const struct sl_tcp_dead *d, bool req,
				  const struct sl_tcp_frames *m, const struct sl_gone_box *box);
/* Gives it some of its bytes. 1: there are more; 0: it has all; -errno: it is impossible, and r is
 * free. */
int sl_rescue_fill(struct sl_rescue *r);
/* Call it when the connection's packets reach the kernel: the connection lives and is put into the
 * box, or is reset when no process is left to read the box. Frees r. */
void sl_rescue_end(struct sl_rescue *r);
/* Checks the handshakes for their peers' answers. True: some have not answered yet. */
bool sl_rescue_look(void);

/* conns.c: the TCP connections, read out of the process's own memory ----------------------------
 */

/* A connection of the dead process. */
struct sl_gone {
	struct sl_flow_key key;
	uint32_t entry;           /* in the file */
	bool req;                 /* one of the requests: only to be rescued */
	bool kept;                /* the kernel's now, for a process that lives */
	struct sl_rescue *rescue; /* NULL: none */
};

/* The file of connections, and the connections found in it. */
struct sl_gone_conns {
	int fd; /* -1: the process gave none, or all is done */
	struct sl_conns_layout layout;
	uint64_t at;  /* read so far, bytes */
	bool in_reqs; /* reading the requests, which follow the connections */
	bool read;    /* all of it */
	struct sl_gone *gone;
	uint32_t n, max;
	uint32_t looked; /* so many were checked for a rescue */
	bool filling;    /* the last of these does not have all of its bytes yet */
	uint32_t pieces; /* of their unread bytes */
	uint32_t told;
};

/* Checks that fd is a file that can hold connections of this layout; takes fd over. 0 or -EINVAL.
 */
int sl_gone_open(struct sl_gone_conns *c, int fd, const struct sl_conns_layout *layout);
/* True: the process may have had that connection. */
typedef bool sl_gone_mine_fn(void *arg, const struct sl_flow_key *k);
/* Reads a piece; true: there is more to read. */
bool sl_gone_read(struct sl_gone_conns *c, sl_gone_mine_fn *mine, void *arg);
/* The box for a listener's waiting connections; NULL: none. */
typedef const struct sl_gone_box *sl_gone_box_fn(void *arg, uint32_t listener);
/* When all is read: begins to rescue connections that wait to be accepted, while their packets
 * still go to the dead process. Looks at up to n; true: there are more. */
bool sl_gone_rescue(struct sl_gone_conns *c, uint32_t n, const struct sl_tcp_frames *m,
		    sl_gone_box_fn *box, void *arg);
/* Tells up to n peers that their connection is over; no packet of theirs may go to the process any
 * more. repair: a connection may become the kernel's for that. True: call again; false: all is done
 * and closed. */
bool sl_gone_tell(struct sl_gone_conns *c, uint32_t n, bool repair);

/* The low 31 bits of the inode of the program's socket; 0: it had none, or it is not known. */
uint32_t sl_gone_inode(const struct sl_gone_conns *c, const struct sl_gone *g);
/* True: forked children may have it (sl_tcp_note()). */
bool sl_gone_is_noted(const struct sl_gone_conns *c, const struct sl_gone *g);
/* Reads the state of a connection that the program had, and the notes from which on its queues are
 * found. False: it cannot go on, or it is over. */
bool sl_gone_state(const struct sl_gone_conns *c, const struct sl_gone *g, struct sl_tcp_dead *d,
		   struct sl_tcp_noted *from);

/* queues.c: bytes in the queues, read out of the packet memory by the notes in its frames ---------
 */

struct sl_gone_piece;
struct sl_gone_queues {
	int fd; /* the packet memory's file */
	uint32_t nframes, frame_size;
	/* True: the frame may be the dead process's. NULL: all may be. */
	bool (*is_own)(const void *arg, uint32_t frame);
	const void *arg;
	uint32_t at; /* the notes of the frames before it were read into piece[] */
	bool read;   /* all were */
	struct sl_gone_piece *piece;
	uint32_t n;
	uint32_t used; /* pieces found in the queues that were checked */
};
/* Reads the notes of n more frames. True: there are more. */
bool sl_gone_queues_read(struct sl_gone_queues *q, uint32_t n);
/* The queues of a connection, and the source of their bytes for sl_repair_kernel(). */
struct sl_gone_source {
	struct sl_gone_queues *q;
	struct sl_tcp_noted from;
	uint32_t checked; /* bytes */
};
struct sl_repair_source sl_gone_source(struct sl_gone_source *s);
/* Looks for n more pieces of both queues. 0: the packet memory has all of their bytes; 1: there are
 * more; -ENODATA: some are missing, or these and the queues checked before have more pieces than
 * there are, so connections name the same ones. */
int sl_gone_source_check(struct sl_gone_source *s, const struct sl_tcp_repair *r, uint32_t n);
/* True: all bytes are there, whatever other connections name. */
bool sl_gone_source_is_whole(const struct sl_gone_source *s, const struct sl_tcp_repair *r);
void sl_gone_queues_free(struct sl_gone_queues *q);

/* others.c -------------------------------------------------------------------------------------
 */

/* When all is read, and before the peers are told: connections whose sockets other processes have,
 * too (children, and processes that were passed a descriptor), become the kernel's, with what is in
 * their queues. */
void sl_gone_keep(struct sl_gone_conns *c, struct sl_gone_queues *q);

/* last.c ---------------------------------------------------------------------------------------
 */

/* Ends a connection whose queues are empty as the kernel does at the end of a process: by a FIN and
 * its retransmissions. False: nothing was sent. */
bool sl_last_fin(const struct sl_tcp_repair *r);

/* time_wait.c ----------------------------------------------------------------------------------
 */

/* The kernel forgets a TIME_WAIT between these two ends, if it has one. */
void sl_time_wait_forget(const struct sl_flow_key *key);
/* Opens the sockets that sl_time_wait_forget() needs, else its first call does: a caller that
 * counts descriptors wants them early. */
void sl_time_wait_open(void);

/* farewell.c -----------------------------------------------------------------------------------
 */

/* Lets the peer of a connection find out that the process is dead: see farewell.c. scope: of
 * link-local addresses. ends: the state of the connection, NULL: unknown. */
void sl_farewell(const struct sl_flow_key *key, uint32_t scope, const struct sl_tcp_ends *ends);
/* Opens the sockets that sl_farewell() needs before its first call. */
void sl_farewell_open(void);

#endif
