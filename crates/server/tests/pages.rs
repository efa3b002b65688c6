//! Lists in pages: each entry once, newest first, whatever the size of a page.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_engine::{Client, Clock, Engine, Entry, Kinds, NewAgent};
use entourage_llm::{Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store::{Commit, Layered, MemoryStore, StoreLayer, Write};
use entourage_types::{
    About, Agent, AgentId, CallId, Owner, Question, QuestionId, QuestionStatus, RunId, Scope, Time,
};
use serde_json::{Value, json};

use crate::site::{Site, engine};

async fn ids_in_pages(site: &Site, path: &str, limit: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = site.get(&format!("{path}limit={limit}{next}")).await.expect(200);
        let ids: Vec<_> =
            page["data"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        assert!(ids.len() <= limit);
        seen.extend(ids.into_iter().map(str::to_owned));
        match &page["next_cursor"] {
            Value::String(cursor) => next = format!("&cursor={cursor}"),
            other => {
                assert_eq!(other, &Value::Null);
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn agents_are_paged_newest_first_each_once() {
    let site = Site::open().await;
    let mut made = Vec::new();
    for n in 0..5 {
        let agent = site.post("/v1/agents", &json!({"title": format!("Agent {n}")})).await.expect(201);
        made.push(agent["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    for limit in [1, 2, 5, 200] {
        assert_eq!(ids_in_pages(&site, "/v1/agents?", limit).await, made, "in parts of {limit}");
    }
}

#[tokio::test]
async fn agents_can_be_filtered_by_root_and_by_status() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    assert_eq!(ids_in_pages(&site, "/v1/agents?", 50).await.len(), 2);
    assert_eq!(ids_in_pages(&site, "/v1/agents?roots=true&", 50).await, [id]);
    assert_eq!(ids_in_pages(&site, "/v1/agents?status=succeeded&", 1).await.len(), 2);
    assert_eq!(ids_in_pages(&site, "/v1/agents?status=failed&", 1).await.len(), 0);
}

#[tokio::test]
async fn runs_questions_tasks_and_notes_are_listed_in_pages() {
    let site = Site::open().await;
    let id = site.done("tell note").await;
    for text in ["tell note", "tell note"] {
        let stream = site.follow(&id, 0).await;
        let succeeded = std::cell::Cell::new(0);
        let before =
            site.get(&format!("/v1/agents/{id}/runs")).await.expect(200)["data"].as_array().unwrap().len();
        site.post(&format!("/v1/agents/{id}/messages"), &json!({ "text": text })).await.expect(202);
        stream
            .until(|frame| {
                succeeded.set(succeeded.get() + usize::from(frame.is_status_of(&id, "succeeded")));
                succeeded.get() > before
            })
            .await;
    }
    for path in
        [format!("/v1/agents/{id}/runs?"), format!("/v1/tasks?root={id}&"), format!("/v1/notes?root={id}&")]
    {
        let whole = ids_in_pages(&site, &path, 200).await;
        assert_eq!((whole.len(), ids_in_pages(&site, &path, 1).await), (3, whole), "{path}");
    }
    for _ in 0..2 {
        site.asked("ask").await;
    }
    let whole = ids_in_pages(&site, "/v1/questions?status=open&", 200).await;
    assert_eq!((whole.len(), ids_in_pages(&site, "/v1/questions?status=open&", 1).await), (2, whole));
}

#[tokio::test]
async fn a_made_up_cursor_is_refused() {
    let site = Site::open().await;
    for cursor in ["", "!", "agt_1", &URL_SAFE_NO_PAD.encode("99:agt_1")] {
        site.get(&format!("/v1/agents?cursor={cursor}")).await.problem(400, "invalid-cursor");
    }
}

/// A clock that is set by hand. Sleeping by it never ends.
#[derive(Clone, Default)]
struct SetClock(Arc<AtomicI64>);

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, _: Time) {
        std::future::pending().await
    }
}

/// A step of a conversation.
#[derive(Clone, Copy)]
enum Step {
    /// A message is sent, and answered at once.
    Said,
    /// A question is asked.
    Asked,
}

/// A question of an agent.
fn open_question(agent: &Agent, at: Time) -> Question {
    Question {
        id: QuestionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        kind: agent.kind.clone(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about: About::Information,
        text: "Which?".into(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        answered_by: None,
        created: at,
        updated: at,
    }
}

/// A conversation with these steps, each at its time by the clock.
async fn conversation(steps: &[(i64, Step)]) -> (Client, AgentId) {
    let clock = SetClock::default();
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Heard."))));
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(model));
    let engine = engine.kinds(Kinds::builtin()).clock(Arc::new(clock.clone())).build();
    let client = engine.client(Owner::local());
    let agent = client.create(NewAgent::default(), None).await.unwrap();
    for (at, step) in steps {
        clock.0.store(*at, Ordering::SeqCst);
        match step {
            Step::Said => {
                client.send(agent.id, "Listen.", None).await.unwrap();
                engine.advance(agent.id).await.unwrap();
            }
            Step::Asked => {
                let question = open_question(&agent, clock.now());
                let commit = Commit::new(clock.now()).write(Write::record(&question).unwrap());
                engine.store().commit(commit).await.unwrap();
            }
        }
    }
    (client, agent.id)
}

/// Reads all entries in pages of at most `limit`, from the end to the beginning; returns them oldest first.
async fn paged(client: &Client, agent: AgentId, limit: u32, at_most: usize) -> Vec<Entry> {
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let (page, next) = client.transcript_before(agent, before, limit, usize::MAX).await.unwrap();
        assert!(page.len() <= limit as usize, "{} entries with a limit of {limit}", page.len());
        pages.push(page);
        assert!(pages.len() <= at_most, "with a limit of {limit} it does not end");
        before = next;
        if before.is_none() {
            return pages.into_iter().rev().flatten().collect();
        }
    }
}

/// The questions have equal times, come before the first message, and come in numbers between two messages.
#[tokio::test]
async fn pages_of_any_size_keep_the_order_of_messages_and_questions() {
    use Step::{Asked, Said};
    let steps = [
        (10, Asked),
        (10, Asked),
        (20, Said),
        (20, Asked),
        (30, Asked),
        (31, Asked),
        (31, Asked),
        (32, Asked),
        (40, Said),
        (40, Said),
        (40, Asked),
        (50, Said),
        (60, Asked),
    ];
    let (client, agent) = conversation(&steps).await;
    let whole = client.transcript(agent).await.unwrap();
    let is_question: Vec<bool> = whole.iter().map(|entry| entry.question.is_some()).collect();
    let said = |step: &Step| matches!(step, Said);
    let expected: Vec<bool> =
        steps.iter().flat_map(|(_, step)| if said(step) { vec![false; 2] } else { vec![true] }).collect();
    assert_eq!(is_question, expected, "in the order in which it happened");
    for limit in 1..=u32::try_from(whole.len()).unwrap() {
        assert_eq!(paged(&client, agent, limit, 2 * whole.len()).await, whole, "with a limit of {limit}");
    }
}

/// Each entry comes once, and messages and questions each come in their own order.
#[tokio::test]
async fn pages_of_any_size_lose_nothing_after_the_wall_clock_went_back() {
    use Step::{Asked, Said};
    let steps = [
        (90, Said),
        (95, Asked),
        (100, Said),
        (105, Asked),
        (50, Said),
        (55, Asked),
        (60, Said),
        (58, Asked),
        (120, Said),
        (40, Asked),
    ];
    let (client, agent) = conversation(&steps).await;
    let whole = client.transcript(agent).await.unwrap();
    let in_order = |entries: &[Entry]| -> (Vec<u64>, Vec<QuestionId>) {
        let said = entries.iter().filter_map(|entry| entry.item_seq).collect();
        (said, entries.iter().filter_map(|entry| entry.question).collect())
    };
    let (said, questions) = in_order(&whole);
    assert_eq!((said.len(), questions.len()), (10, 5));
    assert!(said.is_sorted() && questions.is_sorted());
    for limit in 1..=u32::try_from(whole.len()).unwrap() {
        let paged = paged(&client, agent, limit, 2 * whole.len()).await;
        assert_eq!(in_order(&paged), (said.clone(), questions.clone()), "with a limit of {limit}");
    }
}

/// CountsRowsRead the rows that are read.
#[derive(Clone, Default)]
struct CountsRowsRead(Arc<AtomicUsize>);

impl StoreLayer for CountsRowsRead {
    fn shown(&self, _: &Scope, _: &Owner) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many rows are read for a page of one message of a chat with `open` open questions.
async fn rows_read(open: i64) -> usize {
    let rows = CountsRowsRead::default();
    let engine = engine(Arc::new(Layered::new(Arc::new(MemoryStore::default()), rows.clone())));
    let new = NewAgent { kind: Some("orchestrator".into()), ..NewAgent::default() };
    let chat = engine.client(Owner::local()).create(new, None).await.unwrap();
    for at in (0..open).map(Time::from_micros) {
        let commit = Commit::new(at).write(Write::record(&open_question(&chat, at)).unwrap());
        engine.store().commit(commit).await.unwrap();
    }
    let site = Site::serving(engine, Settings::default()).await;
    let before = rows.0.load(Ordering::SeqCst);
    let page = site.get(&format!("/api/chats/{}/messages?limit=1", chat.id)).await.expect(200);
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "{page}");
    rows.0.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn a_page_of_a_chat_reads_no_open_question_that_it_does_not_show() {
    assert_eq!(rows_read(30).await, rows_read(3).await);
}
