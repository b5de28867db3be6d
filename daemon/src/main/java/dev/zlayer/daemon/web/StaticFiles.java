package dev.zlayer.daemon.web;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.error.AgentException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;

/**
 * The files of the page, all in memory and compressed once. {@code files.txt} lists them; a file
 * that is not on the list is not served. All but the page itself are below a folder that is named
 * after their content, so that browsers keep them and ask for none of them again.
 */
final class StaticFiles {
  private static final String FOLDER = "/web/";
  private static final String PAGE = "index.html";
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "mjs", "text/javascript; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "svg", "image/svg+xml",
          "txt", "text/plain; charset=utf-8");
  private static final Pattern IMPORT_MAP =
      Pattern.compile("<script type=\"importmap\">(.*?)</script>", Pattern.DOTALL);

  private static final int LETTERS_OF_VERSION = 16;

  @SuppressWarnings("ArrayRecordComponent") // bytes of a file, never compared
  private record File(String type, byte[] plain, byte[] compressed) {}

  private final SecureRandom random = new SecureRandom();
  private final Map<String, File> files;
  private final String folder;
  private final String page;
  private final String importMap;

  private StaticFiles(Map<String, File> files, String folder, String page, String importMap) {
    this.files = files;
    this.folder = folder;
    this.page = page;
    this.importMap = importMap;
  }

  static StaticFiles load() {
    var files = new HashMap<String, File>();
    var content = new ByteArrayOutputStream();
    for (String name : names()) {
      byte[] bytes = resource(name);
      String type = TYPES.get(name.substring(name.lastIndexOf('.') + 1));
      if (type == null) {
        throw new AgentException.Internal("a file of the dashboard has no known type: " + name);
      }
      files.put(name, new File(type, bytes, gzip(bytes)));
      content.writeBytes(name.getBytes(StandardCharsets.UTF_8));
      content.writeBytes(sha256(bytes));
    }
    String folder = sha256Hex(content.toByteArray()).substring(0, LETTERS_OF_VERSION);
    String page =
        new String(Objects.requireNonNull(files.get(PAGE)).plain(), StandardCharsets.UTF_8)
            .replace("@FILES@", folder);
    Matcher map = IMPORT_MAP.matcher(page);
    if (!map.find()) {
      throw new AgentException.Internal("the page of the dashboard has no import map");
    }
    byte[] importMap = sha256(map.group(1).getBytes(StandardCharsets.UTF_8));
    return new StaticFiles(
        Map.copyOf(files), folder + "/", page, Base64.getEncoder().encodeToString(importMap));
  }

  /** The names of all files. */
  static List<String> names() {
    return new String(resource("files.txt"), StandardCharsets.UTF_8).lines().toList();
  }

  static byte[] resource(String name) {
    try (InputStream in = StaticFiles.class.getResourceAsStream(FOLDER + name)) {
      if (in == null) {
        throw new AgentException.Internal("a file of the dashboard is missing: " + name);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new AgentException.Internal("a file of the dashboard cannot be read: " + name, e);
    }
  }

  /**
   * What the page may load. Its only inline element, the map from module names to files, is allowed
   * by its hash: browsers read such a map from nowhere else.
   *
   * @param styles a further source of styles
   */
  String policy(String styles) {
    return "default-src 'none'; script-src 'self' 'sha256-%s'; style-src 'self'%s; img-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        .formatted(importMap, styles);
  }

  /** The bytes of all files as they are sent. */
  long compressedBytes() {
    return files.values().stream().mapToLong(file -> file.compressed().length).sum();
  }

  Optional<ApiResponse> find(String path, ApiRequest call) {
    return path.equals(PAGE)
        ? Optional.of(page())
        : Optional.of(path)
            .filter(name -> name.startsWith(folder))
            .flatMap(name -> Optional.ofNullable(files.get(name.substring(folder.length()))))
            .map(file -> answer(file, call));
  }

  /** The terminal makes style elements of its own, which this page alone admits by a nonce. */
  private ApiResponse page() {
    byte[] bytes = new byte[18];
    random.nextBytes(bytes);
    String nonce = Base64.getUrlEncoder().encodeToString(bytes);
    return new ApiResponse.Whole(
        200,
        Objects.requireNonNull(TYPES.get("html")),
        page.replace("@NONCE@", nonce).getBytes(StandardCharsets.UTF_8),
        Map.of("Content-Security-Policy", policy(" 'nonce-" + nonce + "'")));
  }

  private static ApiResponse answer(File file, ApiRequest call) {
    var headers = new HashMap<String, String>();
    headers.put("Cache-Control", "private, max-age=31536000, immutable");
    headers.put("Vary", "Accept-Encoding");
    boolean gzip = call.header("Accept-Encoding").filter(text -> text.contains("gzip")).isPresent();
    if (gzip) {
      headers.put("Content-Encoding", "gzip");
    }
    return new ApiResponse.Whole(
        200, file.type(), gzip ? file.compressed() : file.plain(), headers);
  }

  private static byte[] gzip(byte[] bytes) {
    var out = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    } catch (IOException e) {
      throw new AgentException.Internal("memory cannot be written", e);
    }
    return out.toByteArray();
  }

  static String sha256Hex(byte[] bytes) {
    return HexFormat.of().formatHex(sha256(bytes));
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("SHA-256 is missing", e);
    }
  }
}
