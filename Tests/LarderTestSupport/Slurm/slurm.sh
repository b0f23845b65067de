#!/bin/bash
# slurm.sh DIR CONTROLLER-PORT NODE-PORT: runs a one-node Slurm cluster on loopback with a private
# key, files and ports. Prints "ready" and the controller's port. The configuration is
# DIR/slurm.conf. Needs root, because a node runs jobs as the user who submitted them.
set -eu
directory=$1
mkdir "$directory"/{state,spool,munge}
chmod 755 "$directory"
chmod 700 "$directory/munge"
head -c 128 /dev/urandom > "$directory/munge/key"
chmod 600 "$directory/munge/key"
cat > "$directory/slurm.conf" <<END
ClusterName=larder
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$directory/munge/socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
ReturnToService=2
SlurmctldPort=$2
SlurmdPort=$3
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.pid
SlurmctldLogFile=$directory/slurmctld.log
SlurmdLogFile=$directory/slurmd.log
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool
PluginDir=$(dirname "$(find /usr/lib /usr/lib64 -name auth_munge.so -print -quit)")
PlugStackConfig=/dev/null
SlurmdParameters=config_overrides
NodeName=localhost NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 CPUs=8 RealMemory=8192
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$directory/slurm.conf
# The daemons do not write to standard output: if it closes early, the start has failed.
munged --foreground --force --key-file="$directory/munge/key" --socket="$directory/munge/socket" \
    --pid-file="$directory/munge/pid" --log-file="$directory/munge/log" \
    --seed-file="$directory/munge/seed" --num-threads=2 >&2 &
munged=$!
until [ -S "$directory/munge/socket" ]; do kill -0 $munged; sleep 0.02; done
slurmctld -D >&2 &
controller=$!
slurmd -D >&2 &
node=$!
until [ "$(sinfo --noheader --format %T 2>/dev/null)" = idle ]; do
    kill -0 $controller $node
    sleep 0.1
done
echo "ready $2"
exec >&-
wait
