//! Tests of requests to a server, and of an engine with many agents.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::sync::Arc;

use entourage::{Engine, Kinds, NewAgent, Settings};
use entourage_api::{Agent, Tally, TreeUsage};
use entourage_llm::Rehearsal;
use entourage_store::MemoryStore;
use entourage_types::{Action, AgentId, CallId, GrantId, QuestionId, RunId, Time};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    task::JoinHandle,
};

use super::{Backend, Running, owner, transcript};

/// The type of a problem whose body breaks off before its first byte.
const BROKEN: &str = "application/problem+json\r\nContent-Length: 100";

/// A server that gives these answers, each on a connection of its own, and then ends. Returns it with the
/// requests it got, head and body. An answer without a type stands for none: the server closes the
/// connection. A problem is a conflict.
pub(in crate::cli) async fn serving(
    answers: Vec<(&'static str, String)>,
) -> (Backend, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = Running::here(listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let mut asked = Vec::new();
        for (kind, body) in answers {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                stream.read_line(&mut head).await.unwrap();
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut sent = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut sent).await.unwrap();
            asked.push(head + &String::from_utf8(sent).unwrap());
            if kind.is_empty() {
                continue;
            }
            let is_problem = kind.starts_with("application/problem+json");
            let status = if is_problem { "409 Conflict" } else { "200 OK" };
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
            stream.write_all((head + &body).as_bytes()).await.unwrap();
        }
        asked
    });
    (Backend::there(&running, &Settings::default()).unwrap(), asked)
}

/// A page of a conversation with these items.
fn page(items: [u64; 2], next: Option<&str>) -> (&'static str, String) {
    let entry = |seq| json!({ "role": "assistant", "text": "", "at": Time::now(), "item_seq": seq });
    ("application/json", json!({ "data": items.map(entry), "next_cursor": next }).to_string())
}

/// An answer in a long conversation is found on its last page; the whole conversation is read page by page.
#[tokio::test]
async fn a_transcript_is_read_only_as_many_pages_back_as_needed() {
    let agent = AgentId::new();
    for (shown, pages) in [(7, 1), (6, 2), (0, 2)] {
        let answers = [page([6, 8], Some("there")), page([0, 3], None)];
        let (backend, asked) = serving(answers.into_iter().take(pages).collect()).await;
        let found = transcript(&backend, agent, |entry| entry.item_seq < Some(shown)).await.unwrap();
        let found: Vec<u64> = found.into_iter().filter_map(|entry| entry.item_seq).collect();
        assert_eq!(found, [0, 3, 6, 8][4 - 2 * pages..], "oldest first");
        let path = format!("/v1/agents/{agent}/messages?limit=200");
        let asked = asked.await.unwrap();
        let asked: Vec<&str> = asked.iter().filter_map(|head| head.split_whitespace().nth(1)).collect();
        assert_eq!(asked, [path.clone(), path + "&cursor=there"][..pages]);
    }
}

/// What only a later page of a list has is found, too.
#[tokio::test]
async fn open_questions_grants_and_unfinished_trees_are_read_beyond_the_first_page() {
    let (agent, now) = (AgentId::new(), Time::now());
    let row = |id: String, more: serde_json::Value| {
        let mut row = json!({ "id": id, "owner": "local", "root": agent, "agent": agent, "tool": "create_note",
            "created": now, "updated": now });
        row.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        row
    };
    let pages = |rows: [serde_json::Value; 2]| {
        let [first, last] = rows;
        let page = |row, next: Option<&str>| json!({ "data": [row], "next_cursor": next }).to_string();
        [page(first, Some("there")), page(last, None)].map(|page| ("application/json", page)).to_vec()
    };

    let questions = [QuestionId::new(), QuestionId::new()];
    let question = |id: QuestionId| {
        let more = json!({ "kind": "worker", "run": RunId::new(), "call": CallId::new(),
            "about": "approval", "text": "May I?", "status": "open" });
        row(id.to_string(), more)
    };
    let (backend, asked) = serving(pages(questions.map(question))).await;
    let found: Vec<_> = backend.questions(None).await.unwrap().iter().map(|open| open.id).collect();
    assert_eq!(found, [questions[1], questions[0]], "oldest first");
    assert!(asked.await.unwrap()[1].starts_with("GET /v1/questions?status=open&limit=200&cursor=there "));

    let grants = [GrantId::new(), GrantId::new()];
    let grant = |id: GrantId| {
        let more = json!({ "rule": "create_note", "question": QuestionId::new(), "status": "standing" });
        row(id.to_string(), more)
    };
    let (backend, _) = serving(pages(grants.map(grant))).await;
    let found: Vec<_> = backend.grants(Some(agent)).await.unwrap().iter().map(|grant| grant.id).collect();
    assert_eq!(found, grants);

    let roots = [AgentId::new(), AgentId::new()].map(|id| entourage_types::Agent {
        root: id,
        ..entourage_types::Agent::root(owner(), "assistant", "", now)
    });
    let newest = roots[1].root;
    let none = json!({ "data": [], "next_cursor": null }).to_string();
    let waiting = pages(roots.map(|root| serde_json::to_value(Agent::from(root)).unwrap()));
    let rest = vec![("application/json", none); 3];
    let (backend, _) = serving([waiting, rest].concat()).await;
    assert_eq!(backend.newest_unfinished().await.unwrap(), Some(newest));
}

/// A name may hold any character: it is one segment of a path. What a URL resolves is refused.
#[tokio::test]
async fn a_name_is_one_segment_of_a_path_whatever_it_holds() {
    let (backend, asked) = serving(vec![("application/problem+json", "{}".into()); 3]).await;
    assert!(backend.retry_receiver("a/b?c#d").await.is_err());
    assert!(backend.run_job("a b").await.is_err());
    assert!(backend.inconsistencies("ä").await.is_err());
    let asked = asked.await.unwrap();
    let asked: Vec<&str> = asked.iter().filter_map(|head| head.split_whitespace().nth(1)).collect();
    assert_eq!(
        asked,
        ["/v1/webhooks/a%2Fb%3Fc%23d/retry", "/v1/jobs/a%20b/run", "/v1/jobs/%C3%A4/inconsistencies"]
    );
    for none in ["", ".", ".."] {
        let refused = backend.run_job(none).await.unwrap_err();
        assert!(refused.is_usage() && refused.text().contains(&format!("nothing is called `{none}`")));
    }
}

/// A tree is read however deep it is, although the JSON parser limits its depth.
#[tokio::test]
async fn a_tree_deeper_than_the_limit_of_the_json_parser_is_read() {
    const DEPTH: usize = 300;
    let engine =
        Engine::builder(Arc::new(MemoryStore::default()), Arc::new(Rehearsal)).kinds(Kinds::builtin());
    let agent = engine.build().client(owner()).create(NewAgent::default(), None).await.unwrap();
    let agent = Agent::from(agent);
    let written = serde_json::to_string(&agent).unwrap();
    let used = serde_json::to_string(&Tally::default()).unwrap();
    let open = format!("{},\"used\":{used},\"children\":[", written.strip_suffix('}').unwrap());
    let Tally { usage, cost, .. } = Tally::default();
    let total = TreeUsage { root: agent.root, runs: 0, model_calls: 0, usage, cost, unpriced: 0 };
    let total = serde_json::to_string(&total).unwrap();
    let root = open.repeat(DEPTH) + &"]}".repeat(DEPTH);
    let agents = DEPTH + 1;
    let body = format!("{{\"root\":{root},\"threads\":[{open}]}}],\"agents\":{agents},\"total\":{total}}}");
    let (backend, _) = serving(vec![("application/json", body)]).await;
    assert_eq!(backend.tree(agent.id).await.unwrap().into_agents().len(), DEPTH + 1);
}

/// However many other agents wait, an agent with a message has work, and one without has none.
#[tokio::test]
async fn has_work_finds_the_work_of_a_tree_among_many_waiting_agents() {
    let engine =
        Engine::builder(Arc::new(MemoryStore::default()), Arc::new(Rehearsal)).kinds(Kinds::builtin());
    let engine = engine.build();
    let client = engine.client(owner());
    let idle = client.create(NewAgent::default(), None).await.unwrap().id;
    for _ in 0..=super::connection::PAGE {
        client.create(NewAgent { message: Some("Go".into()), ..NewAgent::default() }, None).await.unwrap();
    }
    let backend = Backend::at(engine).unwrap();
    assert!(!backend.has_work(idle).await.unwrap());
    backend.send(idle, "Go", None).await.unwrap();
    assert!(backend.has_work(idle).await.unwrap());
}

/// A client must look before it sends a request again. A request that cannot have arrived was not accepted.
#[tokio::test]
async fn an_unanswered_request_is_reported_as_possibly_received() {
    let agent = AgentId::new();
    let (backend, asked) = serving(vec![("", String::new()); 3]).await;
    let of_agent = format!("entourage tail {agent}");
    for (failure, look) in [
        (backend.create(None, "Go", None).await.unwrap_err(), "entourage agents"),
        (backend.send(agent, "Go", None).await.unwrap_err(), of_agent.as_str()),
        (backend.intervene(agent, Action::Steer, Some("Go")).await.unwrap_err(), of_agent.as_str()),
    ] {
        let told = failure.text();
        let hint = format!("It may have received what was sent: look with `{look}` before you send it again");
        assert!(failure.may_be_done() && told.contains(&hint), "{told}");
    }
    asked.await.unwrap();
    let unheard = backend.create(None, "Go", None).await.unwrap_err();
    assert!(!unheard.may_be_done(), "{unheard:?}");
    assert!(unheard.text().ends_with("Start it with `entourage serve`, or try again"), "{unheard:?}");
}

/// A server that ends in the middle of its refusal counts as gone, like one that sends nothing.
#[tokio::test]
async fn a_truncated_refusal_counts_as_a_lost_server() {
    let (backend, _) = serving(vec![(BROKEN, String::new())]).await;
    let failure = backend.send(AgentId::new(), "Go", None).await.unwrap_err();
    assert!(failure.who_is_gone().is_some() && failure.may_be_done(), "{failure:?}");
}

/// An invalid cursor does not return the end of a conversation a second time.
#[tokio::test]
async fn an_invalid_transcript_cursor_is_refused() {
    let engine =
        Engine::builder(Arc::new(MemoryStore::default()), Arc::new(Rehearsal)).kinds(Kinds::builtin());
    let engine = engine.build();
    let agent = engine.client(owner()).create(NewAgent::default(), None).await.unwrap().id;
    let backend = Backend::at(engine).unwrap();
    assert!(backend.entries(agent, None).await.is_ok());
    assert!(backend.entries(agent, Some("nowhere".into())).await.is_err());
}
