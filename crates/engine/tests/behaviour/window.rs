//! The model's context window: however long an agent works and however much its tools return, no
//! request exceeds it, and omitted content can be read.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use crate::kit::{Effects, TestTool, one_kind};
use async_trait::async_trait;
use entourage_llm::{Deltas, KnownFrom, Message, Model, Profile, Reply, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{World, plain};
use entourage_tools::{Effect, Outcome, ReadOutput, Toolbox};
use entourage_types::{ItemBody, Section, Status, Usage};
use serde_json::json;

const WINDOW: u32 = 4_096;

/// The number of tokens of a request, at four bytes each.
fn tokens(request: &Request) -> usize {
    let messages = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => text.len(),
        Message::Assistant { text, calls } => {
            text.len()
                + calls.iter().map(|call| call.tool.len() + call.arguments.to_string().len()).sum::<usize>()
        }
        Message::Output { text, .. } => text.len(),
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    (messages.sum::<usize>() + tools.sum::<usize>() + request.system.len()) / 4
}

fn is_summary(request: &Request) -> bool {
    request.system.starts_with("You keep the memory")
}

/// A tool that returns this many characters.
fn bulky(characters: usize) -> Toolbox {
    let tool = TestTool::answering("bulk", Effect::Pure, &Effects::default(), move |_, arguments| {
        Ok(Outcome::text(format!("{arguments} {}", "x".repeat(characters))))
    });
    Toolbox::new().with(tool).with(ReadOutput)
}

fn kind_without_step_limits() -> entourage_engine::Kinds {
    one_kind(|kind| {
        kind.limits.max_steps = 1_000;
        kind.limits.max_same_tool = 1_000;
        kind.limits.max_tokens = u64::MAX;
    })
}

/// Shows: S4-R039.
#[tokio::test]
async fn three_hundred_steps_of_large_outputs_never_exceed_the_window() {
    let steps = Arc::new(Mutex::new(0));
    let count = Arc::clone(&steps);
    let model = ScriptedModel::deciding(move |request| {
        let size = tokens(request);
        assert!(size <= WINDOW as usize, "{size} tokens in a request");
        // The model counts more tokens than four bytes each.
        let usage = Usage { input: size as u64 * 5 / 4, output: 5, ..Usage::default() };
        assert!(usage.input <= u64::from(WINDOW), "{} tokens counted", usage.input);
        if is_summary(request) {
            return Some(Ok(Script::text("Many were fetched.").using(usage)));
        }
        let mut steps = count.lock().unwrap();
        *steps += 1;
        let n = *steps;
        Some(Ok(
            if n <= 300 { Script::call("bulk", json!({"n": n})) } else { Script::text("Done.") }.using(usage)
        ))
    });
    let model = model.with_window(WINDOW);
    let world =
        World::builder(model.clone()).tools(bulky(1_500)).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Fetch all of them.").await;
    let ended = world.ended(agent.id).await;
    let client = world.client();
    let items = client.items(agent.id, 0, 10_000).await.unwrap();
    assert_eq!(ended.status, Status::Succeeded, "{:?}", plain(&items).last());
    let outputs = plain(&items).iter().filter(|line| line.starts_with("output")).count();
    assert_eq!(outputs, 300, "the transcript keeps every output");
    let requests = model.requests();
    let (summaries, turns): (Vec<&Request>, Vec<&Request>) = requests.iter().partition(|r| is_summary(r));
    assert!((10..100).contains(&summaries.len()), "{} digests in 300 steps", summaries.len());
    let run = &client.runs(agent.id, Page::default()).await.unwrap()[0];
    assert_eq!(run.model_calls as usize, requests.len(), "those calls are on the bill");
    for request in &turns {
        assert!(!matches!(request.messages.first(), Some(Message::Output { .. })));
        for (at, message) in request.messages.iter().enumerate() {
            if let Message::Output { call, .. } = message {
                let asked = |message: &Message| {
                    matches!(message, Message::Assistant { calls, .. }
                        if calls.iter().any(|known| known.id.to_string() == *call))
                };
                assert!(request.messages[..at].iter().any(asked), "an output without its call");
            }
        }
    }
    // Between two digests, every request begins with the whole previous one.
    let kept = turns.windows(2).filter(|pair| {
        let before = &pair[0].messages;
        pair[1].messages.len() > before.len() && pair[1].messages[..before.len()] == before[..]
    });
    assert_eq!(kept.count() + summaries.len(), turns.len() - 1);
}

/// Shows: S1-R034.
#[tokio::test]
async fn a_digest_never_separates_a_call_from_its_output() {
    const TURNS: u64 = 30;
    const CALLS: u64 = 4;
    let made = Mutex::new(0);
    let model = ScriptedModel::deciding(move |request| {
        let usage = Usage { input: tokens(request) as u64, output: 5, ..Usage::default() };
        if is_summary(request) {
            return Some(Ok(Script::text("Many were fetched.").using(usage)));
        }
        let mut made = made.lock().unwrap();
        if *made == TURNS * CALLS {
            return Some(Ok(Script::text("Done.").using(usage)));
        }
        let turn =
            (*made..*made + CALLS).fold(Script::text(""), |turn, n| turn.and_call("bulk", json!({"n": n})));
        *made += CALLS;
        Some(Ok(turn.using(usage)))
    });
    let model = model.with_window(WINDOW);
    let world =
        World::builder(model.clone()).tools(bulky(700)).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Fetch all of them.").await;
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    let requests = model.requests();
    let digests = requests.iter().filter(|request| is_summary(request)).count();
    assert!((5..30).contains(&digests), "{digests} digests in {TURNS} turns");
    for request in requests.iter().filter(|request| !is_summary(request)) {
        let mut messages = request.messages.iter();
        while let Some(message) = messages.next() {
            match message {
                Message::Assistant { calls, .. } => {
                    for call in calls {
                        let output = messages.next();
                        let is_its = matches!(output, Some(Message::Output { call: id, .. }) if *id == call.id.to_string());
                        assert!(is_its, "{} is followed by {output:?}", call.id);
                    }
                }
                Message::Output { .. } => panic!("an output without its turn: {message:?}"),
                Message::User(_) | Message::Notice(_) | Message::Context(_) => {}
            }
        }
    }
}

#[tokio::test]
async fn an_output_too_long_for_the_window_is_kept_whole_and_read_in_parts() {
    let model = ScriptedModel::deciding(|request| {
        let size = tokens(request);
        assert!(size <= WINDOW as usize, "{size} tokens in a request");
        if is_summary(request) {
            return Some(Ok(Script::text("One was fetched.")));
        }
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("bulk", json!({"n": 1})),
            Some(Message::Output { tool, text, .. }) if tool == "bulk" => {
                assert!(text.contains("read_output with item 2"), "{text}");
                Script::call("read_output", json!({"item": 2, "from": 39_990}))
            }
            Some(Message::Output { text, .. }) => {
                assert!(text.contains("[2: characters 39990 to 40008 of 40008; that is its end]"), "{text}");
                Script::text("Read.")
            }
            other => Script::text(format!("unexpected {other:?}")),
        }))
    });
    let model = model.with_window(WINDOW);
    let world =
        World::builder(model.clone()).tools(bulky(40_000)).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Fetch it.").await;
    let ended = world.ended(agent.id).await;
    let items = world.client().items(agent.id, 0, 100).await.unwrap();
    let cut: Vec<String> = plain(&items).into_iter().map(|line| line.chars().take(80).collect()).collect();
    assert_eq!(ended.status, Status::Succeeded, "{cut:?}");
    assert_eq!(cut.last().unwrap(), "turn: Read.[]");
    let ItemBody::Output(output) = &items[2].body else { panic!("{cut:?}") };
    assert_eq!(output.text.len(), 40_008, "the item keeps all");
    let requests = model.requests();
    let offers = |request: &Request| request.tools.iter().any(|tool| tool.name == "read_output");
    let turns = requests.iter().filter(|request| !is_summary(request));
    assert!(turns.clone().all(offers), "the tools stay as they are when something is cut");
    let has_cuts: Vec<bool> = turns.map(|request| request.has_cuts).collect();
    assert_eq!(has_cuts, [false, true, true]);
}

#[tokio::test]
async fn context_lists_the_blocks_of_the_models_input_with_tokens_and_cost() {
    let usage = Usage { input: 1_000, output: 5, cached: 900, ..Usage::default() };
    let model = ScriptedModel::new([
        Script::call("bulk", json!({"n": 1})).using(usage),
        Script::text("Done.").using(Usage { input: 1_400, ..usage }),
    ]);
    let price = entourage_llm::Price { input: 2.0, output: 0.0, cached: Some(0.2), cache_written: None };
    let model = model.with_window(8_000).priced(price);
    let kinds = one_kind(|kind| kind.context.sections = vec![Section::Time]);
    let world = World::builder(model).tools(bulky(4_000)).kinds(kinds).start().await;
    let agent = world.ask("Fetch it.").await;
    world.ended(agent.id).await;
    // Only the engine that works has the tools.
    let seen = world.engine().client(entourage_types::Owner::local()).context(agent.id).await.unwrap();
    let names: Vec<_> = seen.blocks.iter().map(|block| (block.name.as_str(), block.items)).collect();
    let conversation = |first, last| ("conversation", Some((first, last)));
    assert_eq!(
        names,
        [
            ("tools", None),
            ("instructions", None),
            conversation(0, 1),
            conversation(2, 3),
            conversation(4, 4),
            ("time", None)
        ]
    );
    assert_eq!(
        (seen.window, seen.cached, seen.model.as_deref()),
        (Some(8_000), 900, Some("scripted::script"))
    );
    assert_eq!(seen.blocks.iter().map(|block| block.tokens).sum::<u64>(), seen.tokens);
    // The request that the provider counted is all but the last answer.
    let counted = seen.tokens - seen.blocks[4].tokens;
    assert!((1_360..1_420).contains(&counted), "{seen:?}");
    assert_eq!(seen.blocks[0].cached, seen.blocks[0].tokens, "a cache holds the beginning");
    assert_eq!(seen.blocks[5].cached, 0);
    assert_eq!(seen.cost.unwrap().nanos(), (seen.tokens - 900) * 2_000 + 900 * 200);
    assert!(world.engine().client(entourage_types::Owner::new("other")).context(agent.id).await.is_err());
}

#[tokio::test]
async fn without_a_known_window_only_a_refused_request_causes_a_digest() {
    let asked_for = Arc::new(Mutex::new(0));
    let model = ScriptedModel::deciding(move |request| {
        let size = tokens(request);
        if size > WINDOW as usize {
            let (model, cause) = ("m".to_owned(), format!("HTTP 400: {size} tokens"));
            return Some(Err(entourage_llm::Error::BeyondWindow { model, cause }));
        }
        if is_summary(request) {
            return Some(Ok(Script::text("Some were fetched.")));
        }
        let mut asked_for = asked_for.lock().unwrap();
        *asked_for += 1;
        Some(Ok(if *asked_for <= 6 {
            Script::call("bulk", json!({"n": *asked_for}))
        } else {
            Script::text("Done.")
        }))
    });
    let model = model.without_window();
    let world =
        World::builder(model.clone()).tools(bulky(4_000)).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Fetch all of them.").await;
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    let client = world.client();
    let items = client.items(agent.id, 0, 10_000).await.unwrap();
    let lines = plain(&items);
    assert_eq!(lines.last().unwrap(), "turn: Done.[]");
    assert_eq!(lines.iter().filter(|line| line.starts_with("output: ")).count(), 6);
    // Each refused request is followed by a summary and by a request that fits; there is no summary
    // without a refusal.
    let requests = model.requests();
    let fits = |request: &Request| tokens(request) <= WINDOW as usize;
    let mut refused = 0;
    for (at, request) in requests.iter().enumerate() {
        if is_summary(request) {
            assert!(fits(request) && !fits(&requests[at - 1]), "only after a refusal");
        } else if !fits(request) {
            refused += 1;
            assert!(is_summary(&requests[at + 1]) && fits(&requests[at + 2]), "it goes again, shorter");
        }
    }
    let digests = items.iter().filter(|item| matches!(item.body, ItemBody::Digest(_))).count();
    assert_eq!((refused, refused > 0), (digests, true), "each is on record");
}

/// A model whose window is unknown until its server is asked.
struct LearnsItsWindow {
    model: ScriptedModel,
    is_asked: AtomicBool,
}

#[async_trait]
impl Model for LearnsItsWindow {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        self.model.call(request, deltas).await
    }

    fn describe(&self) -> String {
        self.model.describe()
    }

    async fn learn(&self, _: Option<&str>) {
        self.is_asked.store(true, Ordering::SeqCst);
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        let known = self.model.profile(model);
        match self.is_asked.load(Ordering::SeqCst) {
            true => Profile { window_from: KnownFrom::Server, ..known },
            false => Profile { context_window: None, window_from: KnownFrom::Nowhere, ..known },
        }
    }
}

#[tokio::test]
async fn a_run_learns_the_window_from_the_server_and_digests_before_a_refusal() {
    let (fetched, refused) = (Mutex::new(0), Arc::new(Mutex::new(0)));
    let refusals = Arc::clone(&refused);
    let script = ScriptedModel::deciding(move |request| {
        let size = tokens(request);
        if size > WINDOW as usize {
            *refusals.lock().unwrap() += 1;
            let (model, cause) = ("m".to_owned(), format!("HTTP 400: {size} tokens"));
            return Some(Err(entourage_llm::Error::BeyondWindow { model, cause }));
        }
        if is_summary(request) {
            return Some(Ok(Script::text("Some were fetched.")));
        }
        let mut fetched = fetched.lock().unwrap();
        *fetched += 1;
        Some(Ok(match *fetched {
            n @ ..=12 => Script::call("bulk", json!({"n": n})),
            _ => Script::text("Done."),
        }))
    });
    let script = script.with_window(WINDOW);
    let model = LearnsItsWindow { model: script.clone(), is_asked: AtomicBool::new(false) };
    let world = World::builder(model).tools(bulky(4_000)).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Fetch all of them.").await;
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    let digests = script.requests().iter().filter(|request| is_summary(request)).count();
    assert!(digests > 2, "{digests} digests of twelve outputs");
    assert_eq!(*refused.lock().unwrap(), 0, "nothing was refused as too long");
}

#[tokio::test]
async fn a_too_long_request_that_cannot_shrink_fails_with_the_providers_error() {
    let model = ScriptedModel::deciding(move |_| {
        Some(Err(entourage_llm::Error::BeyondWindow {
            model: "m".into(),
            cause: "HTTP 400: 9000 tokens".into(),
        }))
    });
    let world = World::builder(model.clone()).kinds(kind_without_step_limits()).start().await;
    let agent = world.ask("Hello.").await;
    assert_eq!(world.ended(agent.id).await.status, Status::Failed);
    let run = &world.client().runs(agent.id, Page::default()).await.unwrap()[0];
    assert_eq!(run.error.as_deref(), Some("m: the request is too long: HTTP 400: 9000 tokens"));
    assert_eq!(model.requests().len(), 1);
}
