//! Tests that `--json` means the same for every command: each line of stdout is one object.

use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended},
    help::commands,
    model::Model,
    server::Server,
};

/// Kinds, an agency and settings for all commands, and a model that calls `create_note` once in each conversation.
fn place() -> (DataDir, Model) {
    let place = DataDir::new();
    let kind = |name: &str, keys: &str| {
        let file =
            format!("---\nname: {name}\ndescription: Notes.\ntools: [create_note]\n{keys}---\nNote it.\n");
        place.write(&format!("data/kinds/{name}.md"), &file);
    };
    kind("clerk", "approval:\n  - tools: create_note\nlimits: {max_tree_tokens: 1000000}\n");
    kind("hasty", "limits: {max_steps: 1}\non_limit: fail\n");
    let agency = "---\nname: studio\ndescription: Two.\nentry_points: clerk\nflows:\n  - clerk > hasty\n---\nBe brief.\n";
    place.write("data/kinds/studio.agency.md", agency);
    place.write("others/reader.md", "---\nname: reader\ndescription: Reads.\n---\nRead.\n");
    let token = "[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"0123456789abcdef0123456789abcdef\"\n";
    let secret = "secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"";
    let receiver = format!("[webhooks.crm]\nurl = \"http://127.0.0.1:1/\"\n{secret}\n");
    let bank = "[[tools.mcp]]\nname = \"bank\"\nurl = \"http://127.0.0.1:1/\"\nheaders = { Token = \"${secret:token}\" }\n";
    let keys = "[secrets]\nkeys = \"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"\n";
    place.write("data/entourage.toml", &format!("{token}{receiver}{bank}{keys}"));
    (place, Model::calling_once("create_note", &json!({ "title": "Offers", "content": "Two." })))
}

/// What an agent does, and then every command that shows it. Each is followed by its exit code and the fewest lines
/// that it prints.
#[test]
fn every_line_that_a_command_prints_with_json_is_one_object() {
    let (place, model) = place();
    let (mut met, mut wrong) = (Vec::new(), Vec::new());
    for (arguments, code, least) in [
        (&["agents"][..], 0, 0),
        (&["runs"], 0, 0),
        (&["run", "Note it.", "--kind", "hasty"], 1, 2),
        (&["retry", "@last"], 0, 1),
        (&["run", "Note it.", "--kind", "clerk"], 3, 2),
        (&["why"], 0, 1),
        (&["tree"], 0, 1),
        (&["answer", "@last", "--always"], 0, 1),
        (&["run", "--resume", "@last"], 0, 2),
        (&["grants"], 0, 1),
        (&["revoke", "@last"], 0, 1),
        (&["tree", "@last", "--at", "1"], 0, 1),
        (&["tail"], 0, 10),
        (&["show"], 0, 3),
        (&["export", "@last"], 0, 3),
        (&["context", "@last"], 0, 1),
        (&["request", "@last", "1"], 0, 1),
        (&["agents"], 0, 2),
        (&["runs"], 0, 2),
        (&["search", "Offers"], 0, 1),
        (&["usage"], 0, 1),
        (&["budget"], 0, 1),
        (&["budget", "@last", "--grant-tokens", "5"], 0, 1),
        (&["models"], 0, 0),
        (&["models", "test"], 0, 1),
        (&["kinds"], 0, 6),
        (&["kinds", "check"], 0, 0),
        (&["kinds", "show", "clerk"], 0, 1),
        (&["kinds", "import", "others"], 0, 1),
        (&["mcp"], 0, 1),
        (&["mcp", "off", "bank"], 0, 1),
        (&["mcp", "reset", "bank"], 0, 0),
        (&["secrets", "key"], 0, 1),
        (&["secrets", "set", "token"], 0, 1),
        (&["secrets"], 0, 1),
        (&["secrets", "reseal"], 0, 1),
        (&["secrets", "delete", "token"], 0, 0),
        (&["agency"], 0, 1),
        (&["agency", "graph", "studio"], 0, 1),
        (&["agency", "chats", "studio"], 0, 0),
        (&["agency", "delete-chat", "studio", "first"], 2, 0),
        (&["token", "--owner", "ada"], 0, 1),
        (&["settings"], 0, 10),
        (&["settings", "--in-force"], 0, 10),
        (&["doctor", "--offline"], 0, 5),
        (&["jobs"], 0, 2),
        (&["jobs", "run", "stranded"], 0, 1),
        (&["webhooks"], 0, 1),
        (&["webhooks", "retry", "crm"], 0, 1),
        (&["backup", "copy.db"], 0, 1),
        (&["prune"], 0, 1),
        (&["migrate"], 0, 1),
        (&["move", "postgres://127.0.0.1:1/work"], 1, 0),
        (&["init"], 0, 1),
        (&["session", "close", "@last"], 0, 1),
        (&["session", "list", "@last"], 0, 0),
        (&["comment", "@last", "good"], 0, 1),
        (&["steer", "@last", "on"], 0, 1),
        (&["pause", "@last"], 0, 1),
        (&["resume", "@last"], 0, 1),
        (&["modify", "@last", "else"], 0, 1),
        (&["stop", "@last"], 0, 1),
        (&["delete", "@last"], 0, 1),
        (&["forget", "@last"], 2, 0),
        (&["explore", "Note it."], 1, 2),
        (&["projects"], 0, 0),
        (&["projects", "create", "Trip"], 0, 1),
        (&["documents", "import", "others", "--project", "Trip"], 0, 1),
        (&["documents"], 0, 1),
        (&["documents", "show", "reader"], 0, 1),
        (&["documents", "versions", "reader"], 0, 1),
        (&["documents", "diff", "reader", "1"], 0, 1),
        (&["documents", "undo", "reader", "--to", "1"], 0, 1),
        (&["documents", "export", "reader"], 0, 1),
        (&["documents", "export", "--project", "Trip", "--to", "copies"], 0, 1),
        (&["act", "Trip", "What is there?"], 1, 1),
        (&["projects", "chats", "Trip"], 0, 1),
        (&["goals"], 0, 0),
        (&["goals", "create", "See Rome"], 0, 1),
        (&["goals", "show", "See Rome"], 0, 1),
        (&["goals", "tasks", "See Rome"], 0, 0),
        (&["goals", "change", "See Rome", "--description", "In May"], 0, 1),
        (&["goals", "archive", "See Rome"], 0, 1),
        (&["goals", "unarchive", "See Rome"], 0, 1),
        (&["goals", "user-agent"], 0, 1),
        (&["schedules"], 0, 0),
        (&["schedules", "create", "@last", "--trigger", "look", "--text", "Look.", "--every", "2h"], 0, 1),
        (&["schedules"], 0, 1),
        (&["schedules", "show", "@last"], 0, 1),
        (&["schedules", "pause", "@last"], 0, 1),
        (&["schedules", "resume", "@last"], 0, 1),
        (&["schedules", "fire", "@last"], 0, 1),
        (&["schedules", "end", "@last"], 0, 1),
        (&["goals", "delete", "See Rome"], 0, 1),
        (&["health", "--dry-run"], 0, 1),
        (&["open"], 1, 0),
        // The one command that has no such form.
        (&["chat"], 2, 0),
    ] {
        let mut command = place.command(&[arguments, &["--json"]].concat());
        // The one command that reads its standard input.
        if arguments.starts_with(&["secrets", "set"]) {
            command.write_stdin("canary-4711");
        }
        let ended = Ended::of(model.asked_by(&mut command));
        let is_object = |line: &str| matches!(serde_json::from_str(line), Ok(Value::Object(_)));
        let objects = ended.stdout.lines().filter(|line| is_object(line)).count();
        if ended.code != code || objects < least || objects != ended.stdout.lines().count() {
            wrong.push((arguments, ended));
        }
        met.push(arguments[0]);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let server = Server::start(&place);
    assert!(server.greeting.is_object());
    let reloaded = place.entourage(&["kinds", "reload", "--json"]).good().json();
    assert!(matches!(&reloaded[..], [Value::Object(_)]), "{reloaded:?}");
    let help = place.entourage(&["--help"]).good().stdout;
    // These print a document, which the help says.
    met.extend(["serve", "completions", "openapi", "help"]);
    let missed: Vec<&str> = commands(&help).into_iter().filter(|command| !met.contains(command)).collect();
    assert_eq!(missed, [""; 0], "the table above has every command");
}
