//! Tests of agencies, which are files beside the kinds: listing, drawing and talking to them.

use entourage::{Owner, Settings, engine::ChatMessage, types::AgentId};
use tokio_util::sync::CancellationToken;

use super::{
    data_dir::{DataDir, Ended},
    server::Server,
};

const STUDIO: &str = "---\nname: studio\ndescription: Builds small programs.\nentry_points: ceo\nflows:\n  \
                      - ceo > developer > reviewer\n  - ceo > reviewer\n---\nBe brief.\n";

fn place_with_studio(directory: &str) -> DataDir {
    let place = DataDir::new();
    place.write(&format!("{directory}/studio.agency.md"), STUDIO);
    for name in ["ceo", "developer", "reviewer"] {
        let file = format!(
            "---\nname: {name}\ndescription: The {name}.\ntools: [send_message]\n---\nYou are the {name}.\n"
        );
        place.write(&format!("{directory}/{name}.md"), &file);
    }
    place
}

/// Shows: S2-R024, S2-R035.
#[test]
fn an_agency_is_listed_and_sets_instructions_and_peers_of_its_kinds() {
    let place = place_with_studio("data/kinds");
    let list = place.entourage(&["agency"]).good().stdout;
    assert_eq!(list.trim(), "studio  Builds small programs. (ceo, developer, reviewer)");
    let listed = place.entourage(&["agency", "list", "--json"]).good().json();
    assert_eq!(listed[0]["flows"][1]["to"], "reviewer");
    let kind = place.entourage(&["kinds", "show", "ceo", "--json"]).good().json();
    assert_eq!(kind[0]["instructions"], "Be brief.\n\nYou are the ceo.");
    assert_eq!(kind[0]["peers"], serde_json::json!(["developer", "reviewer"]));
    let kind = place.entourage(&["kinds", "show", "reviewer", "--json"]).good().json();
    assert_eq!(kind[0]["peers"], serde_json::json!([]), "a flow goes one way");
}

#[test]
fn a_chart_is_drawn_for_the_terminal_and_as_mermaid() {
    let place = place_with_studio("team");
    let drawn = place.entourage(&["agency", "graph", "team/studio.agency.md"]).good().stdout;
    let tree = "user\n└─ ceo\n   ├─ developer\n   │  └─ reviewer\n   └─ reviewer\n";
    assert!(drawn.starts_with(tree), "{drawn}");
    assert!(drawn.contains("flowchart LR") && drawn.contains("    a0 --> a1\n"), "{drawn}");
    let alone = place.entourage(&["agency", "graph", "team/studio.agency.md", "--mermaid"]).good().stdout;
    assert!(alone.starts_with("flowchart LR\n"), "{alone}");
}

#[test]
fn run_and_chat_accept_an_agency_file_with_the_kinds_beside_it() {
    let place = place_with_studio("team");
    let ran =
        place.entourage(&["run", "Build it", "--agency", "team/studio.agency.md", "--json"]).good().json();
    assert_eq!(ran[0]["kind"], "ceo");
    let mut chat = place.command(&["chat", "--agency", "team/studio.agency.md"]);
    let said = Ended::of(chat.write_stdin("Hello\n")).good();
    assert!(!said.stdout.trim().is_empty());
}

/// A server has its own kinds, one of which may have the name of the file's first agent.
#[test]
fn an_agency_file_is_refused_while_a_server_runs() {
    let place = place_with_studio("team");
    place.write("data/kinds/ceo.md", "---\nname: ceo\n---\nYou lead something else.\n");
    place.write("data/kinds/clerk.md", "---\nname: clerk\n---\nYou file papers.\n");
    place.write("data/kinds/office.agency.md", "---\nname: office\nentry_points: clerk\n---\nBe brief.\n");
    let _server = Server::start(&place);
    for arguments in [&["run", "Build it"][..], &["chat"]] {
        let refused = place.entourage(&[arguments, &["--agency", "team/studio.agency.md"]].concat());
        assert!(refused.error(2).contains("--agency has no effect on the server"), "{refused:?}");
    }
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, "", "nothing was begun");
    let ran = place.entourage(&["run", "Build it", "--agency", "office", "--json"]).good().json();
    assert_eq!(ran[0]["kind"], "clerk");
}

#[test]
fn a_mistake_in_an_agency_is_reported_in_one_line() {
    let place = place_with_studio("team");
    let wrong = |arguments: &[&str]| place.entourage(arguments).error(2).to_owned();
    assert!(wrong(&["agency", "graph", "none"]).contains("no agency `none`"));
    assert!(wrong(&["agency", "graph", "team/none.agency.md"]).contains("cannot be read"));
    assert!(wrong(&["agency", "graph", "team/ceo.md"]).contains("ends with `.agency.md`"));
    assert!(wrong(&["run", "x", "--agency", "none"]).contains("`entourage agency list`"));
    place.write("team/studio.agency.md", &STUDIO.replace("ceo > reviewer", "ceo > ceo"));
    assert!(
        wrong(&["run", "x", "--agency", "team/studio.agency.md"]).contains("`ceo` cannot write to itself")
    );
    place.write("team/studio.agency.md", &STUDIO.replace("ceo > reviewer", "ceo > eve"));
    let ended = place.entourage(&["chat", "--agency", "team/studio.agency.md"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("studio.agency.md:1: error: `eve` is no kind"), "{}", ended.stderr);
    let place = place_with_studio("data/kinds");
    place.write("data/kinds/studio.agency.md", &STUDIO.replace("ceo > reviewer", "ceo > eve"));
    for arguments in [&["agency", "graph", "studio"][..], &["agency", "list"]] {
        let said = place.entourage(arguments).stderr;
        assert!(
            said.contains("studio.agency.md:1: error: `eve` is no kind"),
            "a name hides no cause: {said}"
        );
    }
}

/// Sends a message to a chat of the agency; no agent answers yet. Returns the chat's first agent.
fn send_to_chat(place: &DataDir, chat: &str) -> AgentId {
    let settings = Settings::load(Some(&place.data()), None).expect("settings");
    let said = async {
        let client = entourage::look(&settings).await.expect("an engine").client(Owner::local());
        let stays = CancellationToken::new();
        stays.cancel();
        let speech = ChatMessage { chat: chat.into(), text: "Hello".into(), ..ChatMessage::default() };
        client.respond("studio", speech, None, stays).await.expect("it is taken");
        client.threads("studio", chat).await.expect("threads")[0].id
    };
    entourage::runtime().expect("threads").block_on(said)
}

#[test]
fn chats_of_an_agency_are_listed_and_deleted_with_and_without_a_server() {
    let place = place_with_studio("data/kinds");
    let chats = || place.entourage(&["agency", "chats", "studio", "--json"]).good().json();
    let names = || {
        let mut names: Vec<String> =
            chats().iter().map(|chat| chat["name"].as_str().expect("a name").to_owned()).collect();
        names.sort();
        names
    };
    let none = place.entourage(&["agency", "chats", "studio"]).good();
    assert!(none.stdout.is_empty() && none.stderr.contains("no chats"), "{none:?}");
    send_to_chat(&place, "first");
    let odd = send_to_chat(&place, "a b/ü?");
    assert_eq!(names(), ["a b/ü?", "first"]);
    place.entourage(&["agency", "delete-chat", "studio", "first"]).good();
    assert_eq!(names(), ["a b/ü?"]);

    let server = Server::start(&place);
    assert_eq!(names(), ["a b/ü?"]);
    let line = place.entourage(&["agency", "chats", "studio"]).good().stdout;
    assert!(line.starts_with(&format!("a b/ü?  {odd}  since ")), "{line}");
    let deleted = place.entourage(&["agency", "delete-chat", "studio", "a b/ü?"]).good();
    assert!(deleted.stderr.contains("a b/ü? was deleted"), "{deleted:?}");
    assert_eq!(names(), Vec::<String>::new());
    let unknown = place.entourage(&["agency", "delete-chat", "studio", "none"]);
    assert!(unknown.error(2).contains("there is no chat `none`"), "{unknown:?}");
    assert_eq!(server.stop(), 0);
}
