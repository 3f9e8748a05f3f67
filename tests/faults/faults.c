// Stands in front of the C library (LD_PRELOAD) and makes calls fail that hardly ever do.
//
// QUADRANT_FAULT=KIND:N        the N-th call of this kind fails, counted from 1
// QUADRANT_FAULT=KIND:N+       that call fails, and all of its kind behind it
// QUADRANT_FAULT=kill:KIND:N   the program is killed in front of it
// QUADRANT_FAULT_LOG=FILE      gets `KIND COUNT` for each kind when the program ends, and `opened PATH`
//                              for each file that was opened to be read
//
// Kinds: open, read, write, sync, link, rename, map, thread, alloc. They count from main on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum Kind { open_, read_, write_, sync_, link_, rename_, map_, thread_, alloc_, kinds };

static const char* const names[kinds] = {"open", "read",   "write", "sync", "link",
                                         "rename", "map", "thread", "alloc"};
static atomic_long counts[kinds];
static enum Kind wanted = kinds;
static long wanted_at;
static int kills;
static int goes_on;
static int log_file = -1;
static atomic_int in_main;
static int (*real_main)(int, char**, char**);

__attribute__((constructor)) static void start(void) {
  const char* fault = getenv("QUADRANT_FAULT");
  const char* log = getenv("QUADRANT_FAULT_LOG");
  if (log) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (!fault) return;
  kills = strncmp(fault, "kill:", 5) == 0;
  if (kills) fault += 5;
  const char* colon = strchr(fault, ':');
  if (!colon) return;
  const long at = atol(colon + 1);
  goes_on = fault[strlen(fault) - 1] == '+';
  for (int kind = 0; kind < kinds; ++kind) {
    const size_t size = strlen(names[kind]);
    if ((size_t)(colon - fault) == size && strncmp(fault, names[kind], size) == 0) {
      wanted_at = at;
      wanted = (enum Kind)kind;
    }
  }
}

static void log_text(const char* text) {
  if (log_file >= 0) syscall(SYS_write, log_file, text, strlen(text));
}

__attribute__((destructor)) static void finish(void) {
  char line[64];
  for (int kind = 0; kind < kinds; ++kind) {
    snprintf(line, sizeof line, "%s %ld\n", names[kind], atomic_load(&counts[kind]));
    log_text(line);
  }
}

// Whether this call is the one.
static int fails(enum Kind kind) {
  if (!atomic_load(&in_main)) return 0;
  const long count = atomic_fetch_add(&counts[kind], 1) + 1;
  if (kind != wanted || count < wanted_at || (count > wanted_at && !goes_on)) return 0;
  if (kills) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  errno = kind == alloc_ ? ENOMEM : kind == thread_ ? EAGAIN : kind == write_ || kind == sync_ ? ENOSPC : EIO;
  return 1;
}

#define ORIGINAL(result, name, ...) \
  static result (*original)(__VA_ARGS__); \
  if (!original) original = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int counted_main(int argc, char** argv, char** environment) {
  atomic_store(&in_main, 1);
  const int code = real_main(argc, argv, environment);
  atomic_store(&in_main, 0);
  return code;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  ORIGINAL(int, __libc_start_main, int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
           void (*)(void), void*);
  real_main = main;
  return original(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

static int is_regular(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// What is opened of the system's own is not counted.
static int is_ours(const char* path) {
  return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && strncmp(path, "/dev/", 5) != 0;
}

static void log_opened(const char* path, int flags) {
  struct stat status;
  if (log_file < 0 || (flags & O_ACCMODE) != O_RDONLY || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return;
  char line[4200];  // at once, since several threads may open files
  snprintf(line, sizeof line, "opened %s\n", path);
  log_text(line);
}

static int open_with(const char* path, int flags, mode_t mode) {
  if (is_ours(path)) {
    if (fails(open_)) return -1;
    log_opened(path, flags);
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

#define OPEN(name) \
  int name(const char* path, int flags, ...) { \
    va_list list; \
    va_start(list, flags); \
    const mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0; \
    va_end(list); \
    return open_with(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define FOPEN(name) \
  FILE* name(const char* path, const char* mode) { \
    ORIGINAL(FILE*, name, const char*, const char*); \
    if (is_ours(path)) { \
      if (fails(open_)) return NULL; \
      if (mode[0] == 'r') log_opened(path, O_RDONLY); \
    } \
    return original(path, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

#define PREAD(name) \
  ssize_t name(int descriptor, void* out, size_t size, off_t offset) { \
    if (fails(read_)) return -1; \
    return syscall(SYS_pread64, descriptor, out, size, offset); \
  }
PREAD(pread)
PREAD(pread64)

#define PWRITE(name) \
  ssize_t name(int descriptor, const void* from, size_t size, off_t offset) { \
    if (fails(write_)) return -1; \
    return syscall(SYS_pwrite64, descriptor, from, size, offset); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

int fsync(int descriptor) {
  if (is_regular(descriptor) && fails(sync_)) return -1;
  return (int)syscall(SYS_fsync, descriptor);
}

int link(const char* from, const char* to) {
  if (fails(link_)) return -1;
  return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails(link_)) return -1;
  return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int rename(const char* from, const char* to) {
  if (fails(rename_)) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fails(rename_)) return -1;
  return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

#define MMAP(name) \
  void* name(void* place, size_t size, int protection, int flags, int descriptor, off_t offset) { \
    if (descriptor >= 0 && fails(map_)) return MAP_FAILED; \
    return (void*)syscall(SYS_mmap, place, size, protection, flags, descriptor, offset); \
  }
MMAP(mmap)
MMAP(mmap64)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  ORIGINAL(int, pthread_create, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (fails(thread_)) return EAGAIN;
  return original(thread, attributes, run, argument);
}

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return fails(alloc_) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails(alloc_) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails(alloc_) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(alloc_) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (fails(alloc_)) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
