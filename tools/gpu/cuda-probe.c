/* What a program sees of the first GPU, through the driver's own library alone.
   info: its name, memory and multiprocessors; alloc MIB: tries to allocate so much; spin SECONDS MIB: computes so long
   with a kernel that the driver compiles, holding so much memory. Built by tools/gpu-check. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int (*fn)();
static void *lib;

static fn sym(const char *name) {
  fn f = (fn)dlsym(lib, name);
  if (!f) { printf("missing %s\n", name); exit(3); }
  return f;
}

static void ok(int result, const char *what) {
  if (result) { printf("%s failed with %d\n", what, result); exit(1); }
}

static const char *PTX =
  ".version 6.4\n.target sm_75\n.address_size 64\n"
  ".visible .entry spin(.param .u64 n) {\n"
  " .reg .u64 %a, %b, %c;\n .reg .pred %p;\n"
  " ld.param.u64 %a, [n];\n mov.u64 %b, %clock64;\n"
  "again:\n mov.u64 %c, %clock64;\n sub.u64 %c, %c, %b;\n setp.lt.u64 %p, %c, %a;\n @%p bra again;\n ret;\n}\n";

int main(int argc, char **argv) {
  int count = 0, device = 0, sms = 0;
  size_t total = 0;
  char name[128] = "";
  void *context = NULL;
  lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib) { printf("no libcuda: %s\n", dlerror()); return 2; }
  ok(sym("cuInit")(0), "cuInit");
  ok(sym("cuDeviceGetCount")(&count), "cuDeviceGetCount");
  if (count == 0) { printf("no device\n"); return 2; }
  ok(sym("cuDeviceGet")(&device, 0), "cuDeviceGet");
  ok(sym("cuDeviceGetName")(name, (int)sizeof name, device), "cuDeviceGetName");
  ok(sym("cuDeviceTotalMem_v2")(&total, device), "cuDeviceTotalMem");
  ok(sym("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
  ok(sym("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  ok(sym("cuDeviceGetAttribute")(&sms, 16, device), "cuDeviceGetAttribute");
  if (argc < 2 || !strcmp(argv[1], "info")) {
    printf("devices=%d name=%s memory_mib=%zu multiprocessors=%d\n", count, name, total >> 20, sms);
    return 0;
  }
  if (!strcmp(argv[1], "alloc") && argc == 3) {
    unsigned long long memory = 0;
    int result = sym("cuMemAlloc_v2")(&memory, (size_t)atol(argv[2]) << 20);
    printf(result ? "refused with %d\n" : "allocated\n", result);
    return result ? 1 : 0;
  }
  if (!strcmp(argv[1], "spin") && argc == 4) {
    unsigned long long memory = 0, cycles = 200000000ULL;
    void *module = NULL, *function = NULL;
    void *arguments[] = {&cycles};
    time_t end = time(NULL) + atol(argv[2]);
    ok(sym("cuMemAlloc_v2")(&memory, (size_t)atol(argv[3]) << 20), "cuMemAlloc");
    ok(sym("cuModuleLoadData")(&module, PTX), "cuModuleLoadData");
    ok(sym("cuModuleGetFunction")(&function, module, "spin"), "cuModuleGetFunction");
    while (time(NULL) < end) {
      ok(sym("cuLaunchKernel")(function, sms, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
      ok(sym("cuCtxSynchronize")(), "cuCtxSynchronize");
    }
    printf("computed\n");
    return 0;
  }
  printf("usage: cuda-probe info | alloc MIB | spin SECONDS MIB\n");
  return 2;
}
