#!/bin/sh
# Fills a remote with four workers on this machine, with GNU parallel: parallel.sh [OPTION…]. The
# options are passed to each larder prefetch. Credentials are read from the AWS variables and files.
#
# A worker that fails is restarted up to three times and uses the icons in the cache. If this script
# or the machine stops, run the script again on the same day: parallel reads its log and starts only
# the remaining workers. The exit status is the number of failed workers. With --sshlogin, the
# workers run on other machines, each with its own cache.
set -eu
workers=4

exec parallel --quote --max-args 0 --jobs "$workers" --retries 3 \
    --joblog "${TMPDIR:-/tmp}/larder-$(date +%F).joblog" --resume-failed \
    larder prefetch /etc/larder/apps.json --remote s3://icons/shared --shard "auto/$workers" \
    --max-failures 5% --cache /var/cache/larder --quiet "$@" ::: $(seq "$workers")
