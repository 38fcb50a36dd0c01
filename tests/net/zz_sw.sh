# swarm, mode both, many short rounds
. "$(dirname "$0")/lib_tcp.sh"
