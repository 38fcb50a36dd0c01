/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's functions as dlsym(3) finds them, and objects that are bound past this library.
 *
 * Theory of operation: the foreign functions of a language look a call up in "libc.so.6", and an
 * object opened with RTLD_DEEPBIND (PHP opens its extensions so) prefers its own dependencies to
 * what is preloaded. Both would use a descriptor of ours by the C library, which knows the kernel's
 * socket alone. So dlsym() of a handle finds the function of this library where it would find the
 * C library's, and after such a dlopen(3) the slots of the new objects are led here. A function
 * that another preloaded library puts in between stays what it is; where that one stands behind
 * this library, the program's sockets are the kernel's. */
#include "bare.h"
#include "named.h"
#include "real.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

/* A caller says by its return address where to search: so these are left by a jump. */
#define JUMPS __attribute__((visibility("default"), SL_EARLY, optimize("optimize-sibling-calls")))

/* The names that preload.map exports. */
static const char *const names[] = {
#define SL_CALL(result, name, params, raw) #name,
#include "calls.def"
#undef SL_CALL
	"dlsym",         "fcntl64",     "sendfile64",   "closefrom",      "dprintf",
	"__dprintf_chk", "__read_chk",  "__recv_chk",   "__recvfrom_chk", "__poll_chk",
	"__ppoll_chk",   "vfork",       "_exit",        "_Exit",          "execv",
	"execvp",        "execl",       "execlp",       "execle",         "signal",
	"bsd_signal",    "ssignal",     "sysv_signal",  "__sysv_signal",  "siginterrupt",
	"sigset",        "setrlimit64", "freopen64",    "_IO_fclose",     "_IO_fdopen",
	"aio_read64",    "aio_write64", "lio_listio64", "preadv64v2",     "pwritev64v2",
	"__read",        "__write",     "__send",       "__connect",      "__close",
	"__dup2",        "__fcntl",     "__poll",       "__select",       "__sigaction",
	"__vfork",       "unshare",     "setns",        "syscall",        "sockatmark",
};
#define NAMES sl_array_len(names)

/* The C library's function of each name, and ours. Both are NULL if the C library has no such
 * function, or if ours does not take its place. */
static struct {
	void *theirs, *ours;
} both[NAMES];
static bool have_both;

static bool is_here(const void *f)
{
	Dl_info at, here;

	return dladdr(f, &at) && dladdr(names, &here) && at.dli_fbase == here.dli_fbase;
}

/* Where a name is, by its hash: the number in `names` and one more. */
static uint16_t places[1024];
static bool have_places;
_Static_assert(NAMES <= sl_array_len(places) / 4, "two threads may fill it at once");

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

static uint16_t *place_of(uint32_t at)
{
	return &places[at % sl_array_len(places)];
}

/* (Threads that do so together put each name into the same place.) */
static void fill_places(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		uint32_t at = hash_of(names[i]);
		uint16_t there;

		while ((there = sl_load(place_of(at))) && there != i + 1)
			at++;
		sl_store(place_of(at), (uint16_t)(i + 1));
	}
	sl_store_release(&have_places, true);
}

static int find_name(const char *name)
{
	uint16_t i;

	if (!sl_load_acquire(&have_places))
		fill_places();
	for (uint32_t at = hash_of(name); (i = sl_load(place_of(at))); at++)
		if (!strcmp(names[i - 1], name))
			return i - 1;
	return -1;
}

/* Ours, where f is the C library's, and ours is what the program means by that name. */
static void *ours_for(const char *name, void *f)
{
	sl_dlsym_fn *look = sl_real_dlsym();
	void *next = look(RTLD_NEXT, name);
	void *mine = next == f ? look(RTLD_DEFAULT, name) : NULL;

	if (!next) /* this C library does not have it: dlsym(3) has not failed by that */
		dlerror();
	return mine && is_here(mine) ? mine : f;
}

static __attribute__((noinline)) void *find(void *handle, const char *name)
{
	void *f = sl_real_dlsym()(handle, name);

	return f && find_name(name) >= 0 && strncmp(name, "io_uring", 8) ? ours_for(name, f) : f;
}

JUMPS void *dlsym(void *handle, const char *name)
{
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		return find(handle, name);
	return sl_real_dlsym()(handle, name);
}

/* Libraries behind this one -------------------------------------------------------------------- */

/* True: f is in a file of the C library's, or of a sanitizer, which calls that one. */
static bool is_plain(const void *f)
{
	static const char *const files[] = {"libc.",   "libc-",     "libpthread",
					    "libasan", "libtsan",   "libubsan",
					    "liblsan", "libhwasan", "libclang_rt"};
	const char *file;
	Dl_info at;

	if (!dladdr(f, &at) || !at.dli_fname)
		return true;
	file = strrchr(at.dli_fname, '/');
	file = file ? file + 1 : at.dli_fname;
	for (size_t i = 0; i < sl_array_len(files); i++)
		if (!strncmp(file, files[i], strlen(files[i])))
			return true;
	return false;
}

bool sl_is_wrapped(void)
{
	enum { UNKNOWN, PLAIN, WRAPPED };
	static uint8_t known;
	uint8_t is = sl_load(&known);

	if (sl_unlikely(is == UNKNOWN)) {
		bool plain = is_plain((void *)REAL(connect)) && is_plain((void *)REAL(bind));

		is = plain ? PLAIN : WRAPPED;
		sl_store(&known, is);
	}
	return is == WRAPPED;
}

/* RTLD_DEEPBIND -------------------------------------------------------------------------------- */

static void look_up_both(void)
{
	if (sl_load_acquire(&have_both))
		return;
	for (size_t i = 0; i < NAMES; i++) {
		void *f = strncmp(names[i], "io_uring", 8) ? sl_real_dlsym()(RTLD_NEXT, names[i])
							   : NULL;
		void *mine = f ? ours_for(names[i], f) : NULL;

		if (mine != f) {
			sl_store(&both[i].theirs, f);
			sl_store(&both[i].ours, mine);
		}
	}
	dlerror(); /* of a name that this C library does not have */
	sl_store_release(&have_both, true);
}

/* An object, in the midst of dl_iterate_phdr(3), where no call of the linker's may be made. */
struct object {
	ElfW(Addr) base;
	const ElfW(Phdr) * head;
	unsigned heads;
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * all, *jumps;
	size_t all_bytes, jumps_bytes;
};

/* False: it has no symbols. */
static bool read_object(struct object *o, const struct dl_phdr_info *info)
{
	*o = (struct object){
		.base = info->dlpi_addr, .head = info->dlpi_phdr, .heads = info->dlpi_phnum};
	for (unsigned i = 0; i < o->heads; i++)
		if (o->head[i].p_type == PT_DYNAMIC)
			o->dynamic = (const void *)(o->base + o->head[i].p_vaddr);
	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++) {
		/* (The linker has made addresses of them on most machines.) */
		uintptr_t at = d->d_un.d_ptr < o->base ? o->base + d->d_un.d_ptr : d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = (const void *)at;
			break;
		case DT_STRTAB:
			o->strings = (const void *)at;
			break;
		case DT_RELA:
			o->all = (const void *)at;
			break;
		case DT_RELASZ:
			o->all_bytes = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->jumps = (const void *)at;
			break;
		case DT_PLTRELSZ:
			o->jumps_bytes = d->d_un.d_val;
			break;
		}
	}
	return o->symbols && o->strings;
}

static bool is_inside(const struct object *o, uintptr_t at)
{
	for (unsigned i = 0; i < o->heads; i++) {
		const ElfW(Phdr) *p = &o->head[i];

		if (p->p_type == PT_LOAD && at - (o->base + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

/* True: the linker has made that page read-only. (One that is in PT_GNU_RELRO in part has data that
 * the object writes.) */
static bool is_sealed(const struct object *o, uintptr_t at, uintptr_t page)
{
	for (unsigned i = 0; i < o->heads; i++) {
		const ElfW(Phdr) *p = &o->head[i];
		uintptr_t from = o->base + p->p_vaddr, to = from + p->p_memsz;

		if (p->p_type == PT_GNU_RELRO && at >= (from & -page) && at < (to & -page))
			return true;
	}
	return false;
}

/* The pages that the linker has made read-only are so again afterwards. */
static void set_slot(const struct object *o, void **slot, void *f)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)slot & -page;
	bool sealed = is_sealed(o, start, page);

	if (sealed && mprotect((void *)start, page, PROT_READ | PROT_WRITE))
		return;
	sl_store(slot, f);
	if (sealed)
		(void)mprotect((void *)start, page, PROT_READ);
}

/* others: NULL for slots that the linker has filled. A slot that it fills at the first use leads
 * into the object until then; others[i] is true where the object means another function than the C
 * library's by names[i]. */
static void lead_here(const struct object *o, const ElfW(Rela) * r, size_t bytes,
		      const bool *others)
{
	for (const ElfW(Rela) *end = r + bytes / sizeof(*r); r < end; r++) {
		const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];
		void **slot = (void **)(o->base + r->r_offset), *at;
		int i;

		if (!ELF64_R_SYM(r->r_info) || s->st_shndx != SHN_UNDEF ||
		    ELF64_ST_TYPE(s->st_info) == STT_TLS)
			continue;
		i = find_name(o->strings + s->st_name);
		if (i < 0 || !both[i].ours)
			continue;
		at = sl_load(slot);
		if (at == both[i].theirs || (others && !others[i] && is_inside(o, (uintptr_t)at)))
			set_slot(o, slot, both[i].ours);
	}
}

/* The objects that a dlopen(3) opens: the file, and the libraries that it needs and that were not
 * there. */
struct opened {
	unsigned old;       /* how many objects were there before; the new ones are behind them */
	ElfW(Addr) base;    /* of the file */
	bool others[NAMES]; /* it has another function of that name than the C library's */
	struct object part[64];
	unsigned n;
};

static void look_for_others(struct opened *so, void *handle)
{
	for (size_t i = 0; i < NAMES; i++)
		so->others[i] = both[i].ours && sl_real_dlsym()(handle, names[i]) != both[i].theirs;
	dlerror(); /* of a name that it does not have */
}

static int count(struct dl_phdr_info *info, size_t size, void *so)
{
	(void)info, (void)size;
	((struct opened *)so)->old++;
	return 0;
}

static const char *without_dirs(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True: the file, or a library that it needs. Other new objects are another thread's, or the
 * library has opened them for the first socket of a constructor, and they use the C library alone.
 */
static bool is_part(const struct opened *so, const struct object *o, const char *path)
{
	if (o->base == so->base)
		return true;
	for (unsigned i = 0; i < so->n; i++) {
		const struct object *by = &so->part[i];

		for (const ElfW(Dyn) *d = by->dynamic; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_NEEDED &&
			    !strcmp(without_dirs(by->strings + d->d_un.d_val), without_dirs(path)))
				return true;
	}
	return false;
}

/* (A needed library comes behind the object that needs it.) */
static int lead(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct opened *so = arg;
	struct object *o = &so->part[so->n];

	(void)size;
	if (so->old) {
		so->old--;
		return 0;
	}
	if (!read_object(o, info) || !is_part(so, o, info->dlpi_name))
		return 0;
	lead_here(o, o->all, o->all_bytes, NULL);
	lead_here(o, o->jumps, o->jumps_bytes, so->others);
	return ++so->n == sl_array_len(so->part);
}

/* True: the library's own call: what it opens is to use the C library alone. */
static bool is_the_library(const void *caller)
{
	Dl_info at, so;

	return lib_is_there() && dladdr(caller, &at) && dladdr((void *)lib.socket, &so) &&
	       at.dli_fbase == so.dli_fbase;
}

static __attribute__((noinline)) void *open_deep(const char *file, int mode)
{
	struct opened so = {0};
	struct link_map *map;
	void *handle;

	look_up_both();
	dl_iterate_phdr(count, &so);
	handle = REAL(dlopen)(file, mode);
	if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
		so.base = map->l_addr;
		look_for_others(&so, handle);
		dl_iterate_phdr(lead, &so);
	}
	return handle;
}

/* Left alone: a file whose place depends on the caller's own, which is so for one without a slash,
 * and for one with $ORIGIN. */
JUMPS void *dlopen(const char *file, int mode)
{
	sl_store(&sl_bare_more, true);
	if (mode & RTLD_DEEPBIND && file && strchr(file, '/') && !strchr(file, '$') &&
	    !is_the_library(__builtin_return_address(0)))
		return open_deep(file, mode);
	return REAL(dlopen)(file, mode);
}
