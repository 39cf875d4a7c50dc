/** What `fleet --help` prints. */
export const fleetHelp = `computerd fleet asks a control plane's public API. It has the authority of its API key and no other.

Usage
  computerd fleet VERB … [--url URL] [--key-file FILE] [--json]
      --url URL         where the public API is; otherwise HELMR_URL
      --key-file FILE   the API key, in a file that its owner alone can read; otherwise HELMR_API_KEY
      --json            print one JSON value, or one for each event that is followed

Programs
  deploy DIR            publish the program in DIR and make it current; prints the Deployment's id
      --no-gitignore    upload what .gitignore files name, too
  deployments | agents | templates   [--deployment ID] (of agents and templates; otherwise the current one)

Work
  start AGENT --input TEXT|-         start a Session; prints its id and that of its first Turn
      --wait            wait for the Turn and print its response
      --follow          show its tree live meanwhile; Ctrl-C ends the showing alone
      --session-key KEY   name the Session
      --computer ID     place it on this Computer
  enqueue SESSION --input TEXT|-     give it another Turn; --wait and --follow as above
  send SESSION TURN --message TEXT|- send a message to a running Turn
  wait SESSION TURN [--timeout 10m]  wait for a Turn and print its response
  follow SESSION [--after CURSOR]    show a Session and its descendants until it is closed

Sessions
  sessions [--status open|closing|closed] [--agent KEY] [--session-key KEY] [--computer ID] [--root SESSION]
  session SESSION                    its state, holds and newest Turns
  interrupt SESSION                  stop what runs in its tree and hold it; prints the hold's id
      --turn TURN       end this running Turn alone, without a hold
  resume SESSION HOLD                release one hold
  close SESSION                      end it once what can run has run
  cancel SESSION                     end it now
  questions SESSION                  what its Turns ask people
  answer SESSION QUESTION --text TEXT|-

Computers
  computers [--status available|deleting|deleted]
  computers create TEMPLATE [--key KEY]
  computers delete COMPUTER

Keys, over the socket of the control plane on this machine
  keys [list] --state DIR            DIR is the control plane's state directory
  keys create --state DIR --name NAME --permission all|P[,P…]
      prints the key's text, once; its id goes to standard error
      --out FILE        write the text to a new file, for its owner alone, and print the id
      --environment KEY   otherwise default
  keys revoke KEY --state DIR

Lists show 50 rows; --limit N shows more. Verbs that change something take --idempotency-key KEY: the same request under
the same key has one effect.

Exit codes: 0 success, or the Turn completed; 1 failure, or the Turn ended otherwise; 2 wrong arguments; 124 the Turn
has not settled within --timeout; 141 nobody reads the events any more; 128 and the signal's number when interrupted.
`
