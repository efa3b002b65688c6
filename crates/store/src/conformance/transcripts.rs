//! Transcripts, runs and steps: in order, complete, and as they were written.

use entourage_types::{
    Agent, AnswerFlaw, Asked, Author, CallId, Checkpoint, Context, ContextEntry, Cost, Decision,
    DecisionOutcome, Effect, Failed, FailedTry, FailureClass, Intent, ItemBody, Message, ModelUse, Notice,
    NoticeCode, Output, OutputEffect, PostId, Run, RunId, RunOptions, Scope, Section, Sha256, Status,
    StepKey, StepState, StopReason, TaskId, ToolCall, Turn, Usage, WaitingOn,
};
use serde_json::json;

use super::{
    Backing,
    sample::{at, claim, new_child, new_root, next, owner, run, say, step, stranger},
};
use crate::{Commit, Error, ItemQuery, Page, Result, RunCount, RunQuery, Store, Write};

/// An item that is not the next one is refused; the agent's row always has the number of items.
pub async fn items_are_in_order_and_without_gaps(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let run = RunId::new();
    for _ in 0..3 {
        let commit = Commit::fenced(&agent, at(2))
            .write(Write::Item(say(&mut agent, run, "one")))
            .write(Write::Item(say(&mut agent, run, "two")));
        store.commit(commit.write(Write::Agent(agent.clone()))).await?;
    }
    let commit = Commit::fenced(&agent, at(2)).write(Write::Item(say(&mut agent, run, "without the row")));
    store.commit(commit).await?;
    let row = store.agent(&Scope::All, known.id).await?;
    assert_eq!(row.map(|row| row.items), Some(7));

    for seq in [0, 6, 8] {
        let item = say(&mut Agent { items: seq, ..agent.clone() }, run, "out of line");
        let refused = store.commit(Commit::fenced(&agent, at(3)).write(Write::Item(item))).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "item {seq}: {refused:?}");
    }
    let miscounted = Agent { items: 8, ..agent.clone() };
    let refused = store.commit(Commit::fenced(&agent, at(3)).write(Write::Agent(miscounted))).await;
    assert!(matches!(refused, Err(Error::RuleViolation(_))), "a wrong number of items: {refused:?}");

    for (from, limit, expected) in
        [(0, 100, 0..7), (0, 2, 0..2), (5, 100, 5..7), (7, 100, 0..0), (2, 3, 2..5)]
    {
        let query = ItemQuery::of(agent.id, from, limit);
        let seqs: Vec<u64> = store.items(&Scope::All, query).await?.iter().map(|item| item.seq).collect();
        assert_eq!(seqs, expected.collect::<Vec<_>>(), "from {from}, at most {limit}");
    }
    for (before, limit, bytes, expected) in [
        (9, 100, usize::MAX, 1..7),
        (7, 2, usize::MAX, 5..7),
        (5, 3, usize::MAX, 2..5),
        (5, 3, 1, 4..5),
        (1, 3, usize::MAX, 0..0),
    ] {
        let query = ItemQuery { before: Some(before), bytes, ..ItemQuery::of(agent.id, 1, limit) };
        let seqs: Vec<u64> = store.items(&Scope::All, query).await?.iter().map(|item| item.seq).collect();
        assert_eq!(seqs, expected.collect::<Vec<_>>(), "the last {limit} before {before}, {bytes} bytes");
    }
    Ok(())
}

/// Items of every type read back, with text of every sort and size.
pub async fn every_type_of_item_reads_back_unchanged(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let call = CallId::new();
    let bodies = [
        ItemBody::Message(Message {
            from: Author::Agent { id: known.id, kind: "digger".to_owned() },
            text: "quotes ' \" \\, lines\n\r\t, ünïcödé 漢字 🕳️, <xml>&amp;".to_owned(),
            task: Some(TaskId::new()),
            ended: Some(Status::Failed),
            post: Some(PostId::new()),
            options: Some(RunOptions { depth: 2, max_steps: Some(3), ..RunOptions::default() }),
        }),
        ItemBody::Message(Message::new(Author::User, "", None)),
        ItemBody::Turn(Turn {
            text: "I dig".to_owned(),
            calls: vec![ToolCall { id: call, tool: "dig".to_owned(), arguments: json!({ "depth": 1.5 }) }],
            used: Some(ModelUse {
                model: "some::model".to_owned(),
                usage: Usage { input: 1, ..Usage::default() },
                cost: None,
            }),
            asked: Some(Box::new(Asked {
                sha256: Sha256::from_bytes([7; 32]),
                tools: Some(Sha256::from_bytes([8; 32])),
                model: Some("some::other".to_owned()),
                max_tokens: Some(9),
                at: at(3),
                first_token: Some(at(4)),
                gate_ms: 12,
                failed: vec![FailedTry {
                    at: at(2),
                    model: None,
                    class: None,
                    error: "it was busy".to_owned(),
                }],
                held_back: true,
            })),
        }),
        ItemBody::Context(Context {
            entries: vec![ContextEntry {
                section: Section::Notes,
                about: Some("nte_1".to_owned()),
                text: "<note title=\"a\">b</note>".to_owned(),
            }],
        }),
        ItemBody::Output(Output {
            call,
            tool: "dig".to_owned(),
            text: "earth ".repeat(200_000),
            error: true,
            effect: Some(OutputEffect::Refused { by: "fence".to_owned() }),
            details: Some(json!([null, { "deep": [1, 2] }])),
        }),
        ItemBody::Decision(Decision {
            name: "clarify".to_owned(),
            outcome: DecisionOutcome::Value(json!({ "ask": "no" })),
            used: Some(ModelUse { model: "some::model".to_owned(), usage: Usage::default(), cost: None }),
            asked: None,
            prompt: None,
            cause: None,
            flaw: None,
        }),
        ItemBody::Decision(Decision {
            name: "blocking/1".to_owned(),
            outcome: DecisionOutcome::Failed("no model answered".to_owned()),
            used: None,
            asked: None,
            prompt: None,
            cause: Some("m: no such model".into()),
            flaw: Some(AnswerFlaw::CutOff),
        }),
        ItemBody::Decision(Decision {
            name: "blocking/2".to_owned(),
            outcome: DecisionOutcome::Refused { answer: "Perhaps.".to_owned(), why: "no object".to_owned() },
            used: None,
            asked: None,
            prompt: None,
            cause: None,
            flaw: None,
        }),
        ItemBody::Notice(Notice {
            code: NoticeCode::Ended(StopReason::MaxSteps),
            text: "that was long".to_owned(),
            cause: Some("a clock".to_owned()),
            failed: Some(Failed { class: FailureClass::Network, attempts: 4 }),
        }),
    ];
    let run = RunId::new();
    let mut items: Vec<_> = bodies.into_iter().map(|body| next(&mut agent, run, body)).collect();
    for (item, key) in
        items.iter_mut().skip(1).zip([StepKey::Model(3), StepKey::Tool(call), "clarify".into()])
    {
        item.step = Some(key);
    }
    let mut commit = Commit::fenced(&agent, at(2));
    commit.writes.extend(items.iter().cloned().map(Write::Item));
    store.commit(commit).await?;
    let all = ItemQuery::of(agent.id, 0, 100);
    assert_eq!(store.items(&Scope::All, all).await?, items);
    Ok(())
}

/// Runs keep every field, change in place, and are found by id, agent and tree, in the order in which they
/// were first committed.
pub async fn runs_read_back_unchanged(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let mut written = Vec::new();
    for known in [&root, &child, &root] {
        let agent = claim(&store, known.id).await?.agent;
        let mut run = run(&agent);
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
        run.status = Status::Waiting;
        run.waiting_on = Some(WaitingOn::Retry);
        run.stop_reason = Some(StopReason::ModelFailed);
        run.error = Some("the model said no".to_owned());
        run.tasks = vec![TaskId::new(), TaskId::new()];
        run.model_calls = 3;
        run.worked_ms = 1_234;
        run.usage = Usage { input: 5, output: 4, cached: 3, cache_written: 2, reasoning: 1 };
        run.cost = Cost::from_nanos(123_456_789_012);
        let cost = Some(Cost::from_nanos(1));
        run.charge(&ModelUse { model: "some::model".to_owned(), usage: run.usage, cost }, at(3));
        run.ended = Some(at(9));
        store.commit(Commit::fenced(&agent, at(3)).write(Write::Run(run.clone()))).await?;
        written.push(run);
    }
    let [first, second, third] = [&written[0], &written[1], &written[2]];
    let all = RunQuery::default();
    let newest = Page { newest_first: true, limit: 2, ..Page::default() };
    let next = Page { after: Some(first.id.to_string()), ..Page::default() };
    for (query, expected) in [
        (all.clone(), vec![first, second, third]),
        (RunQuery { id: Some(second.id), ..all.clone() }, vec![second]),
        (RunQuery { agent: Some(root.id), ..all.clone() }, vec![first, third]),
        (RunQuery { root: Some(root.id), ..all.clone() }, vec![first, second, third]),
        (RunQuery { root: Some(child.id), ..all.clone() }, vec![]),
        (RunQuery { page: newest, ..all.clone() }, vec![third, second]),
        (RunQuery { page: next, ..all }, vec![second, third]),
    ] {
        let found = store.runs(&Scope::All, query.clone()).await?;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query:?}");
    }
    Ok(())
}

/// Runs are found while they have not ended, those of all owners or of one.
pub async fn open_runs_are_found(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (one, two) = (new_root(&store, owner()).await?, new_root(&store, stranger()).await?);
    let mut written = Vec::new();
    for (known, status) in [
        (&one, Status::Succeeded),
        (&one, Status::Running),
        (&two, Status::Failed),
        (&two, Status::Cancelled),
        (&two, Status::Waiting),
    ] {
        let agent = claim(&store, known.id).await?.agent;
        let run = Run { status, ..run(&agent) };
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
        written.push(run);
    }
    let open = RunQuery { open: true, ..RunQuery::default() };
    assert_eq!(store.runs(&Scope::All, open.clone()).await?, [written[1].clone(), written[4].clone()]);
    assert_eq!(store.runs(&Scope::Owner(owner()), open).await?, [written[1].clone()]);
    Ok(())
}

/// Runs are counted for each version of each kind, those of all owners or of one, with or without those that
/// have ended.
pub async fn runs_are_counted_by_kind_and_version(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let one = new_root(&store, owner()).await?;
    let (child, two) = (new_child(&store, &one).await?, new_root(&store, stranger()).await?);
    let mut last = None;
    for (known, version, status) in [
        (&one, "v1", Status::Succeeded),
        (&one, "v1", Status::Cancelled),
        (&one, "v2", Status::Failed),
        (&one, "v2", Status::Running),
        (&child, "v1", Status::Waiting),
        (&two, "v1", Status::Queued),
        (&two, "v2", Status::Succeeded),
        (&two, "v2", Status::Waiting),
    ] {
        let agent = claim(&store, known.id).await?.agent;
        let run = Run { status, kind_version: version.to_owned(), ..run(&agent) };
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
        last = Some(run.id);
    }
    let (everyone, ann) = (Scope::All, Scope::Owner(owner()));
    // A page restricts a listing, never a count.
    let page = Page { limit: 1, ..Page::default() };
    let all = RunQuery { page, ..RunQuery::default() };
    let open = RunQuery { open: true, ..all.clone() };
    for (scope, query, expected) in [
        (&ann, all.clone(), vec![("digger", "v1", 1), ("helper", "v1", 2), ("helper", "v2", 2)]),
        (&ann, open.clone(), vec![("digger", "v1", 1), ("helper", "v2", 1)]),
        (&everyone, open.clone(), vec![("digger", "v1", 1), ("helper", "v1", 1), ("helper", "v2", 2)]),
        (
            &everyone,
            RunQuery { root: Some(one.id), ..open.clone() },
            vec![("digger", "v1", 1), ("helper", "v2", 1)],
        ),
        (
            &everyone,
            RunQuery { agent: Some(two.id), ..all.clone() },
            vec![("helper", "v1", 1), ("helper", "v2", 2)],
        ),
        (&everyone, RunQuery { id: last, ..all.clone() }, vec![("helper", "v2", 1)]),
        (&ann, RunQuery { id: last, ..all }, vec![]),
    ] {
        let found = store.count_runs(scope, query.clone()).await?;
        let count = |(kind, version, runs): (&str, &str, u32)| RunCount {
            kind: kind.to_owned(),
            version: version.to_owned(),
            runs,
        };
        let expected: Vec<RunCount> = expected.into_iter().map(count).collect();
        assert_eq!(found, expected, "{scope:?}, {query:?}");
    }
    Ok(())
}

/// Steps keep every field, and their order even when they change later.
pub async fn steps_keep_the_order_in_which_they_began(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let agent = claim(&store, known.id).await?.agent;
    let run = run(&agent);
    store.commit(Commit::fenced(&agent, at(1)).write(Write::Run(run.clone()))).await?;
    let mut steps = ["receive/0", "model/0", "a tool"].map(|key| step(run.id, key, StepState::Started));
    for (step, begun) in steps.iter_mut().zip(2..) {
        (step.started, step.updated) = (at(begun), at(begun));
        store.commit(Commit::fenced(&agent, at(begun)).write(Write::Step(step.clone()))).await?;
    }
    let output = Output {
        call: CallId::new(),
        tool: "a tool".to_owned(),
        text: "done".to_owned(),
        error: false,
        effect: None,
        details: None,
    };
    steps[0].state = StepState::Done(Some(Checkpoint::Output(Box::new(output))));
    steps[0].intent = Some(Intent { effect: Effect::Unsafe, edited: Some(json!({ "n": 1e2 })) });
    steps[0].attempt = 3;
    steps[0].updated = at(9);
    steps[0].used = Some(ModelUse {
        model: "some::model".to_owned(),
        usage: Usage { input: 1, ..Usage::default() },
        cost: Some(Cost::from_nanos(7)),
    });
    store.commit(Commit::fenced(&agent, at(9)).write(Write::Step(steps[0].clone()))).await?;
    assert_eq!(store.steps(&Scope::All, run.id).await?, steps);
    assert_eq!(store.steps(&Scope::All, RunId::new()).await?, []);
    // One of them is found by its key, by whoever sees the run.
    let (key, none) = (&steps[1].key, StepKey::from("model/1"));
    assert_eq!(store.step(&Scope::All, run.id, key).await?.as_ref(), Some(&steps[1]));
    assert_eq!(store.step(&Scope::from(&owner()), run.id, key).await?.as_ref(), Some(&steps[1]));
    assert_eq!(store.step(&Scope::from(&stranger()), run.id, key).await?, None);
    assert_eq!(store.step(&Scope::All, run.id, &none).await?, None);
    assert_eq!(store.step(&Scope::All, RunId::new(), key).await?, None);
    Ok(())
}
