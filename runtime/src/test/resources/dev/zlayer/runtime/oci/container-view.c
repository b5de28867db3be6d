/*
 * Prints what a container is given, one fact per line: "FACT<tab>NAME<tab>VALUE". Nothing is changed: devices are
 * opened without waiting and closed again, files of the kernel are only asked whether they could be written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void fact(const char *fact, const char *name, const char *value) {
  printf("%s\t%s\t%s\n", fact, name, value);
}

/* Every line of a file as a fact of its own; what a line has of tabs and spaces becomes one space. */
static void lines(const char *name, const char *path) {
  FILE *file = fopen(path, "r");
  char line[8192];
  if (!file) {
    fact("file", path, strerror(errno));
    return;
  }
  while (fgets(line, sizeof line, file)) {
    char *to = line;
    for (char *from = line; *from; from++) {
      int space = *from == ' ' || *from == '\t' || *from == '\n';
      if (!space) {
        *to++ = *from;
      } else if (to > line && to[-1] != ' ') {
        *to++ = ' ';
      }
    }
    *to = 0;
    fact(name, path, line);
  }
  fclose(file);
}

static void links(const char *name, const char *directory) {
  struct dirent **entries;
  int count = scandir(directory, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char path[512];
    char target[512];
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0) {
      target[length] = 0;
      fact(name, entries[i]->d_name, target);
    }
  }
}

static void nodes(const char *directory) {
  struct dirent **entries;
  int count = scandir(directory, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char path[512];
    char value[640];
    struct stat of;
    if (entries[i]->d_name[0] == '.') {
      continue;
    }
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    if (lstat(path, &of) != 0) {
      continue;
    }
    if (S_ISLNK(of.st_mode)) {
      char target[512] = {0};
      (void)!readlink(path, target, sizeof target - 1);
      snprintf(value, sizeof value, "-> %s", target);
    } else if (S_ISCHR(of.st_mode) || S_ISBLK(of.st_mode)) {
      snprintf(value, sizeof value, "%c %u:%u %o %u:%u", S_ISCHR(of.st_mode) ? 'c' : 'b', major(of.st_rdev),
               minor(of.st_rdev), of.st_mode & 07777, of.st_uid, of.st_gid);
    } else {
      snprintf(value, sizeof value, "%s %o %u:%u", S_ISDIR(of.st_mode) ? "directory" : "file", of.st_mode & 07777,
               of.st_uid, of.st_gid);
    }
    fact("node", path, value);
  }
}

static const char *opens(mode_t type, unsigned major_number, unsigned minor_number) {
  static char answer[4];
  const char *node = "/view-node";
  unlink(node);
  answer[0] = 0;
  if (mknod(node, type | 0600, makedev(major_number, minor_number)) != 0) {
    return answer;
  }
  int modes[] = {O_RDONLY, O_WRONLY};
  for (int i = 0; i < 2; i++) {
    int opened = open(node, modes[i] | O_NONBLOCK | O_NOCTTY);
    if (opened >= 0 || (errno != EPERM && errno != EACCES)) {
      strcat(answer, i == 0 ? "r" : "w");
    }
    if (opened >= 0) {
      close(opened);
    }
  }
  unlink(node);
  strcat(answer, "m");
  return answer;
}

/* Which devices the control group lets a container make ("m") and open ("r", "w"). */
static void device_rules(void) {
  unsigned minors[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 63, 64, 130, 183, 184, 200, 223, 228, 229, 232, 237, 239};
  mode_t types[] = {S_IFCHR, S_IFBLK};
  for (int type = 0; type < 2; type++) {
    int made = 1;
    for (unsigned number = 0; number < 256; number++) {
      for (unsigned i = 0; i < sizeof minors / sizeof *minors; i++) {
        const char *answer = opens(types[type], number, minors[i]);
        /* c 0:0 marks what is removed from an overlay, which lets nobody make one */
        made &= strchr(answer, 'm') != NULL || (type == 0 && number == 0 && minors[i] == 0);
        if (strchr(answer, 'r') || strchr(answer, 'w')) {
          char name[64];
          snprintf(name, sizeof name, "%c %u:%u", type == 0 ? 'c' : 'b', number, minors[i]);
          fact("opens", name, answer);
        }
      }
    }
    fact("makes", type == 0 ? "c *:*" : "b *:*", made ? "m" : "not all");
  }
}

/* Files and directories that have a bit for writing, on a mount that lets them be written; masks are devices. */
static int writable(const char *path, const struct stat *of, int type, struct FTW *where) {
  (void)where;
  if (strncmp(path, "/proc/", 6) == 0) {
    const char *name = path + 6;
    if ((*name >= '0' && *name <= '9') || strncmp(name, "self", 4) == 0 || strncmp(name, "thread-self", 11) == 0) {
      return FTW_SKIP_SUBTREE;
    }
  }
  int plain = type != FTW_SL && type != FTW_NS && !S_ISCHR(of->st_mode);
  if (plain && (of->st_mode & 0222) != 0 && access(path, W_OK) == 0) {
    fact("writes", path, type == FTW_F ? "file" : "directory");
  }
  return FTW_CONTINUE;
}

/* Whether something of a path can be seen: the first byte of a file, an entry of a directory. */
static void shows(const char *path) {
  struct stat of;
  if (lstat(path, &of) != 0) {
    fact("shows", path, "absent");
    return;
  }
  int something = 0;
  if (S_ISDIR(of.st_mode)) {
    struct dirent **entries;
    something = scandir(path, &entries, NULL, NULL) > 2;
  } else {
    char byte;
    int opened = open(path, O_RDONLY | O_NONBLOCK);
    something = opened >= 0 && read(opened, &byte, 1) == 1;
    close(opened);
  }
  fact("shows", path, something ? "content" : "nothing");
}

int main(int count, char **words) {
  char value[256];
  lines("status", "/proc/self/status");
  lines("limit", "/proc/self/limits");
  lines("mount", "/proc/self/mountinfo");
  lines("apparmor", "/proc/self/attr/current");
  lines("oom", "/proc/self/oom_score_adj");
  const char *settings[] = {"/proc/sys/net/ipv4/ip_unprivileged_port_start", "/proc/sys/net/ipv4/ping_group_range",
                            "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/shm_rmid_forced"};
  for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
    lines("setting", settings[i]);
  }
  int unified = access("/sys/fs/cgroup/pids.max", R_OK) == 0;
  lines("pids", unified ? "/sys/fs/cgroup/pids.max" : "/sys/fs/cgroup/pids/pids.max");
  links("namespace", "/proc/self/ns");
  links("descriptor", "/proc/1/fd");
  nodes("/dev");
  device_rules();
  nftw("/proc", writable, 32, FTW_PHYS | FTW_ACTIONRETVAL);
  nftw("/sys", writable, 32, FTW_PHYS | FTW_ACTIONRETVAL);
  for (int i = 1; i < count; i++) {
    shows(words[i]);
  }
  gethostname(value, sizeof value);
  fact("hostname", "", value);
  fact("directory", "", getcwd(value, sizeof value));
  snprintf(value, sizeof value, "%d", prctl(PR_GET_SECUREBITS));
  fact("securebits", "", value);
  snprintf(value, sizeof value, "%d", prctl(PR_GET_DUMPABLE));
  fact("dumpable", "", value);
  return 0;
}
