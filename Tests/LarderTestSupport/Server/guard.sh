#!/bin/bash
# guard.sh DIR COMMAND…: prints the process group of COMMAND and runs it until standard input
# closes. Then kills the group and removes DIR. Standard input is a pipe from the tests, so the
# kernel closes it even if the tests crash.
trap '' HUP INT TERM
directory=$1
shift
set -m
"$@" </dev/null 2>"$directory/log" &
echo $!
exec >/dev/null 2>&1
cat >/dev/null
kill -KILL -- -$!
wait
rm -rf "$directory"
