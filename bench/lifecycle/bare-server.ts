/** The least that a supervisor must be after its start: a server at the port that was given. */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  fetch: () => new Response("{}"),
})
console.log(server.port)
