/** Which addresses the control plane may listen on: those that no other machine reaches. */
const ipv4 = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/

/** Names are not looked up: what they stand for may change. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || ipv4.test(hostname)

export const loopbackAdvice =
  "must be on loopback: 127.0.0.1, another address of 127.0.0.0/8, [::1] or localhost"
