/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that start another program: the library hears of each before that program gets this
 * one's descriptors.
 *
 * Theory of operation: the C library's exec functions call execve inside, past any wrapper, so each
 * of them is wrapped here. A call that can only fail (no such file) changes nothing.
 *
 * If connections wait in a listener's queue, the new program needs the library to find them. Some
 * callers (systemd-socket-activate) make its environment anew: LD_PRELOAD and the settings are
 * added then. */
#include "real.h"

#include <alloca.h>

/* Each of these: true if the new program needs the library. */
static bool exec_begin(void)
{
	return lib_is_there() && lib.exec_begin(sl_in_vfork ? SL_EXEC_VFORK : SL_EXEC_SELF);
}

static bool exec_file(const char *path)
{
	int saved = errno;
	bool needs = false;

	if (lib_is_there() && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
		needs = exec_begin();
	errno = saved;
	return needs;
}

/* For a name without a slash, which execvp(3) looks for in PATH. */
static bool exec_name(const char *file)
{
	return strchr(file, '/') ? exec_file(file) : exec_begin();
}

static size_t count_env(char *const envp[])
{
	size_t n = 0;

	while (envp && envp[n])
		n++;
	return n;
}

static bool begins(const char *entry, const char *name)
{
	return strncmp(entry, name, strlen(name)) == 0;
}

static bool has_preload(char *const envp[])
{
	for (size_t i = 0, n = count_env(envp); i < n; i++)
		if (begins(envp[i], "LD_PRELOAD="))
			return true;
	return false;
}

/* Makes, in env, what envp has and what of this program's environment the library needs. */
static char **add_library(char **env, char *const envp[])
{
	size_t n = count_env(envp);

	for (size_t i = 0; i < n; i++)
		env[i] = envp[i];
	for (char *const *e = environ; e && *e; e++)
		if (begins(*e, "LD_PRELOAD=") || begins(*e, "SLUICE_"))
			env[n++] = *e;
	env[n] = NULL;
	return env;
}

/* No malloc(): the caller may be a child of vfork(2). */
#define KEEP_LIBRARY(envp, needs)                                                                  \
	do {                                                                                       \
		if ((needs) && !has_preload(envp))                                                 \
			(envp) = add_library(alloca((count_env(envp) + count_env(environ) + 1) *   \
						    sizeof(*(envp))),                              \
					     envp);                                                \
	} while (0)

/* True: spawn_end() must be called after the start. *needs: the new program needs the library. */
static bool spawn_begin(bool *needs)
{
	*needs = false;
	if (!lib_is_there())
		return false;
	*needs = lib.exec_begin(sl_in_vfork ? SL_EXEC_VFORK : SL_EXEC_SPAWN);
	return !sl_in_vfork;
}

static void spawn_end(bool begun)
{
	int saved = errno;

	if (begun)
		lib.exec_end();
	errno = saved;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	bool needs = exec_file(path);

	KEEP_LIBRARY(envp, needs);
	return REAL(execve)(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	bool needs = exec_name(file);

	KEEP_LIBRARY(envp, needs);
	return REAL(execvpe)(file, argv, envp);
}

int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	bool needs = exec_begin();

	KEEP_LIBRARY(envp, needs);
	return REAL(fexecve)(fd, argv, envp);
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	bool needs = exec_begin();

	KEEP_LIBRARY(envp, needs);
	return REAL(execveat)(dir, path, argv, envp, flags);
}

static size_t count_args(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n;
}

/* Collects the arguments up to NULL; `ap` then stands behind it. No malloc(): the caller may be a
 * child of vfork(2). */
#define COLLECT(argv, first, ap)                                                                   \
	do {                                                                                       \
		va_list again;                                                                     \
		size_t n;                                                                          \
                                                                                                   \
		va_start(ap, first);                                                               \
		va_copy(again, ap);                                                                \
		n = count_args(again);                                                             \
		va_end(again);                                                                     \
		(argv) = alloca((n + 1) * sizeof(*(argv)));                                        \
		(argv)[0] = sl_unconst(first);                                                     \
		for (size_t i = 1; i <= n; i++)                                                    \
			(argv)[i] = va_arg(ap, char *);                                            \
	} while (0)

int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	COLLECT(argv, arg, ap);
	va_end(ap);
	return execv(path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	COLLECT(argv, arg, ap);
	va_end(ap);
	return execvp(file, argv);
}

int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	COLLECT(argv, arg, ap);
	envp = va_arg(ap, char **);
	va_end(ap);
	return execve(path, argv, envp);
}

/* posix_spawn(3) and posix_spawnp(3) differ in how the C library finds the file. */
#define SPAWN(name)                                                                                \
	int name(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,          \
		 const posix_spawnattr_t *attr, char *const argv[], char *const envp[])            \
	{                                                                                          \
		bool needs, begun = spawn_begin(&needs);                                           \
		int err;                                                                           \
                                                                                                   \
		KEEP_LIBRARY(envp, needs);                                                         \
		err = REAL(name)(pid, file, actions, attr, argv, envp);                            \
		spawn_end(begun);                                                                  \
		return err;                                                                        \
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* The child's copy is not closed on exec, whatever the descriptor's flag says. The socket is handed
 * back now, since the list of actions cannot be read at the spawn. */
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int fd2)
{
	if (ours(fd))
		lib.exec_gives(fd);
	return REAL(posix_spawn_file_actions_adddup2)(actions, fd, fd2);
}

static void spawn_cancelled(void *begun)
{
	spawn_end(*(bool *)begun);
}

int system(const char *command)
{
	bool needs, begun = command && spawn_begin(&needs);
	int status;

	pthread_cleanup_push(spawn_cancelled, &begun);
	status = REAL(system)(command);
	pthread_cleanup_pop(1);
	return status;
}

FILE *popen(const char *command, const char *mode)
{
	bool needs, begun = spawn_begin(&needs);
	FILE *f = REAL(popen)(command, mode);

	spawn_end(begun);
	return f;
}
