/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice demo: runs an unmodified program (sockperf) between two network namespaces, on the kernel
 * and preloaded, and prints one table and one plot. Removes all that it has made. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

/* Port of the first trial. Each has its own, since TCP's may be in TIME_WAIT. */
#define PORT    11111
#define TRIES   3 /* of a measurement */
#define SECONDS "2"
#define OUT_MAX 65536

struct trial {
	const char *name;
	bool tcp, preload, spin;
	/* Results: microseconds, half a round trip; messages a second; lost, doubled, reordered. */
	double p50, p99, rate;
	long wrong;
};

/* Four trials of each protocol: print_protocol() relies on their order. */
static struct trial trials[] = {
	{.name = "kernel, blocking"},
	{.name = "kernel, spinning", .spin = true},
	{.name = "Sluice, blocking", .preload = true},
	{.name = "Sluice, spinning", .preload = true, .spin = true},
	{.name = "kernel, blocking", .tcp = true},
	{.name = "kernel, spinning", .tcp = true, .spin = true},
	{.name = "Sluice, blocking", .tcp = true, .preload = true},
	{.name = "Sluice, spinning", .tcp = true, .preload = true, .spin = true},
};
#define NTRIALS (sizeof(trials) / sizeof(trials[0]))

struct demo {
	char ns[2][32], dev[2][16];
	char preload[4096];
	char out[OUT_MAX]; /* output of the last program */
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

/* Looks beside this program, then where `make install` puts it. */
static int find_preload(char *path, size_t size)
{
	static const char *const place[] = {"", "../lib/"};
	char exe[2048];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n <= 0)
		return -1;
	exe[n] = 0;
	*(strrchr(exe, '/') + 1) = 0;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, size, "%s%slibsluice-preload.so", exe, place[i]);
		if (!access(path, R_OK))
			return 0;
	}
	return -1;
}

/* Mounts bpffs if the machine has not: the maps are pinned there. */
static void mount_bpffs(void)
{
	struct statfs fs;
	if (statfs("/sys/fs/bpf", &fs) || fs.f_type != BPF_FS_MAGIC)
		mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL);
}

/* Puts each of the two hosts on a core of its own: the scheduler may leave two spinning programs on
 * one core for seconds. */
static void pin_to_core(unsigned nth)
{
	cpu_set_t all, one;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0) {
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

/* Starts a program, in the namespace if there is one; its output goes to *out if not NULL. */
static pid_t start_child(const struct demo *d, const char *ns, bool preload, int *out,
			 const char *const *argv)
{
	int fds[2] = {-1, -1};
	if (out && pipe2(fds, O_CLOEXEC))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		char path[64];
		snprintf(path, sizeof(path), "/run/netns/%s", ns ? ns : "");
		int fd = ns ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (ns && (fd < 0 || setns(fd, CLONE_NEWNET)))
			_exit(126);
		if (ns)
			pin_to_core(ns == d->ns[1]);
		int sink = out ? fds[1] : open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(sink, 1);
		dup2(sink, 2);
		if (preload)
			setenv("LD_PRELOAD", d->preload, 1);
		execvp(argv[0], sl_unconst(argv));
		_exit(127);
	}
	if (out) {
		close(fds[1]);
		*out = fds[0];
		if (pid < 0)
			close(fds[0]);
	}
	return pid;
}

/* Runs a program to its end and keeps its output. Returns its exit status, or -1. */
static int run_child(struct demo *d, const char *ns, bool preload, const char *const *argv)
{
	int out, status;
	size_t len = 0;
	ssize_t n;
	pid_t pid = start_child(d, ns, preload, &out, argv);
	if (pid < 0)
		return -1;
	while ((n = read(out, d->out + len, OUT_MAX - 1 - len)) > 0 || (n < 0 && errno == EINTR))
		len += n > 0 ? n : 0;
	d->out[len] = 0;
	close(out);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define RUN(d, ns, preload, ...) run_child(d, ns, preload, (const char *const[]){__VA_ARGS__, NULL})

static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	for (int i = 0; i < 500; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_bound(pid_t pid, const struct trial *t, int port)
{
	char path[64], line[512], hex[16];
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, t->tcp ? "tcp" : "udp");
	snprintf(hex, sizeof(hex), ":%04X ", (unsigned)port);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, hex);
	fclose(f);
	return found;
}

static bool wait_bound(pid_t pid, const struct trial *t, int port)
{
	for (int i = 0; i < 1000 && !stopped; i++) {
		if (is_bound(pid, t, port))
			return true;
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return false;
}

static double number_after(const char *text, const char *what)
{
	const char *at = strstr(text, what);
	return at ? strtod(at + strlen(what), NULL) : -1;
}

/* Runs sockperf's client against the server; its output is in d->out. */
static int client(struct demo *d, const struct trial *t, const char *kind, const char *port)
{
	const char *argv[16] = {"sockperf", kind, "-i", "10.77.0.2", "-p",
				port,       "-m", "64", "-t",        SECONDS};
	unsigned n = 10;
	if (t->spin)
		argv[n++] = "--nonblocked";
	if (t->tcp)
		argv[n++] = "--tcp";
	return run_child(d, d->ns[0], t->preload, argv);
}

/* Runs the trial's server and clients. 1: it cannot go on. The trial has no rate if sockperf gave
 * no figures, as on a machine whose cores are all busy. */
static int try_trial(struct demo *d, struct trial *t, int nr)
{
	char port[16];
	snprintf(port, sizeof(port), "%d", nr);
	const char *server[10] = {"sockperf", "sr", "-i", "10.77.0.2", "-p", port};
	unsigned n = 6;
	if (t->spin)
		server[n++] = "--nonblocked";
	if (t->tcp)
		server[n++] = "--tcp";
	pid_t pid = start_child(d, d->ns[1], t->preload, NULL, server);
	if (pid < 0 || !wait_bound(pid, t, nr)) {
		end_child(pid);
		return fail("sockperf's server does not start");
	}
	int bad = client(d, t, "pp", port);
	t->p50 = number_after(d->out, "percentile 50.000 =");
	t->p99 = number_after(d->out, "percentile 99.000 =");
	t->wrong = number_after(d->out, "dropped messages =") +
		   number_after(d->out, "duplicated messages =") +
		   number_after(d->out, "out-of-order messages =");
	if (!bad && t->p50 > 0)
		bad = client(d, t, "tp", port);
	t->rate = number_after(d->out, "Message Rate is");
	end_child(pid);
	if (bad || t->p50 <= 0)
		t->rate = 0;
	return stopped;
}

static int measure_trial(struct demo *d, struct trial *t)
{
	for (int i = 0; i < TRIES; i++) {
		if (try_trial(d, t, PORT + (int)(t - trials) + i * (int)sl_array_len(trials)))
			return 1;
		if (t->rate > 0)
			return 0;
	}
	return fail("%s: sockperf gave no figures, %d times (are the cores busy?):\n%s", t->name,
		    TRIES, d->out);
}

static int net_up(struct demo *d)
{
	static const char *const addr[] = {"10.77.0.1/24", "10.77.0.2/24"};
	mount_bpffs();
	for (int i = 0; i < 2; i++) {
		snprintf(d->ns[i], sizeof(d->ns[i]), "sldemo%d%c", (int)getpid(), 'a' + i);
		snprintf(d->dev[i], sizeof(d->dev[i]), "sd%d%c", (int)getpid(), 'a' + i);
		if (RUN(d, NULL, false, "ip", "netns", "add", d->ns[i]))
			return fail("cannot make a network namespace (root is needed): %s", d->out);
	}
	if (RUN(d, NULL, false, "ip", "link", "add", d->dev[0], "netns", d->ns[0], "type", "veth",
		"peer", "name", d->dev[1], "netns", d->ns[1]))
		return fail("cannot make a veth pair: %s", d->out);
	for (int i = 0; i < 2; i++)
		if (RUN(d, NULL, false, "ip", "-n", d->ns[i], "addr", "add", addr[i], "dev",
			d->dev[i]) ||
		    RUN(d, NULL, false, "ip", "-n", d->ns[i], "link", "set", d->dev[i], "up"))
			return fail("cannot set the devices up: %s", d->out);
	return 0;
}

static void net_down(struct demo *d)
{
	for (int i = 0; i < 2; i++)
		if (d->ns[i][0])
			RUN(d, NULL, false, "ip", "netns", "del", d->ns[i]);
}

static void bar(double value, double largest)
{
	/* In eighths of a block, 48 blocks wide; at least one eighth, so that every bar shows. */
	static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int eighths = value / largest * 48 * 8;
	if (eighths < 1)
		eighths = 1;
	for (; eighths >= 8; eighths -= 8)
		fputs("█", stdout);
	fputs(part[eighths], stdout);
}

static void print_protocol(const char *name, const struct trial *t)
{
	double largest = 0;
	printf("\nsockperf, %s, 64-byte messages, a veth pair between two namespaces\n\n"
	       "                     half a round trip [us]                     wrong\n"
	       "                       median     99 %%      messages/s   (lost, doubled, ...)\n",
	       name);
	for (unsigned i = 0; i < 4; i++) {
		printf("  %-18s %8.2f %8.2f %15.0f %8ld\n", t[i].name, t[i].p50, t[i].p99,
		       t[i].rate, t[i].wrong);
		if (t[i].p50 > largest)
			largest = t[i].p50;
	}
	printf("\nHalf a round trip, median\n\n");
	for (unsigned i = 0; i < 4; i++) {
		printf("  %-18s ", t[i].name);
		bar(t[i].p50, largest);
		printf(" %.2f us\n", t[i].p50);
	}
	printf("\n%s: Sluice is %.1f x as fast as the kernel where programs block, %.1f x where "
	       "they spin;\n%.1f x and %.1f x the messages a second.\n",
	       name, t[0].p50 / t[2].p50, t[1].p50 / t[3].p50, t[2].rate / t[0].rate,
	       t[3].rate / t[1].rate);
}

/* The subcommand. Returns the exit status. */
int sl_tool_demo(int argc, char **argv)
{
	static struct demo d;
	struct sigaction sa = {.sa_handler = on_signal};
	if (argc > 1)
		return fail(
			"usage: sluice demo\n\nCompares an unmodified program on the kernel and "
			"preloaded, between two network\nnamespaces that it makes and takes "
			"away. Needs root, iproute2 and sockperf.");
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (find_preload(d.preload, sizeof(d.preload)))
		return fail("libsluice-preload.so is neither beside this program nor in ../lib");
	if (RUN(&d, NULL, false, "sockperf", "--version") == 127)
		return fail("sockperf is not installed (apt-get install sockperf)");
	int bad = net_up(&d);
	for (unsigned i = 0; i < NTRIALS && !bad; i++) {
		printf("measuring: %s, %s\n", trials[i].tcp ? "TCP" : "UDP", trials[i].name);
		fflush(stdout);
		bad = measure_trial(&d, &trials[i]);
	}
	net_down(&d);
	if (!bad) {
		print_protocol("UDP", trials);
		print_protocol("TCP", trials + 4);
	}
	return bad;
}
