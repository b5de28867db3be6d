package dev.zlayer.image.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageDetails.Layer;
import dev.zlayer.testkit.FrozenFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageIndexTest {
  private static final ImageRef NAME = ImageRef.parse("nginx:1");
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  @TempDir Path temp;

  private static Digest digest(char letter) {
    return new Digest("sha256", String.valueOf(letter).repeat(64));
  }

  private static ImageRecord image(char letter) {
    return new ImageRecord(
        digest(letter),
        "type",
        digest('c'),
        ArtifactKind.ROOT_FILE_SYSTEM,
        Optional.of(new Platform("linux", "arm", Optional.of("v6"), Optional.of("1"))),
        List.of(new Layer(digest('d'), Optional.of(digest('e')), 5, "tar")),
        77,
        Optional.of(NOW),
        NOW,
        NOW,
        true);
  }

  private ImageIndex open() throws IOException {
    return ImageIndex.open(temp.resolve("index.json"));
  }

  @Test
  void everythingSurvivesReopening() throws Exception {
    ImageIndex index = open();
    index.update(state -> state.with(image('a'), NAME, digest('f')).with(image('b')));
    index.used(digest('a'), NOW.plusSeconds(5));
    index.flush();
    IndexState again = open().state();
    assertThat(again).isEqualTo(index.state());
    assertThat(again.find(NAME).orElseThrow().lastUsed()).isEqualTo(NOW.plusSeconds(5));
    assertThat(again.find(NAME).orElseThrow().platform()).isEqualTo(image('a').platform());
  }

  @Test
  void aDigestFindsItsImageUnderAnyName() throws Exception {
    IndexState state =
        open().update(now -> now.with(image('a'), NAME, digest('f')).with(image('b')));
    ImageRef other = ImageRef.parse("example.org/x@" + digest('f'));
    assertThat(state.find(other)).map(ImageRecord::manifest).contains(digest('a'));
    assertThat(state.find(ImageRef.parse("y@" + digest('b')))).isPresent();
    assertThat(state.find(ImageRef.parse("y@" + digest('9')))).isEmpty();
    assertThat(state.find(ImageRef.parse("nginx:2"))).isEmpty();
  }

  @Test
  void movingATagLeavesTheOldImageDangling() throws Exception {
    ImageIndex index = open();
    index.update(state -> state.with(image('a'), NAME, digest('a')));
    IndexState state = index.update(now -> now.with(image('b'), NAME, digest('b')));
    assertThat(state.images()).hasSize(2);
    assertThat(state.referencesOf(digest('a'))).isEmpty();
    assertThat(state.without(digest('b')).references()).isEmpty();
  }

  @Test
  void anIndexOfALaterVersionIsRefusedWithItsPathAndLeftAsItIs() throws Exception {
    Path file = temp.resolve("index.json");
    Files.writeString(file, "{\"version\":2}");
    assertThatThrownBy(this::open)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file + " has version 2");
    assertThat(file).hasContent("{\"version\":2}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{\"version\":1,",
        "garbage",
        "{}",
        "{\"version\":1,\"images\":[{}]}",
        "{\"version\":1,\"references\":{\"A B\":{}}}"
      })
  void anIndexThatCannotBeReadIsPutAside(String text) throws Exception {
    Files.writeString(temp.resolve("index.json"), text);

    assertThat(open().state().images()).isEmpty();
    assertThat(temp.resolve("index.json.damaged")).hasContent(text);
  }

  @Test
  void theIndexIsStoredAsItWas() throws Exception {
    IndexState state = IndexState.EMPTY.with(image('a'), NAME, digest('f')).with(image('b'));
    FrozenFormat.check("image-index-v1.json", JsonText.parse(IndexJson.write(state)));
    Files.write(temp.resolve("index.json"), FrozenFormat.read("image-index-v1.json"));
    assertThat(open().state()).isEqualTo(state);
  }
}
