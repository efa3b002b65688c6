//! A story that must come out the same whatever dies on the way: told once undisturbed, then with a
//! fault at every commit. Put your own tools and kinds into one to see whether they can be trusted.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use entourage_engine::{Clock, Kinds};
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_tools::Toolbox;
use entourage_types::{Action, Agent, Answer, Owner, Question, QuestionStatus, Time};

use crate::{
    CallEffects, Effects, Fact, Fault, Faults, StoreLayer, Violation, Witness, World, WorldBuilder,
    call_effects::{call_effects, same_effects},
    plain::{numbered, plain},
};

/// How long a telling may take at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// A engine at work has news within this time, however slow the machine.
const STILL: Duration = Duration::from_secs(2);
/// The longest that whoever failed once or twice waits before the next attempt.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// A sample of the faults is of so many at least, where there are so many.
const LEAST_TOLD: usize = 12;

/// What a person does about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Answers it.
    Answer(Answer),
    /// Says this to the root instead, which is to see to it.
    Say(String),
    /// Lets it expire.
    Wait,
    /// Deletes the agent that asks.
    Delete,
}

/// Which faults a [`Story`] is told with.
#[derive(Debug, Clone, Copy)]
pub struct Points {
    /// Every how many of all faults one is told: 1 for all of them.
    pub stride: usize,
    /// Within how many commits of the next life the second of two deaths in a row comes.
    pub second_within: u64,
}

impl From<usize> for Points {
    fn from(stride: usize) -> Self {
        Self { stride, second_within: 3 }
    }
}

/// How many times a [`Story`] was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tellings {
    /// With as many faults, or pairs of them.
    pub told: usize,
    /// As many there are.
    pub of: usize,
}

impl fmt::Display for Tellings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} crash points", self.told, self.of)
    }
}

/// A story: what the model says, what the person does, with which tools and kinds.
///
/// ```
/// use entourage_llm::Script;
/// use entourage_testkit::{Story, TestTool};
/// use entourage_tools::{Effect, Toolbox};
/// use serde_json::json;
///
/// let story = Story::new(|request| match request.messages.len() {
///     1 => Script::call("put", json!({"n": 1})),
///     _ => Script::text("Done."),
/// })
/// .tools(|effects| Toolbox::new().with(TestTool::new("put", Effect::Idempotent, effects)))
/// .kinds(entourage_engine::Kinds::none().with(entourage_types::Kind::bare("assistant")))
/// .in_memory();
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// assert!(runtime.block_on(story.survives([1], 5)).told > 3);
/// ```
#[derive(Clone)]
pub struct Story {
    model: Arc<dyn Fn(&Request) -> Script + Send + Sync>,
    person: Arc<dyn Fn(&Question) -> Act + Send + Sync>,
    tools: Arc<dyn Fn(&Effects) -> Toolbox + Send + Sync>,
    kinds: Kinds,
    in_memory: bool,
    any_order: bool,
    window: u32,
    then: Vec<String>,
    world: Arc<dyn Fn(WorldBuilder) -> WorldBuilder + Send + Sync>,
}

/// How many tokens a story's model holds unless it says.
const WINDOW: u32 = 128_000;

/// How a story came out.
#[derive(Debug, Clone)]
pub struct Told {
    /// The transcript of each agent of the tree, one line per item, without ids and times.
    pub transcripts: Vec<Vec<String>>,
    /// What the calls did that are not pure, by tool and arguments.
    pub effects: BTreeMap<String, CallEffects>,
    /// How many fenced commits each life made.
    pub commits: Vec<u64>,
    /// What is not as it always must be.
    pub violations: Vec<Violation>,
}

impl Story {
    /// A story whose model decides by the request. Until more is said, there are the built-in kinds
    /// and no tools, and whoever is asked answers `yes`.
    pub fn new(model: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Self {
        Self {
            model: Arc::new(model),
            person: Arc::new(|_| Act::Answer(Answer::Text("yes".into()))),
            tools: Arc::new(|_| Toolbox::new()),
            kinds: Kinds::builtin(),
            in_memory: false,
            any_order: false,
            window: WINDOW,
            then: Vec::new(),
            world: Arc::new(|world| world),
        }
    }

    /// What the person says once all agents rest, one after the other.
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

    /// The tools, made anew for each telling. They tell their effects.
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

    /// Keeps the rows in memory instead of in a database file: ten times as fast.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// How many tokens its model holds.
    #[must_use]
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = tokens;
        self
    }

    /// Who stands between engine and store, made anew for each telling.
    #[must_use]
    pub fn between<B: StoreLayer>(mut self, make: impl Fn() -> B + Send + Sync + 'static) -> Self {
        self.world = Arc::new(move |world| world.between(make()));
        self
    }

    /// What happens side by side may come in any order: lines are compared sorted.
    #[must_use]
    pub fn any_order(mut self) -> Self {
        self.any_order = true;
        self
    }

    /// Tells it with these faults, one for each life until the last, which has none.
    pub async fn tell(&self, workers: usize, faults_of_all: &[(u64, Fault)]) -> Told {
        let model = Arc::clone(&self.model);
        let witness = Witness::default();
        let model = ScriptedModel::deciding(move |request| Some(Ok(model(request))));
        let builder = World::builder(model.with_window(self.window))
            .tools((self.tools)(&Effects::seen_by(&witness)))
            .kinds(self.kinds.clone())
            .workers(workers)
            .witness(&witness);
        let builder = if self.in_memory { builder.in_memory() } else { builder };
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
            assert_eq!(world.damages().await, [""; 0], "at any moment, {faults_of_all:?}");
            if over {
                break;
            }
            world = world.reborn(lives.next().unwrap_or_default()).await;
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
        Told { transcripts, effects, commits, violations: world.audit().await }
    }

    /// Tells it undisturbed, then with a fault at each of these `points`: each fault alone, and each death
    /// followed by another in the life after it. What the calls do is compared as well as what is said.
    /// Returns how many tellings there were.
    ///
    /// # Panics
    /// When it does not come out as it did undisturbed, or something does not hold that always must.
    pub async fn survives(
        &self,
        workers: impl IntoIterator<Item = usize>,
        points: impl Into<Points>,
    ) -> Tellings {
        let Points { stride, second_within } = points.into();
        let expected = self.tell(1, &[]).await;
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
        let mut told = 0;
        for (workers, faults) in lives.iter().step_by(stride) {
            let out = self.tell(*workers, faults).await;
            let violations: Vec<String> = out.violations.iter().map(ToString::to_string).collect();
            assert_eq!(violations, [""; 0], "{faults:?} with {workers} workers: {:#?}", out.transcripts);
            assert_eq!(out.transcripts, expected.transcripts, "{faults:?} with {workers} workers");
            let fits = same_effects(&expected.effects, &out.effects);
            assert_eq!(fits, Ok(()), "{faults:?} with {workers} workers");
            told += 1;
        }
        Tellings { told, of: lives.len() }
    }

    /// Does what the person does until nothing is left to be done by anybody.
    async fn come_to_the_end(&self, world: &World, root: &Agent) {
        let client = world.engine().client(Owner::local());
        let mut news = world.witness().news();
        let mut then = self.then.iter().enumerate();
        loop {
            news.mark_unchanged();
            // In this order: whoever asks from here on had something due before.
            let due = settled(world.store().due(Time::from_micros(i64::MAX), None, 1).await);
            let tree = settled(world.client().tree(root.id).await);
            let open = client.questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await;
            let mut acted = false;
            // A process that dies under the question is someone else's to notice.
            for question in open.unwrap_or_default() {
                // Answering twice is refused; a question that was answered meanwhile is fine.
                let act = (self.person)(&question);
                acted |= act != Act::Wait;
                match act {
                    Act::Answer(answer) => drop(client.answer(question.id, answer).await),
                    Act::Wait => {}
                    // Said again under the same key it is said once.
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
                // Of a dead process nobody has heard what it asks, so no time passes.
                Some(later) if !acted && !world.faults().dead() && later.due > world.clock().now() => {
                    world.clock().advance(later.due.since(world.clock().now()));
                }
                _ => {}
            }
            // The witness is there as long as the world is. Where nothing comes, somebody who failed may
            // wait for the moment to try again.
            let is_still = tokio::time::timeout(STILL, news.changed()).await.is_err();
            if is_still && !world.faults().dead() {
                world.clock().advance(TRY_AGAIN);
            }
        }
    }
}

/// A story that does not end: what stands where.
async fn stuck(world: &World, faults: &[(u64, Fault)]) -> bool {
    let agents = settled(world.client().agents(false, None, Page::default()).await);
    let due = settled(world.store().due(Time::from_micros(i64::MAX), None, 10).await);
    let audit = world.audit().await;
    panic!("no end after {PATIENCE:?} with {faults:?}\n{agents:#?}\n{due:#?}\n{audit:#?}");
}

/// What a store below all faults answers.
fn settled<T, E: std::fmt::Debug>(read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| panic!("the store does not answer: {error:?}"))
}
