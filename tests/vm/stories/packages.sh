# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: Debian packages under systemd: install, start, reload, watchdog, sockets, devices, stop
# seconds: 60
# modules: dummy
# memory: 1024
# debian: colibri_*.deb

export DEBIAN_FRONTEND=noninteractive LC_ALL=C
unit=colibri-node.service
nid=10.9.0.1@tcp

now() { read -r up rest </proc/uptime; echo "${up%.*}${up#*.}0"; }
step() { echo "== $*"; }
# Waits until a command succeeds, for at most so many seconds.
await()
{
    limit=$(($(now) + $1 * 1000))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(now)" -lt $limit ] || { echo "not within the time: $*"; return 1; }
        sleep 0.2
    done
}
shown() { systemctl show --value --property "$1" $unit; }
is() { [ "$(shown "$1")" = "$2" ] || { echo "$1 is $(shown "$1"), not $2"; return 1; }; }
# From a node of its own: over TCP, to the port that a peer would use.
ping_from_peer() { timeout 20 colibri ping --net 'tcp(10.9.0.2)' "${1-$nid}"; }

ip link add eth0 type dummy
ip address add 10.9.0.1/24 dev eth0
ip address add 10.9.0.2/24 dev eth0
ip link set eth0 up

step 'install, start, and the first ping'
begin=$(now)
dpkg --install /var/tmp/debs/*.deb >log 2>&1 || { cat log; exit 1; }
installed=$(now)
[ "$(systemctl is-enabled $unit || :)" = disabled ]
[ "$(systemctl show --value --property Id colibri.service)" = $unit ]
[ "$(shown ActiveState)" = inactive ]
started=$(now)
systemctl start colibri
ready=$(now)
colibri ping $nid
first=$(now)
echo "installed after $((installed - begin)) ms; start $((ready - started)) ms, with the first ping" \
    "$((first - started)) ms; both $((installed - begin + first - started)) ms (goal 5000)"
ping_from_peer

step 'sd_notify, and the user of the node'
is Type notify
is ActiveState active
is StatusText ready
pid=$(shown MainPID)
grep -E '^(Uid|CapEff|NoNewPrivs)' /proc/"$pid"/status
[ "$(awk '/^Uid/ { print $2 }' /proc/"$pid"/status)" != 0 ]
# CAP_NET_BIND_SERVICE alone.
grep -q '^CapEff:.0000000000000400$' /proc/"$pid"/status

step 'reload'
ip link add eth1 type dummy
ip address add 10.10.0.1/24 dev eth1
ip link set eth1 up
cat >/etc/colibri/node.yaml <<'END'
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
    - net type: tcp1
      local NI(s):
        - interfaces:
              0: eth1
END
systemctl reload colibri
await 20 sh -c 'colibri net show | grep -q 10.10.0.1@tcp1'
is StatusText ready
cp /etc/colibri/node.yaml good.yaml
echo 'net: 7' >/etc/colibri/node.yaml
systemctl reload colibri || :
await 20 sh -c "systemctl show --value --property StatusText $unit | grep refused"
is ActiveState active
is MainPID "$pid"
colibri ping $nid
cp good.yaml /etc/colibri/node.yaml
systemctl reload colibri
await 20 is StatusText ready

step 'watchdog, and a group that may look'
mkdir -p /run/systemd/system/$unit.d
printf '[Service]\nWatchdogSec=4\nSupplementaryGroups=users\n' >/run/systemd/system/$unit.d/own.conf
echo 'COLIBRI_NODE_OPTIONS="--ctl-group=users"' >/etc/default/colibri-node
systemctl daemon-reload
systemctl restart colibri
is WatchdogUSec 4s
find /run/colibri -group users -perm 660 | grep .
pid=$(shown MainPID)
sleep 9
is MainPID "$pid"
is NRestarts 0
kill -STOP "$pid"
await 60 is NRestarts 1
await 60 is ActiveState active
[ "$(shown MainPID)" != "$pid" ]
await 20 colibri ping $nid
rm -r /run/systemd/system/$unit.d /etc/default/colibri-node
systemctl daemon-reload

step 'activation by the socket'
systemctl stop colibri
is ActiveState inactive
is Result success
[ "$(systemctl is-active colibri-node.socket)" = active ]
# A process of a user without any right to start a unit.
M0_LNET=attach timeout 60 colibri ping --attach $nid
is ActiveState active

step 'a device that is not there yet'
systemctl stop colibri
sed -i s/eth1/eth9/ /etc/colibri/node.yaml
systemctl start --no-block colibri
sleep 5
is ActiveState activating
journalctl --no-pager --unit $unit | grep 'eth9.*waiting for it'
ip link add eth9 type dummy
ip address add 10.11.0.1/24 dev eth9
ip link set eth9 up
await 30 is ActiveState active
colibri net show | grep -q 10.11.0.1@tcp1
ping_from_peer

step 'stop, and removal'
pid=$(shown MainPID)
begin=$(now)
systemctl stop colibri colibri-node.socket
echo "stopped after $(($(now) - begin)) ms"
is ActiveState inactive
is Result success
[ ! -e /proc/"$pid" ]
systemctl start colibri
pid=$(shown MainPID)
dpkg --purge $(dpkg-query -W -f='${Package}\n' '*colibri*') >log 2>&1 || { cat log; exit 1; }
[ ! -e /lib/systemd/system/$unit ]
[ ! -e /proc/"$pid" ]
[ ! -e /etc/colibri ]
