#!/bin/sh
# Regenerates the certificates of the tests' TLS front, valid for a hundred years. Needs OpenSSL 3.
# The keys are not secret, because only the tests trust this authority.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# issue NAME EXTENSIONS FIRST-YEAR LAST-YEAR [OPENSSL-CA-OPTION…]
issue() {
    name=$1 extensions=$2 first=$3 last=$4
    shift 4
    openssl ecparam -name prime256v1 -genkey -noout -out "$name-key.pem"
    openssl req -new -key "$name-key.pem" -subj "/CN=Larder tests: $name" -out "$work/request"
    echo "$extensions" > "$work/extensions"
    openssl ca -batch -notext -config "$work/ca.conf" -extfile "$work/extensions" \
        -startdate "${first}0101000000Z" -enddate "${last}1231235959Z" \
        -in "$work/request" -out "$name.pem" "$@"
}

cat > "$work/ca.conf" <<EOF
[ca]
default_ca = tests
[tests]
database = $work/index
rand_serial = yes
new_certs_dir = $work
certificate = authority.pem
private_key = authority-key.pem
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
EOF
: > "$work/index"

authority='basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
subjectKeyIdentifier=hash'
server='basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectKeyIdentifier=hash
subjectAltName='
local=DNS:localhost,IP:127.0.0.1,IP:::1

issue authority "$authority" 2020 2119 -selfsign -keyfile authority-key.pem
issue trusted "$server$local" 2020 2119
issue expired "$server$local" 2020 2020
issue wrong-name "${server}DNS:elsewhere.example" 2020 2119
issue self-signed "$server$local" 2020 2119 -selfsign -keyfile self-signed-key.pem
rm authority-key.pem
