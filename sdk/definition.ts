/**
 * The brand of what authors define. It is a registered symbol, so that a definition is recognised whichever copy of
 * this package made it: every program carries its own, bundled.
 */
export const definition: unique symbol = Symbol.for("helmr.definition")

export type DefinitionKind = "agent" | "template" | "image" | "directory"
