/**
 * A section of the guide is a list of paragraphs, each with the tools it speaks of. A paragraph appears only when all of
 * them can be called, so that a connection reads of nothing that it lacks.
 */
import type { ToolName } from "@computerd/protocol/tools"

export interface Paragraph {
  /** Every tool that the text names or builds on. */
  readonly needs: readonly ToolName[]
  readonly text: string
}

export interface Section {
  readonly heading: string
  /** The section appears when one of these can be called. */
  readonly about: readonly ToolName[]
  readonly paragraphs: readonly Paragraph[]
}

export const on = (needs: ToolName | readonly ToolName[], text: string): Paragraph => ({
  needs: typeof needs === "string" ? [needs] : needs,
  text,
})

/** Text that holds for whatever brought the section here. */
export const always = (text: string): Paragraph => ({ needs: [], text })

export const renderSection = (section: Section, tools: ReadonlySet<ToolName>): readonly string[] => {
  if (!section.about.some((tool) => tools.has(tool))) return []
  const paragraphs = section.paragraphs.filter(({ needs }) => needs.every((tool) => tools.has(tool)))
  return [`## ${section.heading}`, ...paragraphs.map(({ text }) => text)]
}
