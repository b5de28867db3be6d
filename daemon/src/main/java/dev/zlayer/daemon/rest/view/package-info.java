/** What callers see, as records: the JSON and its description are made from the same. Pure. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.rest.view;
