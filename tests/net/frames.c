/* SPDX-License-Identifier: BSD-2-Clause */
/* frames PID: where each frame is of the packet memory that the daemon PID serves. One line:
 *
 *   all N pool N cached N busy N dead N fill N receive N transmit N complete N returned N kernel N
 * twice N
 *
 * pool: free; cached: with living members, free; busy: with these, and in use, but for what is in
 * rings; dead: with dead members; fill, receive, transmit, complete: in these rings; returned:
 * found completed by others than their owner, who is to look; kernel: sent and in the hands of a
 * device, or taken by the kernel off a fill ring and received into nobody's ring, or lost; twice:
 * in two of these places. Each frame is in one of them, so that the sum is all of them.
 *
 * Theory of operation: the words (base/share/share.h) say whose a frame is, but what is nobody's
 * may be anywhere. So the rings are read, which the daemon has mapped, all of them: /proc/PID/maps
 * tells which they are (their offset is the kind of ring), the kernel where in them the entries
 * lie. All this moves while it is looked at: it is looked at until twice the same is seen and
 * nothing is under way, or for half a second. */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/front/broker.h"

#define LOOKS    100
#define PAUSE_US 5000
#define RINGS    256
#define SHIFT    11 /* frames of 2,048 bytes */

enum place {
	POOL,
	CACHED,
	BUSY,
	DEAD,
	FILL,
	RECEIVE,
	TRANSMIT,
	COMPLETE,
	RETURNED,
	KERNEL,
	TWICE,
	PLACES
};
static const char *const names[PLACES] = {"pool",     "cached",  "busy",     "dead",
					  "fill",     "receive", "transmit", "complete",
					  "returned", "kernel",  "twice"};

struct ring {
	enum place kind;
	struct xdp_ring_offset at;
	size_t entry, bytes;
	uint64_t where; /* in the daemon */
	char *copy;
};

static struct sl_share g;
static struct ring rings[RINGS];
static unsigned nrings;
static uint16_t
	*seen; /* for each frame: the places it was found in, as bits; PLACES: twice in one */

/* A file of memory among the descriptors of the process. */
static int open_memory(const char *pid, const char *name, int flags)
{
	char dir[64], path[512], to[64];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%s/fd", pid);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = 0;
		if (strstr(to, name))
			return open(path, flags);
	}
	return -1;
}

/* The daemon alone has the geometry; of so many bytes there is one. */
static void find_geometry(struct sl_share_geometry *l, uint64_t bytes)
{
	uint32_t low = 1, high = 1u << 24;

	while (low < high) {
		uint32_t n = (low + high) / 2;

		sl_share_geometry_make(l, n, SHIFT, SL_UMEM_QUEUES, SL_UMEM_XSKS);
		if (l->bytes < bytes)
			low = n + 1;
		else
			high = n;
	}
	sl_share_geometry_make(l, low, SHIFT, SL_UMEM_QUEUES, SL_UMEM_XSKS);
	if (l->bytes != bytes)
		errx(2, "its memory is not understood");
}

static void map_share(const char *pid)
{
	int fd = open_memory(pid, "memfd:sluice-share", O_RDWR),
	    told = open_memory(pid, "memfd:sluice-told", O_RDONLY);
	struct sl_share_geometry l;
	struct stat st;

	if (fd < 0 || told < 0 || fstat(fd, &st))
		errx(2, "%s serves no memory", pid);
	find_geometry(&l, (uint64_t)st.st_size);
	if (sl_share_open(&g, &l, fd, told, false))
		errx(2, "its memory cannot be mapped");
	seen = calloc(g.nframes, sizeof(*seen));
}

/* Rings ----------------------------------------------------------------------------------------
 */

static bool ring_of(uint64_t offset, const struct xdp_mmap_offsets *o, struct ring *r)
{
	if (offset == XDP_PGOFF_RX_RING)
		*r = (struct ring){.kind = RECEIVE, .at = o->rx, .entry = sizeof(struct xdp_desc)};
	else if (offset == XDP_PGOFF_TX_RING)
		*r = (struct ring){.kind = TRANSMIT, .at = o->tx, .entry = sizeof(struct xdp_desc)};
	else if (offset == XDP_UMEM_PGOFF_FILL_RING)
		*r = (struct ring){.kind = FILL, .at = o->fr, .entry = sizeof(uint64_t)};
	else if (offset == XDP_UMEM_PGOFF_COMPLETION_RING)
		*r = (struct ring){.kind = COMPLETE, .at = o->cr, .entry = sizeof(uint64_t)};
	else
		return false;
	return true;
}

static void find_rings(const char *pid)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);
	int xsk = socket(AF_XDP, SOCK_RAW, 0);
	char path[64], line[512];
	FILE *f;

	if (xsk < 0 || getsockopt(xsk, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len))
		err(2, "AF_XDP");
	close(xsk);
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	nrings = 0;
	while (f && fgets(line, sizeof(line), f) && nrings < RINGS) {
		uint64_t from, to, offset;
		struct ring *r = &rings[nrings];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &from, &to, &offset) !=
			    3 ||
		    !strstr(line, "socket:[") || !ring_of(offset, &o, r))
			continue;
		r->where = from;
		r->bytes = to - from;
		r->copy = malloc(r->bytes);
		nrings++;
	}
	if (f)
		fclose(f);
}

static void forget_rings(void)
{
	while (nrings)
		free(rings[--nrings].copy);
}

static void found(uint64_t frame, enum place p)
{
	if (frame < g.nframes)
		seen[frame] |= seen[frame] & 1u << p ? 1u << PLACES : 1u << p;
}

/* The kernel writes back how far it has read a fill ring when it delivers what it has received. */
static void look_at_ring(const struct ring *r, int mem)
{
	uint32_t at, end, size = 1;

	if (pread(mem, r->copy, r->bytes, (off_t)r->where) != (ssize_t)r->bytes)
		return;
	/* The mapping is whole pages: the ring the largest power of two that there is room for. */
	while (r->at.desc + 2 * size * r->entry <= r->bytes)
		size *= 2;
	memcpy(&at, r->copy + r->at.consumer, sizeof(at));
	memcpy(&end, r->copy + r->at.producer, sizeof(end));
	for (; at != end && end - at <= size; at++) {
		uint64_t addr;

		memcpy(&addr, r->copy + r->at.desc + (at & (size - 1)) * r->entry, sizeof(addr));
		found(addr >> g.shift, r->kind);
	}
}

static void look_at_lists(void)
{
	for (uint32_t i = 0; i < g.nqueues; i++)
		for (uint32_t m = 0; g.told_queue[i].state && m < SL_SHARE_MEMBERS; m++) {
			uint32_t f = sl_load(&g.queue[i].back[m]) - 1;

			for (uint32_t n = 0; f < g.nframes && n < g.nframes; n++) {
				found(f, RETURNED);
				f = sl_load(&g.link[f]) - 1;
			}
		}
}

/* Frames ----------------------------------------------------------------------------------------
 */

static enum place place_of(uint32_t f)
{
	union sl_frame_word w = {.all = sl_load(&g.word[f].all)};
	uint16_t s = seen[f];

	if (s & (s - 1) || (s && !(s & (1 << TRANSMIT | 1 << COMPLETE | 1 << RETURNED)) && w.owner))
		return TWICE;
	if (s)
		return (enum place)__builtin_ctz(s);
	if (w.flight || !w.owner)
		return KERNEL;
	if (sl_load(&g.told->member[w.owner % SL_SHARE_MEMBERS].state) != SL_MEMBER_LIVE)
		return DEAD;
	return w.refs ? BUSY : CACHED;
}

static void look(const char *pid, uint32_t *sum)
{
	char path[64];
	int mem;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	mem = open(path, O_RDONLY);
	if (mem < 0)
		err(2, "%s", path);
	memset(seen, 0, g.nframes * sizeof(*seen));
	find_rings(pid);
	for (unsigned i = 0; i < nrings; i++)
		look_at_ring(&rings[i], mem);
	look_at_lists();
	forget_rings();
	close(mem);
	for (uint32_t i = 0; i < sl_min(sl_load(&g.head->nfree), g.nframes); i++)
		found(g.free[i], POOL);
	for (uint32_t f = sl_load(&g.head->born); f < g.nframes; f++)
		found(f, POOL);
	for (uint32_t f = 0; f < sl_min(sl_load(&g.told->bounce), g.nframes); f++)
		if (!sl_load(&g.word[f].all)) /* set aside, in no pool */
			found(f, POOL);
	memset(sum, 0, PLACES * sizeof(*sum));
	for (uint32_t f = 0; f < g.nframes; f++)
		sum[place_of(f)]++;
}

static bool is_quiet(const uint32_t *sum, const uint32_t *last)
{
	return !(sum[BUSY] || sum[DEAD] || sum[TRANSMIT] || sum[KERNEL] || sum[TWICE]) &&
	       memcmp(sum, last, PLACES * sizeof(*sum)) == 0;
}

int main(int argc, char **argv)
{
	uint32_t sum[PLACES], last[PLACES] = {0};

	if (argc != 2)
		errx(2, "usage: frames PID");
	map_share(argv[1]);
	look(argv[1], sum);
	for (int i = 0; i < LOOKS && !is_quiet(sum, last); i++) {
		usleep(PAUSE_US);
		memcpy(last, sum, sizeof(sum));
		look(argv[1], sum);
	}
	printf("all %u", g.nframes);
	for (int i = 0; i < PLACES; i++)
		printf(" %s %u", names[i], sum[i]);
	printf("\n");
	return 0;
}
