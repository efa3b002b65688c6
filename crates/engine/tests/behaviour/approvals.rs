//! Approval: a call that a rule holds back is made once a person has approved it, with the
//! arguments that the person gave, or not at all; each call of a turn is decided separately.

use std::{sync::Arc, time::Duration};

use crate::kit::{Database, Effects, TestTool, WorldExt, first_tools, parsed};
use async_trait::async_trait;
use entourage_engine::{Client, Engine, Error, Kinds};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Committed, Layered, MemoryStore, Page, Store, StoreLayer, Write};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_tools::{Effect, Toolbox};
use entourage_types::{
    About, Agent, Answer, EventBody, GrantStatus, GrantSubject, Kind, Question, QuestionStatus, Status,
    Verdict,
};
use serde_json::{Value, json};

/// A kind parsed from its file.
fn kind(name: &str, front: &str) -> Kind {
    parsed("k.md", &format!("---\nname: {name}\n{front}\n---\nYou are the {name}."))
}

/// A world with one kind that may read and pay.
async fn world(front: &str, model: &ScriptedModel) -> (World, Effects) {
    let happened = Effects::default();
    let tools = Toolbox::new().with(TestTool::new("read", Effect::Pure, &happened)).with(TestTool::new(
        "pay",
        Effect::Unsafe,
        &happened,
    ));
    let kinds = Kinds::none().with(kind("assistant", front));
    (World::builder(model.clone()).tools(tools).kinds(kinds).start().await, happened)
}

fn rule(text: &str) -> GrantSubject {
    GrantSubject::Rule(text.to_owned())
}

const PAY: &str = "approval:\n  - tools: pay";

fn pays() -> ScriptedModel {
    ScriptedModel::new([Script::call("pay", json!({"n": 7})), Script::text("Done.")])
}

/// Waits until this many questions of a tree have been asked, and returns the last one.
async fn nth_question(world: &World, root: &Agent, nth: usize) -> Question {
    let is_asked = |body: &EventBody| match body {
        EventBody::Question { question } => question.status == QuestionStatus::Open,
        _ => false,
    };
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let events = world
        .until(root.id, |event| {
            is_asked(&event.body) && seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 == nth
        })
        .await;
    match events.into_iter().next_back().map(|event| event.body) {
        Some(EventBody::Question { question }) => *question,
        other => panic!("{other:?}"),
    }
}

async fn answer(world: &World, question: &Question, answer: Answer) {
    world.client().answer(question.id, answer).await.unwrap();
}

fn approve() -> Answer {
    Verdict::Approve.into()
}

async fn lines(world: &World, root: &Agent) -> Vec<String> {
    let ended = world.ended(root.id).await;
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    assert_eq!(ended.status, Status::Succeeded, "{:?}", plain(&items));
    plain(&items)
}

/// The last output that the model read.
fn read_last(model: &ScriptedModel) -> String {
    match model.requests().last().and_then(|request| request.messages.last().cloned()) {
        Some(Message::Output { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_answer_to_an_approval_decides_the_call_and_its_output() {
    let edited = Answer::Approve { arguments: Some(json!({"n": 3})), always: false, digest: None };
    let reason = Answer::Reject { reason: Some("canary: too dear".into()) };
    for (given, times, read) in [
        (approve(), 1, "pay: {\"n\":7}"),
        (Answer::Text(" Approve".into()), 1, "pay: {\"n\":7}"),
        (edited, 1, "The user changed the arguments to {\"n\":3}. With those:\npay: {\"n\":3}"),
        (reason, 0, "Error: The user rejected the call, so it was not made: canary: too dear"),
        (Answer::Declined, 0, "Error: The user rejected the call, so it was not made. Continue without it."),
        (
            Answer::Text("canary: I paid myself".into()),
            0,
            "The call was not made. The user answers instead: canary: I paid myself",
        ),
    ] {
        let model = pays();
        let (world, happened) = world(PAY, &model).await;
        let root = world.ask("Pay.").await;
        let question = world.question(root.id).await;
        world.asleep(&root).await;
        let proposal = question.proposal.as_ref().expect("it says which call");
        assert_eq!((question.about, proposal.held_by.as_ref()), (About::Approval, Some(&rule("pay"))));
        assert_eq!((proposal.tool.as_str(), &proposal.arguments), ("pay", &json!({"n": 7})));
        let run = world.client().runs(root.id, Page::default()).await.unwrap()[0].id;
        let steps = world.client().steps(run).await.unwrap();
        assert!(steps.last().unwrap().state.is_open(), "no intent before the leave");
        assert_eq!(happened.per_call(), [0_u32; 0]);

        answer(&world, &question, given).await;
        let lines = lines(&world, &root).await;
        assert_eq!(lines[1], "turn: [pay{\"n\":7}]", "the agent's call stays as it made it");
        assert_eq!(read_last(&model), read);
        assert_eq!(happened.per_call().iter().sum::<u32>(), times);
    }
}

#[tokio::test]
async fn only_calls_that_match_an_approval_rule_wait() {
    let front = "approval:\n  - tools: [p*]\n    when: n > 100\n  - effect: idempotent";
    let model = ScriptedModel::new([
        Script::call("pay", json!({"n": 100})).and_call("read", json!({"n": 500})),
        Script::call("pay", json!({"n": 101})),
        Script::text("Done."),
    ]);
    let (world, happened) = world(front, &model).await;
    let root = world.ask("Pay.").await;
    let question = world.question(root.id).await;
    assert_eq!(happened.per_call(), [1, 1], "the cheap one and the reading were not held back");
    assert_eq!(question.text, "May the assistant call `pay` with {\"n\":101}? A rule asks: p* when n > 100.");
    answer(&world, &question, approve()).await;
    lines(&world, &root).await;
    assert_eq!(happened.per_call(), [1, 1, 1]);
}

#[tokio::test]
async fn each_call_of_a_turn_is_approved_separately_and_blocks_no_other() {
    let model = ScriptedModel::new([
        Script::call("pay", json!({"n": 1}))
            .and_call("read", json!({"n": 2}))
            .and_call("pay", json!({"n": 3})),
        Script::text("Done."),
    ]);
    let (world, happened) = world(PAY, &model).await;
    let root = world.ask("Pay.").await;
    let second = nth_question(&world, &root, 2).await;
    world.asleep(&root).await;
    assert_eq!(happened.per_call(), [1], "the reading did not wait");
    let world = world.restart(Faults::default()).await;
    // The later question first; its effect does not wait for the other answer.
    answer(&world, &second, approve()).await;
    world
        .until(root.id, |event| {
            let run = matches!(&event.body, EventBody::Run { status: Status::Waiting, .. });
            run && happened.per_call().len() == 2
        })
        .await;
    let first = world.question(root.id).await;
    assert_eq!(world.client().question(first.id).await.unwrap().status, QuestionStatus::Open);
    answer(&world, &first, Verdict::Reject.into()).await;
    assert_eq!(
        lines(&world, &root).await[2..5],
        [
            "output!: The user rejected the call, so it was not made. Continue without it.",
            "output: read: {\"n\":2}",
            "output: pay: {\"n\":3}",
        ]
    );
}

#[tokio::test]
async fn questions_and_approvals_follow_the_order_of_a_turns_calls() {
    let turn = Script::call("pay", json!({"n": 1}))
        .and_call("ask_user", json!({"question": "Which colour?"}))
        .and_call("pay", json!({"n": 2}));
    let model = ScriptedModel::new([turn, Script::text("Done.")]);
    let tools = first_tools().with(TestTool::new("pay", Effect::Unsafe, &Effects::default()));
    let kinds = Kinds::none().with(kind("assistant", &format!("tools: [pay, ask_user]\n{PAY}")));
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Pay.").await;
    nth_question(&world, &root, 3).await;
    let questions = world.client().questions(Some(root.id), None, Page::default()).await.unwrap();
    let leave = |n| format!("May the assistant call `pay` with {{\"n\":{n}}}? A rule asks: pay.");
    let texts: Vec<String> = questions.into_iter().map(|question| question.text).collect();
    assert_eq!(texts, [leave(1), "Which colour?".to_owned(), leave(2)]);
}

#[tokio::test]
async fn an_expired_approval_takes_the_verdict_that_the_rule_declares() {
    let no = "Error: The call was not approved in time, so it was not made. Continue without it.";
    for (otherwise, read, times) in [("reject", no, 0), ("approve", "pay: {\"n\":7}", 1)] {
        let model = pays();
        let (world, happened) =
            world(&format!("{PAY}\n    answer_seconds: 60\n    otherwise: {otherwise}"), &model).await;
        let root = world.ask("Pay.").await;
        let question = world.question(root.id).await;
        world.asleep(&root).await;
        let world = world.restart(Faults::default()).await;
        world.clock().advance(Duration::from_secs(60));
        lines(&world, &root).await;
        assert_eq!((read_last(&model).as_str(), happened.per_call().len()), (read, times));
        let expired = world.client().question(question.id).await.unwrap();
        assert_eq!(
            (expired.status, expired.answer_in_words().as_deref()),
            (QuestionStatus::Expired, Some(otherwise))
        );
    }
}

#[tokio::test]
async fn an_approval_takes_one_valid_answer_for_the_proposed_call() {
    let model = pays();
    let (world, happened) = world(PAY, &model).await;
    let root = world.ask("Pay.").await;
    let question = world.question(root.id).await;
    let client = world.client();
    let with = |arguments: Option<Value>, digest: Option<&str>| Answer::Approve {
        arguments,
        always: false,
        digest: digest.map(str::to_owned),
    };
    let wrong = client.answer(question.id, with(Some(json!({"n": "much"})), None)).await;
    assert!(matches!(&wrong, Err(Error::Invalid(why)) if why.contains("/n")), "{wrong:?}");
    let other = client.answer(question.id, with(None, Some("of something else"))).await;
    assert!(matches!(other, Err(Error::OtherCall(_))), "{other:?}");
    let doubt = client.answer(question.id, Answer::Retry).await;
    assert!(matches!(&doubt, Err(Error::Invalid(why)) if why.contains("`approve_always`")), "{doubt:?}");
    assert_eq!(client.question(question.id).await.unwrap(), question, "nothing has changed");

    let digest = question.proposal.as_ref().unwrap().digest.clone();
    let (one, two) = tokio::join!(
        client.answer(question.id, with(None, Some(&digest))),
        client.answer(question.id, Answer::Reject { reason: Some("no".into()) }),
    );
    let refused = match (one, two) {
        (Ok(_), Err(late)) | (Err(late), Ok(_)) => late.to_string(),
        both => panic!("{both:?}"),
    };
    let kept = client.question(question.id).await.unwrap().answer_in_words().unwrap();
    assert!(refused.contains(&format!("is answered already: `{kept}`, by local, at 20")), "{refused}");
    lines(&world, &root).await;
    assert_eq!(happened.per_call().len(), usize::from(kept == "approve"));
}

#[tokio::test]
async fn a_grant_covers_one_agent_and_one_rule_until_it_is_revoked() {
    let front = "approval:\n  - tools: pay\n    when: n > 1\n  - tools: pay\n    when: n > 1000";
    let amounts = [7, 8, 2000, 9];
    let mut script: Vec<Script> = amounts.iter().map(|n| Script::call("pay", json!({"n": n}))).collect();
    script.extend([Script::text("Done."), Script::call("pay", json!({"n": 7}))]);
    let model = ScriptedModel::new(script);
    let (world, happened) = world(front, &model).await;
    let root = world.ask("Pay.").await;
    let client = world.client();
    answer(&world, &nth_question(&world, &root, 1).await, Verdict::ApproveAlways.into()).await;
    // Payment 8 asks no question, payment 2000 does: by the other rule.
    let dear = nth_question(&world, &root, 2).await;
    assert_eq!(dear.proposal.as_ref().unwrap().held_by, Some(rule("pay when n > 1000")));
    assert_eq!(happened.per_call().len(), 2);
    let grants = client.grants(None, Some(root.id), None, Page::default()).await.unwrap();
    assert_eq!((grants.len(), &grants[0].subject), (1, &rule("pay when n > 1")));
    assert_eq!(
        (grants[0].agent, grants[0].tool.as_str(), grants[0].status),
        (root.id, "pay", GrantStatus::Standing)
    );

    let stranger = world.engine().client(entourage_types::Owner::new("stranger"));
    assert!(matches!(stranger.revoke(grants[0].id).await, Err(Error::NotFound { .. })));
    assert_eq!(stranger.grants(None, None, None, Page::default()).await.unwrap(), []);
    for _ in 0..2 {
        assert_eq!(client.revoke(grants[0].id).await.unwrap().status, GrantStatus::Revoked);
    }
    answer(&world, &dear, approve()).await;
    let again = nth_question(&world, &root, 3).await;
    assert_eq!(again.proposal.as_ref().unwrap().arguments, json!({"n": 9}));
    answer(&world, &again, Verdict::ApproveAlways.into()).await;
    lines(&world, &root).await;
    assert_eq!(happened.per_call(), [1; 4]);
    let events = client.events(root.id, 0, 1000).await.unwrap();
    let told = events.iter().filter_map(|event| match &event.body {
        EventBody::Grant { grant } => Some(grant.status),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [GrantStatus::Standing, GrantStatus::Revoked, GrantStatus::Standing]
    );

    // A grant for one agent does not cover the next one of its kind.
    let other = world.ask("Pay.").await;
    nth_question(&world, &other, 1).await;
}

#[tokio::test]
async fn a_grant_covers_one_tool_of_a_rule_and_not_the_others() {
    let calls = Script::call("pay", json!({"n": 8})).and_call("read", json!({"n": 1}));
    let model = ScriptedModel::new([Script::call("pay", json!({"n": 7})), calls, Script::text("Done.")]);
    let (world, happened) = world("approval:\n  - tools: [pay, read]", &model).await;
    let root = world.ask("Pay.").await;
    answer(&world, &nth_question(&world, &root, 1).await, Verdict::ApproveAlways.into()).await;
    let other = nth_question(&world, &root, 2).await;
    assert_eq!(other.proposal.as_ref().map(|proposal| &*proposal.tool), Some("read"));
    world.asleep(&root).await;
    let open = world.client().questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await;
    assert_eq!(
        (open.unwrap(), happened.per_call().len()),
        (vec![other.clone()], 2),
        "both payments are made"
    );
    answer(&world, &other, approve()).await;
    lines(&world, &root).await;
    assert_eq!(happened.per_call().len(), 3);
}

#[tokio::test]
async fn a_grant_releases_only_the_open_approvals_that_it_covers() {
    let front = "approval:\n  - tools: pay\n    when: n > 1\n  - tools: pay\n    when: n > 1000";
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("pay", json!({"n": 7}))
                .and_call("pay", json!({"n": 8}))
                .and_call("pay", json!({"n": 2000})),
            _ => Script::text("Done."),
        }))
    });
    let (world, happened) = world(front, &model).await;
    let (root, other) = (world.ask("Pay.").await, world.ask("Pay, too.").await);
    for agent in [&root, &other] {
        nth_question(&world, agent, 3).await;
        world.asleep(agent).await;
    }
    let open = async |root: &Agent| {
        let open = Some(QuestionStatus::Open);
        world.client().questions(Some(root.id), open, Page::default()).await.unwrap()
    };
    let first = open(&root).await.remove(0);
    answer(&world, &first, Verdict::ApproveAlways.into()).await;
    // Payment 2000 waited under the granted rule; the other rule still holds it back.
    let dear = nth_question(&world, &root, 4).await;
    let proposal = dear.proposal.as_ref().unwrap();
    assert_eq!(
        (&proposal.arguments, proposal.held_by.as_ref()),
        (&json!({"n": 2000}), Some(&rule("pay when n > 1000")))
    );
    assert_eq!(open(&root).await, std::slice::from_ref(&dear));
    answer(&world, &dear, Verdict::Reject.into()).await;
    lines(&world, &root).await;
    assert_eq!(happened.per_call(), [1, 1]);
    let told = world.client().questions(Some(root.id), None, Page::default()).await.unwrap();
    let words: Vec<_> = told.iter().map(|question| question.answer_in_words().unwrap()).collect();
    assert_eq!(words, ["approve always", "approve always", "approve always", "reject"]);
    assert_eq!(open(&other).await.len(), 3, "what one agent was granted is nothing to another");
}

/// A person so quick that the first question is answered before the second one is committed.
struct QuickPerson(Client);

#[async_trait]
impl StoreLayer for QuickPerson {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let asks = |write: &Write| {
            write.as_record().is_some_and(|asked: Question| asked.status == QuestionStatus::Open)
        };
        if commit.writes.iter().any(asks) {
            for question in self.0.questions(None, Some(QuestionStatus::Open), Page::default()).await.unwrap()
            {
                self.0.answer(question.id, Verdict::ApproveAlways.into()).await.unwrap();
            }
        }
        store.commit(commit).await
    }
}

/// Makes two calls that such a person grants, with these faults, and completes the remaining work.
/// Returns how many commits there were, and how many questions.
async fn grant_while_asking(faults: &Faults) -> (u64, usize) {
    let pays = Script::call("pay", json!({"n": 7})).and_call("pay", json!({"n": 8}));
    let model = ScriptedModel::deciding(move |request: &Request| {
        let is_new = matches!(request.messages.last(), Some(Message::User(_)));
        Some(Ok(if is_new { pays.clone() } else { Script::text("Done.") }))
    });
    let world = World::builder(model.clone()).dispatchers([]).store(MemoryStore::default()).start().await;
    let happened = Effects::default();
    let quick: Arc<dyn Store> =
        Arc::new(Layered::new(Arc::clone(world.store()), QuickPerson(world.client())));
    let root = world.ask("Pay.").await;
    for faults in [faults, &Faults::default()] {
        let engine = Engine::builder(
            Arc::new(Layered::new(Arc::clone(&quick), faults.clone())),
            Arc::new(model.clone()),
        )
        .tools(Toolbox::new().with(TestTool::new("pay", Effect::Idempotent, &happened)))
        .kinds(Kinds::none().with(kind("assistant", PAY)))
        .clock(Arc::new(world.clock().clone()))
        .build();
        for _ in 0..3 {
            let done = engine.advance(root.id).await;
            assert!(done.is_ok() || faults.is_dead(), "{done:?}");
        }
    }
    assert_eq!(lines(&world, &root).await.len(), 5);
    assert_eq!(happened.per_call().len(), 2);
    let told = world.client().questions(Some(root.id), None, Page::default()).await.unwrap();
    let is_granted = |question: &Question| question.answer_in_words().as_deref() == Some("approve always");
    assert!(told.iter().all(is_granted), "nobody was asked twice: {told:?}");
    (faults.commits(), told.len())
}

#[tokio::test]
async fn a_grant_covers_an_approval_that_is_being_asked_at_that_moment() {
    let (commits, questions) = grant_while_asking(&Faults::default()).await;
    assert_eq!(questions, 2);
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            grant_while_asking(&Faults::default().plan(at, fault)).await;
        }
    }
}

#[tokio::test]
async fn an_approval_holds_for_one_version_of_a_kind() {
    let happened = Effects::default();
    let database = Database::new();
    let store = World::builder(pays()).dispatchers([]).store(database.open()).start().await;
    let model = Arc::new(pays());
    let engine = |front: &str| {
        Engine::builder(Arc::clone(store.store()), Arc::<ScriptedModel>::clone(&model))
            .tools(Toolbox::new().with(TestTool::new("pay", Effect::Unsafe, &happened)))
            .kinds(Kinds::none().with(kind("assistant", front)))
            .build()
    };
    let before = engine(PAY);
    let root = store.ask("Pay.").await;
    before.advance(root.id).await.unwrap();
    let first = store.question(root.id).await;
    answer(&store, &first, approve()).await;

    // A run keeps its version; only if that was lost does it continue under another one.
    database.execute("DELETE FROM entities WHERE kind = 'kind'");

    let after = engine("description: More careful now.\napproval:\n  - tools: \"*\"");
    after.advance(root.id).await.unwrap();
    assert_eq!(happened.per_call(), [0_u32; 0]);
    let second = nth_question(&store, &root, 2).await;
    assert_ne!(first.proposal.unwrap().kind_version, second.proposal.clone().unwrap().kind_version);
    answer(&store, &second, approve()).await;
    after.advance(root.id).await.unwrap();
    assert_eq!(happened.per_call(), [1]);
    assert_eq!(lines(&store, &root).await[2], "output: pay: {\"n\":7}");
}

#[tokio::test]
async fn delegation_can_need_approval_and_sub_agents_ask_the_roots_user() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let below = request.system.contains("You are the worker");
        Some(Ok(match (below, request.messages.last()) {
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "worker", "message": "note it"}))
            }
            (true, Some(Message::User(text))) => {
                Script::call("create_note", json!({"title": "t", "content": text}))
            }
            (_, Some(Message::Output { text, .. })) => Script::text(format!("so: {text}")),
            (_, other) => Script::text(format!("unexpected {other:?}")),
        }))
    });
    let kinds = Kinds::none()
        .with(kind("assistant", "peers: [worker]\napproval: [{ tools: send_message }]"))
        .with(kind("worker", "approval: [{ tools: create_note }]"));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    let client = world.client();
    let first = nth_question(&world, &root, 1).await;
    assert_eq!(client.tree(root.id).await.unwrap().len(), 1, "nobody was made before the leave");
    let arguments = Some(json!({"recipient": "worker", "message": "note that"}));
    answer(&world, &first, Answer::Approve { arguments, always: false, digest: None }).await;

    let second = nth_question(&world, &root, 2).await;
    assert_eq!((second.root, second.kind.as_str()), (root.id, "worker"));
    assert!(second.task.is_some_and(|_| second.agent != root.id));
    let entries = client.transcript(root.id).await.unwrap();
    assert!(entries.iter().any(|entry| entry.text.starts_with("May the worker call `create_note` with")));
    let world = world.restart(Faults::default()).await;
    answer(&world, &second, Verdict::Approve.into()).await;
    let output = lines(&world, &root).await[2].clone();
    assert!(output.starts_with("output: The user changed the arguments to"), "{output}");
    let notes = world.client().notes(Some(root.id), Page::default()).await.unwrap();
    assert_eq!(notes[0].content, "note that");
}
