/**
 * What tests of every module share: facts about the machine and a clock that is moved by hand. No
 * threads; checks of facts run small programs once and remember the answer.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit;
