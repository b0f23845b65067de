#!/bin/bash
# guard.sh DIR COMMAND…: runs COMMAND, with whatever it starts, until standard input ends; then kills
# all of them and removes DIR. Standard input is a pipe from the tests: it ends however they end.
# First prints the process group that COMMAND leads.
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
