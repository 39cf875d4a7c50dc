/** What `--help` prints. */
export const help = `computerd runs agent programs on Computers.

Usage
  computerd dev PROGRAM --agent KEY --input TEXT
      Publishes the program in directory PROGRAM on an embedded control plane, starts a Session of Agent KEY with
      TEXT, shows what runs, prints the response, and leaves nothing behind.
      --env NAME=VALUE    set a variable for the program's top level at publication; may be repeated
      --state DIR         keep state and logs in DIR; otherwise they are temporary
      --unenforced        run Templates whose network or secrets cannot be enforced here
      --capacity N        run at most N Computers at once and park idle ones for others; otherwise there is no limit
      --private-range CIDR
                          let network policies name private addresses in CIDR, such as 10.60.0.0/16; may be repeated
      --json              print the Turn and its output as one JSON object

  computerd run --config FILE
      Runs the supervisor of one Computer. Every configuration key has a flag too.

  computerd control-plane --state DIR
      Runs a control plane whose Computers are local processes, until it is interrupted. Prints where supervisors
      reach it and, on a second line, where the public API listens, if it does.
      --listen HOST:PORT  where supervisors reach it, on loopback; PORT alone is on 127.0.0.1; otherwise a free port
      --api HOST:PORT     open the public API there, in plain HTTP; without it there is none; port 0 takes a free one
      --api-behind-proxy  a proxy that ends TLS stands in front: --api may be on any address
      --unenforced        as for dev
      --capacity N        as for dev, for each Environment
      --private-range CIDR
                          as for dev

  computerd status --state DIR | --socket PATH
      Shows a supervisor: its Computer, lease, link, Sessions and Turns. DIR is its state directory, or that of a
      control plane, which shows all of its Computers.
      --json              print all of it as JSON

  computerd fleet VERB …
      Asks a control plane's public API: publish, start and follow Sessions, steer them, manage keys.
      computerd fleet --help lists the verbs.

  computerd --help
  computerd --version

Exit codes: 0 success, 1 failure, 2 wrong arguments. dev: 128 and the signal's number when interrupted. control-plane
and run end with 0 when a signal asks them to; run also has 75 for a state directory in use and 78 for a wrong
configuration.
`
