/** Imports run downwards only; each row lists what a layer may import beside itself. */
const allowed = {
  protocol: [],
  skill: ["protocol"],
  "runtime-mcp": ["skill", "protocol"],
  sdk: ["protocol"],
  "session-host": ["sdk", "protocol"],
  supervisor: ["runtime-mcp", "skill", "protocol"],
  "control-plane": ["runtime-mcp", "skill", "protocol"],
  computerd: ["supervisor", "control-plane", "runtime-mcp", "skill", "session-host", "sdk", "protocol"],
  examples: ["sdk", "computerd"],
}

const layers = Object.keys(allowed)

/** Pure files: no clock, no I/O, no random source, so they import protocol and other pure files only. */
const pure = [
  "^runtime-mcp/policy/",
  "^control-plane/rules/",
  "^control-plane/publication/(network|secrets)/",
  "^control-plane/publication/definition/(field|members|policies)\\.ts$",
  "^control-plane/drivers/local/restarts\\.ts$",
  "^supervisor/process/(machine|loss|identity|limits|reattach|recordable)\\.ts$",
  "^supervisor/channel/machine\\.ts$",
  "^supervisor/descriptor/(token|scopes)\\.ts$",
  "^supervisor/link/(attempt|backoff|outcome)\\.ts$",
  "^sdk/(?!client/|packaging/|index\\.ts$)",
  "^sdk/client/(content|errors)\\.ts$",
  "^sdk/client/archive/gitignore\\.ts$",
  "^sdk/client/events/sse\\.ts$",
  "^sdk/client/transport/(outcome|refusal|request|retry)\\.ts$",
  "^session-host/channel/(conversation|frames|guard|timing)\\.ts$",
  "^session-host/program/(definitions|describable|describe)\\.ts$",
  "^session-host/turn/(content|failure|json|outcome|response)\\.ts$",
]

module.exports = {
  forbidden: [
    ...layers.map((layer) => ({
      name: `layer-${layer}`,
      comment: `${layer} may import only: ${[layer, ...allowed[layer]].join(", ")}`,
      severity: "error",
      from: { path: `^${layer}/` },
      to: {
        path: `^(${layers.filter((other) => other !== layer && !allowed[layer].includes(other)).join("|")}|test|bench)/`,
      },
    })),
    {
      name: "pure-files",
      comment: "a pure file imports protocol and other pure files only",
      severity: "error",
      from: { path: pure },
      to: { pathNot: ["^protocol/", ...pure, "node_modules/(zod|ipaddr\\.js|tldts)/"] },
    },
    {
      name: "no-relative-import-across-packages",
      comment:
        "another package is imported by its name, never by a relative path; examples are programs without one",
      severity: "error",
      from: { path: "^([^/]+)/" },
      to: { pathNot: "^($1|node_modules|examples)/", dependencyTypes: ["local"] },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-unresolved",
      severity: "error",
      from: { pathNot: "^test/fixtures/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(bench|test/fixtures)/" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    builtInModules: { add: ["bun", "bun:sqlite", "bun:test", "bun:ffi"] },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "bun", "default"] },
  },
}
