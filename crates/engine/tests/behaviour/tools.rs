//! Calls: validated before they are made, answered once, in order, and never silently repeated if
//! that could do harm.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{
    Effects, TestTool, WithProgram, WorldBuilderExt, WorldExt, death_of, first_tools, one_kind, within,
};
use async_trait::async_trait;
use entourage_engine::{DecisionRequest, NewAgent};
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_tools::{
    Caller, Context, Done, Effect, Error, Files, FilesSettings, Outcome, Owners, ReadFile, Tool, Toolbox,
    Wait,
};
use entourage_types::{
    Action, Answer, Item, ItemBody, Kind, Output, Owner, Status, ToolSpec, Trigger, WaitingOn,
};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::sync::Barrier;

async fn transcript_of(script: impl IntoIterator<Item = Script>, tools: Toolbox) -> Vec<String> {
    let world = World::builder(ScriptedModel::new(script)).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    plain(&items)
}

fn effects() -> Effects {
    Effects::default()
}

/// Shows: S2-R056.
#[tokio::test]
async fn an_invalid_call_returns_an_error_to_the_model() {
    let happened = effects();
    let lines = transcript_of(
        [
            Script::call("work", json!({"n": "three"})),
            Script::call("work", Value::String("{\"n\": 3".into())),
            Script::call("play", json!({})),
            Script::call("work", json!({"n": 3, "m": 4})),
            Script::call("work", json!({"n": 3})),
            Script::call("work", Value::String(format!("{{\"n\": [{}3]}}", "3,".repeat(100_000)))),
            Script::call("work", Value::String("null".into())),
            Script::text("At last."),
        ],
        Toolbox::new().with(TestTool::new("work", Effect::Pure, &happened)),
    )
    .await;
    assert!(
        lines[2].starts_with("output!: the arguments of `work` are not valid") && lines[2].contains("/n")
    );
    assert!(lines[4].contains("not JSON"), "{}", lines[4]);
    assert_eq!(lines[6], "output!: not allowed: there is no tool `play`; there are: work");
    assert!(lines[8].contains("'m'"), "{}", lines[8]);
    assert_eq!(lines[10], "output: work: {\"n\":3}");
    assert!(lines[12].contains("more than 100000 values. Do it in several calls"), "{}", lines[12]);
    assert!(lines[14].contains("they are null, not an object"), "{}", lines[14]);
    assert_eq!(happened.per_call(), [1], "only the valid call reached the tool");
}

/// Returns as many bytes as requested, as its result or as its error.
struct Verbose;

#[async_trait]
impl Tool for Verbose {
    fn name(&self) -> &str {
        "say"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec::new("say", "Say much.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> entourage_tools::Result<Outcome> {
        let text = "ä".repeat(arguments["times"].as_u64().unwrap_or_default() as usize);
        let details = arguments["details"].as_u64().map(|size| json!("d".repeat(size as usize)));
        match arguments["fails"] == true {
            true => Err(Error::Failed(text)),
            false => Ok(Outcome::Done(Done { text, details, ..Done::default() })),
        }
    }
}

#[tokio::test]
async fn a_tool_result_or_error_is_cut_after_four_mebibytes() {
    let times = (4 << 20) / 2;
    let lines = transcript_of(
        [
            Script::call("say", json!({ "times": times })),
            Script::call("say", json!({ "times": times + 1 })),
            Script::call("say", json!({ "times": 10 * times, "fails": true })),
            Script::text("At last."),
        ],
        Toolbox::new().with(Verbose),
    )
    .await;
    let kept = "ä".repeat(times);
    let cut = |said: usize| {
        format!("{kept}\n[cut: the tool returned {said} bytes, and the first 4194304 are kept]")
    };
    assert!(lines[2] == format!("output: {kept}"));
    assert!(lines[4] == format!("output: {}", cut(2 * (times + 1))));
    assert!(lines[6] == format!("output!: {}", cut(20 * times)));
}

/// However much its tools return, a transcript fits into memory.
#[tokio::test]
async fn a_session_keeps_32_mib_of_outputs_and_then_only_what_a_model_is_shown() {
    let times = (4 << 20) / 2 - 100;
    let say = |number: usize| json!({ "times": times - number });
    let many = |from: usize| {
        (from + 1..from + 16)
            .fold(Script::call("say", say(from)), |script, number| script.and_call("say", say(number)))
    };
    // Nothing is summarised.
    let model = ScriptedModel::new([many(0), many(16), Script::text("At last.")]).with_window(1 << 30);
    let tools = Toolbox::new().with(Verbose);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 1_000).await.unwrap());
    let outputs: Vec<&String> = lines.iter().filter(|line| line.starts_with("output")).collect();
    assert_eq!(outputs.len(), 32);
    let whole =
        outputs.iter().filter(|line| !line.contains("[cut: the tool results of this session")).count();
    assert_eq!(whole, 8, "32 MiB of them");
    let shown = entourage_types::Limits::default().max_output_chars;
    assert!(outputs[8..].iter().all(|line| line.chars().count() < shown + 300), "as a model is shown them");
    assert!(outputs.iter().map(|line| line.len()).sum::<usize>() < 36 << 20);
}

fn outputs(items: &[Item]) -> Vec<&Output> {
    items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::Output(output) => Some(output),
            _ => None,
        })
        .collect()
}

/// The details beside the text count, and are dropped before any of the text is.
#[tokio::test]
async fn output_details_count_towards_the_session_limit_and_are_dropped_first() {
    let call = |number: usize| json!({ "times": number, "details": 1 << 20 });
    let calls =
        (2..41).fold(Script::call("say", call(1)), |script, number| script.and_call("say", call(number)));
    let model = ScriptedModel::new([calls, Script::text("At last.")]).with_window(1 << 30);
    let world =
        World::builder(model).tools(Toolbox::new().with(Verbose)).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    let outputs = outputs(&items);
    assert_eq!(outputs.iter().filter(|output| output.details.is_some()).count(), 31, "32 MiB with the texts");
    assert!(outputs.iter().all(|output| !output.text.contains("[cut")));
}

/// Even if the session is closed and the next one begins immediately.
#[tokio::test]
async fn a_new_session_starts_with_an_empty_output_budget() {
    let times = (4 << 20) / 2 - 100;
    let calls = (1..10).fold(Script::call("say", json!({ "times": times })), |script, number| {
        script.and_call("say", json!({ "times": times - number }))
    });
    let model = ScriptedModel::new([
        calls,
        Script::text("At last."),
        Script::text("Much was said."),
        Script::call("say", json!({ "times": 100_000 })),
        Script::text("Again."),
    ])
    .with_window(1 << 30);
    let tools = Toolbox::new().with(Verbose);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let root = world.ask("Go.").await;
    world.engine().advance(root.id).await.unwrap();
    world.client().intervene(root.id, Action::CloseSession, None).await.unwrap();
    world.client().send(root.id, "Go again.", None).await.unwrap();
    world.engine().advance(root.id).await.unwrap();
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    let outputs = outputs(&items);
    assert!(outputs[9].text.contains("[cut: the tool results of this session"), "the old one was full");
    assert_eq!(outputs[10].text.len(), 200_000, "the new one is not");
}

/// A tool whose calls end sixteen at a time, and that counts all calls and the most at once.
#[derive(Clone)]
struct ConcurrencyProbe {
    together: Arc<Barrier>,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    made: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for ConcurrencyProbe {
    fn name(&self) -> &str {
        "crowd"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({ "type": "object" });
        Some(ToolSpec::new("crowd", "A tool for tests.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Unsafe
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.made.fetch_add(1, Ordering::SeqCst);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        self.together.wait().await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(Outcome::text("here"))
    }
}

/// Shows: S1-R076.
#[tokio::test]
async fn a_turn_makes_128_calls_16_at_a_time_and_refuses_the_rest() {
    let crowd = ConcurrencyProbe {
        together: Arc::new(Barrier::new(16)),
        inside: Arc::default(),
        most: Arc::default(),
        made: Arc::default(),
    };
    let turn =
        (0..144).fold(Script::text("All of you."), |turn, n| turn.and_call("crowd", json!({ "n": n })));
    let tools = Toolbox::new().with(crowd.clone());
    let lines = within("sixteen at a time", transcript_of([turn, Script::text("ok")], tools)).await;
    assert_eq!(crowd.made.load(Ordering::SeqCst), 128);
    assert_eq!(crowd.most.load(Ordering::SeqCst), 16);
    assert_eq!(lines[2..130], ["output: here"; 128]);
    let refused = "output!: Not run: 144 calls in one turn are too many; only the first 128 were made. Make \
                   the calls that are still needed in the next turn.";
    assert_eq!(lines[130..146], [refused; 16]);
}

/// Shows: S1-R077, S2-R055, S2-R058, S4-R155, S4-R156, S4-R102.
#[tokio::test]
async fn parallel_outputs_keep_call_order_and_a_tool_panic_fails_only_its_call() {
    let order = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let gate = order.clone();
    let first = TestTool::answering("first", Effect::Pure, &effects(), move |_, _| {
        // Ends after `second`: the order of the outputs must not depend on that.
        let began = std::time::Instant::now();
        while gate.try_acquire().is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "`second` waits for `first`");
            std::thread::yield_now();
        }
        Ok(Outcome::text("1"))
    });
    let second = TestTool::answering("second", Effect::Pure, &effects(), move |_, _| {
        order.add_permits(1);
        Ok(Outcome::text("2"))
    });
    let broken = TestTool::answering("broken", Effect::Pure, &effects(), |_, _| panic!("a bug"));
    let failing =
        TestTool::answering("failing", Effect::Pure, &effects(), |_, _| Err(Error::Failed("no luck".into())));
    let script = Script::call("first", json!({}))
        .and_call("second", json!({}))
        .and_call("broken", json!({}))
        .and_call("failing", json!({}));
    let tools = Toolbox::new().with(first).with(second).with(broken).with(failing);
    let handle = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let task = handle.spawn(transcript_of([script, Script::text("ok")], tools));
    let lines = task.await.unwrap();
    assert_eq!(
        lines[2..6],
        [
            "output: 1",
            "output: 2",
            "output!: the tool crashed; its author must look at it",
            "output!: no luck"
        ]
    );
    handle.shutdown_background();
}

#[tokio::test]
async fn search_notes_finds_a_note_that_the_run_created() {
    let lines = transcript_of(
        [
            Script::call("create_note", json!({"title": "Paint", "content": "The door is crimson."})),
            Script::call("search_notes", json!({"query": "crimson"})),
            Script::text("Noted."),
        ],
        first_tools(),
    )
    .await;
    assert!(lines[4].contains("The door is crimson."), "{}", lines[4]);
}

/// A search by a whole sentence finds the note that matches most of it; a search without a match
/// lists what there is. Another conversation has none of it.
#[tokio::test]
async fn search_notes_finds_partial_matches_and_lists_titles_without_a_match() {
    let note =
        |title: &str, content: &str| Script::call("create_note", json!({"title": title, "content": content}));
    let search = |query: &str| Script::call("search_notes", json!({ "query": query }));
    let model = ScriptedModel::new([
        note("Alarm", "The code of the alarm is 4417."),
        note("Shed", "The spade is in the shed."),
        search("What is the alarm code?"),
        search("rhubarb"),
        Script::text("There."),
        search("alarm"),
        Script::text("Nothing."),
    ]);
    let world = World::builder(model).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let outputs = async || {
        let root = world.ask("Go.").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
        lines.into_iter().filter(|line| line.starts_with("output: ")).collect::<Vec<_>>()
    };
    let first = outputs().await;
    assert_eq!(first[0], "output: Noted in this conversation: Alarm");
    let some = "output: No note has all the words of `What is the alarm code?`. These have some of them:\n\n";
    let found: Vec<&str> = first[2].strip_prefix(some).unwrap().lines().collect();
    assert_eq!((found[0], found[2]), ("## Alarm", "> The code of the alarm is 4417."), "{found:?}");
    let named =
        "output: No note matches `rhubarb`. The latest notes of this conversation:\n- Shed\n- Alarm\n";
    assert!(first[3].starts_with(named), "{}", first[3]);
    let other = outputs().await;
    assert!(other[0].starts_with("output: There are no notes in this conversation"), "{}", other[0]);
}

#[tokio::test]
async fn a_wait_survives_a_restart_and_ends_when_it_is_due() {
    let model =
        ScriptedModel::new([Script::call("wait", json!({"seconds": 3600})), Script::text("An hour later.")]);
    let world = World::builder(model).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Wait.").await;
    world.asleep(&root).await;
    assert_eq!(world.client().agent(root.id).await.unwrap().waiting_on, Some(WaitingOn::Timer));
    let world = world.restart(Faults::default()).await;
    world.clock().advance(Duration::from_secs(3601));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

/// Dies in the middle of a call of this class, and restarts.
async fn interrupt_call(effect: Effect) -> (World, entourage_types::Agent, Effects) {
    let happened = effects();
    let (call, end) = (Script::call("pay", json!({"n": 1})), Script::text("Paid."));
    // Commits of the agent: receive, the turn with its intent, the output. A pure call has no
    // intent, and its turn is committed with the output: after a death the model is asked again.
    let (script, at) = match effect {
        Effect::Pure => (vec![call.clone(), call, end], 2),
        Effect::Idempotent | Effect::Unsafe => (vec![call, end], 3),
    };
    let model = ScriptedModel::new(script);
    let tools = Toolbox::new().with(TestTool::new("pay", effect, &happened));
    let world =
        World::builder(model).tools(tools).kinds(one_kind(|_| {})).start_with(at, Fault::DieBefore).await;
    let root = world.ask("Pay.").await;
    death_of(world.faults()).await;
    assert_eq!(happened.per_call(), [1]);
    (world.restart(Faults::default()).await, root, happened)
}

#[tokio::test]
async fn an_interrupted_pure_or_idempotent_call_runs_again() {
    for (effect, times) in [(Effect::Pure, vec![1, 1]), (Effect::Idempotent, vec![2])] {
        let (world, root, happened) = interrupt_call(effect).await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        assert_eq!(happened.per_call(), times, "an effect keeps its key: {effect:?}");
    }
}

#[tokio::test]
async fn an_interrupted_unsafe_call_becomes_a_question() {
    for (answer, output, times) in [
        ("retry", "output: pay: {\"n\":1}", 2),
        ("give up", "output!: The call was interrupted and given up; it may have taken effect.", 1),
        ("Paid, receipt 7.", "output: Paid, receipt 7.", 1),
    ] {
        let (world, root, happened) = interrupt_call(Effect::Unsafe).await;
        let question = world.question(root.id).await;
        assert!(question.text.contains("may or may not") && question.text.contains("{\"n\":1}"));
        assert_eq!(happened.per_call(), [1], "not repeated before a person has said so");
        world.client().answer(question.id, Answer::Text(answer.into())).await.unwrap();
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let items = world.client().items(root.id, 0, 10).await.unwrap();
        assert_eq!(plain(&items)[2], output);
        assert_eq!(happened.per_call(), [times]);
    }
}

/// Shows: S4-R017, S4-R021, S4-R147.
#[tokio::test]
async fn a_conversational_kind_ends_its_run_after_sending_a_message() {
    let chatty = |kind: &mut Kind| {
        kind.conversational = true;
        kind.reply = entourage_types::Reply::SendMessage;
    };
    let model = ScriptedModel::new([Script::call("create_note", json!({"title": "t", "content": "c"}))
        .and_call("send_message", json!({"message": "Hello there."}))]);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(chatty)).start().await;
    let root = world.ask("Say hello.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 1, "no model call follows");
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert_eq!(items.len(), 4, "both calls have their output: {:?}", plain(&items));
    let seen = world.client().transcript(root.id).await.unwrap();
    assert_eq!(seen.last().unwrap().text, "Hello there.");
}

/// A tool for one owner's agents is not even offered to another owner's, and a call of it is
/// refused.
#[tokio::test]
async fn a_tool_is_offered_only_to_the_owners_that_it_serves() {
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("a.txt"), "read").unwrap();
    let settings = FilesSettings { owners: Some(Owners::operator(None)), ..FilesSettings::new(files.path()) };
    let tools = Toolbox::new().with(ReadFile::new(Files::of(settings))).with(Wait);
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.len() {
            1 => Script::call("read_file", json!({"path": "a.txt"})),
            _ => Script::text("Done."),
        }))
    });
    let world = World::builder(model.clone()).tools(tools).kinds(one_kind(|_| {})).start().await;
    for (owner, offered, output) in [
        ("local", 2, "output: read"),
        ("ann", 1, "output!: not allowed: there is no tool `read_file`; there are: wait"),
    ] {
        let client = world.engine().client(Owner::new(owner));
        let new = NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
        let root = client.create(new, None).await.unwrap();
        let mut watch = client.watch(root.id, 0).await.unwrap();
        within("the run ends", async {
            while !client.agent(root.id).await.unwrap().status.is_terminal() {
                watch.next().await.unwrap();
            }
        })
        .await;
        assert_eq!(plain(&client.items(root.id, 0, 100).await.unwrap())[2], output, "{owner}");
        assert_eq!(model.requests().last().unwrap().tools.len(), offered, "{owner}");
    }
}

/// What is nested deeper is not read back from the database: no agent may be lost to what a model, a page or a person
/// sends.
#[tokio::test]
async fn json_that_is_nested_too_deep_is_refused_before_it_is_stored() {
    let nested = |levels: usize| -> Value {
        serde_json::from_str(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    let happened = effects();
    let script = [
        Script::call("work", json!({"n": 3, "more": nested(124)})),
        Script::text(format!("{{\"more\": {}}}", nested(124))),
        Script::text("At last."),
    ];
    let tools = Toolbox::new().with(TestTool::new("work", Effect::Pure, &happened));
    let world = World::builder(ScriptedModel::new(script)).tools(tools).kinds(one_kind(|_| {}));
    let world = world.program(&[], |run| {
        async move {
            run.receive().await?;
            let turn = run.call_model().await?;
            run.call_tools(&turn.calls).await?;
            let request =
                DecisionRequest { attempts: 1, ..DecisionRequest::new("?", json!({"type": "object"})) };
            let why = run.decide("deep", request).await?.unwrap_err();
            assert!(why.why.contains("nested more than 64 levels"), "{why}");
            Ok(run.call_model().await?.text)
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert!(lines.iter().any(|line| line.starts_with("output!: ")), "{lines:?}");
    assert_eq!(happened.per_call().len(), 0, "the tool was not called");
    // From the rows, not from memory.
    let world = world.restart(Faults::default()).await;
    assert_eq!(plain(&world.client().items(root.id, 0, 100).await.unwrap()), lines);
    let person = world.engine().client(Owner::local());
    let trigger = Trigger { name: "deep".into(), payload: nested(65), schedule: None };
    let refused = person.trigger(root.id, trigger, "Look.", None).await.unwrap_err().to_string();
    assert!(refused.contains("nested more than 64 levels"), "{refused}");
}
