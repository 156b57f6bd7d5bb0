#!/bin/bash
# start-real.sh STATE_DIR PORT [WORKERS] [sqlite|mariadb|kept]: starts Debian's real Placement (packages placement-api,
# python3-placement, gunicorn; mariadb-server for mariadb) on 127.0.0.1:PORT with an empty database, and returns when it
# responds; `kept` is the SQLite database of an earlier start there. Authentication is noauth2. stop-real.sh STATE_DIR stops it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
state=$(cd "$1" && pwd) port=$2 workers=${3:-1} db=${4:-sqlite}
export PYTHONDONTWRITEBYTECODE=1 OS_PLACEMENT_CONFIG_DIR=$state PYTHONPATH=$here

if [ "$db" = mariadb ]; then
  my=$state/mariadb socket=$state/mariadb/s
  mkdir -p "$my"
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$my/data" \
    --auth-root-authentication-method=normal --skip-test-db >"$my/install.log" 2>&1
  setsid /usr/sbin/mariadbd --no-defaults --user="$(id -un)" --datadir="$my/data" --socket="$socket" \
    --pid-file="$my/own-pid" --skip-networking --innodb-buffer-pool-size=512M --max-connections=400 \
    >"$my/log" 2>&1 </dev/null &
  echo $! >"$state/mariadb.pid"
  for _ in $(seq 1 400); do
    mariadb --no-defaults -uroot -S "$socket" -e 'select 1' >/dev/null 2>&1 && break
    sleep 0.05
  done
  mariadb --no-defaults -uroot -S "$socket" -e 'create database placement character set utf8'
  url="mysql+pymysql://root@localhost/placement?unix_socket=$socket&charset=utf8"
else
  [ "$db" = kept ] || rm -f "$state/placement.sqlite"
  url="sqlite:///$state/placement.sqlite"
fi

cat >"$state/placement.conf" <<CONF
[DEFAULT]
debug = false
log_file = $state/placement.log
[api]
auth_strategy = noauth2
[placement_database]
connection = $url
CONF
/usr/bin/python3 "$here/real_placement.py" prepare >"$state/prepare.log" 2>&1 || { tail -20 "$state/prepare.log" >&2; exit 1; }
cd "$state"
setsid /usr/bin/gunicorn --bind "127.0.0.1:$port" --workers "$workers" --worker-class gthread --threads 16 \
  --keep-alive 75 --timeout 120 --pythonpath "$here" real_placement:application >"$state/server.log" 2>&1 </dev/null &
pid=$!
echo "$pid" >"$state/pid"
for _ in $(seq 1 600); do
  if ! kill -0 "$pid" 2>/dev/null; then tail -20 "$state/server.log" >&2; exit 1; fi
  if (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 &&
    timeout 20 head -1 <&3 | grep -q ' 200 ') 2>/dev/null; then exit 0; fi
  sleep 0.05
done
echo "start-real.sh: no answer on port $port; see $state/server.log" >&2
exit 1
