package dev.zlayer.engine.job;

import java.math.BigInteger;
import java.time.Instant;
import java.util.random.RandomGenerator;

/**
 * Makes ids that never repeat and never sort before an earlier one, also when the clock goes back
 * or two are made in one millisecond. Owned by one thread.
 */
final class ExecutionIds {
  private static final String DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
  private static final int LENGTH = 26;
  private static final int RANDOM_BITS = 80;

  private final RandomGenerator random;
  private BigInteger last = BigInteger.ZERO;

  ExecutionIds(RandomGenerator random) {
    this.random = random;
  }

  /** What comes next will sort behind {@code id}. */
  void after(ExecutionId id) {
    BigInteger number = BigInteger.ZERO;
    for (int i = 0; i < LENGTH; i++) {
      number = number.shiftLeft(5).add(BigInteger.valueOf(DIGITS.indexOf(id.text().charAt(i))));
    }
    last = last.max(number);
  }

  ExecutionId next(Instant now) {
    BigInteger fresh =
        BigInteger.valueOf(now.toEpochMilli()).shiftLeft(RANDOM_BITS).add(randomPart());
    // a step of random size keeps the next one unguessable
    BigInteger step = BigInteger.valueOf(1 + random.nextLong(1L << 32));
    last = fresh.compareTo(last) > 0 && !sameMilli(fresh) ? fresh : last.add(step);
    var text = new StringBuilder();
    for (int i = LENGTH - 1; i >= 0; i--) {
      text.append(DIGITS.charAt(last.shiftRight(5 * i).intValue() & 31));
    }
    return new ExecutionId(text.toString());
  }

  private boolean sameMilli(BigInteger fresh) {
    return fresh.shiftRight(RANDOM_BITS).equals(last.shiftRight(RANDOM_BITS));
  }

  private BigInteger randomPart() {
    // the top bit stays clear: room for many steps within one millisecond
    return BigInteger.valueOf(random.nextLong() >>> 1)
        .shiftLeft(RANDOM_BITS - 1 - Long.SIZE + 1)
        .add(BigInteger.valueOf(random.nextLong(1L << 15)));
  }
}
