//! Tests that errors are one line, with their cause and the next step, and that nothing is lost.

use std::{fs, net::TcpListener};

use super::{
    data_dir::{DataDir, Ended},
    server::Server,
};

#[test]
fn a_usage_error_names_what_would_be_right() {
    let place = DataDir::new();
    let error = |arguments: &[&str]| place.entourage(arguments).error(2).to_owned();
    let kind = error(&["run", "x", "--kind", "nobody"]);
    assert!(
        kind.contains("`nobody`")
            && kind.contains(
                "assistant, documents, explorer, general, goal, orchestrator, researcher, task, user_agent"
            ),
        "{kind}"
    );
    assert!(error(&["run", "  "]).contains("the text is empty"));
    assert!(error(&["run", "x", "--files", "nowhere"]).contains("nowhere"));
    assert!(error(&["tree"]).contains("entourage run"));
    assert!(error(&["tree", "agt_00000000000070008000000000000000"]).contains("entourage agents"));
    assert!(error(&["kinds", "show", "nobody"]).contains("entourage kinds list"));
    assert!(error(&["chat", "--json"]).contains("run --json"));
    assert!(error(&["token", "--owner", "ada"]).contains("server.auth.jwt"));
    assert!(error(&["serve", "--bind", "0.0.0.0:0"]).contains("loopback"));
    assert!(error(&["run", "--resume"]).contains("nothing to resume"));
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, "", "nothing was made by any of this");

    // The parser of the command line refuses these.
    for arguments in [
        &["tree", "run_1"][..],
        &["tail", "--after", "x"],
        &["answer", "qst_1", "x"],
        &["revoke"],
        &["steer", "@last"],
        &["export"],
        &["agents", "--limit", "0"],
        &["usage", "--by", "colour"],
        &["backup"],
        &["completions", "cmd"],
        &["run"],
        &["token"],
        &["nonsense"],
        &["doctor", "--nonsense"],
    ] {
        let ended = place.entourage(arguments);
        assert!(ended.stderr.starts_with(ended.error(2)) && ended.stdout.is_empty(), "{ended:?}");
    }
    let nowhere = place.entourage(&["serve", "--bind", "here"]);
    assert!(nowhere.error(2).contains("give HOST:PORT, with an IP address for HOST"), "{nowhere:?}");
}

/// A conversation that cannot start is refused before the user types, with the same text as `run`.
#[test]
fn chat_with_an_unknown_kind_is_refused_before_any_input() {
    let place = DataDir::new();
    let critic = place.write("data/kinds/critic.md", "---\nname: critic\n---\nYou criticise.\n");
    let chat = |kind: &str| Ended::of(place.command(&["chat", "--kind", kind]).write_stdin("/quit\n"));
    let (chatted, ran) = (chat("nobody"), place.entourage(&["run", "x", "--kind", "nobody"]));
    assert_eq!(chatted.error(2), ran.error(2));
    // A server has the kinds that it has read, not those of the current files.
    let _server = Server::start(&place);
    fs::remove_file(critic).expect("there");
    place.write("data/kinds/poet.md", "---\nname: poet\n---\nYou rhyme.\n");
    chat("critic").good();
    let unread = chat("poet");
    let there = "there is no kind `poet`; there are: assistant, critic, documents, explorer, general, goal, orchestrator, researcher, task, user_agent";
    assert!(unread.error(2).contains(there), "{unread:?}");
}

/// A command that only reads creates nothing, so a mistyped directory is not created.
#[test]
fn commands_that_only_read_do_not_create_a_missing_data_directory() {
    let place = DataDir::new();
    let mistyped = place.path().join("mistyped");
    let data = mistyped.display().to_string();
    for command in
        [&["usage"][..], &["agents"], &["doctor", "--offline"], &["jobs"], &["prune"], &["context", "@last"]]
    {
        let ended = place.entourage(&[command, &["--data", &data]].concat());
        assert!(!mistyped.exists(), "{ended:?}");
    }
    let used = place.entourage(&["usage", "--data", &data]).good();
    assert!(used.stderr.contains(&format!("there is no database in {data} yet")), "{used:?}");
    assert!(!place.entourage(&["usage", "--data", &data, "--quiet"]).good().stderr.contains("database"));
}

#[test]
fn a_model_without_its_key_is_refused_before_an_agent_is_created() {
    let place = DataDir::new();
    let mut command = place.command(&["run", "x", "--model", "anthropic::claude"]);
    let ended = Ended::of(&mut command);
    assert!(ended.error(2).contains("ANTHROPIC_API_KEY"), "{ended:?}");
    let ended = place.entourage(&["run", "x", "--model", "gpt"]);
    assert!(ended.error(2).contains("provider::name"), "{ended:?}");
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, "");
}

#[test]
fn settings_errors_name_the_file_and_line_or_the_variable() {
    let place = DataDir::new();
    let error = |text: &str| {
        place.write("data/entourage.toml", text);
        place.entourage(&["run", "x"]).error(2).to_owned()
    };
    assert!(error("\n[server\n").contains("entourage.toml:2: "));
    assert!(error("[models]\ndefualt = \"x\"\n").contains("entourage.toml:2: unknown field `defualt`"));
    assert!(
        error("[dispatch]\n\nconcurrency = \"many\"\n")
            .contains("entourage.toml:3: `concurrency`: invalid type")
    );
    assert!(error("[[tools.mcp]]\nname = \"a b\"\ncommand = \"x\"\n").contains("cannot name an MCP server"));
    fs::remove_file(place.data().join("entourage.toml")).expect("removed");

    let mut command = place.command(&["run", "x"]);
    let ended = Ended::of(command.env("ENTOURAGE_DISPATCH__CONCURRENCY", "many"));
    assert!(ended.error(2).contains("ENTOURAGE_DISPATCH__CONCURRENCY: invalid type"), "{ended:?}");
    let mut command = place.command(&["run", "x"]);
    let ended =
        Ended::of(command.env("ENTOURAGE_SERVER__BNID", "x").env("ENTOURAGE_PORT", "tcp://10.0.0.1:80"));
    let ended = ended.good();
    assert!(ended.stderr.contains("did you mean ENTOURAGE_SERVER__BIND?"), "{ended:?}");
    assert!(ended.stderr.contains("ENTOURAGE_PORT names no setting"), "{ended:?}");
    let ended = place.entourage(&["run", "x", "--config", "missing.toml"]);
    assert!(ended.error(2).contains("missing.toml: cannot be read"), "{ended:?}");
}

#[test]
fn a_kind_with_a_mistake_is_left_out_with_a_note_and_refused_by_name() {
    let place = DataDir::new();
    place.write("data/kinds/clerk.md", "---\nname: clerk\nconversational: perhaps\n---\nYou file papers.\n");
    let ended = place.entourage(&["run", "x"]).good();
    assert!(ended.stderr.contains("clerk.md:3: error: "), "{ended:?}");
    assert!(ended.stderr.contains("continuing without this file"), "{ended:?}");
    let asked = place.entourage(&["run", "x", "--kind", "clerk"]);
    assert!(asked.error(2).contains("clerk.md:3: error: "), "{asked:?}");
    assert!(asked.stderr.contains("entourage kinds check"), "{asked:?}");
    // The built-in kind that the file was to replace does not work either.
    place.write("data/kinds/assistant.md", "---\nname: assistant\nlimits: few\n---\nYou help.\n");
    assert!(place.entourage(&["run", "x"]).error(2).contains("assistant.md:3: error: "));
    // Commands that only read still work.
    place.entourage(&["agents"]).good();
}

/// Of two files with one name the first is used, and the other is reported; other kinds still work.
#[test]
fn a_second_file_for_one_kind_is_left_out_with_a_note() {
    let place = DataDir::new();
    place.write("data/kinds/critic.md", "---\nname: critic\n---\nYou criticise.\n");
    place.write("data/kinds/critic-old.md", "---\nname: critic\n---\nYou praise.\n");
    for kind in ["assistant", "critic"] {
        let ended = place.entourage(&["run", "x", "--kind", kind]).good();
        let note = ended.stderr.lines().find(|line| line.contains("is defined in ")).expect("a note");
        assert!(note.contains("critic.md:1: error: ") && note.contains("critic-old.md"), "{note}");
    }
    let shown = place.entourage(&["kinds", "show", "critic"]).good().stdout;
    assert!(shown.contains("You praise."), "the first in the order of their paths: {shown}");
}

/// A pipe would wait for its writer for ever.
#[test]
fn a_pipe_among_kind_and_agency_files_is_not_opened() {
    let place = DataDir::new();
    place.write("data/kinds/critic.md", "---\nname: critic\n---\nYou criticise.\n");
    for pipe in ["data/kinds/pipe.md", "data/kinds/pipe.agency.md"] {
        let made = std::process::Command::new("mkfifo").arg(place.path().join(pipe)).status();
        assert!(made.expect("mkfifo is there").success());
    }
    let checked = place.entourage(&["kinds", "check"]);
    for pipe in ["pipe.md", "pipe.agency.md"] {
        let told = |line: &str| line.contains(pipe) && line.contains("it is no regular file");
        assert!(checked.stdout.lines().chain(checked.stderr.lines()).any(told), "{pipe}: {checked:?}");
    }
    let agency = place.path().join("data/kinds/pipe.agency.md").display().to_string();
    let chat = place.entourage(&["run", "x", "--agency", &agency]);
    assert!(chat.error(2).contains("it is no regular file"), "{chat:?}");
    let from = place.path().join("data/kinds").display().to_string();
    let imported = place.entourage(&["kinds", "import", &from]);
    assert!(imported.stdout.contains("is not a regular file"), "{imported:?}");
}

#[test]
fn a_port_in_use_and_an_unusable_data_directory_are_reported() {
    let place = DataDir::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ended = place.entourage(&["serve", "--bind", &address]);
    let error = ended.error(2);
    assert!(error.contains(&address) && error.contains("--bind"), "{error}");

    let file = place.write("a-file", "");
    let inside = file.join("data");
    let ended = place.entourage(&["run", "x", "--data", &inside.display().to_string()]);
    let error = ended.error(1);
    assert!(error.contains("a-file/data") && error.contains("--data"), "{error}");
}

#[test]
fn every_command_refuses_a_file_in_place_of_the_data_directory() {
    let place = DataDir::new();
    let data = place.write("a-file", "").display().to_string();
    for command in [
        &["run", "x"][..],
        &["agents"],
        &["kinds"],
        &["init"],
        &["backup", "copy.db"],
        &["doctor", "--offline"],
    ] {
        let ended = place.entourage(&[command, &["--data", &data]].concat());
        let error = ended.error(2);
        assert!(error.contains(&format!("{data}: this is no directory")), "{error}");
        assert!(error.contains("--data"), "{error}");
    }
}

#[test]
fn a_lock_file_that_cannot_be_written_is_reported() {
    let place = DataDir::new();
    place.entourage(&["run", "x", "--quiet"]).good();
    let lock = place.data().join("entourage.db.lock");
    fs::remove_file(&lock).expect("there");
    fs::create_dir(&lock).expect("in its place");
    let ended = place.entourage(&["agents"]);
    let error = ended.error(1);
    assert!(error.contains("entourage.db.lock cannot be written"), "{error}");
    assert!(error.contains("Make it and its directory writable, or name another directory"), "{error}");
}

#[test]
fn a_foreign_file_in_place_of_the_database_is_left_unchanged() {
    let place = DataDir::new();
    let database =
        place.write("data/entourage.db", "Dear diary, nothing happened today. ".repeat(50).as_str());
    let before = fs::read(&database).expect("readable");
    let ended = place.entourage(&["run", "x"]);
    let error = ended.error(1);
    assert!(error.contains("entourage.db") && error.contains("--data"), "{error}");
    assert_eq!(fs::read(&database).expect("readable"), before);
}
