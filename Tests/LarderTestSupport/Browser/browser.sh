#!/bin/bash
# browser.sh DIR CHROMEDRIVER: serves WebDriver on a free port and prints "ready" and the port.
set -eu
mkdir "$1/home" "$1/tmp"
# Browsers leave files in these directories.
HOME="$1/home" TMPDIR="$1/tmp" "$2" --port=0 >"$1/driver.log" 2>&1 &
until port=$(sed -n 's,.*started successfully on port \([0-9]*\).*,\1,p' "$1/driver.log") &&
    [ -n "$port" ]; do
    kill -0 $! || { cat "$1/driver.log" >&2; exit 1; }
    sleep 0.02
done
echo "ready $port"
exec >&-
wait
