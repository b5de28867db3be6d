package dev.zlayer.runtime.wasm;

import run.endive.runtime.ByteArrayMemory;
import run.endive.runtime.Instance;
import run.endive.runtime.Memory;
import run.endive.wasm.types.DataSegment;
import run.endive.wasm.types.MemoryLimits;

/**
 * A memory of a module that asks the module's account before it grows. Everything else is the
 * library's memory, which cannot be extended.
 */
@SuppressWarnings("removal") // parts of the interface have to be implemented all the same
final class BudgetedMemory implements Memory {
  /** What a page costs before it is used: a reference to it. */
  private static final int SLOT_BYTES = 4;

  private final ByteArrayMemory memory;
  private final MemoryAccount account;

  private BudgetedMemory(ByteArrayMemory memory, MemoryAccount account) {
    this.memory = memory;
    this.account = account;
  }

  /** Refuses a memory that is too large to begin with. */
  static BudgetedMemory of(MemoryLimits wanted, MemoryAccount account) {
    int most = (int) Math.min(wanted.maximumPages(), account.limit() / PAGE_SIZE);
    long initial = (long) wanted.initialPages() * PAGE_SIZE;
    if (wanted.initialPages() > most || !account.take(initial + (long) most * SLOT_BYTES)) {
      throw new IllegalStateException(
          "it needs %d KiB of memory to begin with; %s"
              .formatted(initial / 1024, account.shortage()));
    }
    return new BudgetedMemory(
        new ByteArrayMemory(new MemoryLimits(wanted.initialPages(), most, wanted.shared())),
        account);
  }

  /** Growing fails as the language has it: with -1. */
  @Override
  public int grow(int pages) {
    long bytes = (long) pages * PAGE_SIZE;
    if (pages < 0 || pages > maximumPages() - pages() || !account.take(bytes)) {
      return -1;
    }
    int before = memory.grow(pages);
    if (before < 0) {
      account.release(bytes);
    }
    return before;
  }

  @Override
  public int pages() {
    return memory.pages();
  }

  @Override
  public int initialPages() {
    return memory.initialPages();
  }

  @Override
  public int maximumPages() {
    return memory.maximumPages();
  }

  @Override
  public boolean shared() {
    return memory.shared();
  }

  @Override
  public Object lock(int address) {
    return memory.lock(address);
  }

  @Override
  public int waitOn(int address, int expected, long timeout) {
    return memory.waitOn(address, expected, timeout);
  }

  @Override
  public int waitOn(int address, long expected, long timeout) {
    return memory.waitOn(address, expected, timeout);
  }

  @Override
  public int notify(int address, int maxThreads) {
    return memory.notify(address, maxThreads);
  }

  @Override
  public void initialize(Instance instance, DataSegment[] segments) {
    memory.initialize(instance, segments);
  }

  @Override
  public void initialize(Instance instance, DataSegment[] segments, int index) {
    memory.initialize(instance, segments, index);
  }

  @Override
  public void initPassiveSegment(int segment, int destination, int offset, int size) {
    memory.initPassiveSegment(segment, destination, offset, size);
  }

  @Override
  public void write(int address, byte[] data, int offset, int size) {
    memory.write(address, data, offset, size);
  }

  @Override
  public byte read(int address) {
    return memory.read(address);
  }

  @Override
  public byte[] readBytes(int address, int size) {
    return memory.readBytes(address, size);
  }

  @Override
  public void writeI32(int address, int value) {
    memory.writeI32(address, value);
  }

  @Override
  public int readInt(int address) {
    return memory.readInt(address);
  }

  @Override
  public void writeLong(int address, long value) {
    memory.writeLong(address, value);
  }

  @Override
  public long readLong(int address) {
    return memory.readLong(address);
  }

  @Override
  public void writeShort(int address, short value) {
    memory.writeShort(address, value);
  }

  @Override
  public short readShort(int address) {
    return memory.readShort(address);
  }

  @Override
  public long readU16(int address) {
    return memory.readU16(address);
  }

  @Override
  public void writeByte(int address, byte value) {
    memory.writeByte(address, value);
  }

  @Override
  public void writeF32(int address, float value) {
    memory.writeF32(address, value);
  }

  @Override
  public long readF32(int address) {
    return memory.readF32(address);
  }

  @Override
  public float readFloat(int address) {
    return memory.readFloat(address);
  }

  @Override
  public void writeF64(int address, double value) {
    memory.writeF64(address, value);
  }

  @Override
  public double readDouble(int address) {
    return memory.readDouble(address);
  }

  @Override
  public long readF64(int address) {
    return memory.readF64(address);
  }

  @Override
  public void zero() {
    memory.zero();
  }

  @Override
  public void fill(byte value, int from, int to) {
    memory.fill(value, from, to);
  }

  @Override
  public void copy(int destination, int source, int size) {
    memory.copy(destination, source, size);
  }

  @Override
  public void drop(int segment) {
    memory.drop(segment);
  }

  @Override
  public void atomicFence() {
    memory.atomicFence();
  }

  @Override
  public byte atomicReadByte(int address) {
    return memory.atomicReadByte(address);
  }

  @Override
  public void atomicWriteByte(int address, byte value) {
    memory.atomicWriteByte(address, value);
  }

  @Override
  public byte atomicAddByte(int address, byte value) {
    return memory.atomicAddByte(address, value);
  }

  @Override
  public byte atomicAndByte(int address, byte value) {
    return memory.atomicAndByte(address, value);
  }

  @Override
  public byte atomicOrByte(int address, byte value) {
    return memory.atomicOrByte(address, value);
  }

  @Override
  public byte atomicXorByte(int address, byte value) {
    return memory.atomicXorByte(address, value);
  }

  @Override
  public byte atomicXchgByte(int address, byte value) {
    return memory.atomicXchgByte(address, value);
  }

  @Override
  public byte atomicCmpxchgByte(int address, byte expected, byte value) {
    return memory.atomicCmpxchgByte(address, expected, value);
  }

  @Override
  public short atomicReadShort(int address) {
    return memory.atomicReadShort(address);
  }

  @Override
  public void atomicWriteShort(int address, short value) {
    memory.atomicWriteShort(address, value);
  }

  @Override
  public short atomicAddShort(int address, short value) {
    return memory.atomicAddShort(address, value);
  }

  @Override
  public short atomicAndShort(int address, short value) {
    return memory.atomicAndShort(address, value);
  }

  @Override
  public short atomicOrShort(int address, short value) {
    return memory.atomicOrShort(address, value);
  }

  @Override
  public short atomicXorShort(int address, short value) {
    return memory.atomicXorShort(address, value);
  }

  @Override
  public short atomicXchgShort(int address, short value) {
    return memory.atomicXchgShort(address, value);
  }

  @Override
  public short atomicCmpxchgShort(int address, short expected, short value) {
    return memory.atomicCmpxchgShort(address, expected, value);
  }

  @Override
  public int atomicReadInt(int address) {
    return memory.atomicReadInt(address);
  }

  @Override
  public void atomicWriteInt(int address, int value) {
    memory.atomicWriteInt(address, value);
  }

  @Override
  public int atomicAddInt(int address, int value) {
    return memory.atomicAddInt(address, value);
  }

  @Override
  public int atomicAndInt(int address, int value) {
    return memory.atomicAndInt(address, value);
  }

  @Override
  public int atomicOrInt(int address, int value) {
    return memory.atomicOrInt(address, value);
  }

  @Override
  public int atomicXorInt(int address, int value) {
    return memory.atomicXorInt(address, value);
  }

  @Override
  public int atomicXchgInt(int address, int value) {
    return memory.atomicXchgInt(address, value);
  }

  @Override
  public int atomicCmpxchgInt(int address, int expected, int value) {
    return memory.atomicCmpxchgInt(address, expected, value);
  }

  @Override
  public long atomicReadLong(int address) {
    return memory.atomicReadLong(address);
  }

  @Override
  public void atomicWriteLong(int address, long value) {
    memory.atomicWriteLong(address, value);
  }

  @Override
  public long atomicAddLong(int address, long value) {
    return memory.atomicAddLong(address, value);
  }

  @Override
  public long atomicAndLong(int address, long value) {
    return memory.atomicAndLong(address, value);
  }

  @Override
  public long atomicOrLong(int address, long value) {
    return memory.atomicOrLong(address, value);
  }

  @Override
  public long atomicXorLong(int address, long value) {
    return memory.atomicXorLong(address, value);
  }

  @Override
  public long atomicXchgLong(int address, long value) {
    return memory.atomicXchgLong(address, value);
  }

  @Override
  public long atomicCmpxchgLong(int address, long expected, long value) {
    return memory.atomicCmpxchgLong(address, expected, value);
  }
}
