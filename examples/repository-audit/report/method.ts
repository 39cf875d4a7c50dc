/** How the figures came about, so that a reader can repeat them. */
import type { Findings } from "../audit/findings.ts"
import { marksOf, otherText } from "../audit/languages.ts"
import { byCodeUnit } from "../audit/ranking.ts"
import { commitsMax, type History, type NoHistory } from "../history/changes.ts"
import { grouped } from "./numbers.ts"

const noHistory: Readonly<Record<NoHistory, string>> = {
  no_repository: "there is no git repository at the top of what was audited",
  linked: "`.git` is not a folder: it points to a repository that is not part of what was audited",
  borrowed: "the repository borrows its objects from another one that is not part of what was audited",
  git_absent: "git is not installed where the audit ran",
  unreadable: "git cannot read the repository",
  no_commits: "the repository has no commits",
  incomplete: "commits or folders are missing from the repository",
}

export const historyNote = (history: History): string | undefined => {
  if (history.kind === "none") return `No change counts: ${noHistory[history.reason]}.`
  const notes = [
    ...(history.shallow
      ? ["this is a shallow clone, so only the commits that it holds were counted, without those at its edge"]
      : []),
    ...(history.limited ? [`only the newest ${grouped(commitsMax)} commits of the folder were counted`] : []),
  ]
  return notes.length === 0 ? undefined : `Change counts are partial: ${notes.join("; ")}.`
}

/** What holds for every folder is said once. */
export const sharedHistoryNote = (all: readonly Findings[]): string | undefined => {
  const notes = new Set(all.map(({ history }) => historyNote(history)))
  return notes.size === 1 ? [...notes][0] : undefined
}

const selectionNote = (all: readonly Findings[]): string =>
  all.every(({ selectedBy }) => selectedBy === "git")
    ? "**Files**: those that git tracks, and those that it neither tracks nor ignores."
    : "**Files**: all of them, because git could not say which it tracks."

const languageNote = (all: readonly Findings[]): string => {
  const used = [...new Set(all.flatMap(({ languages }) => languages.map(({ language }) => language)))]
    .filter((language) => language !== otherText)
    .sort(byCodeUnit)
    .map(
      (language) =>
        `${language} (${marksOf(language)
          .map((mark) => `\`${mark}\``)
          .join(", ")})`,
    )
  const known = used.length === 0 ? "" : ` ${used.join("; ")}.`
  return `**Languages**: by file name or extension; text of any other name is ${otherText}.${known}`
}

export const method = (all: readonly Findings[]): readonly string[] => [
  "## How this was counted",
  "",
  `- ${selectionNote(all)} \`.git\` and \`node_modules\` are left out everywhere. Symbolic links are not followed.`,
  "- **Binary**: a file with a NUL byte among its first 8,000 bytes. It counts as a file, with its bytes, and has no lines.",
  "- **Lines**: line feeds, plus one for a last line that does not end with one.",
  "- **TODO/FIXME**: the words `TODO` and `FIXME` in capitals, with no letter, digit or underscore beside them; the density is markers for each 1,000 lines of text.",
  `- **Changed most often**: for files that still exist, the number of commits reachable from HEAD that touch the path, merges not counted; a renamed file starts anew (\`git rev-list --no-merges --full-history HEAD\`, each compared by \`git diff-tree --root --no-renames\`). For each folder the newest ${grouped(commitsMax)} commits that touch it are read.`,
  "- **Order**: highest first; equals, and folders, by code unit of their names.",
  `- ${languageNote(all)}`,
  "",
]
