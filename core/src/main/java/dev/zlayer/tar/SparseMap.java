package dev.zlayer.tar;

import java.util.List;

/**
 * Where the stored bytes of a sparse file belong: ranges in rising order, not overlapping, inside
 * the file, and together exactly as long as what is stored.
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record SparseMap(long[] offsets, long[] lengths) {
  /** More ranges than any real file of a layer has. */
  static final int MAX_RANGES = 500_000;

  static SparseMap of(String member, List<Long> pairs, long realSize, long stored)
      throws TarException {
    if (pairs.size() % 2 != 0 || pairs.size() / 2 > MAX_RANGES) {
      throw new TarException(member, "sparse map is malformed or too long");
    }
    long[] offsets = new long[pairs.size() / 2];
    long[] lengths = new long[offsets.length];
    long end = 0;
    long sum = 0;
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = pairs.get(2 * i);
      lengths[i] = pairs.get(2 * i + 1);
      boolean inside = offsets[i] >= end && lengths[i] >= 0 && lengths[i] <= realSize - offsets[i];
      if (!inside) {
        throw new TarException(member, "sparse map leaves the file or overlaps itself");
      }
      end = offsets[i] + lengths[i];
      sum += lengths[i];
    }
    if (sum != stored) {
      throw new TarException(
          member, "sparse map names %d bytes but %d are stored".formatted(sum, stored));
    }
    return new SparseMap(offsets, lengths);
  }
}
