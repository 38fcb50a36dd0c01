/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the load programs (udpblast, udpsink, many, tcpmany). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define LOAD_MAX_SOCKETS 1024
#define LOAD_MAX_BATCH   64

union load_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static inline void load_die(const char *what)
{
	perror(what);
	exit(1);
}

static inline uint64_t load_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* An option NAME=NUMBER, and where its number goes (one of the three). */
struct load_opt {
	const char *name;
	unsigned *u;
	uint64_t *u64;
	double *f;
};

/* Reads the options in argv from 3 on; ends the program when an argument is none of them. */
static inline void load_options(const struct load_opt *opts, int argc, char **argv)
{
	for (int i = 3; i < argc; i++) {
		const struct load_opt *o = opts;
		const char *eq = strchr(argv[i], '=');
		size_t len = eq ? (size_t)(eq - argv[i]) : 0;
		while (o->name && (strlen(o->name) != len || strncmp(o->name, argv[i], len)))
			o++;
		if (!o->name)
			exit(2);
		if (o->u)
			*o->u = atof(eq + 1);
		else if (o->u64)
			*o->u64 = atof(eq + 1);
		else
			*o->f = atof(eq + 1);
	}
}

/* The address of text and port; returns its length. */
static inline socklen_t load_addr(union load_addr *a, const char *text, unsigned port)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		return sizeof(a->in);
	}
	if (inet_pton(AF_INET6, text, &a->in6.sin6_addr) != 1) {
		fprintf(stderr, "not an address: %s\n", text);
		exit(2);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	return sizeof(a->in6);
}

#endif
