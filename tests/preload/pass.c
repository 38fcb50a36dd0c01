/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that the kernel gets by their number inside an argument: it uses the program's
 * connection.
 */
#include "t.h"

#include <linux/bpf.h>
#include <linux/nbd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../raw.h"

/* The kernel's own socket behind the number has the connection. */
static void show_kernel(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	say("in the kernel", raw(SYS_getpeername, fd, &ss, &len));
}

static int map(unsigned type, unsigned value)
{
	union bpf_attr m = {.map_type = type, .key_size = 4, .value_size = value, .max_entries = 4};

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &m, sizeof(m));
}

static void sockmap(void)
{
	int maps[] = {map(BPF_MAP_TYPE_SOCKMAP, 4), map(BPF_MAP_TYPE_SOCKHASH, 8)};

	for (unsigned i = 0; i < 2; i++) {
		int key = 0, fd = tcp_said();
		uint64_t value = (uint64_t)fd;
		union bpf_attr u = {.map_fd = (unsigned)maps[i],
				    .key = (uintptr_t)&key,
				    .value = (uintptr_t)&value};

		say("update", syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &u, sizeof(u)));
		echo_said(fd);
		show_kernel(fd);
		close(fd);
	}
}

static void sockmap_batch(void)
{
	int m = map(BPF_MAP_TYPE_SOCKHASH, 4), keys[] = {1, 2}, fds[] = {tcp_said(), tcp_said()};
	union bpf_attr u = {.batch = {.keys = (uintptr_t)keys,
				      .values = (uintptr_t)fds,
				      .count = 2,
				      .map_fd = (unsigned)m}};

	say("update", syscall(SYS_bpf, BPF_MAP_UPDATE_BATCH, &u, sizeof(u)));
	for (unsigned i = 0; i < 2; i++) {
		echo_said(fds[i]);
		show_kernel(fds[i]);
		close(fds[i]);
	}
	close(m);
}

static void other_map(void)
{
	int m = map(BPF_MAP_TYPE_ARRAY, 4), key = 0, fd = tcp_said(), value = fd;
	union bpf_attr u = {
		.map_fd = (unsigned)m, .key = (uintptr_t)&key, .value = (uintptr_t)&value};

	say("update", syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &u, sizeof(u)));
#ifndef __SANITIZE_ADDRESS__ /* which handles SIGSEGV itself */
	say("bad address", syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, 8L, sizeof(u)));
	u.value = 8;
	say("bad value", syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &u, sizeof(u)));
#endif
	echo_said(fd);
	close(fd);
	close(m);
}

/* (There is no such device here: the call fails after the library has seen it.) */
static void nbd(void)
{
	int fd = tcp_said(), dev = open("/dev/null", O_RDWR);

	say("ioctl", ioctl(dev, NBD_SET_SOCK, (long)fd));
	show_kernel(fd);
	close(fd);
	fd = tcp_said();
	say("syscall", syscall(SYS_ioctl, dev, NBD_SET_SOCK, (long)fd));
	show_kernel(fd);
	echo_said(fd);
	close(fd);
	close(dev);
}

/* A datagram socket in a sockmap has its queue, too. */
static void datagrams(void)
{
	int m = map(BPF_MAP_TYPE_SOCKMAP, 4), key = 0, fd = udp(), value = fd;
	union bpf_attr u = {
		.map_fd = (unsigned)m, .key = (uintptr_t)&key, .value = (uintptr_t)&value};
	char b[16];

	ask(fd, 3, 4, 0, 0);
	wait_in(fd);
	sleep_ms(50);
	say("update", syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &u, sizeof(u)));
	for (int i = 0; i < 3; i++)
		say("raw recv", raw(SYS_recvfrom, fd, b, sizeof(b), 0, NULL, NULL));
	close(fd);
	close(m);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"sockmap", sockmap}, {"sockmap_batch", sockmap_batch}, {"other_map", other_map},
		{"nbd", nbd},         {"datagrams", datagrams},         {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
