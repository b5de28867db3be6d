package dev.zlayer.spec.bind;

import org.jspecify.annotations.Nullable;

/**
 * What is known of types when the program is built. A distribution has another class in this place,
 * made by {@link ShapeSource}, with the types of the configuration filled in: reading their
 * annotations takes longer than half of the rest of a start. Classes without a distribution find
 * out.
 */
final class ShapeFacts {
  private ShapeFacts() {}

  /**
   * Of a type, of {@code Type#component} or of {@code Type#CONSTANT}; null when it is not known.
   */
  static @Nullable Marks marks(String key) {
    return null;
  }

  /** A record of that type; null when it is made by its constructor. */
  static @Nullable Object make(Class<?> type, Object[] values) {
    return null;
  }
}
