//! MCP servers that run as child processes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use entourage_tools::{
    Effect, Error, McpServer, McpSettings, McpTransport, Outcome, Problem, Tool, connect_server,
};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    time::timeout,
};

use crate::support::{call, call_in, context, done, fails, kind, offered};

const SOON: Duration = Duration::from_secs(20);

/// The example that cargo builds along with the tests.
fn server_program() -> String {
    let tests = std::env::current_exe().unwrap();
    let program: PathBuf = tests.ancestors().nth(2).unwrap().join("examples/mcp_server");
    assert!(program.exists(), "build it: cargo build -p entourage-tools --example mcp_server");
    program.to_str().unwrap().to_owned()
}

fn command(name: &str, command: &str, args: &[&str]) -> McpSettings {
    let (args, env) = (args.iter().map(|&arg| arg.to_owned()).collect(), BTreeMap::new());
    McpSettings::new(name, McpTransport::Command { command: command.to_owned(), args, env, cwd: None })
}

fn everything() -> McpSettings {
    command("all", &server_program(), &[])
}

fn tool_named<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    tools.iter().find(|tool| tool.name() == name).unwrap_or_else(|| panic!("no {name}")).as_ref()
}

async fn connected() -> Vec<Arc<dyn Tool>> {
    connect_server(everything()).await.unwrap().0
}

/// Waits for a file that another process creates.
async fn wait_for_file(file: &Path) {
    let there = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, there).await.unwrap_or_else(|_| panic!("{} does not appear", file.display()));
}

#[tokio::test]
async fn the_tools_of_a_server_are_offered_and_broken_ones_reported() {
    let (tools, problems) = connect_server(everything()).await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert!(names.contains(&"all__echo") && names.contains(&"all__die_once"), "{names:?}");
    assert!(!names.contains(&"all__broken") && !names.contains(&"all__doubling"));
    let [Problem { server, message: broken }, Problem { message: doubling, .. }] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert_eq!(server, "all");
    assert!(broken.contains("the schema of `all__broken` is not valid"), "{broken}");
    assert_eq!(
        doubling,
        "the schema of `all__doubling` cannot be checked by: with its references written out it is larger than \
         10000 parts. This tool is left out"
    );
    let echo = tool_named(&tools, "all__echo");
    let spec = offered(echo, &kind("x", &[]), true).unwrap();
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("all__echo", "The echo tool."));
    assert_eq!(spec.parameters["properties"]["text"]["type"], "string");
    let bare = offered(tool_named(&tools, "all__nothing"), &kind("x", &[]), true).unwrap();
    assert_eq!(bare.parameters, json!({ "type": "object", "properties": {} }));
    assert_eq!(echo.effect(), Effect::Pure, "read-only");
    assert_eq!(tool_named(&tools, "all__die").effect(), Effect::Unsafe, "idempotent, but it destroys");
    assert_eq!(tool_named(&tools, "all__key").effect(), Effect::Idempotent);
    assert_eq!(tool_named(&tools, "all__fail").effect(), Effect::Unsafe, "nothing said");
}

#[tokio::test]
async fn a_call_passes_its_idempotency_key_to_the_server() {
    let tools = connected().await;
    let context = context(kind("x", &[]), true);
    let told = call_in(&context, tool_named(&tools, "all__key"), json!({})).await.unwrap();
    assert_eq!(told, Outcome::text(context.call.to_string()));
}

#[tokio::test]
async fn a_result_becomes_text_with_details_and_named_attachments() {
    let tools = connected().await;
    assert_eq!(done(tool_named(&tools, "all__echo"), json!({ "text": "hello" })).await.text, "hello");
    let structured = done(tool_named(&tools, "all__structured"), json!({ "text": "four" })).await;
    assert_eq!(structured.text, r#"{"length":4}"#);
    assert_eq!(structured.details, Some(json!({ "length": 4 })));
    let picture = done(tool_named(&tools, "all__picture"), json!({})).await.text;
    assert_eq!(picture, "look\n\n[an image, image/png]\n\nmemo://1\na memo");
    assert_eq!(done(tool_named(&tools, "all__nothing"), json!({})).await.text, "[done; no output]");
    assert_eq!(
        fails(tool_named(&tools, "all__fail"), json!({})).await,
        Error::Failed("the disk is full".to_owned())
    );
    assert_eq!(
        fails(tool_named(&tools, "all__refuse"), json!({})).await,
        Error::Failed("no such thing".to_owned())
    );
    assert!(matches!(
        fails(tool_named(&tools, "all__echo"), json!({ "txet": "x" })).await,
        Error::Arguments { .. }
    ));
}

#[tokio::test]
async fn a_child_process_gets_only_its_configured_environment() {
    // Cargo sets it for the tests, so it stands in for one of the engine's own keys.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok() || std::env::var("CARGO").is_ok());
    let mut settings = everything();
    let McpTransport::Command { env, .. } = &mut settings.transport else { unreachable!() };
    env.insert("TOKEN".to_owned(), "given".into());
    let (tools, _) = connect_server(settings).await.unwrap();
    let variable =
        async |name: &str| done(tool_named(&tools, "all__variable"), json!({ "text": name })).await.text;
    assert_eq!(variable("TOKEN").await, "given");
    assert_eq!(variable("PATH").await, std::env::var("PATH").unwrap());
    // The complete environment of the process, as the kernel reports it.
    let pid = done(tool_named(&tools, "all__life"), json!({})).await.text;
    let given = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let given = String::from_utf8_lossy(&given);
    let name = |variable: &str| variable.split('=').next().unwrap_or_default().to_owned();
    let given: BTreeSet<String> = given.split_terminator('\0').map(name).collect();
    let ours = ["PATH", "HOME", "LANG"].into_iter().filter(|name| std::env::var_os(name).is_some());
    let expected: BTreeSet<String> = ours.chain(["TOKEN"]).map(str::to_owned).collect();
    assert_eq!(given, expected);
}

#[tokio::test]
async fn dropping_the_last_tool_kills_the_whole_process_group() {
    let dir = TempDir::new().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let tools = connected().await;
    // Reads to the end of the pipe, which comes when the grandchild that holds it is gone. A separate thread,
    // because a runtime would wait for it even if the test has failed.
    let (path, (says, mut gone)) = (pipe.clone(), oneshot::channel());
    std::thread::spawn(move || {
        says.send(std::fs::File::open(path).unwrap().read_to_end(&mut Vec::new()).unwrap())
    });
    done(tool_named(&tools, "all__spawn"), json!({ "text": pipe })).await;
    done(tool_named(&tools, "all__echo"), json!({ "text": "still here" })).await;
    assert_eq!(gone.try_recv(), Err(TryRecvError::Empty));
    drop(tools);
    timeout(SOON, gone).await.expect("the grandchild lives").unwrap();
}

#[tokio::test]
async fn a_closed_server_ends_and_restarts_for_the_next_call() {
    let server = Arc::new(McpServer::new(everything()));
    let (tools, _) = server.tools().await.unwrap();
    let first = done(tool_named(&tools, "all__life"), json!({})).await.text;
    server.close().await;
    assert!(!PathBuf::from(format!("/proc/{first}/exe")).exists(), "the server has ended");
    assert_ne!(done(tool_named(&tools, "all__life"), json!({})).await.text, first);
}

#[tokio::test]
async fn a_server_that_died_is_restarted_for_the_next_call() {
    let tools = connected().await;
    let life = async || done(tool_named(&tools, "all__life"), json!({})).await.text;
    let first = life().await;
    kill_process(Pid::from_raw(first.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    assert_ne!(life().await, first);
}

/// How a server is started is the operator's: an agent whose call it keeps from being made reads nothing of it.
#[tokio::test]
async fn a_server_that_cannot_be_restarted_is_away_for_who_calls_it() {
    let dir = TempDir::new().unwrap();
    let program = dir.path().join("canary");
    symlink(server_program(), &program).unwrap();
    let (tools, _) = connect_server(command("all", program.to_str().unwrap(), &[])).await.unwrap();
    let first = done(tool_named(&tools, "all__life"), json!({})).await.text;
    fs::remove_file(&program).unwrap();
    kill_process(Pid::from_raw(first.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let away = Error::Failed("the MCP server `all` cannot be reached now".to_owned());
    for tool in ["all__life", "all__fail"] {
        assert_eq!(fails(tool_named(&tools, tool), json!({})).await, away);
    }
    let problem = connect_server(command("all", program.to_str().unwrap(), &[])).await.err().unwrap();
    assert!(problem.message.contains("canary"), "the operator reads it: {problem}");
}

/// A server that hangs is restarted once a call was cancelled and it has been silent for a while; one that is
/// only slow with that call, and answers a ping, is left alone.
#[tokio::test]
async fn a_hanging_server_is_restarted_and_a_slow_one_is_not() {
    for hangs in [false, true] {
        let tools = connected().await;
        let life = async || done(tool_named(&tools, "all__life"), json!({})).await.text;
        let first = life().await;
        let pid = Pid::from_raw(first.parse().unwrap()).unwrap();
        let dir = TempDir::new().unwrap();
        let call = call(tool_named(&tools, "all__hang"), json!({ "text": dir.path() }));
        let begun = async {
            wait_for_file(&dir.path().join("begun")).await;
            if hangs {
                kill_process(pid, Signal::STOP).unwrap();
                // One of its threads handles the signal; the others answer until it has.
                waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
            }
        };
        tokio::select! {
            outcome = call => panic!("it does not end by itself: {outcome:?}"),
            () = begun => {} // and the call is cut off
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(31)).await;
        tokio::time::resume();
        let now = timeout(SOON, life()).await.expect("it answers");
        assert_eq!(now != first, hangs);
    }
}

#[tokio::test]
async fn only_a_call_that_is_not_unsafe_is_repeated() {
    let tools = connected().await;
    let dir = TempDir::new().unwrap();
    let marker = dir.path().join("died");
    let again = done(tool_named(&tools, "all__die_once"), json!({ "text": marker })).await;
    assert_eq!(again.text, "a second life");
    let error = fails(tool_named(&tools, "all__die"), json!({})).await;
    assert!(
        matches!(&error, Error::InDoubt(why) if why.contains("is not known")),
        "a person judges: {error}"
    );
    done(tool_named(&tools, "all__echo"), json!({ "text": "back" })).await;
}

/// If such a message were skipped, the call would wait until its timeout.
#[tokio::test]
async fn an_unreadable_message_fails_the_call_with_the_reason() {
    let tools = connected().await;
    let error = timeout(SOON, fails(tool_named(&tools, "all__nested"), json!({}))).await.unwrap().to_string();
    assert!(error.contains("nested deeper than 127 levels"), "{error}");
    done(tool_named(&tools, "all__echo"), json!({ "text": "back" })).await;
}

/// The server sends one request after the other, and never reads an answer.
#[tokio::test]
async fn a_server_that_floods_its_client_with_requests_is_dropped() {
    let script = TempDir::new().unwrap();
    let path = script.path().join("server.sh");
    let listed = r#"{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}"#;
    let pings = r#"seq 100000 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"ping"}/'"#;
    let flood = ENDLESS.replace("result=$CALLED", pings);
    std::fs::write(&path, format!("LISTED='{listed}'\n{flood}")).unwrap();
    let (tools, _) = connect_server(command("bank", "sh", &[path.to_str().unwrap()])).await.unwrap();
    let doubt = "the MCP server `bank` was lost during the call (it sent more than 1000 requests and did not take \
                 the answers). Whether the call took effect is not known: check before you call again";
    let error = timeout(SOON, fails(tool_named(&tools, "bank__pay"), json!({}))).await.unwrap();
    assert_eq!(error, Error::InDoubt(doubt.to_owned()));
}

/// A server that returns further pages forever, or a long page again and again.
#[tokio::test]
async fn a_server_with_an_endless_list_of_tools_is_rejected() {
    for (description, limit) in
        [("d".to_owned(), "more than 256 tools"), ("d".repeat(100_000), "tools of more than 512 KiB")]
    {
        let script = TempDir::new().unwrap();
        let path = script.path().join("server.sh");
        let listed = format!(
            r#"{{"tools":[{{"name":"t","description":"{description}","inputSchema":{{"type":"object"}}}}],"nextCursor":"more"}}"#
        );
        std::fs::write(&path, format!("LISTED='{listed}'\n{ENDLESS}")).unwrap();
        let endless = command("endless", "sh", &[path.to_str().unwrap()]);
        let problem = timeout(SOON, connect_server(endless)).await.unwrap().err().unwrap();
        assert!(problem.message.contains(&format!("the MCP server `endless` lists {limit}")), "{problem}");
    }
}

/// A server may list 256 tools, also all on one page.
#[tokio::test]
async fn a_page_of_256_tools_is_taken_and_one_of_257_is_not() {
    let connected = async |many: usize| {
        let tools: Vec<_> = (0..many)
            .map(|n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } }))
            .collect();
        let script = TempDir::new().unwrap();
        let path = script.path().join("server.sh");
        let listed = json!({ "tools": tools });
        std::fs::write(&path, format!("LISTED='{listed}'\n{ENDLESS}")).unwrap();
        timeout(SOON, connect_server(command("many", "sh", &[path.to_str().unwrap()]))).await.unwrap()
    };
    assert_eq!(connected(256).await.unwrap().0.len(), 256);
    let problem = connected(257).await.err().unwrap();
    assert!(problem.message.contains("the MCP server `many` lists more than 256 tools"), "{problem}");
}

/// Answers every request with the same page of tools.
const ENDLESS: &str = r#"
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *tools/list*) result=$LISTED ;;
    *tools/call*) result=$CALLED ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test]
async fn an_unsafe_call_with_an_invalid_result_is_in_doubt() {
    let script = TempDir::new().unwrap();
    let path = script.path().join("server.sh");
    for called in [
        "null",
        r#"{"content":"text"}"#,
        r#"{"content":[],"isError":"yes"}"#,
        r#"{"content":[{"type":"smell"}]}"#,
    ] {
        let listed = r#"{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}"#;
        std::fs::write(&path, format!("LISTED='{listed}'\nCALLED='{called}'\n{ENDLESS}")).unwrap();
        let (tools, _) = connect_server(command("bank", "sh", &[path.to_str().unwrap()])).await.unwrap();
        let doubt = "the MCP server `bank` gave no answer to the call: its answer is not a tool result. \
                     Whether the call took effect is not known: check before you call again";
        assert_eq!(fails(tool_named(&tools, "bank__pay"), json!({})).await, Error::InDoubt(doubt.to_owned()));
    }
}

/// Answers `initialize`, or else a call, with an error as long as `LONG`.
const WORDY: &str = r#"
LONG=$(head -c 1000000 /dev/zero | tr '\0' x)
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) [ "$1" = initialize ] || result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *tools/list*) result='{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}' ;;
    *tools/call*) result= ;;
    *) continue ;;
    esac
    case $result in
    '') printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}\n' "$id" "$LONG" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result" ;;
    esac
done
"#;

/// Whatever a server gives as a reason is in logs, lists and outputs again and again.
#[tokio::test]
async fn a_long_error_of_a_server_is_cut() {
    let script = TempDir::new().unwrap();
    let path = script.path().join("server.sh");
    std::fs::write(&path, WORDY).unwrap();
    let server = |fails: &str| command("wordy", "sh", &[path.to_str().unwrap(), fails]);
    let problem = connect_server(server("initialize")).await.err().unwrap().to_string();
    assert!(problem.contains("xxx") && problem.len() < 1_000, "{} bytes", problem.len());
    let (tools, _) = connect_server(server("call")).await.unwrap();
    let failed = fails(tool_named(&tools, "wordy__pay"), json!({})).await.to_string();
    assert!(failed.starts_with("xxx") && failed.len() < 1_000, "{} bytes", failed.len());
}

#[tokio::test]
async fn dropping_a_call_sends_a_cancellation_to_the_server() {
    let tools = connected().await;
    let dir = TempDir::new().unwrap();
    let [begun, cancelled] = ["begun", "cancelled"].map(|name| dir.path().join(name));
    {
        let call = call(tool_named(&tools, "all__hang"), json!({ "text": dir.path() }));
        tokio::select! {
            outcome = call => panic!("it does not end by itself: {outcome:?}"),
            () = wait_for_file(&begun) => {}
        }
    }
    wait_for_file(&cancelled).await;
    assert!(matches!(
        call(tool_named(&tools, "all__echo"), json!({ "text": "x" })).await,
        Ok(Outcome::Done(_))
    ));
}

#[tokio::test]
async fn the_error_for_an_unreachable_server_states_the_cause() {
    let mut silent = command("silent", "sleep", &["1000"]);
    silent.connect_timeout = Duration::from_millis(200);
    let servers = [command("missing", "/nowhere/server", &[]), command("ends", "false", &[]), silent];
    let whys = ["does not start", "standard error", "did not answer within"];
    for (settings, why) in servers.into_iter().zip(whys) {
        let problem = timeout(SOON, connect_server(settings)).await.unwrap().err().unwrap().to_string();
        assert!(problem.contains(why), "{problem}");
    }
}
