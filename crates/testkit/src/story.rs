//! A story that must have the same outcome whatever fails on the way: run once without faults, then
//! with a fault at every commit. Put your own tools and kinds into one to verify that they are
//! reliable.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Duration};

use entourage_engine::{Client, Clock, dispatch::Settings};
use entourage_store::Page;
use entourage_types::{Action, Agent, Answer, Owner, Question, QuestionStatus, Time};

use crate::{
    Fact, Fault, Faults, Violation, Witness, World, WorldBuilder,
    call_effects::{CallEffects, call_effects, same_effects},
    plain::{lines, numbered},
    world::must,
};

/// How long one run may take at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine at work has news within this time, however slow the machine.
const STILL: Duration = Duration::from_secs(2);
/// The longest pause before the next attempt of an activation that failed once or twice.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// The minimum number of faults in a sample, if there are that many.
const SMALLEST_SAMPLE: usize = 12;
/// How many commits of the next process are tried for the second of two consecutive deaths.
const SECOND_WITHIN: u64 = 3;

/// What a person does about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonAction {
    /// Answers it.
    Answer(Answer),
    /// Sends this to the root instead, which must handle the question.
    Say(String),
    /// Lets it expire.
    Wait,
    /// Deletes the agent that asks.
    Delete,
}

/// A story: what people say and do, in a world with your tools and kinds.
///
/// ```
/// use async_trait::async_trait;
/// use entourage_engine::Kinds;
/// use entourage_llm::{Script, ScriptedModel};
/// use entourage_store::MemoryStore;
/// use entourage_testkit::{Fact, Story, Witness, World};
/// use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
/// use entourage_types::{Kind, ToolSpec};
/// use serde_json::{Value, json};
///
/// struct Put(Witness);
///
/// #[async_trait]
/// impl Tool for Put {
///     fn name(&self) -> &str {
///         "put"
///     }
///     fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
///         Some(ToolSpec::new("put", "Puts something.", json!({"type": "object"})))
///     }
///     fn effect(&self) -> Effect {
///         Effect::Idempotent
///     }
///     async fn call(&self, context: &Context, _: Value) -> Result<Outcome, Error> {
///         let effect = self.effect();
///         self.0.record(Fact::Effect { agent: context.agent, call: context.call, effect });
///         // Here the tool would act.
///         Ok(Outcome::text("put"))
///     }
/// }
///
/// let story = Story::new(["Go."], |witness| {
///     let model = ScriptedModel::deciding(|request| Some(Ok(match request.messages.len() {
///         1 => Script::call("put", json!({})),
///         _ => Script::text("Done."),
///     })));
///     World::builder(model)
///         .tools(Toolbox::new().with(Put(witness.clone())))
///         .kinds(Kinds::none().with(Kind::bare("assistant")))
///         .store(MemoryStore::default())
/// });
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// assert!(runtime.block_on(story.survives([1], 5)) > 3);
/// ```
#[derive(Clone)]
pub struct Story {
    messages: Vec<String>,
    world: Arc<dyn Fn(&Witness) -> WorldBuilder + Send + Sync>,
    person: Arc<dyn Fn(&Question) -> PersonAction + Send + Sync>,
    order: Order,
}

/// In which order a story has what is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Always the same.
    Same,
    /// The agents below the root in any order.
    AnyOfAgents,
    /// The lines of each transcript in any order, too.
    AnyOfLines,
}

/// The outcome of one run of a story.
#[derive(Debug, Clone)]
pub struct StoryOutcome {
    /// The transcript of each agent of the tree, one line per item, without ids and times.
    pub transcripts: Vec<Vec<String>>,
    /// How many times the calls that are not pure had their effect, by tool and arguments.
    pub effects: BTreeMap<String, usize>,
    /// How many commits each process began.
    pub commits: Vec<u64>,
    /// The violated invariants.
    pub violations: Vec<Violation>,
    /// What else is known of these calls.
    calls: BTreeMap<String, CallEffects>,
}

impl Story {
    /// Creates a story in which a person sends these messages to one agent, each once all agents are
    /// at rest. The world is built anew for each run; its tools record their effects with the
    /// witness. The person answers `yes` to every question unless [set](Self::person) otherwise.
    pub fn new<'m>(
        messages: impl IntoIterator<Item = &'m str>,
        world: impl Fn(&Witness) -> WorldBuilder + Send + Sync + 'static,
    ) -> Self {
        Self {
            messages: messages.into_iter().map(str::to_owned).collect(),
            world: Arc::new(world),
            person: Arc::new(|_| PersonAction::Answer(Answer::Text("yes".into()))),
            order: Order::Same,
        }
    }

    /// What the person does about each question.
    #[must_use]
    pub fn person(mut self, person: impl Fn(&Question) -> PersonAction + Send + Sync + 'static) -> Self {
        self.person = Arc::new(person);
        self
    }

    /// Concurrent work may complete in any order: lines are compared sorted.
    #[must_use]
    pub fn any_order(mut self) -> Self {
        self.order = Order::AnyOfLines;
        self
    }

    /// Agents at work at once may be created in any order; what each of them reads and does has an order.
    #[must_use]
    pub fn agents_in_any_order(mut self) -> Self {
        self.order = Order::AnyOfAgents;
        self
    }

    /// Runs it with this many dispatchers and these faults: each at that commit of one process, until
    /// the last process, which has none.
    pub async fn run(&self, dispatchers: usize, faults_of_all: &[(u64, Fault)]) -> StoryOutcome {
        let witness = Witness::default();
        let builder = (self.world)(&witness).witness(&witness);
        let builder = builder.dispatchers(vec![Settings::default(); dispatchers]);
        let mut faults = faults_of_all.iter();
        let mut world = builder.start().await;
        faults.next().inspect(|(at, fault)| drop(world.faults().plan(*at, *fault)));
        let mut messages = self.messages.iter();
        let root = world.ask(messages.next().map_or("", String::as_str)).await;
        let mut commits = Vec::new();
        loop {
            let process = world.faults().clone();
            let over = tokio::select! {
                biased;
                () = process.died() => false,
                () = self.come_to_the_end(&world, &root) => true,
                () = tokio::time::sleep(PATIENCE) => stuck(&world, faults_of_all).await,
            };
            commits.push(process.commits());
            assert_eq!(inconsistencies(&world.client()).await, [""; 0], "at any moment, {faults_of_all:?}");
            if over {
                break;
            }
            let next = Faults::default();
            faults.next().inspect(|(at, fault)| drop(next.plan(*at, *fault)));
            world = world.restart(next).await;
        }
        let (mut transcripts, mut items) = (Vec::new(), Vec::new());
        for agent in settled(world.client().tree(root.id).await) {
            let mut ids = BTreeMap::new();
            let of_agent = settled(world.client().items(agent.id, 0, u32::MAX).await);
            let lines = lines(&of_agent);
            transcripts.push(lines.iter().map(|line| numbered(line, &mut ids)).collect::<Vec<_>>());
            items.extend(of_agent);
        }
        if self.order == Order::AnyOfLines {
            transcripts.iter_mut().for_each(|lines: &mut Vec<String>| lines.sort());
        }
        if self.order != Order::Same {
            // The root stays the first one.
            transcripts[1..].sort();
        }
        let all = Page { limit: u32::MAX, ..Page::default() };
        let questions = settled(world.client().questions(Some(root.id), None, all).await);
        let calls = call_effects(&witness.facts(), &items, &questions);
        let effects = calls.iter().map(|(call, did)| (call.clone(), did.times)).collect();
        StoryOutcome { transcripts, effects, commits, violations: world.audit().await, calls }
    }

    /// Runs it without faults, then with a fault at each commit: each fault alone, and each death
    /// followed by another in the next process; all of this with each of these numbers of
    /// dispatchers, of which every `stride`th run is made. Compares what the calls do as well as the
    /// transcripts. Returns how many runs with faults there were.
    ///
    /// The environment may ask for more of them, see [`crash_stride`]; with `CRASH_POINTS=pairs` there is also each pair
    /// of deaths, however far apart.
    ///
    /// # Panics
    /// If an outcome differs from the one without faults, or an invariant is violated.
    pub async fn survives(&self, dispatchers: impl IntoIterator<Item = usize>, stride: usize) -> usize {
        let pairs = std::env::var("CRASH_POINTS").is_ok_and(|asked| asked == "pairs");
        let second_within = if pairs { u64::MAX } else { SECOND_WITHIN };
        let stride = crash_stride(stride);
        let expected = self.run(1, &[]).await;
        assert_eq!(expected.violations, [], "undisturbed");
        assert!(
            expected.transcripts.iter().flatten().all(|line| !line.contains("unexpected")),
            "{expected:#?}"
        );
        let all = expected.commits[0];
        let mut points: Vec<Vec<(u64, Fault)>> = Vec::new();
        for at in 1..=all {
            for fault in Fault::ENDING {
                points.push(vec![(at, fault)]);
            }
            for first in [Fault::DieBefore, Fault::DieAfter] {
                for again in 1..=second_within.min(all + 1 - at) {
                    for second in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
                        points.push(vec![(at, first), (again, second)]);
                    }
                }
            }
        }
        let runs: Vec<_> = dispatchers
            .into_iter()
            .flat_map(|dispatchers| points.iter().map(move |faults| (dispatchers, faults)))
            .collect();
        let stride = stride.min(runs.len() / SMALLEST_SAMPLE).max(1);
        let mut count = 0;
        for (dispatchers, faults) in runs.iter().step_by(stride) {
            let out = self.run(*dispatchers, faults).await;
            let violations: Vec<String> = out.violations.iter().map(ToString::to_string).collect();
            let which = format!("{faults:?} with {dispatchers} dispatchers");
            assert_eq!(violations, [""; 0], "{which}: {:#?}", out.transcripts);
            assert_eq!(out.transcripts, expected.transcripts, "{which}");
            assert_eq!(same_effects(&expected.calls, &out.calls), Ok(()), "{which}");
            count += 1;
        }
        count
    }

    /// Does what the person does until no work is left.
    async fn come_to_the_end(&self, world: &World, root: &Agent) {
        let client = world.engine().client(Owner::local());
        let mut news = world.witness().news();
        let mut then = self.messages.iter().enumerate().skip(1);
        loop {
            news.mark_unchanged();
            // In this order: an agent that asks after this read had a wake-up due before it.
            let due = settled(world.store().due(Time::from_micros(i64::MAX), None, 1).await);
            let tree = settled(world.client().tree(root.id).await);
            let open = client.questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await;
            let mut acted = false;
            // A process that dies during this read is handled elsewhere.
            for question in open.unwrap_or_default() {
                // Answering twice is refused; a question that was answered meanwhile is acceptable.
                let action = (self.person)(&question);
                acted |= action != PersonAction::Wait;
                match action {
                    PersonAction::Answer(answer) => drop(client.answer(question.id, answer).await),
                    PersonAction::Wait => {}
                    // A message sent again under the same key is stored once.
                    PersonAction::Say(text) => {
                        drop(client.send(root.id, &text, Some(&question.id.to_string())).await);
                    }
                    PersonAction::Delete => {
                        if client.intervene(question.agent, Action::Delete, None).await.is_ok() {
                            world.witness().record(Fact::Deleted(question.agent));
                        }
                    }
                }
            }
            let at_work = tree.iter().any(|agent| !agent.status.is_terminal());
            match due.first() {
                None if !at_work && !world.faults().is_dead() => match then.next() {
                    Some((nth, text)) => {
                        drop(client.send(root.id, text, Some(&format!("message {nth}"))).await);
                        continue;
                    }
                    None => return,
                },
                // A dead process may have asked something unseen, so no time passes.
                Some(later) if !acted && !world.faults().is_dead() && later.due > world.clock().now() => {
                    world.clock().advance(later.due.since(world.clock().now()));
                }
                _ => {}
            }
            // The witness exists as long as the world does. If nothing arrives, an activation that
            // failed may be waiting to retry.
            let is_still = tokio::time::timeout(STILL, news.changed()).await.is_err();
            if is_still && !world.faults().is_dead() {
                world.clock().advance(TRY_AGAIN);
            }
        }
    }
}

/// The inconsistencies that the engine's own maintenance finds at this moment. A healthy engine has
/// none.
async fn inconsistencies(client: &Client) -> Vec<String> {
    let mut texts = Vec::new();
    for job in settled(client.jobs().await) {
        let found = settled(client.inconsistencies(&job.job_run.job).await);
        texts.extend(found.into_iter().map(|found| format!("{}: {}", found.job, found.text)));
    }
    texts
}

/// Reports the state of a story that does not end.
async fn stuck(world: &World, faults: &[(u64, Fault)]) -> bool {
    let agents = settled(world.client().agents(None, Page::default()).await);
    let due = settled(world.store().due(Time::from_micros(i64::MAX), None, 10).await);
    let audit = world.audit().await;
    panic!("no end after {PATIENCE:?} with {faults:?}\n{agents:#?}\n{due:#?}\n{audit:#?}");
}

/// The result of a read below all faults, which must not fail.
fn settled<T, E: std::fmt::Debug>(read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| panic!("the store does not answer: {error:?}"))
}

/// Of how many crash points a test tries one: of as many as usual, or of fewer if the environment says so. With
/// `CRASH_POINTS=all` (or `pairs`) it tries every one, with a number at least one of so many.
///
/// # Panics
/// If `CRASH_POINTS` is something else.
#[must_use]
pub fn crash_stride(usual: usize) -> usize {
    match std::env::var("CRASH_POINTS").as_deref() {
        Ok("all" | "pairs") => 1,
        Ok(one_of) => {
            let one_of = must(one_of.parse::<NonZeroUsize>(), "CRASH_POINTS is `all`, `pairs` or a number");
            usual.min(one_of.get())
        }
        Err(_) => usual,
    }
}
