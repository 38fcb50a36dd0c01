/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a program for a capture and reads the ring that it writes. The program may be hostile (this
 * tool may be root's): each record is copied and checked before it is used. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/rights.h"
#include "capture.h"

#define ANSWER_MS 2000

/* Writes the number of our socket where the program looks, in a place that no other tool uses now.
 */
static int ask(const struct sl_capture_source *s, uint32_t number)
{
	int fd = sl_stat_open(&s->file, O_RDWR), err = -EBUSY;

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < SL_STATS_TAPS && err == -EBUSY; i++) {
		off_t at = (off_t)(offsetof(struct sl_stats, tap_want) + i * sizeof(uint32_t));
		uint32_t there = 1;

		if (pread(fd, &there, sizeof(there), at) != sizeof(there))
			err = -EIO;
		else if (!there || (i + 1 == SL_STATS_TAPS))
			err = pwrite(fd, &number, sizeof(number), at) == sizeof(number) ? 0 : -EIO;
	}
	close(fd);
	return err;
}

/* Any user may connect where the directory lets it; only the owner of the file of counters is
 * accepted. */
static int accept_program(int listener, const struct sl_capture_source *s)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	struct ucred who = {0};
	socklen_t len = sizeof(who);
	struct stat st;
	int fd;

	if (poll(&p, 1, ANSWER_MS) <= 0)
		return -ETIMEDOUT;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && !stat(s->file.path, &st) &&
	    (who.uid == st.st_uid || who.uid == 0))
		return fd;
	close(fd);
	return -EPERM;
}

static int meet(const struct sl_capture_source *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *slash = strrchr(s->file.path, '/');
	uint32_t number = ((uint32_t)getpid() << 8 | (uint32_t)(s->file.pid & 255)) ^ 0x5a000000u;
	int listener, fd = -ENAMETOOLONG, n;
	mode_t mask;

	n = snprintf(at.sun_path, sizeof(at.sun_path), "%.*s/sluice.%d.%08x.tap",
		     (int)(slash ? slash - s->file.path : 0), s->file.path, s->file.pid, number);
	if (n >= (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return -errno;
	unlink(at.sun_path);
	mask = umask(0);
	n = bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1) ? -errno : 0;
	umask(mask);
	if (!n)
		n = ask(s, number);
	fd = n ? n : accept_program(listener, s);
	unlink(at.sun_path);
	close(listener);
	return fd;
}

static int make_ring(struct sl_capture_source *s)
{
	size_t bytes = SL_TAP_HEAD + (size_t)s->bytes;
	int fd = memfd_create("sluice capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	/* The memory is this tool's from the start, and so counts against its limit. */
	if (fallocate(fd, 0, 0, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	s->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->mem != MAP_FAILED)
		return fd;
	s->mem = NULL;
fail:
	bytes = (size_t)errno;
	close(fd);
	return -(int)bytes;
}

int sl_capture_open(struct sl_capture_source *s, const struct sl_tap_ask *a)
{
	struct sl_tap_answer answer = {0};
	char path[64];
	struct stat st;
	int file, err = -EPROTO;

	s->sock = -1;
	s->mem = NULL;
	s->bytes = a->bytes;
	s->tail = 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", s->file.pid);
	s->netns = stat(path, &st) ? 0 : (uint64_t)st.st_ino;
	file = make_ring(s);
	if (file < 0)
		return file;
	s->sock = meet(s);
	if (s->sock < 0) {
		err = s->sock;
	} else if (sl_rights_send(s->sock, a, sizeof(*a), &file, 1, 0) == sizeof(*a)) {
		struct pollfd p = {.fd = s->sock, .events = POLLIN};

		if (poll(&p, 1, ANSWER_MS) <= 0)
			err = -ETIMEDOUT;
		else if (recv(s->sock, &answer, sizeof(answer), 0) == sizeof(answer) &&
			 answer.magic == SL_TAP_MAGIC)
			err = answer.err > 0 ? -EPROTO : answer.err;
	}
	close(file);
	if (err)
		sl_capture_close(s);
	return err;
}

void sl_capture_close(struct sl_capture_source *s)
{
	if (s->sock >= 0)
		close(s->sock);
	if (s->mem)
		munmap(s->mem, SL_TAP_HEAD + (size_t)s->bytes);
	free(s->stats);
	s->sock = -1;
	s->mem = NULL;
	s->stats = NULL;
}

bool sl_capture_is_open(struct sl_capture_source *s)
{
	struct pollfd p = {.fd = s->sock, .events = POLLIN};
	char c;

	return poll(&p, 1, 0) == 0 || recv(s->sock, &c, 1, MSG_DONTWAIT) > 0;
}

uint64_t sl_capture_lost(const struct sl_capture_source *s, unsigned port)
{
	return sl_load(&((const struct sl_tap_head *)s->mem)->lost[port]);
}

/* Clears what was read, so that the next lap finds no old record, and gives it back. */
static void done(struct sl_capture_source *s, uint32_t at, uint32_t bytes)
{
	memset(s->mem + SL_TAP_HEAD + at, 0, bytes);
	s->tail += bytes;
	/* Pairs with reserve() in io/tap.c. */
	sl_store_release(&((struct sl_tap_head *)s->mem)->tail, s->tail);
}

void sl_capture_round(struct sl_capture_source *s)
{
	s->round_end = s->tail + s->bytes;
}

int sl_capture_next(struct sl_capture_source *s, struct sl_tap_rec *rec, uint8_t *buf)
{
	while (s->tail < s->round_end) {
		uint32_t at = (uint32_t)(s->tail & (s->bytes - 1));
		const uint8_t *from = s->mem + SL_TAP_HEAD + at;

		if (sl_load_acquire(&((const struct sl_tap_rec *)from)->commit) != SL_TAP_MAGIC)
			return 0;
		memcpy(rec, from, sizeof(*rec));
		if (rec->bytes < sizeof(*rec) || rec->bytes % SL_TAP_ALIGN ||
		    rec->bytes > s->bytes - at)
			return -EPROTO;
		if (rec->flags & SL_TAP_PAD) {
			done(s, at, rec->bytes);
			continue;
		}
		if (rec->cap > rec->bytes - sizeof(*rec) || rec->cap > SL_CAPTURE_BYTES ||
		    rec->cap > rec->wire || rec->port >= SL_TAP_PORTS || rec->hdr > rec->cap)
			return -EPROTO;
		memcpy(buf, from + sizeof(*rec), rec->cap);
		done(s, at, rec->bytes);
		return 1;
	}
	return 0;
}

/* Sockets -------------------------------------------------------------------------------------- */

void sl_capture_look(struct sl_capture_source *s, uint64_t now_ns, uint64_t max_age_ns)
{
	const char *why;
	struct sl_stats *stats;

	if (s->stats && now_ns - s->stats_ns < max_age_ns)
		return;
	stats = sl_stat_snapshot(&s->file, &why);
	if (!stats)
		return;
	free(s->stats);
	s->stats = stats;
	s->stats_ns = now_ns;
}

/* How well a socket fits: 0 not, 1 by its port, 2 a connection. */
static int fits(const struct sl_sock_stats *k, const struct sl_capture_ends *e)
{
	if (k->used != 1 || k->proto != e->proto || !e->local_port ||
	    k->local_port != e->local_port)
		return 0;
	if (!k->remote_port)
		return 1;
	return k->remote_port == e->remote_port && sl_addr_eq(&k->remote, &e->remote) ? 2 : 0;
}

static const struct sl_sock_stats *find_socket(const struct sl_stats *s,
					       const struct sl_capture_ends *e)
{
	const struct sl_sock_stats *found = NULL;
	int best = 0;

	for (uint32_t i = 0; i < s->max_socks && best < 2; i++) {
		int fit = fits(&s->sock[i], e);

		if (fit > best) {
			best = fit;
			found = &s->sock[i];
		}
	}
	return found;
}

void sl_capture_name(struct sl_capture_source *s, const struct sl_tap_rec *rec, const uint8_t *pkt,
		     char *out, size_t size)
{
	const struct sl_sock_stats *k = NULL;
	struct sl_capture_ends e;
	bool is = sl_capture_ends(pkt, rec->cap, rec->flags & SL_TAP_OUT, &e);

	if (is && s->stats)
		k = find_socket(s->stats, &e);
	if (is && !k) {
		sl_capture_look(s, rec->ts_ns, 100000000);
		k = s->stats ? find_socket(s->stats, &e) : NULL;
	}
	if (k)
		snprintf(out, size, "%.60s[%d] fd %d, lane %u", s->stats->program, s->file.pid,
			 k->fd, rec->lane);
	else
		snprintf(out, size, "%.60s[%d], lane %u", s->stats ? s->stats->program : "?",
			 s->file.pid, rec->lane);
}
