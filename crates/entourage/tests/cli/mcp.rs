//! MCP servers that do not answer: they hold up nobody who does not use them.

use super::{place::Place, server::Server};

/// A server that never answers keeps neither the house from listening nor an agent without its tools from
/// working.
#[test]
fn a_silent_mcp_server_holds_up_only_those_who_use_it() {
    let place = Place::new();
    place.write(
        "data/entourage.toml",
        "[[tools.mcp]]\nname = \"m\"\ncommand = \"sleep\"\nargs = [\"3600\"]\nconnect_seconds = 3600\n",
    );
    place.write("data/kinds/clerk.md", "---\nname: clerk\ntools: [wait]\n---\nDo it.\n");
    place.entourage(&["run", "Hello", "--kind", "clerk"]).good();
    let _server = Server::start(&place);
    place.entourage(&["run", "Hello", "--kind", "clerk"]).good();
}
