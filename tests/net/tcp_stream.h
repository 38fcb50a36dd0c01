/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the programs of TCP and threads: the stream that tcp_peer sends, and calls that go on
 * until all is done. */
#ifndef TCP_STREAM_H
#define TCP_STREAM_H

#include "../preload/t.h"

#define STREAM 3000000 /* bytes that tcp_peer sends when it is told "s" */
#define CALLS  60      /* connections that it makes when it is told "c" */

static inline uint8_t byte_at(uint32_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static inline void set_port(struct sockaddr_storage *ss, uint16_t port)
{
	/* Both families have the port at this place. */
	((struct sockaddr_in *)ss)->sin_port = htons(port);
}

static inline uint16_t port_of(const struct sockaddr_storage *ss)
{
	return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

/* All of it, or false. */
static inline bool send_all(int fd, const void *buf, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t r = send(fd, (const char *)buf + at, n - at, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		at += (size_t)r;
	}
	return true;
}

static inline bool recv_all(int fd, void *buf, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t r = recv(fd, (char *)buf + at, n - at, 0);

		if (r <= 0)
			return false;
		at += (size_t)r;
	}
	return true;
}

#endif
