/** The least that a Session process could be: connects and says so. */
const socket = new WebSocket(process.argv[2] ?? "")
socket.addEventListener("open", () => socket.send("ready"))
