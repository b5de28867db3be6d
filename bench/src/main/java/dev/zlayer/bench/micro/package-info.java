/** Hot pure code by itself, measured by JMH. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.bench.micro;
