//! Agents that wait for what will not happen: an answer or a result that was given and lost on its way, a
//! record that is gone, a time for which there is no wake-up.

use std::collections::HashSet;

use async_trait::async_trait;
use entourage_store::{AgentQuery, Commit};
use entourage_types::{
    Agent, AgentId, Answer, CallId, OpenQuestion, Post, PostBody, Question, QuestionId, QuestionStatus,
    Scope, ShownStatus, Status, Step, StepState, Task, TaskId, TaskResult, Time, Wait, WaitingOn,
};

use super::{Inconsistency, Job, agent, each, each_record, is_unwoken, open_run, record, wake};
use crate::{Engine, Result};

pub(super) struct Waits;

#[async_trait]
impl Job for Waits {
    fn name(&self) -> &'static str {
        "waits"
    }

    fn purpose(&self) -> &'static str {
        "agents that wait for something that can no longer happen"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let mut asking: HashSet<AgentId> = HashSet::new();
        let ask = |question: Question| asking.extend([question.agent]);
        each_record(engine, QuestionStatus::Open, ask).await?;
        let mut assigning: HashSet<AgentId> = HashSet::new();
        each_record(engine, Status::Queued, |task: Task| assigning.extend([task.from])).await?;
        let waiting =
            AgentQuery { status: Some(ShownStatus::Waiting), unwoken: true, ..AgentQuery::default() };
        let mut suspects = Vec::new();
        each(engine, waiting, |agent| {
            let is_fine = match agent.waiting_on {
                Some(WaitingOn::User) => asking.contains(&agent.id),
                Some(WaitingOn::Agent) => assigning.contains(&agent.id),
                Some(WaitingOn::Resume) => true,
                Some(WaitingOn::Timer | WaitingOn::Retry) | None => false,
            };
            if !is_fine {
                suspects.push(agent);
            }
        })
        .await?;
        let mut found = Vec::new();
        for seen in suspects {
            let Some(lost) = lost(engine, &seen).await? else { continue };
            // An agent that went on meanwhile waits for something else.
            if agent(engine, seen.id).await?.is_some_and(|now| now == seen)
                && is_unwoken(engine, &seen).await?
            {
                found.push(inconsistency(engine, &seen, lost));
            }
        }
        Ok(found)
    }
}

/// What never reached a waiting agent.
#[derive(Default)]
struct MissedPosts {
    posts: Vec<Post>,
    /// The earliest of the times that it waits for.
    moment: Option<Time>,
}

fn inconsistency(
    engine: &Engine,
    agent: &Agent,
    MissedPosts { posts, moment }: MissedPosts,
) -> Inconsistency {
    let (now, what) = (engine.now(), agent.waiting_on.map_or("nothing", WaitingOn::as_str));
    let done = if posts.is_empty() { "it is woken when that is due" } else { "it is notified" };
    let text = format!("agent {} waits ({what}) for something that can no longer happen: {done}", agent.id);
    let due = moment.filter(|moment| posts.is_empty() && *moment > now).unwrap_or(now);
    let mut repair = Commit::new(now).write(wake(agent.id, &agent.owner, due));
    posts.into_iter().for_each(|post| repair.post(post, &agent.owner));
    Inconsistency { agent: agent.id, text, repair }
}

/// What the agent's open steps should have received; none if one of them rightly waits.
async fn lost(engine: &Engine, agent: &Agent) -> Result<Option<MissedPosts>> {
    let mut lost = MissedPosts::default();
    let Some(run) = open_run(engine, agent.id).await? else { return Ok(Some(lost)) };
    for step in engine.store().steps(&Scope::All, run.id).await? {
        match due_post(engine, agent, &step).await? {
            Reply::NotYet => return Ok(None),
            Reply::Nothing => {}
            Reply::At(moment) => lost.moment = Some(lost.moment.map_or(moment, |other| other.min(moment))),
            Reply::This(body) => lost.posts.push(Post::new(agent.id, engine.now(), body)),
        }
    }
    // Read last: a post that is in the inbox needs a wake-up and nothing else.
    let there = engine.store().inbox(agent.id).await?;
    lost.posts.retain(|lost| !there.iter().any(|post| post.body.call() == lost.body.call()));
    Ok(Some(lost))
}

/// What a step should have received by now.
enum Reply {
    /// What it waits for has yet to happen.
    NotYet,
    /// It waits for nothing.
    Nothing,
    /// It waits for a time.
    At(Time),
    This(PostBody),
}

async fn due_post(engine: &Engine, agent: &Agent, step: &Step) -> Result<Reply> {
    let wait = match &step.state {
        StepState::Retry(retry) => return Ok(Reply::At(retry.due)),
        StepState::Open(wait) => wait,
        StepState::Started | StepState::Done(_) => return Ok(Reply::Nothing),
    };
    if let Wait::Join { tasks } = wait {
        return all_ended(engine, tasks).await;
    }
    let Some(call) = step.key.call() else { return Ok(Reply::Nothing) };
    match wait {
        Wait::Until { until } => Ok(Reply::At(*until)),
        Wait::SubCalls { retry: Some(retry), .. } => Ok(Reply::At(retry.due)),
        Wait::HandedOver { .. } | Wait::Join { .. } | Wait::SubCalls { .. } => Ok(Reply::Nothing),
        Wait::Question(OpenQuestion { question, .. }) => answer(engine, call, *question).await,
        Wait::Task { task, .. } => result(engine, agent, call, *task).await,
    }
}

/// Whether the joiner of these tasks should have been woken by now.
async fn all_ended(engine: &Engine, tasks: &[TaskId]) -> Result<Reply> {
    for task in tasks {
        if record::<Task>(engine, *task).await?.is_some_and(|task| !task.status.is_terminal()) {
            return Ok(Reply::NotYet);
        }
    }
    Ok(Reply::At(engine.now()))
}

/// What the call that asked a question should have received by now.
async fn answer(engine: &Engine, call: CallId, question: QuestionId) -> Result<Reply> {
    let answer = match record::<Question>(engine, question).await? {
        Some(Question { status: QuestionStatus::Open, .. }) => return Ok(Reply::NotYet),
        Some(Question { answer: Some(answer), .. }) => answer,
        // It is lost.
        Some(Question { answer: None, .. }) | None => Answer::Expired,
    };
    Ok(Reply::This(PostBody::Answer { question, call, answer }))
}

/// What the call that waits for a task should have received by now.
async fn result(engine: &Engine, agent: &Agent, call: CallId, task: TaskId) -> Result<Reply> {
    let (from, kind, result) = match record::<Task>(engine, task).await? {
        Some(task) if !task.status.is_terminal() => return Ok(Reply::NotYet),
        Some(task) => (task.to, task.kind, task.result),
        None => (agent.id, agent.kind.clone(), None),
    };
    let result = result.unwrap_or_else(|| TaskResult::Error("its result is lost".into()));
    Ok(Reply::This(PostBody::Done { task, call, from, kind, result }))
}
