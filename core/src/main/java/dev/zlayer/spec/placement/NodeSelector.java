package dev.zlayer.spec.placement;

import dev.zlayer.spec.form.Doc;
import java.util.Map;

/** Labels of nodes. */
@Doc("Labels that nodes must or should have.")
public record NodeSelector(
    @Doc("Labels that a node must have.") Map<String, String> labels,
    @Doc("Labels that make a node better.") Map<String, String> preferLabels) {}
