#!/bin/bash
# Fills a remote with eight workers, the tasks of a Slurm job array: sbatch slurm-array.sh
# [OPTION…]. The options are passed to each larder prefetch. The manifest and larder must be on
# every node. Credentials are read from the AWS files and variables. sbatch passes variables on.
#
# Slurm requeues a task if its node fails or the task is preempted. A task that could not finish
# (status 2: more than 5 % of its icons failed, or the remote stopped working; 74: the disk is full;
# 143: its time limit was reached) requeues itself up to three times. On the same node, it uses its
# cache. On another node, it downloads icons again that it had not shared. To run one task again,
# use scontrol requeue JOB_TASK, because sbatch --array=3 would be an array with one task.
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
# Slurm sends SIGTERM to this shell before the time limit.
trap 'kill -TERM $worker 2>/dev/null' TERM
wait $worker
status=$?
# A signal ends `wait`, but not the worker.
while kill -0 $worker 2>/dev/null; do
    wait $worker
    status=$?
done

case $status in
0) rm -rf "$cache" ;;
2 | 74 | 143)
    if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
        scontrol requeue "$SLURM_JOB_ID"
        # Wait until Slurm ends this job.
        sleep 60
    fi
    ;;
esac
exit $status
