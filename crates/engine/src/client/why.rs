//! Why an agent does not go on: what it waits for, through the agents that it waits for, to the last cause.

mod below;
mod cause;

use std::collections::HashSet;

use entourage_store::{Page, RecordFilter};
use entourage_types::{
    Action, Agent, AgentId, CodeRetry, GoalStatus, Intervention, Post, PostBody, Question, Retry, Run,
    Schedule, ScheduleStatus, Status, Step, StepKey, StepState, Task, TaskId, Time, Wait, WaitingOn,
};

use super::Client;
use crate::{Error, Result, budget::Unaffordable};

pub use cause::{Cause, Link, Why};

/// The most agents that a chain names; trees are far flatter.
const LONGEST: usize = 64;
/// The most agents that are looked at where one waits for several.
const BESIDE: usize = 16;
/// So many schedules of an agent are looked at for one that is due.
const SCHEDULES: u32 = 64;
/// So many of the latest interventions are searched for the pause.
const INTERVENTIONS: u32 = 20;

impl Client {
    /// Why an agent does not go on, or that it works or rests. Where it waits for several agents at once, the
    /// chain follows one that needs a person, if there is one. From an agent at rest it goes on to one below that does
    /// not go on either.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn why(&self, agent: AgentId) -> Result<Why> {
        let mut agent = self.agent(agent).await?;
        let (mut chain, mut seen) = (Vec::new(), HashSet::new());
        let posts = self.inbox(&agent).await?;
        let unread = posts.iter().map(|post| word(&post.body)).collect();
        loop {
            seen.insert(agent.id);
            let (mut cause, since, mut next) = self.cause(&agent).await?;
            if let Cause::Rest { below, more_below, .. } = &mut cause {
                let found = self.below(&agent).await?;
                (*below, *more_below, next) = (found.at_work, found.may_be_more, found.still);
            }
            let Agent { id, kind, title, .. } = agent;
            chain.push(Link { agent: id, kind, title, since, cause });
            match next {
                Some(next) if chain.len() < LONGEST && !seen.contains(&next.id) => agent = next,
                _ => return Ok(Why::new(chain, unread)),
            }
        }
    }

    /// Why one agent does not go on, since when, and the agent that it waits for.
    async fn cause(&self, agent: &Agent) -> Result<(Cause, Time, Option<Agent>)> {
        let alone = |cause| Ok((cause, agent.updated, None));
        let run = match agent.status {
            Status::Running | Status::Queued | Status::Waiting => self.open_run(agent).await?,
            Status::Idle | Status::Succeeded | Status::Failed | Status::Cancelled => None,
        };
        if self.engine.inner.activations.is_at_work(agent.id) {
            return alone(match self.held_back(agent, run.as_ref()).await? {
                Some((model, due)) => Cause::Gate { model, due },
                None => Cause::Work,
            });
        }
        if agent.status == Status::Running && self.engine.works_elsewhere(agent.id) {
            let left = self.left_open(agent, run.as_ref()).await?;
            return alone(left.unwrap_or(Cause::Work));
        }
        if let Some(short) = self.over_budget(agent, run.as_ref()).await? {
            return Ok((short.0, short.1, None));
        }
        if let Some(since) = self.is_about_to_go_on(agent, run.as_ref()).await? {
            let left = self.left_open(agent, run.as_ref()).await?;
            return Ok((left.unwrap_or_else(|| self.standstill(agent)), since, None));
        }
        if agent.status != Status::Waiting {
            return alone(self.rest(agent).await?);
        }
        if agent.waiting_on == Some(WaitingOn::Resume) {
            let reason = self.last_pause(agent).await?.and_then(|pause| pause.text);
            return alone(Cause::Pause { reason });
        }
        let Some(run) = run else { return alone(Cause::Nothing) };
        let steps = self.engine.store().steps(&self.scope, run.id).await?;
        let Some(Obstacle { step, task, worker }) = self.first_in_the_way(&steps).await? else {
            return alone(Cause::Nothing);
        };
        if step.state.due().is_some_and(|(due, _)| due <= self.engine.now()) {
            return Ok((self.standstill(agent), step.updated, None));
        }
        let cause = match &step.state {
            StepState::Open(Wait::Question(open)) => match self.record::<Question>(open.question).await {
                Ok(question) => Cause::of_question(question),
                Err(Error::NotFound { .. }) => Cause::Nothing,
                Err(error) => return Err(error),
            },
            StepState::Open(Wait::Until { until }) => Cause::Timer { due: *until },
            StepState::Open(Wait::SubCalls { retry: Some(retry), .. }) => {
                let CodeRetry { due, failures, ref error, .. } = *retry;
                Cause::CodeRetry { failures, error: error.clone(), due }
            }
            StepState::Open(Wait::Task { .. } | Wait::HandedOver { .. } | Wait::Join { .. }) => {
                task.map_or(Cause::Nothing, |task| Cause::Task { task })
            }
            StepState::Retry(retry) => match self.held_back(agent, Some(&run)).await? {
                Some((model, _)) => Cause::Gate { model, due: retry.due },
                // A grant has woken it, and nobody is there to go on.
                None if retry.shortage.is_some() && self.engine.places().is_none() => self.standstill(agent),
                None if retry.shortage.is_some() => Cause::Room { due: retry.due },
                None => {
                    let Retry { due, ref error, .. } = *retry;
                    Cause::Retry { attempt: step.attempt, error: error.clone(), due }
                }
            },
            // What its code waits for is in the way before it.
            StepState::Open(Wait::SubCalls { retry: None, .. }) | StepState::Started | StepState::Done(_) => {
                Cause::Nothing
            }
        };
        Ok((cause, step.updated, worker))
    }

    /// Why an agent does nothing that does not wait either; what is below it is not counted yet.
    async fn rest(&self, agent: &Agent) -> Result<Cause> {
        let error = match agent.status {
            Status::Cancelled => return Ok(Cause::Deleted),
            Status::Failed => self.engine.last_run(agent).await?.and_then(|run| run.error),
            _ => None,
        };
        let failed = agent.stop_reason.filter(|_| agent.status == Status::Failed);
        let is_of_goal = agent.id == agent.root;
        let archived = is_of_goal && self.engine.goal_status(agent).await? == Some(GoalStatus::Archived);
        Ok(Cause::Rest { failed, error, archived, below: 0, more_below: false })
    }

    /// Which budget has no room for the next call of a run, and since when. It does not go on before that, whatever it
    /// has to read.
    async fn over_budget(&self, agent: &Agent, run: Option<&Run>) -> Result<Option<(Cause, Time)>> {
        let Some(run) = run.filter(|_| agent.waiting_on == Some(WaitingOn::Retry)) else { return Ok(None) };
        for step in self.engine.store().steps(&self.scope, run.id).await? {
            if let StepState::Retry(Retry { shortage: Some(shortage), due, .. }) = step.state
                && let Some(Unaffordable { shortage, lacks }) =
                    self.engine.still_short(agent, &shortage).await?
            {
                let may_have_room = lacks.is_none();
                return Ok(Some((Cause::Budget { shortage, may_have_room, due }, step.updated)));
            }
        }
        Ok(None)
    }

    /// The step that keeps a run from going on, and the agent that works on it: what a person must answer comes
    /// before what ends by itself.
    async fn first_in_the_way<'a>(&self, steps: &'a [Step]) -> Result<Option<Obstacle<'a>>> {
        let alone = |step| Obstacle { step, task: None, worker: None };
        if let Some(asked) = steps.iter().find(|step| step.question().is_some()) {
            return Ok(Some(alone(asked)));
        }
        // Code that cannot be run is in trouble; whatever else is waited for takes its time.
        if let Some(put_off) = steps.iter().find(|step| step.code_retry().is_some()) {
            return Ok(Some(alone(put_off)));
        }
        let mut obstacles = Vec::new();
        let tasks = steps.iter().flat_map(|step| tasks_of(step).map(move |task| (step, task)));
        for (step, task) in tasks {
            if obstacles.len() == BESIDE {
                break;
            }
            let worker = match self.record::<Task>(task).await {
                Ok(task) if task.status.is_terminal() && matches!(step.wait(), Some(Wait::Join { .. })) => {
                    continue;
                }
                Ok(task) => self.engine.store().agent(&self.scope, task.to).await?,
                // The call itself does not say who works on it.
                Err(Error::NotFound { .. }) => None,
                Err(error) => return Err(error),
            };
            obstacles.push(Obstacle { step, task: Some(task), worker });
        }
        if let Some(at) = (0..obstacles.len()).min_by_key(|at| urgency(obstacles[*at].worker.as_ref())) {
            return Ok(Some(obstacles.swap_remove(at)));
        }
        let waits = |step: &&Step| match &step.state {
            // For what its code calls, which is a step of its own.
            StepState::Open(Wait::SubCalls { retry: None, .. }) => false,
            state => matches!(state, StepState::Retry(_) | StepState::Open(_)),
        };
        Ok(steps.iter().find(waits).map(alone))
    }

    /// The agent's run that has not ended.
    pub(super) async fn open_run(&self, agent: &Agent) -> Result<Option<Run>> {
        let last = self.engine.last_run(agent).await?;
        Ok(last.filter(|run| !run.status.is_terminal()))
    }

    /// Since when an agent that is not at work has something to do at once; none if it has not. What does not end the
    /// wait of an agent, such as a message, or a result that no call waits for, is read when it goes on.
    async fn is_about_to_go_on(&self, agent: &Agent, run: Option<&Run>) -> Result<Option<Time>> {
        let waits = agent.status == Status::Waiting;
        match agent.status {
            Status::Cancelled => Ok(None),
            Status::Running | Status::Queued => Ok(Some(agent.updated)),
            Status::Idle | Status::Waiting | Status::Succeeded | Status::Failed => {
                let posts = self.inbox(agent).await?;
                let paused = agent.waiting_on == Some(WaitingOn::Resume);
                let steps = match run {
                    Some(run) if !paused && posts.iter().any(|post| post.body.call().is_some()) => {
                        self.engine.store().steps(&self.scope, run.id).await?
                    }
                    _ => Vec::new(),
                };
                let ends_the_wait = |post: &&Post| match &post.body {
                    PostBody::Intervention { .. } => true,
                    _ => !waits || steps.iter().any(|step| waits_for(step, &post.body)),
                };
                match posts.iter().find(ends_the_wait) {
                    Some(post) => Ok(Some(post.at)),
                    None if waits => Ok(None),
                    None => self.overdue_since(agent).await,
                }
            }
        }
    }

    /// Since when a schedule is due for an agent that takes it up.
    async fn overdue_since(&self, agent: &Agent) -> Result<Option<Time>> {
        let page = Page { limit: SCHEDULES, ..Page::default() };
        let status = Some(ScheduleStatus::Active);
        let active = RecordFilter::<Schedule> { status, page, ..RecordFilter::of(agent.id) };
        let now = self.engine.now();
        let due = self.records(active).await?.into_iter().map(|schedule| schedule.due);
        let Some(since) = due.filter(|due| *due <= now).min() else { return Ok(None) };
        let is_archived = self.engine.goal_status(agent).await? == Some(GoalStatus::Archived);
        Ok((!is_archived).then_some(since))
    }

    /// Whether no process goes on with an open run until a person stops the agent.
    async fn left_open(&self, agent: &Agent, run: Option<&Run>) -> Result<Option<Cause>> {
        let Some(run) = run.filter(|run| run.status == Status::Running) else { return Ok(None) };
        let steps = self.engine.store().steps(&self.scope, run.id).await?;
        let ends = self.engine.left_open(&steps, &self.inbox(agent).await?);
        Ok(ends.map(|ends| Cause::Crash { ends }))
    }

    /// Why an agent that could go on does not.
    fn standstill(&self, agent: &Agent) -> Cause {
        match self.engine.places() {
            _ if self.engine.works_elsewhere(agent.id) => Cause::Elsewhere,
            Some(places) => Cause::Place { busy: places.busy, limit: places.limit },
            None => Cause::Process,
        }
    }

    /// The model whose gate holds back this agent's calls, and when it opens.
    async fn held_back(&self, agent: &Agent, run: Option<&Run>) -> Result<Option<(String, Time)>> {
        let engine = &self.engine;
        let kind = engine.kind_of(agent, run).await?;
        let Some(model) = engine.models_of(&kind).into_iter().next() else { return Ok(None) };
        let held = engine.model().held_back(model.as_deref(), &agent.owner);
        let name = model.unwrap_or_else(|| engine.model().describe());
        Ok(held.map(|held| (name, engine.now() + held)))
    }

    async fn last_pause(&self, agent: &Agent) -> Result<Option<Intervention>> {
        let page = Page { limit: INTERVENTIONS, newest_first: true, ..Page::default() };
        let latest =
            RecordFilter { parent: Some(agent.id.into()), page, ..RecordFilter::<Intervention>::default() };
        Ok(self.records(latest).await?.into_iter().find(|done| done.action == Action::Pause))
    }
}

/// What a post is, in a word.
const fn word(body: &PostBody) -> &'static str {
    match body {
        PostBody::Message { .. } => "message",
        PostBody::Intervention { action, .. } => action.as_str(),
        PostBody::Answer { .. } => "answer",
        PostBody::Done { .. } => "result",
    }
}

/// Whether a step is open until this post comes.
fn waits_for(step: &Step, body: &PostBody) -> bool {
    match (body, step.wait()) {
        (PostBody::Done { task, .. }, Some(Wait::Join { tasks })) => tasks.contains(task),
        (_, Some(_)) => body.call().is_some_and(|call| step.key == StepKey::Tool(call)),
        (_, None) => false,
    }
}

/// What keeps a run from going on.
struct Obstacle<'a> {
    step: &'a Step,
    /// The task that the step waits for, if it waits for one.
    task: Option<TaskId>,
    /// The agent that works on it.
    worker: Option<Agent>,
}

/// Returns the tasks that a step waits for.
fn tasks_of(step: &Step) -> impl Iterator<Item = TaskId> {
    let joined = match step.wait() {
        Some(Wait::Join { tasks }) => tasks.as_slice(),
        _ => &[],
    };
    step.task().into_iter().chain(joined.iter().copied())
}

/// Which of several agents the chain follows: one that needs a person, then one that waits.
fn urgency(agent: Option<&Agent>) -> u8 {
    match agent.map(|agent| (agent.status, agent.waiting_on)) {
        Some((Status::Waiting, Some(WaitingOn::User | WaitingOn::Resume))) => 0,
        Some((Status::Waiting, Some(WaitingOn::Retry))) => 1,
        Some((Status::Waiting, _)) => 2,
        Some(_) => 3,
        None => 4,
    }
}
