package dev.zlayer.bench;

/** The least that a program in Java does: prints one line. The floor of our command line. */
public final class Hello {
  private Hello() {}

  public static void main(String[] arguments) {
    System.out.println("hello");
  }
}
