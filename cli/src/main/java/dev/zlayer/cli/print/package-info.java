/** How things look: tables, progress, sizes and ages for people. Pure text in and out. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.print;
