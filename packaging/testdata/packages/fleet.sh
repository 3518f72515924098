# The fleet's deb, which has no service: it is installed, asked, and removed.

everything >/tmp/before-fleet
timed "installing the fleet's deb" /tmp/installed dpkg -i ingero-fleet_*_amd64.deb
check "the fleet installs" dpkg -s ingero-fleet
check "the fleet says what is next" says "next: ingero-fleet serve --help" /tmp/installed
ingero-fleet serve >/tmp/fleet 2>&1 &
server=$!
check "it answers" soon ingero fleet status --fleet 127.0.0.1:4318
kill "$server"
wait "$server"
timed "removing the fleet's deb" /tmp/removed dpkg -r ingero-fleet
check "nothing of the fleet is left" left /tmp/before-fleet '/var/lib/ingero/.*'
