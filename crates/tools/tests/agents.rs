//! Tools that reach the user, peers, new agents, and the agent itself later.

use std::time::Duration;

use entourage_tools::{
    Ask, AskUser, AskUserArguments, Delegate, Done, Error, Outcome, SendMessage, SpawnAgent,
    SpawnAgentArguments, Target, Tool, Wait,
};
use entourage_types::OnEnd;
use serde_json::{Value, json};

use crate::support::{call, call_in, context, fails, kind, offered, speaker};

fn said(text: &str) -> Outcome {
    let said = Some(text.to_owned());
    Outcome::Done(Done { text: "delivered".to_owned(), said, ..Done::default() })
}

fn asked(peer: &str, text: &str) -> Outcome {
    let to = Target::Peer(peer.to_owned());
    Outcome::Delegate(Delegate { to, text: text.to_owned(), on_end: OnEnd::Answer })
}

#[tokio::test]
async fn send_message_writes_to_peers_and_to_the_user() {
    let boss = context(speaker(&["researcher", "writer"]), true);
    let send = async |arguments| call_in(&boss, &SendMessage, arguments).await;
    assert_eq!(send(json!({ "recipient": "user", "message": "hello" })).await, Ok(said("hello")));
    assert_eq!(
        send(json!({ "recipient": "writer", "message": "write" })).await,
        Ok(asked("writer", "write"))
    );
    assert_eq!(send(json!({ "recipient_agent": "writer", "message": "w" })).await, Ok(asked("writer", "w")));
    for unknown in [
        json!({ "recipient": "plumber", "message": "hello" }),
        json!({ "recipient_agent": "plumber", "message": "hello" }),
    ] {
        let why = send(unknown.clone()).await.unwrap_err().to_string();
        for name in ["researcher", "writer", "user"] {
            assert!(why.contains(name), "{unknown}: {why}");
        }
    }
    assert!(matches!(
        send(json!({ "recipient": "user", "message": " " })).await,
        Err(Error::Arguments { .. })
    ));
}

/// An agent with peers must name the recipient, even a single one: the schema requires it, and omitting it is
/// an error. Only an agent whose sole recipient is the user may omit it.
/// Shows: S2-R033, S2-R049.
#[tokio::test]
async fn the_recipient_of_send_message_is_required() {
    let alone = context(speaker(&[]), true);
    for arguments in [json!({ "message": "hi" }), json!({ "text": "hi" })] {
        assert_eq!(call_in(&alone, &SendMessage, arguments).await, Ok(said("hi")));
    }
    assert!(call_in(&alone, &SendMessage, json!({})).await.is_err());
    let pair = context(kind("pair", &["writer"]), true);
    let named = json!({ "recipient": "writer", "message": "w" });
    assert_eq!(call_in(&pair, &SendMessage, named).await, Ok(asked("writer", "w")));
    let other_name = json!({ "recipient_agent": "writer", "text": "w" });
    assert_eq!(call_in(&pair, &SendMessage, other_name).await, Ok(asked("writer", "w")));
    let to_user = json!({ "recipient_agent": "user", "message": "hi" });
    assert!(matches!(call_in(&pair, &SendMessage, to_user).await, Err(Error::Arguments { .. })));

    let nobody = call_in(&pair, &SendMessage, json!({ "message": "w" })).await.unwrap_err();
    assert!(matches!(&nobody, Error::Arguments { why, .. } if why.contains("recipient")), "{nobody:?}");
    let required = |kind| offered(&SendMessage, &kind, true).unwrap().parameters["required"].clone();
    assert_eq!(required(kind("pair", &["writer"])), json!(["recipient", "message"]));
    assert_eq!(required(speaker(&[])), json!(["message"]));
}

#[test]
fn send_message_is_offered_only_to_agents_with_a_recipient() {
    let recipients = |kind, is_root| {
        offered(&SendMessage, &kind, is_root)
            .map(|spec| spec.parameters["properties"]["recipient"]["enum"].clone())
    };
    assert_eq!(recipients(kind("hermit", &[]), true), None);
    assert_eq!(recipients(speaker(&[]), false), None, "below the root there is no user");
    assert_eq!(recipients(speaker(&[]), true), Some(Value::Null), "one recipient needs no choice");
    assert_eq!(recipients(speaker(&["writer"]), true), Some(json!(["writer", "user"])));
    assert_eq!(recipients(speaker(&["writer"]), false), Some(json!(["writer"])));
    let mut chatty = kind("chatty", &["writer"]);
    chatty.conversational = true;
    assert_eq!(recipients(chatty, true), Some(json!(["writer", "user"])));
    let spec = offered(&SendMessage, &speaker(&["writer"]), true).unwrap();
    assert!(spec.description.contains("- writer: does what a writer does"), "{}", spec.description);
}

#[tokio::test]
async fn spawn_agent_delegates_without_waiting() {
    let boss = context(kind("boss", &["researcher"]), true);
    let outcome = call_in(&boss, &SpawnAgent, json!({ "kind": "researcher", "task": "look" })).await;
    let new = |title: &str, text: &str| {
        let to = Target::New { kind: "researcher".to_owned(), title: title.to_owned() };
        Ok(Outcome::Delegate(Delegate { to, text: text.to_owned(), on_end: OnEnd::Wake }))
    };
    assert_eq!(outcome, new("look", "look"));
    let long = format!("{}\nand more", "word ".repeat(40));
    let outcome = call_in(&boss, &SpawnAgent, json!({ "kind": "researcher", "task": long })).await;
    assert_eq!(outcome, new(&format!("{}…", "word ".repeat(16).trim_end()), &long));
    let titled = json!({ "kind": "researcher", "task": "look", "title": "Looking" });
    assert_eq!(call_in(&boss, &SpawnAgent, titled).await, new("Looking", "look"));
    let stranger = call_in(&boss, &SpawnAgent, json!({ "kind": "plumber", "task": "x" })).await;
    assert!(stranger.unwrap_err().to_string().contains("researcher"));
    assert_eq!(offered(&SpawnAgent, &kind("hermit", &[]), true), None);
}

#[tokio::test]
async fn ask_user_returns_a_question_with_its_options() {
    let asked = |options: &[&str]| {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Ok(Outcome::Ask(Ask { text: "Which?".to_owned(), options }))
    };
    assert_eq!(call(&AskUser, json!({ "question": "Which?" })).await, asked(&[]));
    assert_eq!(call(&AskUser, json!({ "question": "Which?", "options": null })).await, asked(&[]));
    assert_eq!(
        call(&AskUser, json!({ "question": "Which?", "options": ["a", "", "b"] })).await,
        asked(&["a", "b"])
    );
    assert!(matches!(fails(&AskUser, json!({ "question": "" })).await, Error::Arguments { .. }));
}

#[tokio::test]
async fn what_a_program_passes_is_what_the_tool_reads() {
    let (question, options) = ("Which?".to_owned(), vec!["a".to_owned()]);
    let arguments = AskUserArguments { question: question.clone(), options: Some(options.clone()) };
    let asked = call(&AskUser, serde_json::to_value(arguments).unwrap()).await;
    assert_eq!(asked, Ok(Outcome::Ask(Ask { text: question, options })));
    let boss = context(kind("boss", &["researcher"]), true);
    let arguments =
        SpawnAgentArguments { kind: "researcher".to_owned(), task: "look".to_owned(), title: None };
    let spawned = call_in(&boss, &SpawnAgent, serde_json::to_value(&arguments).unwrap()).await;
    assert_eq!(spawned, Ok(Outcome::Delegate(arguments.delegate(OnEnd::Wake))));
    // What the types say of themselves is for programs.
    for tool in [&AskUser as &dyn Tool, &SpawnAgent] {
        let spec = offered(tool, &kind("boss", &["researcher"]), true).unwrap();
        assert_eq!(spec.parameters.get("description"), None, "{}", spec.name);
    }
}

#[tokio::test]
async fn an_agent_may_wait_for_at_most_one_day() {
    let day = Duration::from_secs(86_400);
    assert_eq!(call(&Wait, json!({ "seconds": 86_400 })).await, Ok(Outcome::Await(day)));
    for seconds in [json!(0), json!(86_401), json!(-1), json!(1.5), json!("5")] {
        assert!(
            matches!(fails(&Wait, json!({ "seconds": seconds })).await, Error::Arguments { .. }),
            "{seconds}"
        );
    }
}
