/** The verbs below {@code zlayer image}, and pulling; one class each. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.image;
