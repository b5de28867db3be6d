package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What {@link ViewJson} makes, written at once. For lists of thousands: the tree between would be
 * most of the work.
 */
final class ViewText {
  /** Characters after which a piece ends with the view that it is in. */
  private static final int PIECE = 16 << 10;

  private ViewText() {}

  /**
   * An array of them. It is made in pieces: a text of a megabyte that grows by doubling would fill
   * the young generation of the agent's heap several times over.
   */
  static ApiResponse answer(List<? extends Record> views) {
    return new ApiResponse.Whole(200, ApiRequest.JSON, bytes(views), Map.of());
  }

  static byte[] bytes(List<? extends Record> views) {
    var pieces = new ArrayList<byte[]>();
    var text = new StringBuilder(2 * PIECE);
    char separator = '[';
    for (Record view : views) {
      write(view, text.append(separator));
      separator = ',';
      if (text.length() > PIECE) {
        pieces.add(encoded(text));
        text.setLength(0);
      }
    }
    text.append(views.isEmpty() ? "[]" : "]");
    pieces.add(encoded(text));
    ByteBuffer all = ByteBuffer.allocate(pieces.stream().mapToInt(piece -> piece.length).sum());
    pieces.forEach(all::put);
    return all.array();
  }

  private static byte[] encoded(StringBuilder text) {
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  static String print(@Nullable Object view) {
    var text = new StringBuilder();
    write(view, text);
    return text.toString();
  }

  private static void write(@Nullable Object value, StringBuilder text) {
    switch (value) {
      case String plain -> JsonText.quote(plain, text);
      case Integer number -> text.append(number.intValue());
      case Long number -> text.append(number.longValue());
      case Instant time -> text.append('"').append(time).append('"');
      case Json json -> JsonText.write(json, text);
      case Optional<?> optional -> write(optional.orElse(null), text);
      case Record record when !ViewJson.isText(record.getClass()) -> record(record, text);
      case Collection<?> items -> items(items, text);
      case null, default -> JsonText.write(ViewJson.of(value), text);
    }
  }

  private static void items(Collection<?> items, StringBuilder text) {
    char separator = '[';
    for (Object item : items) {
      write(item, text.append(separator));
      separator = ',';
    }
    text.append(items.isEmpty() ? "[]" : "]");
  }

  private static void record(Record record, StringBuilder text) {
    ViewJson.Shape shape = ViewJson.Shape.of(record);
    char separator = '{';
    if (shape.type().isPresent()) {
      JsonText.quote(shape.type().get(), text.append("{\"type\":"));
      separator = ',';
    }
    for (ViewJson.Member member : shape.members()) {
      Object value = member.read(record);
      if (!absent(value)) {
        // names are those of components, which have nothing to escape
        write(value, text.append(separator).append('"').append(member.name()).append("\":"));
        separator = ',';
      }
    }
    text.append(separator == '{' ? "{}" : "}");
  }

  private static boolean absent(@Nullable Object value) {
    return switch (value) {
      case null -> true;
      case Optional<?> optional -> absent(optional.orElse(null));
      case OptionalInt number -> number.isEmpty();
      case OptionalLong number -> number.isEmpty();
      case OptionalDouble number -> number.isEmpty();
      case Json json -> json.isNull();
      default -> false;
    };
  }
}
