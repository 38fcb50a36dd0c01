/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice: packets without a copy, seen by a callback before they are queued, and what a socket's
 * way is. Beside sluice.h, with its conventions: -errno on failure, any thread, no errno.
 * sluice-api(7) has a program for each part. Programs written for libvma's extra API find the same
 * under its names and layouts in compat/vma_extra.h.
 *
 * A packet that the program holds counts against its socket's receive buffer, so a program that
 * never frees stops receiving. Held packets end with the socket's last descriptor, at execve(2) and
 * with the process. A forked child has none of its parent's; the parent's addresses are no memory
 * there.
 */
#ifndef SLUICE_EXTRA_H
#define SLUICE_EXTRA_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Callback ----------------------------------------------------------------------------------- */

enum sl_verdict {
	SL_PACKET_DROP, /* the packet is dropped */
	SL_PACKET_RECV, /* it is queued for the receive calls */
	SL_PACKET_HOLD, /* the program has it until sl_free_packets(); receive calls never see it */
};

/* A packet; valid until the callback returns. */
struct sl_packet_info {
	size_t size; /* of this structure; later versions add fields at the end. Without
			sl_flow_tag() it ends before flow_tag, with sw_stamp */
	void *id;    /* name for sl_free_packets(); NULL: the packet cannot be held */
	struct sockaddr *src, *dst; /* sockaddr_in or sockaddr_in6, as sa_family says */
	size_t payload_bytes;
	uint32_t queue_pkts, queue_bytes; /* that wait for the receive calls */
	struct timespec
		hw_stamp; /* by the hardware; 0: it gave none. Of a stream: of what came last */
	struct timespec sw_stamp; /* CLOCK_REALTIME; 0: the socket asked for no time stamps */
	uint32_t flow_tag;        /* of sl_flow_tag() */
};

/* Sees each datagram, or each piece of a stream, that comes over the bypass. Runs in a thread of
 * the program that is in a call which receives, polls, selects or waits by epoll, with no lock
 * held: it may make any call, also on its own socket. One thread at a time runs a socket's
 * callback, in the packets' order. What the kernel has for the socket passes by it, and so does
 * what a stream has received around an urgent mark. What is dropped or held of a stream counts as
 * read; while the program holds as much as the receive buffer allows, nothing more is shown, and
 * the window closes. If the stream goes to the kernel while a piece is shown, the kernel gives that
 * piece to the receive calls, whatever the verdict. An exception, pthread_exit(3) or a cancellation
 * may end it: what it has not seen is queued. It must not be left by longjmp(3), which would leave
 * what the call has on its stack in the library's lists. Returns an enum sl_verdict. */
typedef int sl_recv_fn(int fd, size_t niov, struct iovec *iov, struct sl_packet_info *info,
		       void *arg);

/* Sets the callback of a datagram socket or a stream, also before connect(2); fn NULL: there is
 * none any more. A listener's says nothing about the connections that it accepts. -EINVAL: no
 * socket of ours; -ENOMEM. */
int sl_recv_callback(int fd, sl_recv_fn *fn, void *arg);

/* Gives the socket a number, which its callback is told with each packet (flow_tag; 0 until then),
 * so one callback serves many sockets without a table. -EINVAL: no socket of ours; -ENOMEM. */
int sl_flow_tag(int fd, uint32_t tag);
/* Stores the socket's flow tag in *tag. 0; -EINVAL: no socket of ours. */
int sl_flow_tag_get(int fd, uint32_t *tag);

/* Receive without a copy ----------------------------------------------------------------------- */

/* Packets as sl_recv_zcopy() lists them, one behind the other: count, then count packets, each with
 * its pieces. */
struct sl_packet {
	void *id;    /* name for sl_free_packets() */
	size_t niov; /* pieces */
	struct iovec iov[];
} __attribute__((packed));
struct sl_packets {
	size_t count;
	struct sl_packet packet[];
} __attribute__((packed));

#define SL_ZCOPY_FORCE 0x01000000 /* in: fail rather than copy */
#define SL_ZCOPY       0x00040000 /* out: buf has a struct sl_packets */

/* Like recvfrom(2), but with SL_ZCOPY in *flags afterwards buf (len bytes) has a struct sl_packets:
 * a datagram, or as many pieces of a stream as there is room for. Without that flag the data were
 * copied, as they came by the kernel, or because the program holds as much as its receive buffer
 * allows. Returns bytes of payload. -ENOBUFS: no room in buf for one packet, or SL_ZCOPY_FORCE, and
 * the program holds as much of a stream as its receive buffer allows; -EIO: SL_ZCOPY_FORCE, and the
 * next data are the kernel's; -EOPNOTSUPP: SL_ZCOPY_FORCE with flags that only a copy serves;
 * -EINVAL: no socket of ours. */
ssize_t sl_recv_zcopy(int fd, void *buf, size_t len, int *flags, struct sockaddr *from,
		      socklen_t *fromlen);

/* Gives n packets back; each entry has 16 bytes, and only its id counts. -EINVAL: no socket of
 * ours; -ENOENT: a packet that this socket does not hold (freed before, or never its own); the
 * others are freed all the same. */
int sl_free_packets(int fd, const struct sl_packet *packets, size_t n);

/* Send without a copy -------------------------------------------------------------------------- */

/* Packet memory in which a datagram, or a part of a stream, is written where it is sent from. */
struct sl_zbuf {
	void *id;
	void *data;     /* written by the program, before it is sent */
	uint32_t len;   /* in: bytes to send; sl_zc_alloc() gives the most there is room for, of a
			   stream one segment */
	uint32_t flags; /* SL_ZC_COPIED, by sl_zc_send() */
};
#define SL_ZC_COPIED 1u         /* it went another way, by a copy of its bytes */
#define SL_ZC_KEEP   0x02000000 /* flag of sl_zc_send(): the buffers stay the program's */

/* Writes at most n buffers of a datagram socket or a connection to buf; returns how many. They are
 * given back by sl_zc_send(), by sl_zc_free(), and as held packets are. -ENOBUFS: it has enough of
 * them, or memory is short; -ENODATA: the socket is not offloaded (yet), or not connected: use
 * send(2); -EINVAL: no socket of ours; -ENOMEM; -EBUSY: called by a signal handler in the midst of
 * a call. */
int sl_zc_alloc(int fd, struct sl_zbuf *buf, unsigned n);
/* Sends n datagrams, each from its buffer, with one kick of the device, to the peer or to that
 * name; or the bytes of n buffers to the end of a stream. Flags are SL_ZC_KEEP and those of
 * sendto(2). Returns how many were sent; their buffers are the library's, or with SL_ZC_KEEP still
 * the program's, to be written to and sent again once sl_zc_busy() says 0: when the device has
 * sent, and a stream's peer acknowledged them. With MSG_ZEROCOPY, on a socket with SO_ZEROCOPY,
 * each has a number, as a send(2) with that flag has, and the error queue tells when its buffer is
 * free; SO_EE_CODE_ZEROCOPY_COPIED stands there if one of those that are told was copied. A copied
 * part of a stream may be taken in part: then len is what was taken. -ENOENT: no such buffer;
 * -EBUSY: the device or the connection still has it; -EINVAL: too long; else as sendto(2). */
int sl_zc_send(int fd, struct sl_zbuf *buf, unsigned n, const struct sockaddr *name,
	       socklen_t namelen, int flags);
/* How many of these buffers the device or the connection still has; others may be written to.
 * -EINVAL: no socket of ours; -ENOENT: one is no buffer of the socket. */
int sl_zc_busy(int fd, const struct sl_zbuf *buf, unsigned n);
/* Gives buffers back. Errors as above. */
int sl_zc_free(int fd, const struct sl_zbuf *buf, unsigned n);

/* Polling a lane ------------------------------------------------------------------------------- */

/* A piece of a packet; the program's until sl_buff_free(). */
struct sl_buff {
	struct sl_buff *next; /* NULL: the last one */
	void *data;
	uint16_t len;
};
struct sl_packet_desc {
	size_t nbuffs;
	uint16_t bytes; /* of all its buffers */
	struct sl_buff *buff;
	struct timespec hw_stamp; /* by the hardware; 0: it gave none */
};

/* Bits beside EPOLL*. */
#define SL_LANE_PACKET   (1ull << 32) /* packet is there */
#define SL_LANE_ACCEPTED (1ull << 33) /* user_data is the descriptor of a new connection */
#define SL_LANE_LEFT     (1ull << 34) /* the kernel has the socket: use poll(2) from now on */

struct sl_completion {
	struct sl_packet_desc packet;
	uint64_t events;
	uint64_t user_data;
	struct sockaddr_in src; /* sl_recv_zcopy() tells the whole name if sin_family is AF_INET6 */
	int listen_fd;          /* SL_LANE_ACCEPTED: the listener; else -1 */
};

/* From now on sl_lane_poll() reports the socket, with user_data; again: changes user_data. The
 * connections of a listener are accepted by the poll, which reports them with their descriptors as
 * user_data. Another thread must not accept or receive at the same time. -EINVAL: no socket of
 * ours; -ENOMEM; -EBUSY: called by a signal handler in the midst of a call. */
int sl_lane_join(int fd, uint64_t user_data);
/* Stores the user_data of sl_lane_join() in *user_data; 0 if it was not called. 0; -EINVAL: no
 * socket of ours. */
int sl_lane_user_data(int fd, uint64_t *user_data);
/* sl_lane_join() with fd as user_data, if SLUICE_SOCKETXTREME is set. -EOPNOTSUPP: it is not. */
int sl_lane_join_new(int fd);
/* Turns the lane with that ring (sl_ring_fds()) and writes at most n completions for its sockets.
 * Never waits; makes no system call but those of the lane's turn and for a connection. EPOLLIN
 * without SL_LANE_PACKET: the next data must be copied: receive until -EAGAIN. With EPOLLRDHUP the
 * stream has ended. EPOLLERR: SO_ERROR tells. EPOLLOUT: the connection stands. Returns how many.
 * -EINVAL: no ring of a lane. */
int sl_lane_poll(int ring, struct sl_completion *c, unsigned n);
/* Holds a buffer once more. Returns how often it is held now; -EINVAL: not a buffer in use. */
int sl_buff_ref(struct sl_buff *buff);
/* Holds it once less; the packet is returned with its last buffer. Returns and errors as above. */
int sl_buff_free(struct sl_buff *buff);
/* sl_buff_free() for each buffer of n packets. -EINVAL: one was not in use; the others are freed.
 */
int sl_free_descs(const struct sl_packet_desc *packets, size_t n);

/* Offload by threads --------------------------------------------------------------------------- */

/* Puts a line of sluice.conf(5) at the head of this process's rules. Sockets that have been decided
 * stay where they are. -EINVAL: the line is wrong (the log says where); -ENOSPC. */
int sl_conf_add(const char *line);
/* Whether sockets that the thread makes from now on may be offloaded; over
 * SLUICE_OFFLOADED_SOCKETS. -ESRCH: no such thread; -ENOSPC: too many threads have their own
 * setting. */
int sl_thread_offload(bool offload, pthread_t thread);

/* Which lane a socket gets when it is bound or connected, in place of SLUICE_RING. logic: 0 and 1
 * one for all sockets, 10 its own, 11 that of all sockets with the same id, 20 the calling
 * thread's, 30 and 31 that of its core. -EINVAL: no socket of ours, or no such logic; -EISCONN: it
 * has a lane, or is the kernel's; -EBUSY: called by a signal handler in the midst of a call;
 * -ENOMEM. */
int sl_lane_choose(int fd, int logic, uint32_t id);

/* Packet memory comes from alloc(), which is called once, with the bytes that it must give at
 * least; the process has it until its end, and release() is called only if it cannot be used. It is
 * for both directions, written to the end at once, and gone in a forked child. Before the program's
 * first socket: this starts the library. Neither function may make a socket or wait for a thread.
 * -EBUSY: it has started; -EOPNOTSUPP: the daemon lends the memory, or alloc() gave none; else why
 * nothing is offloaded; -EINVAL. */
int sl_memory_from(void *(*alloc)(size_t bytes), void (*release)(void *mem));

/* The way of a socket -------------------------------------------------------------------------- */

/* Descriptors that become readable when packets come for the socket's lane: for poll(2) alone.
 * Writes at most n, returns how many there are. -EINVAL: no socket of ours; -ENODATA: not
 * offloaded. */
int sl_ring_fds(int fd, int *fds, int n);
/* Descriptor of the ring by which the socket sends. Errors as above. */
int sl_ring_tx_fd(int fd);
/* Has the device of that ring (sl_ring_fds()) interrupt once in so many packets or microseconds, as
 * ethtool -C does: for all programs and the kernel. -EINVAL: no ring of a lane; -EOPNOTSUPP: the
 * device cannot; -EPERM: without CAP_NET_ADMIN. */
int sl_ring_moderate(int ring, uint32_t packets, uint32_t us);
/* Writes the socket's counters, or with fd 0 those of all sockets, to the log, at that level
 * (SLUICE_TRACELEVEL's numbers). -EBADF: no socket of ours. */
int sl_dump_fd(int fd, int level);
/* The Ethernet, IP and UDP headers of the next datagram of a connected socket, lengths and
 * checksums 0. *len: room, then the bytes written; buf NULL: only tells the length. -EINVAL: no
 * socket of ours; -ENOBUFS: too little room; -ENOTCONN: not connected, or not offloaded. */
int sl_network_header(int fd, void *buf, uint16_t *len);
/* (sl_send() with MSG_SYN sends nothing, but brings what a datagram of these bytes needs into the
 * caches. The length, or -EBUSY: the kernel would have to send it.) */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
