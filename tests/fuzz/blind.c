/* SPDX-License-Identifier: BSD-2-Clause */
/* A fuzz target without libFuzzer: linked with the objects of the sanitizer build, so that `make
 * check` compiles the library no third time. Runs every seed, and then seeds changed at random; it
 * does not see which code an input reaches (make fuzz-short does). Takes libFuzzer's options that
 * run.sh gives, and ignores others:
 *
 *   PROGRAM -max_total_time=SECONDS -seed=N -dict=FILE -timeout=SECONDS -artifact_prefix=PATH
 * DIRECTORY...
 *
 * An input that ends the process, by a sanitizer or abort(), or takes too long is left in PATH and
 * "crash". */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096 /* bytes of an input, as libFuzzer has it */
#define MANY 4096 /* seeds; words */

struct bytes {
	uint8_t *at;
	size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*f)(void));

static struct bytes seed[MANY], word[MANY];
static size_t nseeds, nwords;
static uint8_t input[MOST];
static size_t size;
static uint64_t state;
static char left[4096] = "crash";
static int says = 2; /* (a target may close what it has) */

static size_t below(size_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n ? (size_t)(state >> 33) % n : 0;
}

static void leave_input(void)
{
	int fd = open(left, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, input, size) != (ssize_t)size)
		_exit(1);
	close(fd);
}

static void on_signal(int sig)
{
	static const char said[] = "ERROR: this input ends the target, or takes too long\n";

	leave_input();
	if (write(says, said, sizeof(said) - 1) < 0)
		_exit(1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void read_seed(const char *path)
{
	uint8_t *at = malloc(MOST);
	FILE *f = fopen(path, "r");

	if (!f || !at)
		err(1, "%s", path);
	if (nseeds < MANY)
		seed[nseeds++] = (struct bytes){at, fread(at, 1, MOST, f)};
	fclose(f);
}

static void read_seeds(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char file[4096];

	if (!dir) {
		read_seed(path);
		return;
	}
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.') {
			snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
			read_seed(file);
		}
	closedir(dir);
}

/* A line of a dictionary: a word in quotes, with \xHH, \\ and \" in it. */
static void read_word(const char *line)
{
	const char *p = strchr(line, '"');
	uint8_t *at = malloc(strlen(line) + 1);
	struct bytes w = {at, 0};
	unsigned int byte;

	if (!at)
		err(1, "a word");
	for (p = p && line[0] != '#' ? p + 1 : ""; *p && *p != '"'; p++) {
		if (*p == '\\' && sscanf(p, "\\x%2x", &byte) == 1) {
			at[w.n++] = (uint8_t)byte;
			p += 3;
			continue;
		}
		p += *p == '\\' && p[1];
		at[w.n++] = (uint8_t)*p;
	}
	if (w.n && nwords < MANY)
		word[nwords++] = w;
}

static void read_words(const char *path)
{
	char line[4096];
	FILE *f = fopen(path, "r");

	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f))
		read_word(line);
	fclose(f);
}

/* Puts bytes in at a place, over what is there or between. */
static void put(const uint8_t *from, size_t n, int between)
{
	size_t at = below(size + 1);

	if (n > MOST - at || (between && n > MOST - size))
		return;
	if (between)
		memmove(input + at + n, input + at, size - at);
	memmove(input + at, from, n);
	size = between ? size + n : size > at + n ? size : at + n;
}

static void change(void)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', '0', '-'};
	const struct bytes *other = &seed[below(nseeds)];
	uint8_t some[8], copy[MOST];
	size_t at = below(size), n = below(size - at) + 1;

	switch (below(size ? 9 : 3)) {
	case 0:
		for (size_t i = 0; i < sizeof(some); i++)
			some[i] = (uint8_t)below(256);
		put(some, 1 + below(sizeof(some)), (int)below(2));
		break;
	case 1:
		if (nwords) {
			other = &word[below(nwords)];
			put(other->at, other->n, (int)below(2));
		}
		break;
	case 2:
		at = below(other->n);
		put(other->at + at, below(other->n - at + 1), (int)below(2));
		break;
	case 3:
		input[at] ^= (uint8_t)(1u << below(8));
		break;
	case 4:
		input[at] = odd[below(sizeof(odd))];
		break;
	case 5:
		input[at] = (uint8_t)(input[at] + below(33) - 16);
		break;
	case 6:
		memmove(input + at, input + at + n, size - at - n);
		size -= n;
		break;
	case 7:
		memcpy(copy, input + at, n);
		put(copy, n, 1);
		break;
	default:
		size = at;
	}
}

/* (In a block of its own size, so that a sanitizer sees the first byte behind it.) */
static void run(unsigned int timeout)
{
	uint8_t *data = malloc(size);

	if (size && !data)
		err(1, "an input");
	if (size)
		memcpy(data, input, size);
	alarm(timeout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static void take(const struct bytes *b)
{
	size = b->n;
	memcpy(input, b->at, size);
}

int main(int argc, char **argv)
{
	static uint8_t nothing[1];
	unsigned int timeout = 10;
	unsigned long runs = 0;
	double seconds = 5;
	char *value;

	says = dup(2);
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		value = strchr(argv[i], '=');
		if (argv[i][0] != '-')
			read_seeds(argv[i]);
		else if (value && !strncmp(argv[i], "-max_total_time=", 16))
			seconds = atof(value + 1);
		else if (value && !strncmp(argv[i], "-seed=", 6))
			state = strtoull(value + 1, NULL, 10);
		else if (value && !strncmp(argv[i], "-timeout=", 9))
			timeout = (unsigned int)atoi(value + 1);
		else if (value && !strncmp(argv[i], "-dict=", 6))
			read_words(value + 1);
		else if (value && !strncmp(argv[i], "-artifact_prefix=", 17))
			snprintf(left, sizeof(left), "%scrash", value + 1);
	}
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(leave_input);
	signal(SIGABRT, on_signal);
	signal(SIGALRM, on_signal);
	if (!nseeds)
		seed[nseeds++] = (struct bytes){nothing, 0};
	for (size_t i = 0; i < nseeds; i++, runs++) {
		take(&seed[i]);
		run(timeout);
	}
	/* By processor time: a busy machine tries as much. */
	for (; (double)clock() / CLOCKS_PER_SEC < seconds; runs++) {
		take(&seed[below(nseeds)]);
		for (size_t n = 1 + below(6); n; n--)
			change();
		run(timeout);
	}
	dprintf(says, "stat::number_of_executed_units: %lu\n", runs);
	return 0;
}
