#!/bin/bash
# Fills a remote with eight workers, the tasks of a Slurm job array: sbatch slurm-array.sh [OPTION…].
# Options go to each larder prefetch. Manifest and larder must be on every node; credentials come from
# the AWS variables, which sbatch hands on, and files.
#
# A task whose node fails, or that is preempted, is queued again by Slurm. One that could not finish
# (status 2: more than 5 % of its icons failed, or the remote stopped working; 74: the disk is full;
# 143: its time is over) queues itself again, three times at most. On the same node it finds its cache;
# on another it fetches again what it had not yet shared. To run one task by hand, requeue it
# (scontrol requeue JOB_TASK): sbatch --array=3 would be an array of one.
#SBATCH --job-name=larder
#SBATCH --array=0-7
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=larder-%A_%a.log
#SBATCH --cpus-per-task=1
#SBATCH --mem=512M
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@60

cache=${TMPDIR:-/tmp}/larder-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID
larder prefetch /etc/larder/apps.json --remote s3://icons/shared --shard auto \
    --max-failures 5% --cache "$cache" --quiet "$@" &
worker=$!
# Slurm tells this shell that the time is nearly over, and waits for it.
trap 'kill -TERM $worker 2>/dev/null' TERM
wait $worker
status=$?
# A signal ends the first wait, not the worker.
while kill -0 $worker 2>/dev/null; do
    wait $worker
    status=$?
done

case $status in
0) rm -rf "$cache" ;;
2 | 74 | 143)
    if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
        scontrol requeue "$SLURM_JOB_ID"
        # Until Slurm ends this one.
        sleep 60
    fi
    ;;
esac
exit $status
