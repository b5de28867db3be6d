package dev.zlayer.testkit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * A directory that looks like a host with NVIDIA's driver: kernel files, device nodes, libraries, a
 * loader cache and programs that answer from files. Devices are links to harmless ones.
 */
public final class FakeGpuDriver {
  private static final String LIBRARIES = "usr/lib/x86_64-linux-gnu";
  private static final byte[] ELF = {0x7f, 'E', 'L', 'F', 2, 1, 1};

  private final Path root;

  private FakeGpuDriver(Path root) {
    this.root = root;
  }

  /** With as many GPUs, called "NVIDIA H200" each. */
  public static FakeGpuDriver install(Path root, String version, int gpus) {
    var driver = new FakeGpuDriver(root);
    driver.kernel(version, gpus);
    driver.libraries(version);
    driver.programs();
    return driver;
  }

  /** One more, with this number, while the driver runs. */
  public static void addGpu(Path root, int gpu) {
    new FakeGpuDriver(root).gpu(gpu);
  }

  public Path root() {
    return root;
  }

  /** The UUID of a GPU. */
  public static String uuid(int gpu) {
    return "GPU-0000000%d-aaaa-bbbb-cccc-000000000000".formatted(gpu);
  }

  /** The kernel module of another version is loaded, and its libraries are installed. */
  public void update(String version) {
    try (var libraries = Files.list(root.resolve(LIBRARIES))) {
      for (Path library : libraries.toList()) {
        Files.delete(library);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    version(version);
    libraries(version);
  }

  /** Divides a GPU in two by MIG. */
  public void divide(int gpu) {
    write("dev/nvidia-caps/.keep", "");
    for (int part = 1; part <= 2; part++) {
      String instance = "proc/driver/nvidia/capabilities/gpu%d/mig/gi%d".formatted(gpu, part);
      capability(instance + "/access", 10 * part);
      capability(instance + "/ci0/access", 10 * part + 1);
    }
  }

  private void capability(String file, int minor) {
    write(file, "DeviceFileMinor: %d\nDeviceFileMode: 292\n".formatted(minor));
    link("dev/nvidia-caps/nvidia-cap" + minor, "/dev/null");
  }

  /** What {@code nvidia-smi --query-gpu} answers: one line per GPU. */
  public void gpuAnswer(String lines) {
    write("smi/gpus", lines);
  }

  /** What it says about processes: their memory, and their load. */
  public void processAnswer(String memory, String load) {
    write("smi/memory", memory);
    write("smi/load", load);
  }

  /** The arguments with which time slices were set, one line each. */
  public List<String> policies() {
    try {
      Path file = root.resolve("smi/policies");
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void kernel(String version, int gpus) {
    version(version);
    for (int gpu = 0; gpu < gpus; gpu++) {
      gpu(gpu);
    }
    link("dev/nvidiactl", "/dev/zero");
    link("dev/nvidia-uvm", "/dev/full");
  }

  private void gpu(int gpu) {
    write(
        "proc/driver/nvidia/gpus/0000:0%d:00.0/information".formatted(gpu + 1),
        """
        Model: \t\t NVIDIA H200
        IRQ:   \t\t 41
        GPU UUID: \t %s
        Bus Location: \t 0000:0%d:00.0
        Device Minor: \t %d
        GPU Excluded:\t No
        """
            .formatted(uuid(gpu), gpu + 1, gpu));
    link("dev/nvidia" + gpu, "/dev/null");
  }

  private void version(String version) {
    write(
        "proc/driver/nvidia/version",
        """
        NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build  (builder)
        GCC version:  gcc version 13.2.0
        """
            .formatted(version));
  }

  private void libraries(String version) {
    for (String name : List.of("libcuda.so", "libnvidia-ml.so")) {
      file(LIBRARIES + "/" + name + "." + version, ELF);
      link(LIBRARIES + "/" + name + ".1", name + "." + version);
      link(LIBRARIES + "/" + name, name + ".1");
    }
    file(LIBRARIES + "/libnvidia-gpucomp.so." + version, ELF);
    file(LIBRARIES + "/libnvrtc.so.13", ELF); // of a toolkit, not of the driver
    file("usr/lib32/libcuda.so." + version, new byte[] {0x7f, 'E', 'L', 'F', 1});
    file(
        "etc/ld.so.cache",
        loaderCache(
            List.of(
                "libcuda.so.1", "/usr/lib32/libcuda.so." + version,
                "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                "libz.so.1", "/usr/lib/x86_64-linux-gnu/libz.so.1")));
  }

  /** As ldconfig writes it; names and paths in turns. */
  public static byte[] loaderCache(List<String> entries) {
    int count = entries.size() / 2;
    var strings = new ByteArrayOutputStream();
    var places = new ArrayList<Integer>();
    for (String text : entries) {
      places.add(48 + 24 * count + strings.size());
      strings.writeBytes(text.getBytes(StandardCharsets.UTF_8));
      strings.write(0);
    }
    var table = ByteBuffer.allocate(48 + 24 * count).order(ByteOrder.nativeOrder());
    table.put("glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII));
    table.putInt(count).putInt(strings.size());
    for (int i = 0; i < count; i++) {
      int at = 48 + 24 * i;
      table.putInt(at, 0x0303);
      table.putInt(at + 4, places.get(2 * i));
      table.putInt(at + 8, places.get(2 * i + 1));
    }
    var file = new ByteArrayOutputStream();
    file.writeBytes(table.array());
    file.writeBytes(strings.toByteArray());
    return file.toByteArray();
  }

  private void programs() {
    gpuAnswer("");
    processAnswer("", "");
    program(
        "nvidia-smi",
        """
        #!/bin/sh
        case "$*" in
          --query-gpu=*) cat ROOT/smi/gpus ;;
          --query-compute-apps=*) cat ROOT/smi/memory ;;
          pmon*) cat ROOT/smi/load ;;
          compute-policy*) echo "$*" >>ROOT/smi/policies ;;
          *) echo "fake $*" ;;
        esac
        """);
    // as the real one: -d goes on in the background, without it commands are read
    program(
        "nvidia-cuda-mps-control",
        """
        #!/usr/bin/perl
        use Socket;
        my $dir = $ENV{CUDA_MPS_PIPE_DIRECTORY};
        if (@ARGV && $ARGV[0] eq '-d') {
          unlink "$dir/control";
          socket(my $socket, PF_UNIX, SOCK_SEQPACKET, 0) or die "socket: $!";
          bind($socket, sockaddr_un("$dir/control")) or die "bind: $!";
          listen($socket, 5) or die "listen: $!";
          if (my $child = fork) {
            open(my $pid, '>', "$dir/nvidia-cuda-mps-control.pid"); print $pid $child; close $pid;
            exit 0;
          }
          close STDIN; close STDOUT; close STDERR;
          alarm 300;
          while (accept(my $client, $socket)) { close $client; }
        } else {
          my $word = <STDIN>;
          open(my $pid, '<', "$dir/nvidia-cuda-mps-control.pid"); my $number = <$pid>;
          kill 'TERM', $number if $word =~ /quit/;
          unlink "$dir/control";
        }
        """);
    program("nvidia-cuda-mps-server", "#!/bin/sh\n");
  }

  private void program(String name, String text) {
    Path program = root.resolve("usr/bin").resolve(name);
    write("usr/bin/" + name, text.replace("ROOT", root.toString()));
    try {
      Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(String file, String text) {
    file(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private void file(String file, byte[] bytes) {
    try {
      Path path = root.resolve(file);
      Files.createDirectories(path.getParent());
      Files.write(path, bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void link(String name, String target) {
    try {
      Path path = root.resolve(name);
      Files.createDirectories(path.getParent());
      Files.createSymbolicLink(path, Path.of(target));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
