//! Finding what one looks for among many: agents, runs, questions, events, and why an agent does not go on.

use std::sync::Arc;

use entourage_api::{Cause, Why};
use entourage_server::Settings;
use entourage_store::{Commit, Store, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{
    About, Agent, AgentId, CallId, Cost, Learning, LearningId, LearningStatus, Note, NoteId, Owner, Question,
    QuestionId, QuestionStatus, Run, RunId, Session, SessionEnd, SessionId, Status, StopReason, Time, Usage,
    WaitingOn,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Site, send};

fn ids(page: &Value) -> Vec<String> {
    let rows = page["data"].as_array().expect("a page");
    rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
}

/// All ids of a list, page by page.
async fn walked(site: &Site, path: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}{cursor}")).await.expect(200);
        all.extend(ids(&page));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// A site whose agents do not work, and its store.
async fn at_rest() -> (Site, Arc<SqliteStore>) {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    (Site::at_rest(Arc::clone(&store) as Arc<dyn Store>, Settings::default()).await, store)
}

fn at(micros: i64) -> Time {
    Time::from_micros(micros)
}

fn agent(kind: &str, title: &str) -> Agent {
    Agent::root(Owner::local(), kind, title, at(1))
}

/// Stores an agent in this status.
async fn stored(store: &dyn Store, agent: &Agent, status: Status, waiting_on: Option<WaitingOn>) {
    store.commit(Commit::new(at(1)).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let claimed = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
    let row = Agent { status, waiting_on, ..claimed };
    store.commit(Commit::fenced(&row, at(2)).write(Write::Agent(row.clone()))).await.unwrap();
}

/// Stores a run of an agent that ended so.
async fn ended(store: &dyn Store, agent: &Agent, status: Status, reason: StopReason) -> String {
    let claimed = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
    let run = Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status,
        waiting_on: None,
        stop_reason: Some(reason),
        error: None,
        kind_version: format!("version of {}", agent.kind),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 1,
        worked_ms: 1,
        usage: Usage::default(),
        cost: Cost::default(),
        spent: Vec::new(),
        started: at(3),
        ended: Some(at(4)),
    };
    store.commit(Commit::fenced(&claimed, at(3)).write(Write::Run(run.clone()))).await.unwrap();
    run.id.to_string()
}

#[tokio::test]
async fn agents_are_found_by_kind_by_what_they_wait_on_and_by_words_of_their_titles() {
    let (site, store) = at_rest().await;
    let asks = agent("researcher", "Prices of TRAINS to Berlin");
    let sleeps = agent("writer", "Trains_of thought, 100%");
    let rests = agent("writer", "A poem");
    stored(&*store, &asks, Status::Waiting, Some(WaitingOn::User)).await;
    stored(&*store, &sleeps, Status::Waiting, Some(WaitingOn::Timer)).await;
    stored(&*store, &rests, Status::Succeeded, None).await;
    let [asks, sleeps, rests] = [asks, sleeps, rests].map(|agent| agent.id.to_string());
    for (query, expected) in [
        ("kind=writer", vec![&rests, &sleeps]),
        ("roots=true&kind=writer", vec![&rests, &sleeps]),
        ("waiting_on=user", vec![&asks]),
        ("waiting_on=timer&kind=researcher", vec![]),
        ("text=trains", vec![&sleeps, &asks]),
        ("text=berlin%20trains", vec![&asks]),
        ("text=100%25", vec![&sleeps]),
        ("text=trains_", vec![&sleeps]),
        ("text=%00", vec![]),
        ("text=trains%00", vec![]),
        ("status=succeeded&text=poem", vec![&rests]),
    ] {
        for limit in [1, 50] {
            let found = walked(&site, &format!("/v1/agents?{query}&limit={limit}")).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
        }
    }
    site.get("/v1/agents?order=updated&unread=true").await.problem(400, "invalid-query");
}

#[tokio::test]
async fn agents_are_listed_by_when_they_began_to_work_last_each_once() {
    let (site, store) = at_rest().await;
    let agents = ["a", "b", "c", "never"].map(|title| agent("writer", title));
    for agent in &agents {
        stored(&*store, agent, Status::Succeeded, None).await;
    }
    for nth in [0, 1, 2, 1, 0, 1] {
        ended(&*store, &agents[nth], Status::Succeeded, StopReason::Completed).await;
    }
    let expected: Vec<String> = [1, 0, 2].map(|nth: usize| agents[nth].id.to_string()).into();
    for limit in [1, 2, 50] {
        assert_eq!(walked(&site, &format!("/v1/agents?order=updated&limit={limit}")).await, expected);
    }
    let found = walked(&site, "/v1/agents?order=updated&text=c").await;
    assert_eq!(found, expected[2..]);
}

#[tokio::test]
async fn runs_are_found_by_tree_agent_kind_version_status_and_reason() {
    let (site, store) = at_rest().await;
    let (one, two) = (agent("researcher", "one"), agent("writer", "two"));
    let below = one.child("writer", "below", None, at(1));
    for agent in [&one, &two, &below] {
        stored(&*store, agent, Status::Succeeded, None).await;
    }
    let done = ended(&*store, &one, Status::Succeeded, StopReason::Completed).await;
    let limited = ended(&*store, &below, Status::Succeeded, StopReason::MaxSteps).await;
    let failed = ended(&*store, &two, Status::Failed, StopReason::ModelFailed).await;
    let stopped = ended(&*store, &two, Status::Failed, StopReason::Cancelled).await;
    for (query, expected) in [
        (String::new(), vec![&stopped, &failed, &limited, &done]),
        (format!("root={}", one.id), vec![&limited, &done]),
        (format!("root={}", two.id), vec![&stopped, &failed]),
        (format!("root={}&kind=writer", one.id), vec![&limited]),
        (format!("agent={}", below.id), vec![&limited]),
        (format!("agent={}&status=failed", two.id), vec![&failed]),
        ("kind=writer".into(), vec![&stopped, &failed, &limited]),
        ("version=version%20of%20researcher".into(), vec![&done]),
        ("status=succeeded".into(), vec![&limited, &done]),
        ("status=failed".into(), vec![&failed]),
        ("status=stopped".into(), vec![&stopped]),
        ("status=waiting".into(), vec![]),
        ("stop_reason=completed".into(), vec![&done]),
        ("stop_reason=max_steps&status=succeeded".into(), vec![&limited]),
        ("stop_reason=cancelled".into(), vec![&stopped]),
    ] {
        for limit in [1, 50] {
            let found = walked(&site, &format!("/v1/runs?{query}&limit={limit}")).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
        }
    }
    assert_eq!(walked(&site, &format!("/v1/runs?root=agt_{}", "0".repeat(32))).await, [""; 0]);
}

#[tokio::test]
async fn children_are_listed_with_the_sums_of_their_branches() {
    let site = Site::open().await;
    let id = site.done("tell tell hello").await;
    let page = site.get(&format!("/v1/agents/{id}/children")).await.expect(200);
    let child = &page["data"][0];
    assert_eq!(child["parent"], json!(id));
    let tree = site.get(&format!("/v1/agents/{id}/tree")).await.expect(200);
    assert_eq!(child["subtree"]["agents"], json!({"succeeded": tree["agents"].as_u64().unwrap() - 1}));
    let own: u64 = tree["root"]["used"]["calls"].as_u64().unwrap();
    let calls = child["subtree"]["used"]["calls"].as_u64().unwrap();
    assert_eq!(own + calls, tree["total"]["model_calls"].as_u64().unwrap());
    for (query, count) in
        [("status=succeeded", 1), ("status=failed", 0), ("text=tell", 1), ("waiting_on=user", 0)]
    {
        let page = site.get(&format!("/v1/agents/{id}/children?{query}")).await.expect(200);
        assert_eq!(page["data"].as_array().unwrap().len(), count, "{query}");
    }
}

fn question(agent: &Agent, about: About, due: Option<Time>) -> Question {
    Question {
        id: QuestionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        kind: agent.kind.clone(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about,
        text: "Which?".into(),
        options: Vec::new(),
        proposal: None,
        due,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        answered_by: None,
        created: at(5),
        updated: at(5),
    }
}

#[tokio::test]
async fn open_questions_come_soonest_due_first_and_are_found_by_agent_and_subject() {
    let (site, store) = at_rest().await;
    let one = agent("researcher", "one");
    let below = one.child("writer", "below", None, at(1));
    for agent in [&one, &below] {
        stored(&*store, agent, Status::Waiting, Some(WaitingOn::User)).await;
    }
    let questions = [
        question(&one, About::Information, None),
        question(&below, About::Information, Some(at(9_000_000))),
        question(&one, About::Approval, Some(at(7_500_000))),
        question(&one, About::Information, None),
        question(&one, About::Information, Some(at(8_000_000))),
    ];
    for question in &questions {
        store.commit(Commit::new(at(5)).write(Write::record(question).unwrap())).await.unwrap();
    }
    let named = |nths: &[usize]| nths.iter().map(|nth| questions[*nth].id.to_string()).collect::<Vec<_>>();
    for limit in [1, 2, 50] {
        let by_due = |more: &str| format!("/v1/questions?status=open&order=due&limit={limit}{more}");
        assert_eq!(walked(&site, &by_due("")).await, named(&[2, 4, 1, 0, 3]));
        assert_eq!(walked(&site, &by_due("&about=approval")).await, named(&[2]));
        assert_eq!(walked(&site, &by_due(&format!("&agent={}", below.id))).await, named(&[1]));
        assert_eq!(walked(&site, &format!("/v1/questions?limit={limit}")).await, named(&[4, 3, 2, 1, 0]));
    }
    let asked = site.get(&format!("/v1/questions/{}", questions[1].id)).await.expect(200);
    assert_eq!(asked["path"], json!(["one", "below"]));
    site.get("/v1/questions?order=due").await.problem(400, "invalid-query");
}

#[tokio::test]
async fn a_question_says_with_which_words_its_agent_asks() {
    let site = Site::open().await;
    let (_, question) = site.asked("tell ask aloud").await;
    let asked = site.get(&format!("/v1/questions/{question}")).await.expect(200);
    assert_eq!(asked["path"].as_array().unwrap().len(), 2, "{asked}");
    assert_eq!(asked["because"], "A colour is missing.");
    let listed = site.get("/v1/questions?status=open&order=due").await.expect(200);
    assert_eq!(listed["data"][0], asked);
}

async fn events(site: &Site, id: &str, query: &str) -> Value {
    let request = site.request(Method::GET, &format!("/v1/agents/{id}/events?{query}"));
    send(request.header("accept", "application/json")).await.expect(200)
}

fn numbers(page: &Value) -> Vec<u64> {
    page["data"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn pages_of_events_lead_forwards_and_backwards_through_all_of_them() {
    let site = Site::open().await;
    let id = site.done("tell note").await;
    let whole = events(&site, &id, "limit=200").await;
    let last = whole["last"].as_u64().unwrap();
    let all: Vec<u64> = (1..=last).collect();
    assert_eq!(
        (numbers(&whole), &whole["earlier"], &whole["later"]),
        (all.clone(), &Value::Null, &Value::Null)
    );
    let child = site.get(&format!("/v1/agents/{id}/children")).await.expect(200)["data"][0]["id"].clone();
    let child = child.as_str().unwrap();
    let fits = |of: &str, event: &Value| match of {
        "" => true,
        "event=item" => event["event"] == "item",
        _ => event["agent"] == *child,
    };
    for of in ["", "event=item", &format!("agent={child}")] {
        let rows = whole["data"].as_array().unwrap();
        let expected: Vec<u64> =
            rows.iter().filter(|event| fits(of, event)).map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(expected.len() > 2, "{of}");
        for limit in [1, 2, 3, 200] {
            let (mut seen, mut after) = (Vec::new(), 0);
            loop {
                let page = events(&site, &id, &format!("{of}&limit={limit}&after={after}")).await;
                seen.extend(numbers(&page));
                let Some(later) = page["later"].as_u64() else { break };
                assert!(later > after, "{page}");
                after = later;
            }
            assert_eq!(seen, expected, "forwards, {of}, limit {limit}");
            let (mut seen, mut before) = (Vec::new(), last + 1);
            loop {
                let page = events(&site, &id, &format!("{of}&limit={limit}&before={before}")).await;
                seen = [numbers(&page), seen].concat();
                let Some(earlier) = page["earlier"].as_u64() else { break };
                assert!(earlier < before, "{page}");
                before = earlier;
            }
            assert_eq!(seen, expected, "backwards, {of}, limit {limit}");
        }
    }
    let stream = site.request(Method::GET, &format!("/v1/agents/{id}/events?limit=3"));
    send(stream).await.problem(400, "invalid-query");
}

#[tokio::test]
async fn a_conversation_is_read_from_before_an_item() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/messages");
    let before = |item: u64| format!("{path}?before={item}");
    let seqs = |page: &Value| -> Vec<u64> {
        page["data"].as_array().unwrap().iter().map(|entry| entry["item_seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs(&site.get(&path).await.expect(200)), [0, 1]);
    assert_eq!(seqs(&site.get(&before(1)).await.expect(200)), [0]);
    assert!(seqs(&site.get(&before(0)).await.expect(200)).is_empty());
    assert_eq!(seqs(&site.get(&format!("{path}?limit=1")).await.expect(200)), [1], "the latest");
}

async fn why(site: &Site, id: &str) -> Why {
    site.get(&format!("/v1/agents/{id}/why")).await.read()
}

#[tokio::test]
async fn why_leads_through_the_agents_that_one_waits_for_to_the_question_of_a_person() {
    let site = Site::open().await;
    let (id, question) = site.asked("tell ask").await;
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "waiting")).await;
    let why = why(&site, &id).await;
    assert!(
        matches!(&why.cause, Cause::Question { question: asked, about: About::Information, .. } if asked.to_string() == question),
        "{why:?}"
    );
    assert!(matches!(why.chain[0].cause, Cause::Task { .. }) && why.chain.len() == 2, "{why:?}");
    assert_eq!(why.chain[0].agent.to_string(), id);
    assert_eq!(why.text, "waits for researcher \"ask\", which asks: Which colour?");
}

#[tokio::test]
async fn why_names_a_timer_a_pause_and_that_nothing_is_to_be_done() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    assert!(matches!(
        why(&site, &id).await.cause,
        Cause::Rest { failed: None, error: None, archived: false, below: 0, more_below: false }
    ));
    let failed = site.make("break").await;
    site.follow(&failed, 0).await.until(|frame| frame.is_status_of(&failed, "failed")).await;
    let cause = why(&site, &failed).await.cause;
    let Cause::Rest {
        failed: Some(StopReason::ModelFailed),
        error: Some(_),
        archived: false,
        below: 0,
        more_below: false,
    } = cause
    else {
        panic!("{cause:?}")
    };
    let sleeps = site.make("later").await;
    let stream = site.follow(&sleeps, 0).await;
    let seen = stream.until(|frame| frame.is_status_of(&sleeps, "waiting")).await;
    let cause = asleep(&site, &sleeps).await;
    assert!(matches!(cause, Cause::Timer { .. }), "{cause:?}");
    let path = format!("/v1/agents/{sleeps}/interventions");
    site.post(&path, &json!({"action": "pause", "text": "until Monday"})).await.expect(202);
    let after = seen.last().unwrap().id.unwrap();
    let paused = |frame: &crate::stream::Frame| frame.data["waiting_on"] == "resume";
    site.follow(&sleeps, after).await.until(paused).await;
    assert_eq!(asleep(&site, &sleeps).await, Cause::Pause { reason: Some("until Monday".into()) });
}

/// Why an agent does not go on, once the activation that put it to sleep is over.
async fn asleep(site: &Site, agent: &str) -> Cause {
    loop {
        match why(site, agent).await.cause {
            Cause::Work => tokio::task::yield_now().await,
            cause => return cause,
        }
    }
}

#[tokio::test]
async fn why_says_that_no_process_works_on_what_could_go_on() {
    let (site, _store) = at_rest().await;
    let id = site.make("hello").await;
    assert_eq!(why(&site, &id).await.cause, Cause::Process);
}

#[tokio::test]
async fn notes_and_learnings_are_found_by_their_words_in_pages() {
    let (site, store) = at_rest().await;
    let agent = agent("researcher", "one");
    stored(&*store, &agent, Status::Succeeded, None).await;
    let note = |title: &str| Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        title: title.into(),
        content: "blue".into(),
        created: at(5),
    };
    let learning = |text: &str, status| Learning {
        id: LearningId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        text: text.into(),
        status,
        created: at(5),
        updated: at(5),
    };
    let notes = [note("trains"), note("ships"), note("Trains again")];
    let learnings = [
        learning("likes trains", LearningStatus::Kept),
        learning("trains are late", LearningStatus::Retired),
    ];
    for note in &notes {
        store.commit(Commit::new(at(5)).write(Write::record(note).unwrap())).await.unwrap();
    }
    for learning in &learnings {
        store.commit(Commit::new(at(5)).write(Write::record(learning).unwrap())).await.unwrap();
    }
    for limit in [1, 50] {
        let found = walked(&site, &format!("/v1/notes?text=train&limit={limit}")).await;
        assert_eq!(found, [notes[2].id.to_string(), notes[0].id.to_string()]);
        let found = walked(&site, &format!("/v1/learnings?text=trains&limit={limit}")).await;
        assert_eq!(found, [learnings[1].id.to_string(), learnings[0].id.to_string()]);
        let found = walked(&site, &format!("/v1/learnings?status=kept&limit={limit}")).await;
        assert_eq!(found, [learnings[0].id.to_string()]);
    }
    assert_eq!(walked(&site, "/v1/notes?text=nothing").await, [""; 0]);
    let session = |number: u32, summary: &str| Session {
        id: SessionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        number,
        summary: summary.into(),
        reason: SessionEnd::Asked,
        trigger: None,
        messages: 2,
        tokens: 9,
        items: (0, 1),
        used: None,
        started: at(1),
        completed: at(5),
    };
    let sessions = [session(1, "About trains."), session(2, "About ships.")];
    for session in &sessions {
        store.commit(Commit::new(at(5)).write(Write::record(session).unwrap())).await.unwrap();
    }
    let (own, other) = (agent.id, AgentId::new());
    for (query, expected) in [
        (format!("text=trains&agent={own}"), vec![sessions[0].id.to_string()]),
        ("text=ships".into(), vec![sessions[1].id.to_string()]),
        (format!("agent={own}"), vec![sessions[1].id.to_string(), sessions[0].id.to_string()]),
        ("text=planes".into(), Vec::new()),
        (format!("text=trains&agent={other}"), Vec::new()),
    ] {
        assert_eq!(walked(&site, &format!("/v1/sessions?{query}")).await, expected, "{query}");
    }
}

#[tokio::test]
async fn usage_is_summed_for_a_branch_a_kind_and_a_model() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let calls = async |query: &str| -> u64 {
        site.get(&format!("/v1/usage?{query}")).await.expect(200)["total"]["calls"].as_u64().unwrap()
    };
    let child = site.get(&format!("/v1/agents/{id}/children")).await.expect(200)["data"][0]["id"].clone();
    let child = child.as_str().unwrap();
    let (all, below) = (calls("").await, calls(&format!("under={child}")).await);
    assert!(below > 0 && below < all, "{below} of {all}");
    assert_eq!(calls(&format!("under={id}")).await, all);
    assert_eq!(calls("kind=researcher").await, below);
    assert_eq!(calls("model=none::such").await, 0);
    let models = site.get("/v1/usage?group_by=model").await.expect(200);
    let model = models["data"][0]["model"].as_str().unwrap();
    assert_eq!(calls(&format!("model={model}")).await, all, "{models}");
}
