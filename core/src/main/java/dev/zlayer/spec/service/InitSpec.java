package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Doc;
import java.util.List;

/** What to do before the main process starts. */
@Doc("Steps that run before the main process starts.")
public record InitSpec(@Doc("Steps, in order.") List<InitStep> steps) {}
