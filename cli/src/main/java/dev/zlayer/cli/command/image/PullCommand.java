package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.cli.print.PullView;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "pull",
    description = "Fetch images from their registries.",
    footer = {
      "",
      "Examples:",
      "  zlayer pull alpine:3.20",
      "  zlayer pull --policy newer localhost:5000/team/app",
      "  echo \"$TOKEN\" | zlayer pull --user ci --password-stdin registry.example.com/app:1"
    })
public final class PullCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = "--policy",
      paramLabel = "POLICY",
      description = "always, newer, if_not_present or never (default: always).")
  private PullPolicy policy = PullPolicy.ALWAYS;

  @Option(
      names = "--platform",
      paramLabel = "OS/ARCH",
      description = "Which one of a multi-platform image (default: this machine's).")
  private @Nullable String platform;

  @Option(names = "--user", paramLabel = "NAME", description = "Log in as this user.")
  private @Nullable String user;

  @Option(names = "--password-stdin", description = "Read the password from standard input.")
  private boolean passwordFromInput;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print only the digests.")
  private boolean quiet;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "What to fetch.")
  private List<String> images = List.of();

  public PullCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    List<ImageRef> wanted = images.stream().map(ImageRef::parse).toList();
    Optional<Platform> forPlatform = Optional.ofNullable(platform).map(Platform::parse);
    Optional<RegistryAuth> auth = auth();
    var pulled = new ArrayList<ImageInfo>();
    try (var open = store.open(session)) {
      for (ImageRef image : wanted) {
        pulled.add(pull(open, new PullRequest(image, policy, forPlatform, auth)));
      }
    }
    if (json) {
      session.out().print(JsonText.pretty(ImageJson.of(pulled)));
    }
    return 0;
  }

  private ImageInfo pull(OpenStore open, PullRequest request) throws InterruptedException {
    ImageInfo info;
    try (var view = quiet || json ? null : PullView.of(session.err()::print, session.terminal())) {
      if (view != null) {
        session.err().println("pulling " + request.image().familiar());
      }
      info = open.images().pull(request, view == null ? _ -> {} : view);
    }
    if (quiet) {
      session.out().println(info.digest());
    } else if (!json) {
      session
          .out()
          .printf(
              "%s %s %s %s%n",
              request.image().familiar(),
              info.digest(),
              info.platform().map(Platform::toString).orElse("-"),
              Amounts.bytes(info.contentBytes()));
    }
    return info;
  }

  private Optional<RegistryAuth> auth() throws IOException {
    if (user == null && !passwordFromInput) {
      return Optional.empty();
    }
    if (user == null || !passwordFromInput) {
      throw new AgentException.InvalidSpec("give --user and --password-stdin together");
    }
    String password =
        new String(session.in().readAllBytes(), StandardCharsets.UTF_8).stripTrailing();
    return Optional.of(new RegistryAuth.Basic(user, password));
  }
}
