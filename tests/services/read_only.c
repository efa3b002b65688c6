/* Loaded before the C library: while the file named by OUTAGE_READ_ONLY is there, every write to a regular
   file below OUTAGE_FOLDER is refused as the kernel refuses it on a file system that it has made read-only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_read_only(void) {
  const char *flag = getenv("OUTAGE_READ_ONLY");
  return flag && access(flag, F_OK) == 0;
}

static int is_below(const char *path) {
  const char *folder = getenv("OUTAGE_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int refuses(int file) {
  char link[64], path[4096];
  if (!is_read_only()) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(path);
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  if (refuses(file)) { errno = EROFS; return -1; }
  return real(file, bytes, count, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
  if (refuses(file)) { errno = EROFS; return -1; }
  return real(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (refuses(file)) { errno = EROFS; return -1; }
  return real(file, bytes, count);
}

int ftruncate64(int file, off64_t length) {
  REAL(int, ftruncate64, int, off64_t);
  if (refuses(file)) { errno = EROFS; return -1; }
  return real(file, length);
}

int ftruncate(int file, off_t length) {
  REAL(int, ftruncate, int, off_t);
  if (refuses(file)) { errno = EROFS; return -1; }
  return real(file, length);
}

static int opening(const char *path, int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && is_below(path) && is_read_only();
}

int open64(const char *path, int flags, ...) {
  REAL(int, open64, const char *, int, ...);
  va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
  if (opening(path, flags)) { errno = EROFS; return -1; }
  return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  REAL(int, open, const char *, int, ...);
  va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
  if (opening(path, flags)) { errno = EROFS; return -1; }
  return real(path, flags, mode);
}
