package dev.zlayer.tar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Judged by an independent reader, and by what no reader may do with broken input. */
class TarReaderTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void readsWhatTheOtherReaderReads(long seed) throws Exception {
    byte[] tar = written(new Random(seed));

    assertThat(ours(tar)).isEqualTo(theirs(tar)).isNotEmpty();
  }

  @Test
  void readsOurWritersArchives() throws Exception {
    byte[] tar =
        TarWriter.archive(
            List.of(
                TarEntry.directory("d/").withMode(01777),
                TarEntry.file("d/" + "n".repeat(200), "content").withOwner(1L << 31, 7),
                TarEntry.file("\u00fc", "1").withModified(Instant.ofEpochSecond(-3, 5)),
                TarEntry.symlink("s", "t".repeat(150)),
                TarEntry.characterDevice("c", 4, 5),
                TarEntry.file("x", "1").withXattr("user.a", new byte[] {0, 10, 61})));

    assertThat(ours(tar)).isEqualTo(theirs(tar)).hasSize(6);
    assertThat(members(tar).getLast().attributes().get("user.a")).containsExactly(0, 10, 61);
    assertThat(members(tar).get(2).modified()).isEqualTo(new TarMember.TarTime(-3, 5));
  }

  @Test
  void longNamesOfGnuCountForOneEntry() throws Exception {
    var bytes = new ByteArrayOutputStream();
    try (var writer = new TarWriter(bytes)) {
      writer.gnuLong('L', "l".repeat(300)).gnuLong('K', "k".repeat(200));
      writer.add(TarEntry.symlink("short", "target")).add(TarEntry.file("next", "x"));
    }

    List<TarMember> members = members(bytes.toByteArray());

    assertThat(members.getFirst().name()).isEqualTo("l".repeat(300));
    assertThat(members.getFirst().linkName()).isEqualTo("k".repeat(200));
    assertThat(members.getLast().name()).isEqualTo("next");
  }

  @Test
  void globalRecordsCannotGrowWithoutBound() throws Exception {
    var bytes = new ByteArrayOutputStream();
    try (var writer = new TarWriter(bytes)) {
      for (int i = 0; i < 40; i++) {
        writer.pax('g', Map.of("key" + i, new byte[100_000]));
      }
    }

    assertThatThrownBy(() -> ours(bytes.toByteArray()))
        .isInstanceOf(TarException.class)
        .hasMessageContaining("global");
  }

  @Test
  void extendedHeadersAreBounded() {
    byte[] tar =
        TarWriter.archive(
            List.of(TarEntry.of("x", 'x', 0644, "", new byte[0]).withDeclaredSize(1L << 33)));

    assertThatThrownBy(() -> ours(tar))
        .isInstanceOf(TarException.class)
        .hasMessageContaining("too long");
  }

  @Test
  void anArchiveMayEndWithoutItsMark() throws Exception {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("f", "x")));

    assertThat(members(Arrays.copyOf(tar, 1024))).hasSize(1);
    assertThat(members(Arrays.copyOf(tar, 513))).hasSize(1);
    assertThat(members(new byte[0])).isEmpty();
    assertThatThrownBy(() -> members(Arrays.copyOf(tar, 700))).hasMessageContaining("cut short");
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14, 15, 16, 17, 18})
  void brokenArchivesGiveErrorsAndNothingElse(long seed) throws Exception {
    var random = new Random(seed);
    byte[] good = written(random);
    for (int i = 0; i < 400; i++) {
      byte[] bad = Arrays.copyOf(good, random.nextInt(good.length + 1));
      for (int j = 0; j < 1 + random.nextInt(4) && bad.length > 0; j++) {
        int at = random.nextInt(bad.length);
        bad[at] = (byte) random.nextInt(256);
        if (random.nextBoolean()) {
          fixChecksum(bad, at);
        }
      }
      try {
        ours(bad);
      } catch (IOException e) {
        assertThat(e).as("seed %d, round %d", seed, i).isInstanceOf(TarException.class);
      }
    }
  }

  /** So that the damage gets past the first check. */
  private static void fixChecksum(byte[] tar, int at) {
    int block = at / 512 * 512;
    if (block + 512 > tar.length) {
      return;
    }
    Arrays.fill(tar, block + 148, block + 156, (byte) ' ');
    int sum = 0;
    for (int i = block; i < block + 512; i++) {
      sum += tar[i] & 0xff;
    }
    byte[] text = "%06o\0 ".formatted(sum).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(text, 0, tar, block + 148, 8);
  }

  private static byte[] written(Random random) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var out = new TarArchiveOutputStream(bytes, "UTF-8")) {
      boolean gnu = random.nextBoolean();
      out.setLongFileMode(
          gnu ? TarArchiveOutputStream.LONGFILE_GNU : TarArchiveOutputStream.LONGFILE_POSIX);
      out.setBigNumberMode(
          gnu ? TarArchiveOutputStream.BIGNUMBER_STAR : TarArchiveOutputStream.BIGNUMBER_POSIX);
      out.setAddPaxHeadersForNonAsciiNames(!gnu);
      for (int i = 0; i < 30; i++) {
        byte[] types = {
          TarConstants.LF_NORMAL,
          TarConstants.LF_DIR,
          TarConstants.LF_SYMLINK,
          TarConstants.LF_LINK,
          TarConstants.LF_FIFO,
          TarConstants.LF_CHR,
          TarConstants.LF_BLK
        };
        byte type = types[random.nextInt(types.length)];
        String name = "\u00e9/" + "n".repeat(random.nextInt(300)) + i;
        var entry = new TarArchiveEntry(name, type);
        byte[] content = new byte[type == TarConstants.LF_NORMAL ? random.nextInt(5000) : 0];
        random.nextBytes(content);
        entry.setSize(content.length);
        entry.setMode(random.nextInt(010000));
        // the other reader takes ids beyond 31 bits for negative
        entry.setUserId(random.nextLong(1L << (1 + random.nextInt(31))));
        entry.setGroupId(random.nextLong(1L << (1 + random.nextInt(31))));
        entry.setModTime(random.nextLong(4_000_000_000L) * 1000);
        if (type == TarConstants.LF_SYMLINK || type == TarConstants.LF_LINK) {
          entry.setLinkName("t".repeat(1 + random.nextInt(200)));
        }
        if (type == TarConstants.LF_CHR || type == TarConstants.LF_BLK) {
          entry.setDevMajor(random.nextInt(4096));
          entry.setDevMinor(random.nextInt(1 << 20));
        }
        out.putArchiveEntry(entry);
        out.write(content);
        out.closeArchiveEntry();
      }
    }
    return bytes.toByteArray();
  }

  private static List<TarMember> members(byte[] tar) throws IOException {
    var reader = new TarReader(new ByteArrayInputStream(tar));
    List<TarMember> members = new ArrayList<>();
    for (var next = reader.next(); next.isPresent(); next = reader.next()) {
      members.add(next.get());
    }
    return members;
  }

  private static List<String> ours(byte[] tar) throws IOException, InterruptedException {
    var reader = new TarReader(new ByteArrayInputStream(tar));
    List<String> lines = new ArrayList<>();
    for (var next = reader.next(); next.isPresent(); next = reader.next()) {
      TarMember member = next.get();
      var content = new ByteArrayOutputStream();
      reader.content((_, data, from, length) -> content.write(data, from, length));
      var attributes = new TreeMap<String, String>();
      member.attributes().forEach((k, v) -> attributes.put(k, HexFormat.of().formatHex(v)));
      lines.add(
          "%s %s -> %s %o %d:%d %d %d %d/%d %s %d"
              .formatted(
                  member.kind(),
                  utf8(member.name()).replaceAll("/$", ""),
                  utf8(member.linkName()),
                  member.permissions(),
                  member.user(),
                  member.group(),
                  member.size(),
                  member.modified().seconds(),
                  member.major(),
                  member.minor(),
                  attributes.keySet(),
                  Arrays.hashCode(content.toByteArray())));
    }
    return lines;
  }

  private static List<String> theirs(byte[] tar) throws IOException {
    List<String> lines = new ArrayList<>();
    try (var in = new TarArchiveInputStream(new ByteArrayInputStream(tar), "UTF-8")) {
      for (TarArchiveEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        var attributes = new TreeMap<String, String>();
        entry
            .getExtraPaxHeaders()
            .forEach(
                (key, value) -> {
                  if (key.startsWith("SCHILY.xattr.")) {
                    attributes.put(key.substring(13), value);
                  }
                });
        lines.add(
            "%s %s -> %s %o %d:%d %d %d %d/%d %s %d"
                .formatted(
                    kind(entry),
                    entry.getName().replaceAll("/$", ""),
                    entry.getLinkName(),
                    entry.getMode() & 07777,
                    entry.getLongUserId(),
                    entry.getLongGroupId(),
                    entry.getSize(),
                    Math.floorDiv(entry.getLastModifiedTime().toMillis(), 1000L),
                    entry.getDevMajor(),
                    entry.getDevMinor(),
                    attributes.keySet(),
                    Arrays.hashCode(in.readAllBytes())));
      }
    }
    return lines;
  }

  private static TarKind kind(TarArchiveEntry entry) {
    return switch ((char) entry.getLinkFlag()) {
      case '1' -> TarKind.HARD_LINK;
      case '2' -> TarKind.SYMLINK;
      case '3' -> TarKind.CHARACTER_DEVICE;
      case '4' -> TarKind.BLOCK_DEVICE;
      case '5' -> TarKind.DIRECTORY;
      case '6' -> TarKind.FIFO;
      default -> TarKind.FILE;
    };
  }

  private static String utf8(String raw) {
    return new String(raw.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
  }
}
