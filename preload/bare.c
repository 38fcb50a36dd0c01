/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that use sockets by the bare instruction.
 *
 * Theory of operation: a program may make its sockets by the C library and wait for them by an
 * instruction of its own (Bun's loop, the crate rustix, which Rust's smol waits by). No call shows
 * that, and the kernel's socket behind a descriptor of ours never becomes readable: the program
 * would wait for ever. Compilers put the number of the call right before the instruction, so the
 * first socket looks through the program's code for such pairs; where there is one, all sockets are
 * the kernel's. Objects that dlopen(3) has brought are looked through at the next socket. Libraries
 * that lie beside the C library use its calls and are left out. So is code that takes the number
 * from a variable (Go's): it makes its sockets so, too, and none of them is known here. */
#include "bare.h"
#include "real.h"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <emmintrin.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define BACK 96 /* bytes in front of the instruction in which the number is looked for */

static const struct {
	uint32_t number;
	const char *name;
} calls[] = {
	{SYS_epoll_wait, "epoll_wait"},
	{SYS_epoll_pwait, "epoll_pwait"},
	{SYS_epoll_ctl, "epoll_ctl"},
	{441, "epoll_pwait2"},
	{SYS_poll, "poll"},
	{SYS_ppoll, "ppoll"},
	{SYS_select, "select"},
	{SYS_pselect6, "pselect6"},
	{SYS_recvfrom, "recvfrom"},
	{SYS_sendto, "sendto"},
	{SYS_recvmsg, "recvmsg"},
	{SYS_sendmsg, "sendmsg"},
	{SYS_recvmmsg, "recvmmsg"},
	{SYS_sendmmsg, "sendmmsg"},
	{SYS_accept, "accept"},
	{SYS_accept4, "accept4"},
	{SYS_connect, "connect"},
	{SYS_shutdown, "shutdown"},
};

static const char *name_of(uint32_t number)
{
	for (size_t i = 0; i < sl_array_len(calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

static uint32_t word(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The call that an instruction makes, by the nearest one before it that sets eax. NULL: not one of
 * those above. */
static const char *call_before(const uint8_t *text, const uint8_t *insn)
{
	const uint8_t *low = insn - text > BACK ? insn - BACK : text;

	for (const uint8_t *p = insn - 2; p > low; p--) {
		bool is_r8 = (p[-1] & 0xf1) == 0x41; /* the prefix makes another register of it */

		if (p[0] == 0xb8 && insn - p >= 5 && word(p + 1) < 1024 && !is_r8)
			return name_of(word(p + 1)); /* mov $number, %eax */
		if (p[0] == 0xc7 && p[1] == 0xc0 && insn - p >= 6 && !is_r8)
			return name_of(word(p + 2)); /* mov $number, %rax */
		if (p[0] == 0x6a && insn - p >= 3 && p[2] == 0x58)
			return name_of(p[1]); /* push $number; pop %rax */
		if ((p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0 && !is_r8)
			return NULL; /* xor %eax, %eax */
	}
	return NULL;
}

/* The first `syscall` in text, or end. (Programs have tens of megabytes of code, and their first
 * socket waits for this.) */
static const uint8_t *next_syscall(const uint8_t *text, const uint8_t *end)
{
	const __m128i first = _mm_set1_epi8(0x0f), second = _mm_set1_epi8(0x05);

	for (; end - text > 16; text += 16) {
		__m128i at = _mm_loadu_si128((const __m128i *)text);
		__m128i behind = _mm_loadu_si128((const __m128i *)(text + 1));
		unsigned hits = (unsigned)_mm_movemask_epi8(
			_mm_and_si128(_mm_cmpeq_epi8(at, first), _mm_cmpeq_epi8(behind, second)));

		if (hits)
			return text + __builtin_ctz(hits);
	}
	for (; end - text >= 2; text++)
		if (text[0] == 0x0f && text[1] == 0x05)
			return text;
	return end;
}

static const char *look_through(const uint8_t *text, size_t n)
{
	const uint8_t *end = text + n, *p = text;
	const char *call = NULL;

	while (!call && (p = next_syscall(p, end)) < end) {
		if (p - text > 2)
			call = call_before(text, p);
		p += 2;
	}
	return call;
}

/* Code of an object, to be looked through in its file. */
struct part {
	char path[256];
	ElfW(Off) offset;
	size_t n;
	bool is_program;
};

/* The code that one look leaves for later. The thread that holds `lock` notes the files while it
 * has the dynamic linker's lock, and reads them when it has given that one up. Reading takes long:
 * a dlopen(3) of another thread would wait for the linker's lock, and a child that another thread
 * forks meanwhile would have it taken for ever. */
static struct part parts[64];
static unsigned nparts;

static const char *look_through_file(const struct part *part)
{
	const ElfW(Off) page = 4096, cut = part->offset & (page - 1);
	int fd = (int)sl_raw(SYS_openat, AT_FDCWD, part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *call = NULL;
	const uint8_t *at;

	if (fd < 0)
		return NULL;
	/* (An object's own memory would be kept, all of a large program's code.) */
	at = mmap(NULL, part->n + cut, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
		  (off_t)(part->offset - cut));
	if (at != MAP_FAILED &&
	    sl_raw(SYS_lseek, fd, 0, SEEK_END) >= (long)(part->offset + part->n))
		call = look_through(at + cut, part->n);
	if (at != MAP_FAILED)
		munmap((void *)(uintptr_t)at, part->n + cut);
	sl_raw(SYS_close, fd);
	return call;
}

/* True: the file can be looked through later. */
static bool put_off(const char *path, const ElfW(Phdr) * phdr, bool is_program)
{
	struct part *part = &parts[nparts];
	struct stat st;

	if (nparts == sl_array_len(parts) || strlen(path) >= sizeof(part->path) ||
	    sl_raw(SYS_faccessat, AT_FDCWD, path, R_OK) || stat(path, &st) ||
	    !S_ISREG(st.st_mode) || st.st_size < (off_t)(phdr->p_offset + phdr->p_filesz))
		return false;
	strcpy(part->path, path);
	part->offset = phdr->p_offset;
	part->n = phdr->p_filesz;
	part->is_program = is_program;
	nparts++;
	return true;
}

/* Returns the name of the call that it makes by the instruction; NULL: none, or its file is to be
 * looked through. */
static const char *look_at_object(const struct dl_phdr_info *info)
{
	bool is_program = !info->dlpi_name[0];
	const char *path = is_program ? "/proc/self/exe" : info->dlpi_name, *call = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum && !call; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD || (phdr->p_flags & (PF_X | PF_R)) != (PF_X | PF_R) ||
		    phdr->p_filesz <= 2 || put_off(path, phdr, is_program))
			continue;
		call = look_through((const uint8_t *)(info->dlpi_addr + phdr->p_vaddr),
				    phdr->p_filesz);
	}
	return call;
}

static size_t dir_len(const char **path)
{
	const char *slash = strrchr(*path, '/');

	if (!strncmp(*path, "/usr/", 5))
		*path += 4;
	return slash ? (size_t)(slash - *path) : 0;
}

static bool is_beside(const char *path, const char *other)
{
	size_t n = dir_len(&path);

	return n == dir_len(&other) && !strncmp(path, other, n);
}

static bool is_of(const struct dl_phdr_info *info, const void *f)
{
	Dl_info so;

	return dladdr(f, &so) && (ElfW(Addr))(uintptr_t)so.dli_fbase == info->dlpi_addr;
}

static unsigned seen; /* objects that were looked at; the linker adds others behind them, */
static unsigned long long removed; /* as long as it removes none */
static char why[160];              /* of the first finding */

static void note(const char *path, bool is_program, const char *call)
{
	char *end = stpncpy(why, is_program ? "the program" : path, sizeof(why) - 60);

	stpcpy(stpcpy(stpcpy(end, " calls "), call), "(2) by the bare instruction");
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *libc = arg, *path = info->dlpi_name, *call;
	bool is_program = !path[0];

	(void)size;
	if (!is_program &&
	    (!strchr(path, '/') || strstr(path, "/ld-linux") || (libc && is_beside(path, libc)) ||
	     is_of(info, (const void *)look) || is_of(info, (const void *)lib.socket)))
		return 0;
	call = look_at_object(info);
	if (!call)
		return 0;
	note(path, is_program, call);
	return 1;
}

static int look_at_new(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned *n = ((void **)arg)[1];

	if (size > offsetof(struct dl_phdr_info, dlpi_subs) && info->dlpi_subs != removed) {
		removed = info->dlpi_subs;
		seen = 0;
	}
	if ((*n)++ < seen)
		return 0;
	seen++;
	return look(info, size, ((void **)arg)[0]);
}

bool sl_bare_more = true;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool looks; /* a thread does, that one: */
static pthread_t looker;

static bool look_at_files(void)
{
	for (unsigned i = 0; i < nparts; i++) {
		const char *call = look_through_file(&parts[i]);

		if (!call)
			continue;
		note(parts[i].path, parts[i].is_program, call);
		return true;
	}
	return false;
}

/* A look that another thread of the parent had begun begins anew in the child. */
static void look_in_child(void)
{
	if (!sl_load_acquire(&looks) || pthread_equal(looker, pthread_self()))
		return;
	pthread_mutex_init(&lock, NULL);
	looks = false;
	seen = 0;
	sl_bare_more = true;
}

void sl_bare_look_now(void)
{
	int saved = errno;
	unsigned n = 0;
	Dl_info libc = {0};

	if (sl_load(&sl_all_left) || pthread_mutex_trylock(&lock))
		return;
	sl_store(&sl_look_in_child, look_in_child);
	looker = pthread_self();
	sl_store_release(&looks, true);
	sl_store(&sl_bare_more, false);
	nparts = 0;
	/* (Libraries that wrap calls do not have this function.) */
	(void)dladdr((const void *)gnu_get_libc_version, &libc);
	if (dl_iterate_phdr(look_at_new, (void *[]){sl_unconst(libc.dli_fname), &n}) ||
	    look_at_files())
		sl_leave_all(why);
	sl_store_release(&looks, false);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

#else

bool sl_bare_more;

void sl_bare_look_now(void)
{
}

#endif
