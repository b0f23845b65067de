# Sourced by Scripts/bench and Scripts/rehearsals. Starts nginx and two relays that delay its
# traffic, and sets variables with the ports. Uses $bin, $work and $memory, and adds the
# processes to $started.

# The icons of the origin are in memory, so that it never waits for a disk.
port=${LARDER_BENCH_PORT:-8643}
plain=$port secure=$((port + 1)) asking=$((port + 2)) far=$((port + 3)) farsecure=$((port + 4))
askingsecure=$((port + 5))
cp -a "$work/icons" "$memory/icons"
certificate() { openssl "$@" 2>> "$work/openssl.log"; }
certificate req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=larder benchmark authority" \
    -keyout "$memory/ca.key" -out "$memory/ca.pem"
certificate req -newkey rsa:2048 -nodes -subj "/CN=127.0.0.1" -keyout "$memory/origin.key" \
    -out "$memory/origin.csr"
echo "subjectAltName=IP:127.0.0.1,DNS:*.icons.test" > "$memory/origin.ext"
certificate x509 -req -days 30 -in "$memory/origin.csr" -CA "$memory/ca.pem" \
    -CAkey "$memory/ca.key" -CAcreateserial -extfile "$memory/origin.ext" -out "$memory/origin.pem"
cat > "$memory/nginx.conf" <<CONF
worker_processes 1;
pid $memory/nginx.pid;
error_log $work/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    types { image/png png; }
    root $memory/icons;
    ssl_certificate $memory/origin.pem;
    ssl_certificate_key $memory/origin.key;
    server {
        listen 127.0.0.1:$plain;
        listen 127.0.0.1:$secure ssl http2;
        add_header Cache-Control max-age=604800;
        location = /served { stub_status; }
    }
    server {
        listen 127.0.0.1:$asking;
        listen 127.0.0.1:$askingsecure ssl http2;
        add_header Cache-Control no-cache;
    }
}
CONF
/usr/sbin/nginx -p "$memory" -c "$memory/nginx.conf" -g 'daemon off;' 2>> "$work/nginx.log" &
started="$started $!"
"$bin/delay-relay" $far $plain 20 &
started="$started $!"
"$bin/delay-relay" $farsecure $secure 20 &
started="$started $!"
tries=0
until curl -s "http://127.0.0.1:$plain/served" > /dev/null &&
    curl -s "http://127.0.0.1:$far/served" > /dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { say "The origin did not start: see $work/nginx.log"; exit 1; }
    sleep 0.1
done
