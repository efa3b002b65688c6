//! The steps of a run. Each is done once: its result is its checkpoint, a transcript item that carries its
//! key. After a crash the program replays its finished steps from their checkpoints instead of doing them
//! again.

use std::collections::{HashMap, HashSet};

use entourage_types::{
    CallId, Decision, Item, ItemBody, Notice, RunId, Step, StepKey, StepState, Time, ToolCall, Turn, WakeupId,
};

/// What is recorded of the steps of a run.
pub(super) struct Steps {
    run: RunId,
    /// The rows of steps that were recorded before they were done, and of calls whose outputs wait for those
    /// of others.
    begun: HashMap<StepKey, Step>,
    /// The index in the session of each step's checkpoint item.
    checkpoints: HashMap<StepKey, usize>,
    /// How many items the session had when the activation began.
    before: usize,
    /// How many model calls the program has begun, replayed ones included.
    models: u32,
    /// How many turns of the model the run has on record since a phase last began anew.
    turns: u32,
    /// The program's steps that were finished before the activation began and that it has not passed yet.
    ahead: HashSet<StepKey>,
    /// The program's steps that it has passed.
    passed: HashSet<StepKey>,
    /// The phase that the program is in.
    phase: Option<Phase>,
}

/// A phase of a program, and how often it has begun. It comes before the names of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phase(String);

impl Phase {
    pub(super) fn new(name: &str, round: u32) -> Self {
        Self(if round == 1 { name.to_owned() } else { format!("{name}#{round}") })
    }

    /// The key of the instruction that ended it.
    pub(super) fn replaced(&self) -> StepKey {
        StepKey::Replaced(self.0.clone())
    }

    /// Whether a step was taken in it.
    fn took(&self, key: &StepKey) -> bool {
        key.name().and_then(|name| name.strip_prefix(&self.0)).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl Steps {
    pub(super) fn new(run: RunId, begun: Vec<Step>, items: &[Item]) -> Self {
        let begun = begun.into_iter().map(|step| (step.key.clone(), step)).collect();
        let mut steps = Self {
            run,
            begun,
            checkpoints: HashMap::new(),
            before: items.len(),
            models: 0,
            turns: 0,
            ahead: HashSet::new(),
            passed: HashSet::new(),
            phase: None,
        };
        for (at, item) in items.iter().enumerate() {
            steps.joined(at, item);
        }
        let without_item = steps.begun.values().filter(|step| step.state.is_done()).map(|step| &step.key);
        let done = steps.checkpoints.keys().chain(without_item).filter(|key| key.is_of_program());
        steps.ahead = done.cloned().collect();
        steps
    }

    /// The steps that have begun and whose rows are kept.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Step> {
        self.begun.values()
    }

    /// Whether the program still replays steps that were finished before the activation began.
    pub(super) fn replaying(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Passes a step of the program.
    pub(super) fn pass(&mut self, key: &StepKey) -> PassedStep {
        let was_replaying = self.replaying();
        let is_another_way = !self.ahead.remove(key) && was_replaying;
        if is_another_way {
            self.ahead.clear();
        }
        PassedStep { is_first: self.passed.insert(key.clone()), is_another_way }
    }

    /// The phase that the program is in, if any.
    pub(super) fn phase(&self) -> Option<&Phase> {
        self.phase.as_ref()
    }

    /// The program enters a phase, or leaves one.
    pub(super) fn enter(&mut self, phase: Option<Phase>) {
        self.phase = phase;
    }

    /// The name of a step that the program calls so, which in a phase is the phase's own.
    pub(super) fn named(&self, name: &str) -> String {
        self.phase().map_or_else(|| name.to_owned(), |phase| format!("{}/{name}", phase.0))
    }

    /// Whether an instruction that is on record ended this phase: the program has passed its steps, those of the model
    /// included, and does not take them again.
    pub(super) fn skip(&mut self, phase: &Phase) -> bool {
        let key = phase.replaced();
        let Some(end) = self.checkpoint(&key) else { return false };
        let is_over = |key: &StepKey| self.checkpoints.get(key).is_some_and(|at| *at <= end);
        let turns = self.checkpoints.keys().filter(|key| matches!(key, StepKey::Model(_)) && is_over(key));
        self.models = u32::try_from(turns.count()).unwrap_or(u32::MAX);
        // A join of no results is done without an item, and is known by its name.
        self.ahead.retain(|key| !phase.took(key) && !is_over(key));
        true
    }

    /// The steps that wait in this phase.
    pub(super) fn open_in(&self, phase: &Phase) -> impl Iterator<Item = StepKey> {
        let open = self.begun.iter().filter(|(key, step)| step.state.is_open() && phase.took(key));
        open.map(|(key, _)| key.clone())
    }

    /// Returns the row of a step, if it has one beside its checkpoint.
    pub(super) fn get(&self, key: &StepKey) -> Option<&Step> {
        self.begun.get(key)
    }

    /// Returns the row of a tool call's step, if it has one beside its checkpoint.
    pub(super) fn of_call(&self, call: &ToolCall) -> Option<&Step> {
        self.get(&StepKey::Tool(call.id))
    }

    /// Whether a call has its output in the transcript.
    pub(super) fn is_answered(&self, call: CallId) -> bool {
        self.is_done(&StepKey::Tool(call))
    }

    /// Whether a step is done.
    pub(super) fn is_done(&self, key: &StepKey) -> bool {
        self.checkpoints.contains_key(key)
            || (key.call().is_none() && self.get(key).is_some_and(|step| step.state.is_done()))
    }

    /// Whether any step waits.
    pub(super) fn any_open(&self) -> bool {
        self.begun.values().any(|step| step.state.is_open())
    }

    /// Returns the times at which steps go on by themselves, in their order, each with its wake-up if that is
    /// known.
    pub(super) fn dues(&self) -> Vec<(Time, Option<WakeupId>)> {
        let mut dues: Vec<_> = self.begun.values().filter_map(|step| step.state.due()).collect();
        dues.sort_unstable();
        dues
    }

    /// Returns the index of a step's checkpoint, if the step was finished before the activation began.
    pub(super) fn finished_before(&self, key: &StepKey) -> Option<usize> {
        self.checkpoints.get(key).copied().filter(|&at| at < self.before)
    }

    /// How many turns of the model the run has on record since a phase last began anew.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// The key of the program's next model call.
    pub(super) fn next_model(&self) -> StepKey {
        StepKey::Model(self.models + 1)
    }

    /// Begins the program's next model call and returns its key.
    pub(super) fn begin_model(&mut self) -> StepKey {
        self.models += 1;
        StepKey::Model(self.models)
    }

    /// Returns the index of the turn of the program's last model call, if that was finished before the
    /// activation began.
    pub(super) fn finished_turn(&self) -> Option<usize> {
        self.finished_before(&StepKey::Model(self.models))
    }

    /// Returns the index of a step's checkpoint in the session.
    pub(super) fn checkpoint(&self, key: &StepKey) -> Option<usize> {
        self.checkpoints.get(key).copied()
    }

    /// Registers an item that joins the transcript at this index.
    pub(super) fn joined(&mut self, at: usize, item: &Item) {
        // Items that were loaded from a thread store have no step, but an output among them answers its call
        // too.
        let answered = || match &item.body {
            ItemBody::Output(output) => Some(StepKey::Tool(output.call)),
            _ => None,
        };
        // A call id is unique in the whole session; other keys are numbered or named within one run.
        let key = item.step.clone().filter(|key| item.run == self.run || key.call().is_some());
        if let Some(key) = key.or_else(answered) {
            match key {
                StepKey::Model(_) => self.turns += 1,
                StepKey::Replaced(_) => self.turns = 0,
                _ => {}
            }
            self.checkpoints.insert(key, at);
        }
    }

    /// Takes over steps whose new state was committed, or goes with the next commit.
    pub(super) fn committed(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.begun.extend(steps.into_iter().map(|step| (step.key.clone(), step)));
    }

    /// Returns the row of a step in a new state; its intent, start and attempts stay the same.
    pub(super) fn row(&self, key: StepKey, state: StepState, at: Time) -> Step {
        let before = self.get(&key);
        Step {
            run: self.run,
            state,
            intent: before.and_then(|step| step.intent.clone()),
            attempt: before.map_or(1, |step| step.attempt),
            used: None,
            asked: None,
            started: before.map_or(at, |step| step.started),
            updated: at,
            key,
        }
    }
}

/// How the program came to a step.
pub(super) struct PassedStep {
    /// Whether it takes the step for the first time in this activation.
    pub(super) is_first: bool,
    /// Whether the program diverged from its record: the remaining steps are not replayed.
    pub(super) is_another_way: bool,
}

/// The result of a step: the body of its checkpoint item.
pub(super) trait Checkpointed: Clone + Into<ItemBody> {
    /// Reads the result back from the body of the item.
    fn of(body: &ItemBody) -> Option<&Self>;
}

impl Checkpointed for Turn {
    fn of(body: &ItemBody) -> Option<&Self> {
        match body {
            ItemBody::Turn(turn) => Some(turn),
            _ => None,
        }
    }
}

impl Checkpointed for Notice {
    fn of(body: &ItemBody) -> Option<&Self> {
        match body {
            ItemBody::Notice(notice) => Some(notice),
            _ => None,
        }
    }
}

impl Checkpointed for Decision {
    fn of(body: &ItemBody) -> Option<&Self> {
        match body {
            ItemBody::Decision(decision) => Some(decision),
            _ => None,
        }
    }
}
