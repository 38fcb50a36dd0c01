/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at an executable: can the dynamic linker preload the library into it? */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Shdr elf_section;
#define ELF_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Shdr elf_section;
#define ELF_CLASS ELFCLASS32
#endif

static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

int sl_program_find(const char *name, char *path, size_t len)
{
	const char *dirs = getenv("PATH");
	int err = -ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, len, "%s", name);
		return executable(path);
	}
	for (dirs = dirs ? dirs : "/usr/bin:/bin";;) {
		size_t n = strcspn(dirs, ":");
		int e;

		snprintf(path, len, "%.*s%s%s", (int)n, dirs, n ? "/" : "./", name);
		e = executable(path);
		if (!e)
			return 0;
		if (e == -EACCES)
			err = e;
		if (!dirs[n])
			return err;
		dirs += n + 1;
	}
}

/* "": there is none. */
static void interpreter_path(int fd, const elf_header *h, char *path, size_t len)
{
	memset(path, 0, len);
	for (unsigned i = 0; i < h->e_phnum; i++) {
		elf_segment s;

		if (pread(fd, &s, sizeof(s), (off_t)(h->e_phoff + (uint64_t)i * h->e_phentsize)) !=
		    sizeof(s))
			return;
		if (s.p_type != PT_INTERP)
			continue;
		if (pread(fd, path, sl_min(s.p_filesz, len - 1), (off_t)s.p_offset) <= 0)
			memcpy(path, "?", 2);
		return;
	}
}

/* The library is linked with glibc, whose functions the linkers of musl, uClibc and Android do not
 * find: they end the program before it begins. */
static bool is_of_other_libc(const char *interpreter)
{
	static const char *const linkers[] = {"ld-musl-", "ld-uClibc", "linker"};
	const char *base = strrchr(interpreter, '/');

	base = base ? base + 1 : interpreter;
	for (unsigned i = 0; i < sl_array_len(linkers); i++)
		if (!strncmp(base, linkers[i], strlen(linkers[i])))
			return true;
	return false;
}

/* Go leaves a section of its own, also in programs that use the C library. */
static bool is_go(int fd, const elf_header *h)
{
	elf_section names, s;

	if (!h->e_shnum ||
	    pread(fd, &names, sizeof(names),
		  (off_t)(h->e_shoff + (uint64_t)h->e_shstrndx * h->e_shentsize)) != sizeof(names))
		return false;
	for (unsigned i = 0; i < h->e_shnum; i++) {
		char name[16] = "";

		if (pread(fd, &s, sizeof(s), (off_t)(h->e_shoff + (uint64_t)i * h->e_shentsize)) !=
		    sizeof(s))
			return false;
		if (pread(fd, name, sizeof(name) - 1, (off_t)(names.sh_offset + s.sh_name)) > 0 &&
		    !strcmp(name, ".go.buildinfo"))
			return true;
	}
	return false;
}

static bool is_privileged(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
		return true;
	if ((st.st_mode & S_ISGID) && st.st_gid != getegid())
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static enum sl_program_kind elf_kind(int fd, const elf_header *h)
{
	static const elf_header none;
	char interpreter[256];
	uint16_t machine = none.e_machine;
	elf_header self;
	int me = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (me >= 0 && read(me, &self, sizeof(self)) == sizeof(self))
		machine = self.e_machine;
	if (me >= 0)
		close(me);
	if (h->e_ident[EI_CLASS] != ELF_CLASS || h->e_machine != machine)
		return SL_PROGRAM_FOREIGN;
	if (is_go(fd, h))
		return SL_PROGRAM_GO;
	interpreter_path(fd, h, interpreter, sizeof(interpreter));
	if (!interpreter[0])
		return SL_PROGRAM_STATIC;
	if (is_of_other_libc(interpreter))
		return SL_PROGRAM_LIBC;
	return is_privileged(fd) ? SL_PROGRAM_PRIVILEGED : SL_PROGRAM_OK;
}

/* The interpreter of "#! /usr/bin/env python3" is python3. */
static bool interpreter_of(char *head, char *who, size_t len)
{
	char *save, *word = strtok_r(head + 2, " \t\n", &save);
	const char *base;

	if (!word)
		return false;
	base = strrchr(word, '/');
	if (!strcmp(base ? base + 1 : word, "env")) {
		do {
			word = strtok_r(NULL, " \t\n", &save);
		} while (word && (word[0] == '-' || strchr(word, '=')));
		return word && !sl_program_find(word, who, len);
	}
	snprintf(who, len, "%s", word);
	return true;
}

/* A script is followed to its interpreter. */
enum sl_program_kind sl_program_kind(const char *path, char *who, size_t len)
{
	snprintf(who, len, "%s", path);
	for (int depth = 0; depth < 4; depth++) {
		union {
			elf_header elf;
			char text[256];
		} head = {0};
		int fd = open(who, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, &head, sizeof(head) - 1);
		enum sl_program_kind kind = SL_PROGRAM_UNKNOWN;
		bool script = n > 2 && head.text[0] == '#' && head.text[1] == '!';

		if (n >= (ssize_t)sizeof(head.elf) && !memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
			kind = elf_kind(fd, &head.elf);
		if (fd >= 0)
			close(fd);
		if (!script)
			return kind;
		head.text[strcspn(head.text, "\n")] = 0;
		if (!interpreter_of(head.text, who, len))
			return SL_PROGRAM_UNKNOWN;
	}
	return SL_PROGRAM_UNKNOWN;
}

const char *sl_program_obstacle(enum sl_program_kind kind, const char **remedy)
{
	static const struct {
		const char *text, *remedy;
	} all[] = {
		[SL_PROGRAM_STATIC] = {"is statically linked; nothing can be preloaded into it",
				       "a dynamic build of the program"},
		[SL_PROGRAM_GO] = {"is a Go program, which calls the kernel itself and not the C "
				   "library",
				   "none"},
		[SL_PROGRAM_PRIVILEGED] =
			{"is setuid, setgid or has file capabilities, and the "
			 "dynamic linker then ignores LD_PRELOAD",
			 "start it from a process that has the privilege already"},
		[SL_PROGRAM_FOREIGN] = {"is for another machine or word size than the library",
					"a build of the program for this machine"},
		[SL_PROGRAM_LIBC] =
			{"has another C library than glibc and would not start with the "
			 "library preloaded; it runs without",
			 "a build of the program with glibc"},
		[SL_PROGRAM_UNKNOWN] = {NULL, NULL},
	};

	if (remedy)
		*remedy = all[kind].remedy;
	return all[kind].text;
}

const char *sl_program_unseen(int pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st))
		return "there is no such process";
	if (geteuid() && st.st_uid != geteuid())
		return "it is another user's: run this as that user, or as root";
	return "it runs without Sluice, has made no IP socket yet, or has another "
	       "SLUICE_STATS_SHMEM_DIR";
}
