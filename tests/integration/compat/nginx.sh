# SPDX-License-Identifier: Apache-2.0
# Stock nginx with two workers that dropped root: serve, reload, stop. usage: nginx.sh [PREFIX...]
set -u
cd "$FOLDER"
user=$([ "$(id -u)" = 0 ] && echo 'user nobody nogroup;')
configure() { # daemon on|off, text
    cat >nginx.conf <<END
$user
daemon $1;
worker_processes 2;
pid $FOLDER/pid;
error_log $FOLDER/error.log;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $FOLDER/t1; proxy_temp_path $FOLDER/t2; fastcgi_temp_path $FOLDER/t3;
    uwsgi_temp_path $FOLDER/t4; scgi_temp_path $FOLDER/t5;
    server { listen 127.0.0.1:$PORT; location / { return 200 "$2\n"; } }
}
END
}
# ask TEXT: until the server answers so
ask() {
    local i answer=
    for i in $(seq 100); do
        answer=$(curl --noproxy '*' -s -m 5 "http://127.0.0.1:$PORT/" || true)
        [ "$answer" = "$1" ] && break
        sleep 0.1
    done
    echo "answer: $answer"
}
workers() { # how many, of whom, with which rights
    local master=$1 p
    for p in $(cat "/proc/$master/task/$master/children"); do
        echo "worker of $(stat -c %U "/proc/$p" 2>/dev/null) uid $(awk '/^Uid/ {print $2, $3}' "/proc/$p/status")"
    done | sort
}
gone() { # pid; one that nobody waits for may stay as a zombie
    local i
    for i in $(seq 100); do grep -qs '^State:.[^Z]' "/proc/$1/status" || return 0; sleep 0.05; done
    echo "still there: $1"
}

configure off 'hello from a worker'
"$@" "$SERVER" -p "$FOLDER" -c "$FOLDER/nginx.conf" -e "$FOLDER/error.log" &
master=$!
ask 'hello from a worker'
[ "$(cat pid)" = "$master" ] && echo 'the master is what the shell started'
workers "$master"
configure off 'second configuration'
kill -HUP "$master"
ask 'second configuration'
sleep 1
workers "$master"
kill -QUIT "$master"
wait "$master"
echo "master ended with $?"

configure on 'hello from a daemon'
"$@" "$SERVER" -p "$FOLDER" -c "$FOLDER/nginx.conf" -e "$FOLDER/error.log"
echo "starter ended with $?"
ask 'hello from a daemon'
master=$(cat pid)
workers "$master"
kill -TERM "$master"
gone "$master"
grep -cE '\[(alert|emerg|crit)\]' error.log
exit 0
