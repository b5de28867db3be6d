// Elements by tagged templates. Whatever is put into a template becomes text, never markup.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
