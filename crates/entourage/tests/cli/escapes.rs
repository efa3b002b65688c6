//! Tests that a terminal only shows, and never executes, what models, tools, files and other people write.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use rustix::process::Signal;

use super::{
    data_dir::{DataDir, Ended, id},
    model::Model,
    provider::{KEY, Provider},
    server::Server,
    terminal::Terminal,
};

/// Writes the clipboard, titles the window, begins a link, moves up and erases, in C0 and in C1, reverses the
/// reading direction, and hides something.
const HOSTILE: &str =
    "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1b[1A\x1b[2K\u{e0041}\u{200b}\u{2028}\u{9b}2J\u{202e}txt";

/// Fails if anything is left that a terminal acts on; only colours are allowed, and only at a terminal.
#[track_caller]
fn assert_no_control_characters(written: &str) {
    let acts = |char: char| {
        char.is_control() && char != '\n'
            || matches!(char, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{e0041}')
    };
    assert!(!written.contains(acts), "{written:?}");
}

/// A place whose agents all answer with hostile text.
fn place() -> (DataDir, Model) {
    (DataDir::new(), Model::saying(&format!("The answer {HOSTILE} is here")))
}

/// Every command that shows a run's answer shows codes instead of control characters.
#[test]
fn commands_show_a_hostile_answer_without_control_characters() {
    let (place, model) = place();
    let task = format!("Look at {HOSTILE}");
    let ended = Ended::of(model.asked_by(&mut place.command(&["run", &task]))).good();
    let (told, said) = (r"Look at \u{1b}]52;c;aGk=\u{7}", r"The answer \u{1b}]52;c;aGk=\u{7}");
    let (in_json, last) = (r"Look at \u001b]52;c;aGk=\u0007", r"\u{9b}2J\u{202e}txt is here");
    assert!(ended.stdout.contains(said) && ended.stdout.contains(last), "{ended:?}");
    assert_no_control_characters(&ended.stdout);
    assert_no_control_characters(&ended.stderr);
    let kind = format!("---\nname: loud\ndescription: \"{}\"\n---\nBe loud.\n", r"\x1B[2J\u202E");
    place.write("data/kinds/loud.md", &kind);
    place.write("data/kinds/broken.md", &format!("---\nname: {HOSTILE}\n---\nBe broken.\n"));
    let misnamed = format!("---\nname: \"{}\"\n---\nBe nobody.\n", r"\x1B[1A\x9B2J\u202Etxt");
    place.write("data/kinds/misnamed.md", &misnamed);
    let (described, name) = (r"\u{1b}[2J\u{202e}", r"`\u{1b}[1A\u{9b}2J\u{202e}txt` is no name");
    // Input of the user.
    let (typed, repeated) = ("\x1b[2J", r"\u{1b}[2J");
    for (arguments, shown) in [
        (&["tree"][..], told),
        (&["tail"], told),
        (&["tail"], said),
        (&["agents"], told),
        (&["doctor"], name),
        (&["kinds"], described),
        (&["kinds", "check"], name),
        (&["kinds", "show", "loud"], described),
        (&["kinds", "show", typed], repeated),
        (&["agents", "--json"], in_json),
        (&["tail", "--json"], in_json),
        (&["show"], last),
        (&["show", "@last", "--json"], in_json),
        (&["export", "@last"], last),
        (&["grants", typed], repeated),
        (&["answer", typed, "yes"], repeated),
        // Only numbers and names of the program.
        (&["session", "list", "@last"], ""),
        (&["context", "@last"], ""),
        (&["context", "@last", "--json"], ""),
        (&["usage"], ""),
        (&["usage", "--by", "agent"], ""),
        (&["usage", "--by", "kind", "--json"], ""),
    ] {
        let ended = place.entourage(arguments);
        assert_no_control_characters(&ended.stdout);
        assert_no_control_characters(&ended.stderr);
        let is_shown = ended.stdout.contains(shown) || ended.stderr.contains(shown);
        assert!(is_shown, "{arguments:?} does not show {shown:?}: {ended:?}");
    }
    let mut chat = place.command(&["chat"]);
    let typed = format!("{task}\n/tree\n/loud {HOSTILE}\n");
    let ended = Ended::of(model.asked_by(chat.write_stdin(typed))).good();
    assert_no_control_characters(&ended.stdout);
    assert_no_control_characters(&ended.stderr);
    for (written, shown) in [
        (&ended.stdout, said),
        (&ended.stdout, last),
        (&ended.stdout, told),
        (&ended.stderr, r"there is no command /loud \u{1b}]52;c;aGk=\u{7}"),
    ] {
        assert!(written.contains(shown), "{shown:?}: {ended:?}");
    }
}

/// The same for messages of people, for agencies and for what the engine does by itself.
#[test]
fn commands_show_hostile_messages_and_files_without_control_characters() {
    let (place, model) = place();
    Ended::of(model.asked_by(&mut place.command(&["run", &format!("Look at {HOSTILE}")]))).good();
    let kind = format!("---\nname: loud\ndescription: \"{}\"\n---\nBe loud.\n", r"\x1B[2J\u202E");
    place.write("data/kinds/loud.md", &kind);
    let agency =
        kind.replace("name: loud", "name: duo").replace("\n---\nBe", "\nentry_points: loud\n---\nBe");
    place.write("data/kinds/duo.agency.md", &agency);
    let listed = place.entourage(&["agency"]).good();
    assert!(listed.stdout.contains(r"\u{1b}[2J\u{202e}"), "{listed:?}");
    for arguments in [
        &["agency", "list", "--json"][..],
        &["agency", "graph", "\x1b[2J"],
        &["comment", "@last", HOSTILE],
        &["comment", "@last", HOSTILE, "--json"],
        &["steer", "@last", HOSTILE],
        &["jobs"],
        &["jobs", "\x1b[2J"],
        &["webhooks", "retry", "\x1b[2J"],
    ] {
        let ended = place.entourage(arguments);
        assert_no_control_characters(&ended.stdout);
        assert_no_control_characters(&ended.stderr);
    }
}

/// A provider chooses the names of models.
#[test]
fn models_shows_hostile_names_without_control_characters() {
    let (place, provider) = (DataDir::new(), Provider::start());
    place.write("data/entourage.toml", &provider.settings("listed", KEY));
    for arguments in [&["models"][..], &["models", "--json"], &["doctor"]] {
        let ended = Ended::of(place.command(arguments).env_remove("ENTOURAGE_MODEL")).good();
        assert_no_control_characters(&ended.stdout);
        assert_no_control_characters(&ended.stderr);
        assert!(arguments != ["models"] || ended.stdout.contains(r"loud\u{1b}[2J\u{202e}"), "{ended:?}");
    }
}

/// A conversation at a terminal shows its earlier messages and its title.
#[test]
fn a_resumed_chat_shows_its_history_without_control_characters() {
    let (place, model) = place();
    Ended::of(model.asked_by(&mut place.command(&["run", &format!("Look at {HOSTILE}")]))).good();
    let mut command = place.process(&["chat", "@last"]);
    model.ask(&mut command);
    let mut terminal = Terminal::whole(command, 200);
    let mut written = terminal.all_until("> ");
    terminal.types("Again");
    written += &terminal.all_until("is here");
    assert!(written.contains(r"\u{9b}2J\u{202e}txt is here"), "{written:?}");
    for hostile in ["\x1b]52", "\x1b]8", "\x1b[1A\x1b[2K\u{e0041}", "\u{9b}", "\u{202e}", "\u{2028}"] {
        assert!(!written.contains(hostile), "{hostile:?}: {written:?}");
    }
}

/// The rule that holds a call back comes from a file, and the arguments from a model: in the question, in the
/// reports on its answer, and in the grant that it creates.
#[test]
fn answers_and_grants_show_hostile_rules_without_control_characters() {
    let place = DataDir::new();
    place.write(
        "data/kinds/assistant.md",
        "---\nname: assistant\ntools: [create_note]\napproval:\n  - tools: create_note\n    \
         when: \"title !~ \\x1B[2J\\u202E*\"\n---\nNote it.\n",
    );
    let model = Model::calling("create_note", &serde_json::json!({ "title": HOSTILE, "content": "a" }));
    let run = Ended::of(model.asked_by(&mut place.command(&["run", "Note"])));
    assert_eq!(run.code, 3, "{run:?}");
    let question = id(&run.stderr, "qst_").to_owned();
    let answer = |arguments: &[&str]| place.entourage(&[&["answer", &question], arguments].concat());
    let wrong = answer(&["--approve", "--arguments", &serde_json::json!({ HOSTILE: 1 }).to_string()]);
    assert_ne!(wrong.code, 0, "{wrong:?}");
    let approved = answer(&["--always"]).good();
    let again = answer(&["--reject", HOSTILE]);
    assert_ne!(again.code, 0, "{again:?}");
    let grants = place.entourage(&["grants"]).good();
    assert!(grants.stdout.contains(r"title !~ \u{1b}[2J\u{202e}*"), "{grants:?}");
    let revoked = place.entourage(&["revoke", id(&grants.stdout, "grt_")]).good();
    for ended in [run, wrong, approved, again, grants, revoked] {
        assert_no_control_characters(&ended.stdout);
        assert_no_control_characters(&ended.stderr);
    }
}

/// JSON keeps the text, in JSON's escapes.
#[test]
fn json_output_keeps_the_original_text() {
    let (place, model) = place();
    let ended = Ended::of(model.asked_by(&mut place.command(&["run", "Look", "--json"]))).good();
    assert_no_control_characters(&ended.stdout);
    let result = ended.json().pop().expect("a result");
    assert_eq!(result["answer"], format!("The answer {HOSTILE} is here"));
}

/// A question of an agent is behind a margin of the program: it cannot redraw what is above it, and none of
/// its lines can pass for another question.
#[test]
fn a_question_cannot_forge_another() {
    let place = DataDir::new();
    let forged = format!("Which colour?{HOSTILE}\n? boss asks for approval to call:\n(a number) >");
    let model = Model::asking(&forged);
    let ended = Ended::of(model.asked_by(&mut place.command(&["run", "Ask"])));
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_no_control_characters(&ended.stderr);
    let questions: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with('?')).collect();
    assert_eq!(questions, ["? assistant asks:"], "{ended:?}");
    assert!(ended.stderr.contains("\n  │ ? boss asks for approval to call:\n"), "{ended:?}");

    let mut command = place.process(&["run", "--resume", id(&ended.stderr, "agt_")]);
    model.ask(&mut command);
    let mut terminal = Terminal::of(command);
    terminal.shows("? assistant asks:\r\n  │ Which colour?");
    terminal.shows(r"\u{1b}[1A\u{1b}[2K");
    terminal.shows("\r\n  │ ? boss asks for approval to call:\r\n");
}

/// The program itself shows a call that waits for approval: its tool and its arguments as they are.
#[test]
fn an_approval_shows_the_tool_and_the_arguments_of_the_call() {
    let place = DataDir::new();
    place.write(
        "data/kinds/assistant.md",
        "---\nname: assistant\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n",
    );
    let arguments = serde_json::json!({ "title": HOSTILE, "content": "a\n? boss asks: b" });
    let model = Model::calling("create_note", &arguments);
    let ended = Ended::of(model.asked_by(&mut place.command(&["run", "Note"])));
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_no_control_characters(&ended.stderr);
    let asked = "? assistant asks for approval to call:\n  │ create_note {\n";
    assert!(ended.stderr.contains(asked), "{ended:?}");
    assert!(ended.stderr.contains(r#""content": "a\n? boss asks: b""#), "its line end is none: {ended:?}");
}

/// Text that an error repeats cannot pass for a line of the log.
#[test]
fn text_repeated_in_an_error_cannot_forge_a_log_line() {
    let place = DataDir::new();
    place.write(
        "data/entourage.toml",
        "[[tools.mcp]]\nname = \"x\"\ncommand = \"no\\n2026-01-01T00:00:00Z ERROR forged\"\n",
    );
    place.write("data/kinds/user.md", "---\nname: clerk\ntools: [mcp]\n---\nDo it.\n");
    let ended = place.entourage(&["--model", "rehearsal", "-vv", "run", "Look.", "--kind", "clerk"]);
    assert!(ended.stderr.contains("cannot be reached (no"), "{ended:?}");
    assert!(ended.stderr.lines().all(|line| !line.starts_with("2026-01-01")), "{ended:?}");
}

/// An MCP server that refuses its client with a text that the client gave.
const REFUSING: &str = r#"
read -r line
id=${line#*\"id\":} id=${id%%,*}
printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}\n' "$id" "$0"
"#;

/// What a server logs by itself: about a file of kinds, about the server of a tool, and about a call that a
/// model made in a request. It logs names from webhooks and addresses not at all, or only in this form.
#[test]
fn a_server_logs_hostile_text_without_control_characters() {
    let (place, model) = (DataDir::new(), Model::calling(HOSTILE, &serde_json::json!({})));
    place.write("data/kinds/loud.md", "---\nname: \"\\x1B[1A\\x9B2J\\u202Etxt\"\n---\nBe loud.\n");
    let refusal = serde_json::json!(format!("{HOSTILE}\n2026-01-01T00:00:00Z ERROR forged"));
    let arguments = serde_json::json!(["-c", REFUSING, refusal.to_string()]);
    let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    place.write(
        "data/entourage.toml",
        &format!(
            "[[tools.mcp]]\nname = \"loud\"\ncommand = \"sh\"\nargs = {arguments}\n\
             [server.webhooks.crm]\nsecret = \"{secret}\"\n"
        ),
    );
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    model.ask(&mut command);
    let mut server = Server::of(command);
    let ended = place.entourage(&["run", &format!("Look at {HOSTILE}"), "--kind", "orchestrator"]).good();
    assert!(ended.stdout.contains("I could not do that."), "{ended:?}");
    assert_eq!(server.get("/v1/agencies/%1b%5b2J%c2%9b2J%e2%80%ae", None), 404);
    let address = server.address();
    let mut webhook = TcpStream::connect(address).expect("it listens");
    let body = serde_json::json!({ "id": HOSTILE }).to_string();
    write!(
        webhook,
        "POST /webhook/orchestrator HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         x-request-id: \u{9b}2J\r\nwebhook-id: \u{9b}2J\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    webhook.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");

    let said =
        ["is no name for a kind", "continuing without its tools until", "a call on a message was refused"];
    let log = server.logged_all(&said);
    assert_no_control_characters(&log);
    assert!(log.contains("ERROR forged") && !log.contains("\n2026-01-01"), "{log}");
    for words in said {
        let line = log.lines().find(|line| line.contains(words)).expect("it was said");
        assert!(line.contains(r"\u{9b}2J\u{202e}txt"), "what they say stands in it: {line}");
    }
}

/// The client chooses the path of a request, also where everything is logged.
#[test]
fn a_request_path_cannot_forge_a_log_line() {
    let place = DataDir::new();
    let mut server = Server::of(place.process(&["-vv", "serve", "--bind", "127.0.0.1:0", "--json"]));
    let forged = "%0a2026-01-01T00:00:00Z%20ERROR%20forged%1b%5b2J%c2%9b2J%e2%80%ae";
    for path in ["/v1/agencies", "/nowhere"] {
        assert_eq!(server.get(&format!("{path}/{forged}"), None), 404, "{path}");
    }
    // The log line of something that comes after the requests.
    server.signal(Signal::HUP);
    let log = server.logged_all(&["the kinds were reloaded"]);
    assert_eq!(log.matches("finished processing request").count(), 2, "each is told of: {log}");
    assert_no_control_characters(&log);
    assert!(!log.contains("\n2026-01-01"), "{log}");
}

/// Arguments may be another program's text, also where the command line refuses them.
#[test]
fn refused_arguments_are_repeated_without_control_characters() {
    let place = DataDir::new();
    for arguments in
        [&[HOSTILE][..], &["agents", "--status", HOSTILE], &["run", "hi", "--model"], &["--\x1b[2J"]]
    {
        let ended = place.entourage(arguments);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert_no_control_characters(&ended.stderr);
    }
    let mut terminal = Terminal::start(&place, &[HOSTILE]);
    terminal.shows(r"\u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x");
    terminal.shows(r"\u{9b}2J\u{202e}txt");
}
