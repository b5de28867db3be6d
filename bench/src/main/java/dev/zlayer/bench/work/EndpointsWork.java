package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.proxy.Proxy;
import dev.zlayer.proxy.ProxyConfig;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A new member of one service, with many other services published beside it. */
public final class EndpointsWork implements Work {
  private static final int FIRST_PORT = 20_000;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    int services = arena.options().size(8_000, 800);
    int updates = arena.options().size(100, 40);
    Path directory = arena.options().directory().resolve("endpoints");
    ProxyConfig config =
        ProxyConfig.of(directory, directory.resolveSibling("doors.json"), _ -> true)
            .withPrefix("bench");
    var rows = new ArrayList<Report.Row>();
    seed(config.formerState(), services);
    try (var proxy = Proxy.open(config.withNft("true"), Pauses.REAL)) {
      rows.add(row("the agent alone, beside %d services", services, proxy, updates));
    }
    Proxy proxy = Proxy.open(config, Pauses.REAL);
    try {
      rows.add(row("with nft, beside %d services", services, proxy, updates));
    } finally {
      proxy.destroy();
    }
    proxy = Proxy.open(config, Pauses.REAL);
    try {
      proxy.update(members(0, 1));
      rows.add(row("with nft, beside %d services", 0, proxy, updates));
    } finally {
      proxy.destroy();
    }
    return List.of(
        new Report.Table(
            "a new member of a service", "ms each", rows.getLast().contestant(), rows));
  }

  /** As an earlier version left them, which is read at once. */
  private static void seed(Path file, int services) throws IOException {
    var endpoints = new ArrayList<Json>();
    for (int number = 0; number < services; number++) {
      endpoints.add(
          Json.object()
              .put("transport", "tcp")
              .put("loopback", false)
              .put("port", FIRST_PORT + number)
              .put("deployment", "bench")
              .put("service", "s" + number)
              .put("endpoint", "http")
              .put("target_port", 80)
              .put("way", "kernel")
              .put("members", List.of(address(number, 1).getHostAddress()))
              .build());
    }
    Files.write(
        file,
        JsonText.bytes(
            Json.object()
                .put("version", 1)
                .put("name_port", 0)
                .put("doors", endpoints)
                .put("ranges", List.of())
                .build()));
  }

  private static InetAddress address(int number, int member) {
    return InetAddress.ofLiteral("10.%d.%d.%d".formatted(member, number / 256, number % 256));
  }

  private static Report.Row row(String title, int services, Proxy proxy, int updates)
      throws InterruptedException {
    var samples = new ArrayList<Double>();
    for (int update = 0; update < updates; update++) {
      long start = System.nanoTime();
      proxy.update(members(0, 2 + update % 2));
      samples.add((System.nanoTime() - start) / 1e6);
    }
    return Report.Row.of(title.formatted(services), new Samples(samples));
  }

  private static Members members(int number, int member) {
    var key = new ServiceKey("bench", "s" + number);
    var endpoint =
        new EndpointSpec(
            "http",
            EndpointSpec.Protocol.TCP,
            FIRST_PORT + number,
            Optional.of(80),
            Exposure.PUBLIC,
            Optional.empty());
    return new Members(
        key,
        List.of(endpoint),
        Reachability.NEVER,
        List.of(
            new Member(
                ContainerId.of("bench", key.service(), member), address(number, member), true)));
  }
}
