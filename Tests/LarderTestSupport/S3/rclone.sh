#!/bin/bash
# rclone.sh DIR RCLONE KEY SECRET [SIZE]: serves the folders in DIR/buckets as buckets, on a free
# port, and prints "ready" and the port. With a SIZE (such as 2m), the buckets are on a tmpfs of
# that size in a private mount namespace, which needs root.
set -eu
if [ -n "${5-}" ] && [ -z "${LARDER_IS_UNSHARED-}" ]; then
    LARDER_IS_UNSHARED=yes exec unshare --mount "$BASH" "$0" "$@"
fi
mkdir "$1/buckets" "$1/cache"
[ -z "${5-}" ] || mount -t tmpfs -o size="$5" tmpfs "$1/buckets"
# Ignore the user's settings.
for name in ${!RCLONE_@}; do unset "$name"; done
"$2" serve s3 --addr 127.0.0.1:0 --auth-key "$3,$4" --config /dev/null --cache-dir "$1/cache" \
    --force-path-style --no-cleanup --vfs-cache-mode off --dir-cache-time 24h "$1/buckets" \
    >"$1/rclone.log" 2>&1 &
until port=$(sed -n 's,.*http://127\.0\.0\.1:\([0-9]*\)/.*,\1,p' "$1/rclone.log") && [ -n "$port" ]; do
    kill -0 $! || { cat "$1/rclone.log" >&2; exit 1; }
    sleep 0.02
done
echo "ready $port"
exec >&-
wait
