package dev.zlayer.tar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.tar.TarMember.TarTime;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TarWriterTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final TarWriter writer = new TarWriter(out);

  private static TarMember file(String name, long user, TarTime time, Map<String, byte[]> more) {
    return new TarMember(TarKind.FILE, name, "", 04755, user, 7, 3, time, time, 0, 0, more);
  }

  private TarMember readBack(TarMember member) throws Exception {
    writer.begin(member);
    writer.content(new byte[] {1, 2, 3}, 0, 3);
    writer.finish();
    assertThat(out.size() % 512).isZero();
    var reader = new TarReader(new ByteArrayInputStream(out.toByteArray()));
    TarMember back = reader.next().orElseThrow();
    var content = new ByteArrayOutputStream();
    reader.content((_, data, from, length) -> content.write(data, from, length));
    assertThat(content.toByteArray()).containsExactly(1, 2, 3);
    assertThat(reader.next()).isEmpty();
    return back;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 99, 100, 101, 480, 984, 985, 986, 987, 988, 989, 4000})
  void namesOfAnyLengthComeBack(int length) throws Exception {
    TarMember member = file("n".repeat(length), 5, new TarTime(1000, 0), Map.of());
    assertThat(readBack(member)).isEqualTo(member);
  }

  @Test
  void whatTheOldHeaderCannotHoldComesBack() throws Exception {
    TarMember member =
        file("caf\u00c3\u00a9\n", 4_000_000_000L, new TarTime(-2, 500_000_001), Map.of());
    assertThat(readBack(member)).isEqualTo(member);
  }

  @Test
  void attributesComeBackByteForByte() throws Exception {
    byte[] value = {0, '\n', '=', (byte) 0xff};
    TarMember back = readBack(file("a", 0, new TarTime(0, 0), Map.of("user.x", value)));
    assertThat(back.attributes().get("user.x")).isEqualTo(value);
  }

  @Test
  void holesComeBackAsHoles() throws Exception {
    var parts = List.of(new TarRange(4096, 2), new TarRange(9L << 30, 1));
    var time = new TarTime(1, 0);
    var member =
        new TarMember(
            TarKind.FILE, "n".repeat(200), "", 0644, 0, 0, 10L << 30, time, time, 0, 0, Map.of());
    writer.begin(member, parts);
    writer.content(new byte[] {1, 2}, 0, 2);
    writer.content(new byte[] {3}, 0, 1);
    writer.begin(file("next", 0, time, Map.of()));
    writer.content(new byte[3], 0, 3);
    writer.finish();

    var reader = new TarReader(new ByteArrayInputStream(out.toByteArray()));
    assertThat(reader.next()).contains(member);
    assertThat(reader.parts()).isEqualTo(parts);
    var content = new ByteArrayOutputStream();
    reader.content((_, data, from, length) -> content.write(data, from, length));
    assertThat(content.toByteArray()).containsExactly(1, 2, 3);
    assertThat(reader.next().map(TarMember::name)).contains("next");
  }

  @Test
  void aMemberWithoutAllOfItsContentIsNotLeftSo() throws Exception {
    writer.begin(file("a", 0, new TarTime(0, 0), Map.of()));
    assertThatThrownBy(() -> writer.begin(file("b", 0, new TarTime(0, 0), Map.of())))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> writer.content(new byte[4], 0, 4))
        .isInstanceOf(IllegalStateException.class);
  }
}
