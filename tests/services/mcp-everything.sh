#!/usr/bin/env bash
# The protocol's own reference MCP server, server-everything (MIT), from npm.
#
#   mcp-everything.sh [stdio]    install if needed; print the command line that runs it over stdio
#   mcp-everything.sh http       start it with streamable HTTP on a free loopback port; print its URL
#   mcp-everything.sh stop [URL] stop the one at URL, or all that `http` started
#
# SERVICES_HOME: where it is installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had.
# Its tool `get-env` answers with the whole environment of the process: start it with a clean one.
set -euo pipefail
SERVICE="MCP reference server" VERSION=2026.8.31
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=mcp-everything

install() {
  need node
  npm_package "$HOME_DIR" @modelcontextprotocol/server-everything $VERSION dist/index.js
  MAIN=$PACKAGE/dist/index.js
}

case ${1:-stdio} in
  stdio) install; printf 'node %q stdio\n' "$MAIN" ;;
  http)
    install
    # The server listens on every interface and prints the port it was given, not the one it got. This, loaded before
    # it, keeps it on loopback and prints the real port. The comment in it is the word by which `stop` knows it.
    preload="/*$WORD*/import net from 'node:net';const l=net.Server.prototype.listen;net.Server.prototype.listen=function(p,...r)"
    preload+="{this.once('listening',()=>console.log('ready at http://127.0.0.1:'+this.address().port));return l.call(this,p,'127.0.0.1',...r)}"
    start_server "$RUN" $WORD 'ready at (http://[0-9.:]+)' 30 env PORT=0 node --import "data:text/javascript,$preload" "$MAIN" streamableHttp
    echo "$ADDRESS/mcp" ;;
  stop) stop_servers "$RUN" $WORD "${2:-}" ;;
  *) sed -n '2,10p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
