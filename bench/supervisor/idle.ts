/** The least that a supervisor must be: a Bun process with a listener. */
Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(null, { status: 404 }) })
console.log("up")
