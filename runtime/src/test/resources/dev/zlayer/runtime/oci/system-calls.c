/*
 * Makes every system call once, of each kind of program that the processor runs, with arguments that
 * no call does anything with, and prints what came of it: "ABI NUMBER RESULT". A result is an error
 * number, 0 for success, "signal N", "exit" or "blocks".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST = 480 };

static long call64(long number, long a) {
  long result;
  register long r10 __asm__("r10") = -1;
  register long r8 __asm__("r8") = -1;
  register long r9 __asm__("r9") = -1;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(-1L), "d"(-1L), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static long call32(long number, long a) {
  int result;
  __asm__ volatile("push %%rbp\n\tmov $-1, %%ebp\n\tint $0x80\n\tpop %%rbp"
                   : "=a"(result)
                   : "a"((int)number), "b"((int)a), "c"(-1), "d"(-1), "S"(-1), "D"(-1)
                   : "r8", "r9", "r10", "r11", "memory");
  return result;
}

/* Whether a process sleeps, which one that has not been given a processor yet does not. */
static int sleeps(pid_t process) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    return 1;
  }
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  char *state = strrchr(text, ')');
  return state != NULL && strchr("SD", state[2]) != NULL;
}

/* Whether there is an answer; none comes from a call that has slept for a while. */
static int answers(int from, pid_t process) {
  struct pollfd ready = {from, POLLIN, 0};
  int slept = 0;
  for (int step = 0; step < 600 && slept < 6; step++) {
    if (poll(&ready, 1, 50) > 0) {
      return 1;
    }
    slept = sleeps(process) ? slept + 1 : 0;
  }
  return 0;
}

/* The prefix says what the first argument was. */
static void probe(const char *prefix, const char *abi, int number, long argument) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) {
    perror("pipe");
    exit(2);
  }
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    long result;
    if (strcmp(abi, "i386") == 0) {
      result = call32(number, argument);
    } else if (strcmp(abi, "x32") == 0) {
      result = call64(number | 0x40000000, argument);
    } else {
      result = call64(number, argument);
    }
    int error = result < 0 && result > -4096 ? (int)-result : 0;
    (void)!write(pipe_ends[1], &error, sizeof error);
    _exit(77);
  }
  close(pipe_ends[1]);
  int error = -1;
  int answered = answers(pipe_ends[0], child);
  int got = answered && read(pipe_ends[0], &error, sizeof error) == sizeof error;
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(pipe_ends[0]);
  if (got) {
    printf("%s%s %d %d\n", prefix, abi, number, error);
  } else if (!answered) {
    printf("%s%s %d blocks\n", prefix, abi, number);
  } else if (WIFSIGNALED(status)) {
    printf("%s%s %d signal %d\n", prefix, abi, number, WTERMSIG(status));
  } else {
    printf("%s%s %d exit\n", prefix, abi, number);
  }
}

/* Prints the session keyring's number, or what keeps it from us. */
static int keyring(void) {
  long id = syscall(SYS_keyctl, 0, -3, 0);
  if (id < 0) {
    printf("error %d\n", errno);
  } else {
    printf("keyring %ld\n", id);
  }
  return 0;
}

int main(int count, char **words) {
  if (count > 1 && strcmp(words[1], "keyring") == 0) {
    return keyring();
  }
  const char *abis[] = {"x86_64", "i386", "x32"};
  signal(SIGCHLD, SIG_DFL);
  for (int abi = 0; abi < 3; abi++) {
    for (int number = 0; number < LAST; number++) {
      probe("", abis[abi], number, -1);
    }
  }
  /* The calls whose first argument decides: families of sockets, flags of clone. */
  for (int family = 0; family < 50; family++) {
    probe("family ", "x86_64", 41, family);
  }
  for (int bit = 7; bit < 32; bit++) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "clone-flag-%d ", bit);
    probe(prefix, "x86_64", 56, 1L << bit);
  }
  return 0;
}
