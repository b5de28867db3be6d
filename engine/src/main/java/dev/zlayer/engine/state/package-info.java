/**
 * Durable state: records by kind and key, and a log of events, behind one port with a store on disk
 * and one in memory. The store on disk owns one thread, which alone touches the database. Touches
 * the one file it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.state;
