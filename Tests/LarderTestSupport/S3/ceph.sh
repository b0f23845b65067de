#!/bin/bash
# ceph.sh DIR PORT MONITOR-PORT KEY SECRET: runs a monitor, an object storage daemon in memory, and
# an S3 gateway on PORT, all on loopback. Prints "ready" and the port.
set -eu
directory=$1 port=$2 monitor=$3
unset CEPH_ARGS
export CEPH_CONF=$directory/ceph.conf
mkdir "$directory"/{mon,osd,rgw,run,logs}
cat > "$CEPH_CONF" <<END
[global]
fsid = 6f3b7c1e-2d5a-4c8e-9b0f-1a2c3d4e5f60
mon host = [v1:127.0.0.1:$monitor]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms bind msgr2 = false
mon allow pool size one = true
mon max pg per osd = 1000
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd heartbeat grace = 600
osd objectstore = memstore
memstore device bytes = 2147483648
osd data = $directory/osd
mon data = $directory/mon
rgw data = $directory/rgw
run dir = $directory/run
admin socket = $directory/run/\$cluster-\$name.\$pid.asok
log file = $directory/logs/\$name.log
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw enable usage log = false
rgw enable gc threads = false
END

monmaptool --create --fsid 6f3b7c1e-2d5a-4c8e-9b0f-1a2c3d4e5f60 \
    --addv a "[v1:127.0.0.1:$monitor]" "$directory/monmap" >&2
# The daemons do not write to standard output: if it closes early, the start has failed.
ceph-mon -i a --mkfs --monmap "$directory/monmap" >&2
ceph-mon -i a -f >&2 &
mon=$!
identifier=$(cat /proc/sys/kernel/random/uuid)
timeout 60 ceph osd new "$identifier" >&2
ceph-osd -i 0 --mkfs --osd-uuid "$identifier" >&2
ceph-osd -i 0 -f >&2 &
osd=$!
starts=1
# Reads the log, because each call of ceph(8) takes half a second of CPU time.
until grep -q ' 1 up, ' "$directory/logs/mon.a.log"; do
    kill -0 $mon
    # Sometimes the daemon contacts the monitor before the monitor knows the cluster's identifier,
    # and exits with "wrong fsid".
    if ! kill -0 $osd; then
        ((starts++ < 5))
        ceph-osd -i 0 -f >&2 &
        osd=$!
    fi
    sleep 0.1
done
timeout 120 radosgw-admin -n client.rgw.a user create --uid larder --display-name larder \
    --access-key "$4" --secret "$5" >&2
radosgw -n client.rgw.a -f >&2 &
gateway=$!
until curl --fail --silent --max-time 10 --output /dev/null "http://127.0.0.1:$port/"; do
    kill -0 $gateway
    sleep 0.1
done
echo "ready $port"
exec >&-
wait
