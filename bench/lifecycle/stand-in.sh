#!/bin/bash
# A process that costs next to nothing: says at a loopback port that it runs, hands over the first line of its standard
# input, and stays. For a supervisor it is a Session process whose channel somebody else speaks for it.
exec 3<>"/dev/tcp/127.0.0.1/$1"
# Some supervisors leave standard input open and write nothing.
read -r -t 1 line
printf '%s %s\n' "$$" "$line" >&3
exec 3>&-
exec sleep 1000000
