//! Tests that MCP servers that do not answer hold up only agents that use them.

use std::fs;

use serde_json::json;

use super::{
    data_dir::{DataDir, Ended},
    model::Model,
    server::Server,
};

/// A server that never answers keeps neither the engine from listening nor an agent without its tools from
/// working.
#[test]
fn a_silent_mcp_server_does_not_delay_agents_that_do_not_use_it() {
    let place = DataDir::new();
    place.write(
        "data/entourage.toml",
        "[[tools.mcp]]\nname = \"m\"\ncommand = \"sleep\"\nargs = [\"3600\"]\nconnect_seconds = 3600\n",
    );
    place.write("data/kinds/clerk.md", "---\nname: clerk\ntools: [wait]\n---\nDo it.\n");
    place.entourage(&["run", "Hello", "--kind", "clerk"]).good();
    let _server = Server::start(&place);
    place.entourage(&["run", "Hello", "--kind", "clerk"]).good();
}

/// A server with one tool, as a script: what it does first, and what the tool says.
fn server(first: &str, says: &str) -> String {
    let script = r#"
FIRST
while read -r line; do
    id=${line#*\"id\":} id=${id%%,*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"SAYS"}]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    script.replace("FIRST", first).replace("SAYS", says)
}

/// A server that was down when the engine started is retried; agents then call its tools.
#[test]
fn an_mcp_server_that_was_down_is_retried_and_its_tools_can_be_called() {
    let (place, model) = (DataDir::new(), Model::calling_once("late__greet", &json!({})));
    let arguments = json!(["-c", server("test -e ready || exit 1", "better late")]);
    place.write(
        "data/entourage.toml",
        &format!("[[tools.mcp]]\nname = \"late\"\ncommand = \"sh\"\nargs = {arguments}\n"),
    );
    place.write("data/kinds/clerk.md", "---\nname: clerk\ntools: [late__greet]\n---\nDo it.\n");
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    let mut server = Server::of(command);
    server.logged("continuing without its tools until it is connected");
    let without = place.entourage(&["run", "Greet me", "--kind", "clerk"]).good();
    assert!(without.stdout.contains("the MCP server `late` cannot be reached now"), "{without:?}");
    fs::write(place.path().join("ready"), "").expect("written");
    server.logged("the MCP server is connected now");
    let with = place.entourage(&["run", "Greet me", "--kind", "clerk"]).good();
    assert!(with.stdout.contains("It said: better late"), "{with:?}");
}

/// Each owner sets a secret; the model reads that there is one and not what it is. The server is asked for by nobody
/// before.
#[test]
fn a_server_is_given_the_secret_of_its_owner_and_the_model_never_reads_it() {
    let (place, model) = (DataDir::new(), Model::calling_once("own__greet", &json!({})));
    let arguments = json!(["-c", server("", r#"I was given '"$TOKEN"'."#)]);
    place.write(
        "data/entourage.toml",
        &format!(
            "[[tools.mcp]]\nname = \"own\"\ncommand = \"sh\"\nargs = {arguments}\nenv = {{ TOKEN = \"${{secret:token}}\" }}\n"
        ),
    );
    place.write("data/kinds/clerk.md", "---\nname: clerk\ntools: [own__greet]\n---\nDo it.\n");
    let key = place.entourage(&["secrets", "key"]).good().stdout;
    let said = |arguments: &[&str], stdin: &str| {
        let mut command = place.process(arguments);
        command.env("ENTOURAGE_SECRETS__KEYS", key.trim());
        model.ask(&mut command);
        Ended::of(assert_cmd::Command::from_std(command).write_stdin(stdin.to_owned()))
    };
    let run = ["run", "Greet me", "--kind", "clerk"];
    let without = said(&run, "").good();
    assert!(without.stdout.contains("needs the secret `token` of its user, which is not set"), "{without:?}");
    said(&["secrets", "set", "token"], "canary-4711\n").good();
    let with = said(&run, "").good();
    assert!(with.stdout.contains("I was given [secret]."), "{with:?}");
    said(&["mcp", "off", "own__greet"], "").good();
    let listed = said(&["mcp"], "").good();
    assert!(listed.stdout.contains("own__greet  off (switched here)"), "{listed:?}");
    let off = said(&run, "").good();
    assert!(off.stdout.contains("`own__greet` is switched off: go on without it"), "{off:?}");
    let mut keyless = assert_cmd::Command::from_std(place.process(&["secrets", "set", "token"]));
    let keyless = Ended::of(keyless.write_stdin("canary-4711"));
    assert!(keyless.error(2).contains("entourage secrets key"), "{keyless:?}");
}
