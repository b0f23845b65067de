#!/bin/sh
# Fills a remote with four workers on this machine, with GNU parallel: parallel.sh [OPTION…]. Options
# go to each larder prefetch. Credentials come from the AWS variables and files.
#
# A worker that fails is started again, three times at most; the cache has what it had fetched. If
# this script or the machine stops, run the script again on the same day: the log tells parallel which
# workers are done, and it starts the others. It ends with the number of workers that failed.
# With --sshlogin, the workers run on other machines, each with a cache there.
set -eu
workers=4

exec parallel --quote --max-args 0 --jobs "$workers" --retries 3 \
    --joblog "${TMPDIR:-/tmp}/larder-$(date +%F).joblog" --resume-failed \
    larder prefetch /etc/larder/apps.json --remote s3://icons/shared --shard "auto/$workers" \
    --max-failures 5% --cache /var/cache/larder --quiet "$@" ::: $(seq "$workers")
