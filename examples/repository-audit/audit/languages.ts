/**
 * Which language a text file is counted under: by its exact name first, then by what follows the last dot of its name,
 * in lower case. Whatever is in neither table is `Other text`. The report prints the rows that it used.
 */

export const otherText = "Other text"

const byExtension = {
  Assembly: ["asm", "s"],
  Astro: ["astro"],
  Batch: ["bat", "cmd"],
  C: ["c"],
  "C and C++ headers": ["h", "hh", "hpp", "hxx"],
  "C#": ["cs"],
  "C++": ["cc", "cpp", "cxx"],
  Clojure: ["clj", "cljc", "cljs"],
  CMake: ["cmake"],
  CSS: ["css"],
  CSV: ["csv", "tsv"],
  Dart: ["dart"],
  Elixir: ["ex", "exs"],
  Elm: ["elm"],
  Erlang: ["erl", "hrl"],
  "F#": ["fs", "fsx"],
  Go: ["go"],
  GraphQL: ["gql", "graphql"],
  Groovy: ["gradle", "groovy"],
  Haskell: ["hs"],
  HCL: ["hcl", "tf", "tfvars"],
  HTML: ["htm", "html"],
  INI: ["cfg", "conf", "ini", "properties"],
  Java: ["java"],
  JavaScript: ["cjs", "js", "jsx", "mjs"],
  JSON: ["json", "json5", "jsonc", "jsonl"],
  Julia: ["jl"],
  "Jupyter Notebook": ["ipynb"],
  Kotlin: ["kt", "kts"],
  Less: ["less"],
  Lua: ["lua"],
  Markdown: ["markdown", "md", "mdx"],
  Nix: ["nix"],
  "Objective-C": ["m", "mm"],
  OCaml: ["ml", "mli"],
  Perl: ["pl", "pm"],
  PHP: ["php"],
  PowerShell: ["ps1", "psm1"],
  "Protocol Buffers": ["proto"],
  Python: ["py", "pyi"],
  R: ["r"],
  reStructuredText: ["rst"],
  Ruby: ["gemspec", "rake", "rb"],
  Rust: ["rs"],
  Sass: ["sass", "scss"],
  Scala: ["sc", "scala"],
  Shell: ["bash", "fish", "sh", "zsh"],
  Solidity: ["sol"],
  SQL: ["sql"],
  Svelte: ["svelte"],
  SVG: ["svg"],
  Swift: ["swift"],
  TeX: ["bib", "sty", "tex"],
  Text: ["text", "txt"],
  TOML: ["toml"],
  TypeScript: ["cts", "mts", "ts", "tsx"],
  "Visual Basic": ["vb"],
  Vue: ["vue"],
  XML: ["csproj", "plist", "xml", "xsd", "xsl", "xslt"],
  YAML: ["yaml", "yml"],
  Zig: ["zig"],
} as const satisfies Readonly<Record<string, readonly string[]>>

const byName = {
  CMake: ["CMakeLists.txt"],
  Dockerfile: ["Containerfile", "Dockerfile"],
  Go: ["go.mod", "go.sum"],
  Groovy: ["Jenkinsfile"],
  Make: ["GNUmakefile", "Makefile", "makefile"],
  Ruby: ["Gemfile", "Rakefile"],
} as const satisfies Readonly<Record<string, readonly string[]>>

const inverted = (table: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(table).flatMap(([language, keys]) => keys.map((key) => [key, language] as const)))

const languageOfName = inverted(byName)
const languageOfExtension = inverted(byExtension)

export const languageOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const named = languageOfName.get(name)
  if (named !== undefined) return named
  const dot = name.lastIndexOf(".")
  // `.gitignore` is a name without an extension.
  if (dot < 1) return otherText
  return languageOfExtension.get(name.slice(dot + 1).toLowerCase()) ?? otherText
}

const rowsOf = (table: Readonly<Record<string, readonly string[]>>, language: string): readonly string[] =>
  Object.hasOwn(table, language) ? (table[language] ?? []) : []

/** What makes a file count under `language`: `.ts`, `.tsx`, `Makefile`. Empty for `Other text`. */
export const marksOf = (language: string): readonly string[] => [
  ...rowsOf(byExtension, language).map((extension) => `.${extension}`),
  ...rowsOf(byName, language),
]
