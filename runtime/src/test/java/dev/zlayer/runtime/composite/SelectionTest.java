package dev.zlayer.runtime.composite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.runtime.composite.Selection.Candidate;
import dev.zlayer.runtime.composite.Selection.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SelectionTest {
  private static final Platform LINUX = Platform.of("linux", "amd64");
  private static final Platform WINDOWS = Platform.of("windows", "amd64");
  private static final Platform MAC = Platform.of("darwin", "arm64");
  private static final Platform WASI = Platform.of("wasi", "wasm");
  private static final ImageRef IMAGE = ImageRef.parse("registry.example/app:1");
  private static final PlatformAnswer UNKNOWN = new PlatformAnswer.Unrecognised("says nothing");

  private static final Candidate HCS = candidate("hcs", WINDOWS, MAC);
  private static final Candidate WSL = candidate("wsl", LINUX);
  private static final Candidate OCI = candidate("oci", LINUX);
  private static final Candidate DOCKER = candidate("docker", LINUX);
  private static final Candidate WASM =
      new Candidate(
          "wasm", new Capabilities(Set.of(WASI), Set.of(ArtifactKind.WASM_MODULE), Set.of()));

  @Test
  void aWindowsSpecGoesToTheRuntimeForWindows() {
    assertThat(choose(List.of(HCS, WSL), platform(WINDOWS))).isEqualTo(HCS);
    assertThat(choose(List.of(WSL, HCS), platform(WINDOWS))).isEqualTo(HCS);
  }

  @Test
  void aMacSpecGoesToTheRuntimeForIt() {
    assertThat(choose(List.of(WSL, HCS), platform(Platform.of("macos", "arm64")))).isEqualTo(HCS);
  }

  @Test
  void aLinuxSpecGoesToTheDelegateOfAForeignPrimary() {
    assertThat(choose(List.of(HCS, WSL), platform(LINUX))).isEqualTo(WSL);
  }

  /** The primary's own system needs no delegate. */
  @Test
  void aLinuxSpecStaysOnALinuxPrimary() {
    assertThat(choose(List.of(OCI), platform(LINUX))).isEqualTo(OCI);
    assertThat(choose(List.of(OCI, DOCKER), platform(LINUX))).isEqualTo(OCI);
  }

  @Test
  void aPlatformNobodyServesNamesTheFieldAndBothRemedies() {
    assertThatThrownBy(() -> choose(List.of(HCS), platform(LINUX)))
        .isInstanceOfSatisfying(
            AgentException.RouteToPeer.class,
            e -> {
              assertThat(e.service()).isEqualTo("web");
              assertThat(e.requiredOs()).isEqualTo("linux");
            })
        .hasMessageContaining("the platform of the spec is linux/amd64")
        .hasMessageContaining("enable a runtime for linux (its own needs root or rootless mode")
        .hasMessageContaining("add a peer that runs linux to the cluster");
  }

  @Test
  void aNodeWithModulesAloneNeedsRootAndNoPeer() {
    assertThatThrownBy(() -> choose(List.of(WASM), image(LINUX)))
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasMessageContaining("the agent needs root (or rootless mode) for it")
        .hasMessageNotContaining("peer");
  }

  @Test
  void anImageNobodyServesNamesTheImageAndBothRemedies() {
    assertThatThrownBy(() -> choose(List.of(HCS), image(LINUX)))
        .isInstanceOfSatisfying(
            AgentException.RouteToPeer.class, e -> assertThat(e.requiredOs()).isEqualTo("linux"))
        .hasMessageContaining("image 'registry.example/app:1' is for linux/amd64")
        .hasMessageContaining("enable a runtime for linux")
        .hasMessageContaining("add a peer that runs linux");
    assertThatThrownBy(() -> choose(List.of(OCI), image(WINDOWS)))
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasMessageContaining("an engine for windows");
  }

  @Test
  void anotherArchitectureOfTheSameSystemIsNotServedEither() {
    assertThatThrownBy(() -> choose(List.of(OCI), image(Platform.of("linux", "arm64"))))
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasMessageContaining("linux/arm64");
  }

  @Test
  void withoutAnyKnowledgeItIsThePrimary() {
    assertThat(choose(List.of(HCS, WSL), request())).isEqualTo(HCS);
    var failing =
        new Request("web", none(), none(), IMAGE, new PlatformAnswer.Failing("no answer"));
    assertThat(choose(List.of(HCS, WSL), failing)).isEqualTo(HCS);
  }

  @Test
  void theImageDecidesWhenTheSpecIsSilent() {
    assertThat(choose(List.of(HCS, WSL), image(LINUX))).isEqualTo(WSL);
    assertThat(choose(List.of(OCI, WSL, HCS), image(WINDOWS, LINUX))).isEqualTo(OCI);
  }

  @Test
  void aModuleGoesToARuntimeForModules() {
    var module =
        new Request(
            "web",
            none(),
            none(),
            IMAGE,
            new PlatformAnswer.Recognised(List.of(WASI), ArtifactKind.WASM_MODULE));
    assertThat(choose(List.of(OCI, WASM), module)).isEqualTo(WASM);
    assertThatThrownBy(() -> choose(List.of(OCI), module))
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasMessageContaining("enable the wasm runtime");
  }

  @Test
  void theLabelNamesARuntimeInAnyCase() {
    assertThat(choose(List.of(OCI, DOCKER), isolation(" Docker ", LINUX))).isEqualTo(DOCKER);
    assertThat(choose(List.of(OCI, DOCKER), isolation("AUTO", LINUX))).isEqualTo(OCI);
  }

  @Test
  void aLabelThatCannotBeHonouredIsRefused() {
    assertThatThrownBy(() -> choose(List.of(OCI, DOCKER), isolation("vz", LINUX)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining(Selection.ISOLATION_LABEL)
        .hasMessageContaining("oci, docker");
    assertThatThrownBy(() -> choose(List.of(OCI, HCS), isolation("oci", WINDOWS)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("serves linux/amd64");
  }

  /** For any runtimes and any request, whoever is chosen serves what is known to be wanted. */
  @Test
  void neverChoosesOneThatDoesNotServeWhatIsKnown() {
    long seed = new Random().nextLong();
    var random = new Random(seed);
    List<Platform> all = List.of(LINUX, WINDOWS, MAC, WASI, Platform.of("linux", "arm64"));
    for (int round = 0; round < 20_000; round++) {
      List<Candidate> candidates = candidates(random, all);
      Request request = request(random, all, candidates);
      String shown = "seed %d round %d: %s %s".formatted(seed, round, candidates, request);
      Optional<Candidate> chosen;
      try {
        chosen = Optional.of(Selection.choose(candidates, request));
      } catch (AgentException.RouteToPeer | AgentException.InvalidSpec _) {
        chosen = Optional.empty();
      }
      boolean known =
          request.platform().isPresent() || request.known() instanceof PlatformAnswer.Recognised;
      List<Candidate> fitting = candidates.stream().filter(c -> fits(c, request)).toList();
      boolean labelled = request.isolation().isPresent();
      if (chosen.isPresent()) {
        assertThat(candidates).as(shown).contains(chosen.get());
        assertThat(!known || fits(chosen.get(), request)).as(shown).isTrue();
      }
      if (labelled) {
        String name = request.isolation().get();
        assertThat(chosen.map(Candidate::name).orElse(name)).as(shown).isEqualTo(name);
      } else if (known) {
        assertThat(chosen.isPresent()).as(shown).isEqualTo(!fitting.isEmpty());
      } else {
        assertThat(chosen).as(shown).contains(candidates.getFirst());
      }
    }
  }

  private static boolean fits(Candidate candidate, Request request) {
    return request
        .platform()
        .map(candidate::serves)
        .orElseGet(
            () ->
                request.known() instanceof PlatformAnswer.Recognised image
                    && candidate.serves(image));
  }

  private static List<Candidate> candidates(Random random, List<Platform> all) {
    var candidates = new ArrayList<Candidate>();
    for (int i = 0; i <= random.nextInt(4); i++) {
      Set<Platform> platforms = new java.util.HashSet<>();
      for (int j = 0; j <= random.nextInt(2); j++) {
        platforms.add(all.get(random.nextInt(all.size())));
      }
      candidates.add(
          new Candidate(
              "r" + i,
              new Capabilities(
                  platforms,
                  Set.of(ArtifactKind.values()[random.nextInt(ArtifactKind.values().length)]),
                  Set.of())));
    }
    return candidates;
  }

  private static Request request(Random random, List<Platform> all, List<Candidate> candidates) {
    PlatformAnswer known =
        switch (random.nextInt(3)) {
          case 0 -> UNKNOWN;
          case 1 -> new PlatformAnswer.Failing("no answer");
          default ->
              new PlatformAnswer.Recognised(
                  List.of(all.get(random.nextInt(all.size())), all.get(random.nextInt(all.size()))),
                  ArtifactKind.values()[random.nextInt(ArtifactKind.values().length)]);
        };
    return new Request(
        "web",
        random.nextInt(4) == 0
            ? Optional.of(candidates.get(random.nextInt(candidates.size())).name())
            : none(),
        random.nextInt(3) == 0 ? Optional.of(all.get(random.nextInt(all.size()))) : none(),
        IMAGE,
        known);
  }

  private static Candidate choose(List<Candidate> candidates, Request request) {
    return Selection.choose(candidates, request);
  }

  private static Candidate candidate(String name, Platform... platforms) {
    return new Candidate(
        name, new Capabilities(Set.of(platforms), Set.of(ArtifactKind.ROOT_FILE_SYSTEM), Set.of()));
  }

  private static Request request() {
    return new Request("web", none(), none(), IMAGE, UNKNOWN);
  }

  private static Request platform(Platform platform) {
    return new Request("web", none(), Optional.of(platform), IMAGE, UNKNOWN);
  }

  private static Request image(Platform... platforms) {
    return new Request(
        "web",
        none(),
        none(),
        IMAGE,
        new PlatformAnswer.Recognised(List.of(platforms), ArtifactKind.ROOT_FILE_SYSTEM));
  }

  private static Request isolation(String label, Platform image) {
    Request request = image(image);
    return new Request("web", Optional.of(label), none(), IMAGE, request.known());
  }

  private static <T> Optional<T> none() {
    return Optional.empty();
  }
}
