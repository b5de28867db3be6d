/**
 * The dashboard: its page, the sessions of browsers, and its listener, which is opened when
 * somebody asks for it. What the page shows and does goes through the routes of the REST API.
 */
@NullMarked
package dev.zlayer.daemon.web;

import org.jspecify.annotations.NullMarked;
