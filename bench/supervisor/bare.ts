/** The least that a Session process must be: connects a WebSocket to the address it was given, and stays. */
const socket = new WebSocket(process.argv[2] ?? "")
socket.onopen = () => socket.send("up")
