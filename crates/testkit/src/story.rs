//! A story that must have the same outcome whatever fails on the way: run once without faults, then
//! with a fault at every commit. Put your own tools and kinds into one to verify that they are
//! reliable.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use entourage_engine::{Clock, Kinds};
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_tools::Toolbox;
use entourage_types::{Action, Agent, Answer, Owner, Question, QuestionStatus, Time};

use crate::{
    CallEffects, Effects, Fact, Fault, Faults, Violation, Witness, World, WorldBuilder,
    call_effects::{call_effects, same_effects},
    plain::{numbered, plain},
};

/// How long one run may take at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine at work has news within this time, however slow the machine.
const STILL: Duration = Duration::from_secs(2);
/// The longest pause before the next attempt of an activation that failed once or twice.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// The minimum number of faults in a sample, if there are that many.
const LEAST_TOLD: usize = 12;

/// What a person does about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Answers it.
    Answer(Answer),
    /// Sends this to the root instead, which must handle the question.
    Say(String),
    /// Lets it expire.
    Wait,
    /// Deletes the agent that asks.
    Delete,
}

/// Selects the faults with which a [`Story`] is run.
#[derive(Debug, Clone, Copy)]
pub struct Points {
    /// Runs every `stride`th fault only: 1 for all of them.
    pub stride: usize,
    /// How many commits of the next process are tried for the second of two consecutive deaths.
    pub second_within: u64,
}

impl From<usize> for Points {
    fn from(stride: usize) -> Self {
        Self { stride, second_within: 3 }
    }
}

/// A story: what the model answers, what the person does, with which tools and kinds.
///
/// ```
/// use entourage_llm::Script;
/// use entourage_testkit::{Story, TestTool, WorldBuilder};
/// use entourage_tools::{Effect, Toolbox};
/// use serde_json::json;
///
/// let story = Story::new(|request| match request.messages.len() {
///     1 => Script::call("put", json!({"n": 1})),
///     _ => Script::text("Done."),
/// })
/// .tools(|effects| Toolbox::new().with(TestTool::new("put", Effect::Idempotent, effects)))
/// .kinds(entourage_engine::Kinds::none().with(entourage_types::Kind::bare("assistant")))
/// .world(WorldBuilder::in_memory);
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// assert!(runtime.block_on(story.survives([1], 5)) > 3);
/// ```
#[derive(Clone)]
pub struct Story {
    model: Arc<dyn Fn(&Request) -> Script + Send + Sync>,
    person: Arc<dyn Fn(&Question) -> Act + Send + Sync>,
    tools: Arc<dyn Fn(&Effects) -> Toolbox + Send + Sync>,
    kinds: Kinds,
    any_order: bool,
    window: u32,
    then: Vec<String>,
    world: Arc<dyn Fn(WorldBuilder) -> WorldBuilder + Send + Sync>,
}

/// The context window of a story's model in tokens, unless set.
const WINDOW: u32 = 128_000;

/// The outcome of one run of a story.
#[derive(Debug, Clone)]
pub struct StoryOutcome {
    /// The transcript of each agent of the tree, one line per item, without ids and times.
    pub transcripts: Vec<Vec<String>>,
    /// What the calls that are not pure did, by tool and arguments.
    pub effects: BTreeMap<String, CallEffects>,
    /// How many fenced commits each process made.
    pub commits: Vec<u64>,
    /// The violated invariants.
    pub violations: Vec<Violation>,
}

impl Story {
    /// Creates a story whose model decides by the request. Unless set otherwise, it has the
    /// built-in kinds and no tools, and the person answers `yes` to every question.
    pub fn new(model: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Self {
        Self {
            model: Arc::new(model),
            person: Arc::new(|_| Act::Answer(Answer::Text("yes".into()))),
            tools: Arc::new(|_| Toolbox::new()),
            kinds: Kinds::builtin(),
            any_order: false,
            window: WINDOW,
            then: Vec::new(),
            world: Arc::new(|world| world),
        }
    }

    /// The messages that the person sends one after the other, each once all agents are at rest.
    #[must_use]
    pub fn then(mut self, words: impl IntoIterator<Item = &'static str>) -> Self {
        self.then = words.into_iter().map(str::to_owned).collect();
        self
    }

    /// What the person does about each question.
    #[must_use]
    pub fn person(mut self, person: impl Fn(&Question) -> Act + Send + Sync + 'static) -> Self {
        self.person = Arc::new(person);
        self
    }

    /// The tools, created anew for each run. They report their effects.
    #[must_use]
    pub fn tools(mut self, tools: impl Fn(&Effects) -> Toolbox + Send + Sync + 'static) -> Self {
        self.tools = Arc::new(tools);
        self
    }

    /// The kinds.
    #[must_use]
    pub fn kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// The context window of its model in tokens.
    #[must_use]
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = tokens;
        self
    }

    /// What else its world is built with, anew for each run: [in memory](WorldBuilder::in_memory) it is ten
    /// times as fast.
    #[must_use]
    pub fn world(mut self, with: impl Fn(WorldBuilder) -> WorldBuilder + Send + Sync + 'static) -> Self {
        let before = self.world;
        self.world = Arc::new(move |world| with(before(world)));
        self
    }

    /// Concurrent work may complete in any order: lines are compared sorted.
    #[must_use]
    pub fn any_order(mut self) -> Self {
        self.any_order = true;
        self
    }

    /// Runs it with these faults, one for each process until the last, which has none.
    pub async fn run(&self, workers: usize, faults_of_all: &[(u64, Fault)]) -> StoryOutcome {
        let model = Arc::clone(&self.model);
        let witness = Witness::default();
        let model = ScriptedModel::deciding(move |request| Some(Ok(model(request))));
        let builder = World::builder(model.with_window(self.window))
            .tools((self.tools)(&Effects::seen_by(&witness)))
            .kinds(self.kinds.clone())
            .workers(workers)
            .witness(&witness);
        let builder = (self.world)(builder);
        let mut lives = faults_of_all.iter().map(|(at, fault)| Faults::at(*at, *fault));
        let mut world = builder.start_with(lives.next().unwrap_or_default()).await;
        let root = world.ask("Go.").await;
        let mut commits = Vec::new();
        loop {
            let faults = world.faults().clone();
            let over = tokio::select! {
                biased;
                () = faults.died() => false,
                () = self.come_to_the_end(&world, &root) => true,
                () = tokio::time::sleep(PATIENCE) => stuck(&world, faults_of_all).await,
            };
            commits.push(faults.commits());
            assert_eq!(world.inconsistencies().await, [""; 0], "at any moment, {faults_of_all:?}");
            if over {
                break;
            }
            world = world.restart(lives.next().unwrap_or_default()).await;
        }
        let (mut transcripts, mut items) = (Vec::new(), Vec::new());
        for agent in settled(world.client().tree(root.id).await) {
            let mut ids = BTreeMap::new();
            let of_agent = settled(world.client().items(agent.id, 0, u32::MAX).await);
            let lines = plain(&of_agent);
            transcripts.push(lines.iter().map(|line| numbered(line, &mut ids)).collect::<Vec<_>>());
            items.extend(of_agent);
        }
        if self.any_order {
            transcripts.iter_mut().for_each(|lines: &mut Vec<String>| lines.sort());
            transcripts.sort();
        }
        let all = Page { limit: u32::MAX, ..Page::default() };
        let questions = settled(world.client().questions(Some(root.id), None, all).await);
        let effects = call_effects(&witness.facts(), &items, &questions);
        StoryOutcome { transcripts, effects, commits, violations: world.audit().await }
    }

    /// Runs it without faults, then with a fault at each of these `points`: each fault alone, and
    /// each death followed by another in the next process. Compares what the calls do as well as
    /// the transcripts. Returns how many runs with faults there were.
    ///
    /// # Panics
    /// If an outcome differs from the one without faults, or an invariant is violated.
    pub async fn survives(
        &self,
        workers: impl IntoIterator<Item = usize>,
        points: impl Into<Points>,
    ) -> usize {
        let Points { stride, second_within } = points.into();
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
        let lives: Vec<_> = workers
            .into_iter()
            .flat_map(|workers| points.iter().map(move |faults| (workers, faults)))
            .collect();
        let stride = stride.min(lives.len() / LEAST_TOLD).max(1);
        let mut runs = 0;
        for (workers, faults) in lives.iter().step_by(stride) {
            let out = self.run(*workers, faults).await;
            let violations: Vec<String> = out.violations.iter().map(ToString::to_string).collect();
            assert_eq!(violations, [""; 0], "{faults:?} with {workers} workers: {:#?}", out.transcripts);
            assert_eq!(out.transcripts, expected.transcripts, "{faults:?} with {workers} workers");
            let fits = same_effects(&expected.effects, &out.effects);
            assert_eq!(fits, Ok(()), "{faults:?} with {workers} workers");
            runs += 1;
        }
        runs
    }

    /// Does what the person does until no work is left.
    async fn come_to_the_end(&self, world: &World, root: &Agent) {
        let client = world.engine().client(Owner::local());
        let mut news = world.witness().news();
        let mut then = self.then.iter().enumerate();
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
                let act = (self.person)(&question);
                acted |= act != Act::Wait;
                match act {
                    Act::Answer(answer) => drop(client.answer(question.id, answer).await),
                    Act::Wait => {}
                    // A message sent again under the same key is stored once.
                    Act::Say(text) => {
                        drop(client.send(root.id, &text, Some(&question.id.to_string())).await);
                    }
                    Act::Delete => {
                        if client.intervene(question.agent, Action::Delete, None).await.is_ok() {
                            world.witness().saw(Fact::Deleted(question.agent));
                        }
                    }
                }
            }
            let at_work = tree.iter().any(|agent| !agent.status.is_terminal());
            match due.first() {
                None if !at_work && !world.faults().dead() => match then.next() {
                    Some((nth, text)) => {
                        drop(client.send(root.id, text, Some(&format!("then {nth}"))).await);
                        continue;
                    }
                    None => return,
                },
                // A dead process may have asked something unseen, so no time passes.
                Some(later) if !acted && !world.faults().dead() && later.due > world.clock().now() => {
                    world.clock().advance(later.due.since(world.clock().now()));
                }
                _ => {}
            }
            // The witness exists as long as the world does. If nothing arrives, an activation that
            // failed may be waiting to retry.
            let is_still = tokio::time::timeout(STILL, news.changed()).await.is_err();
            if is_still && !world.faults().dead() {
                world.clock().advance(TRY_AGAIN);
            }
        }
    }
}

/// Reports the state of a story that does not end.
async fn stuck(world: &World, faults: &[(u64, Fault)]) -> bool {
    let agents = settled(world.client().agents(false, None, Page::default()).await);
    let due = settled(world.store().due(Time::from_micros(i64::MAX), None, 10).await);
    let audit = world.audit().await;
    panic!("no end after {PATIENCE:?} with {faults:?}\n{agents:#?}\n{due:#?}\n{audit:#?}");
}

/// The result of a read below all faults, which must not fail.
fn settled<T, E: std::fmt::Debug>(read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| panic!("the store does not answer: {error:?}"))
}
