/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants of Linux that older headers of the C library or of the kernel lack. */
#ifndef SL_BASE_COMPAT_H
#define SL_BASE_COMPAT_H

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Level SOL_SOCKET: asm-generic/socket.h. */
#ifndef SO_TIMESTAMP_OLD
#define SO_TIMESTAMP_OLD    29
#define SO_TIMESTAMPNS_OLD  35
#define SO_TIMESTAMPING_OLD 37
#endif
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif
#ifndef SO_TIMESTAMP_NEW
#define SO_TIMESTAMP_NEW    63
#define SO_TIMESTAMPNS_NEW  64
#define SO_TIMESTAMPING_NEW 65
#define SO_RCVTIMEO_NEW     66
#define SO_SNDTIMEO_NEW     67
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69 /* Linux 5.11 */
#define SO_BUSY_POLL_BUDGET 70
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14 */
#endif
#ifndef SO_RCVMARK
#define SO_RCVMARK 75
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif
#ifndef SCM_TS_OPT_ID
#define SCM_TS_OPT_ID 81
#endif
#ifndef SO_RCVPRIORITY
#define SO_RCVPRIORITY 82
#endif
#ifndef SCM_PIDFD
#define SCM_PIDFD 0x04
#endif
#ifndef MSG_CMSG_COMPAT
#define MSG_CMSG_COMPAT 0x80000000 /* (the kernel's own) */
#endif

/* Other levels. */
#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#endif
#ifndef IP_RECVORIGDSTADDR
#define IP_RECVORIGDSTADDR 20
#endif
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif
#ifndef IPV6_FLOWINFO_SEND /* linux/in6.h, not beside netinet/in.h */
#define IPV6_FLOWLABEL_MGR 32
#define IPV6_FLOWINFO_SEND 33
#endif
#ifndef TCP_CM_INQ
#define TCP_CM_INQ 36
#endif

/* Files and memory. */
#ifndef SIOCOUTQNSD
#define SIOCOUTQNSD 0x894B
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Attach types of bpf(2): an enum in linux/bpf.h, which the preprocessor cannot ask for. */
#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, Linux 6.6 */

#endif
