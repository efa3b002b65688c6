//! The join of agents that a program started: their results, which are withheld until all of them have ended.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{
    AgentId, Author, CallId, CommitId, ItemBody, Message, OnEnd, Status, StepKey, StepState, Task, TaskId,
    TaskResult, Wait, WaitingOn, Wakeup,
};

use crate::run::{Interrupt, Result, Run, Spawned};

/// What came of one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The task and the agent that worked on it; none if no agent could be started.
    pub task: Option<(TaskId, AgentId)>,
    /// How it ended.
    pub status: Status,
    /// The result, or why there is none.
    pub text: String,
}

impl Run<'_> {
    /// Waits until all these agents have ended, in whatever status, and returns what they came to, in the order of the
    /// work. Each result is then an item of the transcript, which the model reads.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] until the last of them has ended; any other interrupt of the run.
    pub async fn join(&mut self, spawned: &Spawned) -> Result<Vec<Joined>> {
        let key = StepKey::Join(self.steps.named(&spawned.name));
        self.pass_step(&key).await?;
        if !self.steps.is_done(&key) {
            self.wait_for_all(key, spawned).await?;
        }
        Ok(spawned.calls.iter().map(|call| self.joined(*call)).collect())
    }

    async fn wait_for_all(&mut self, key: StepKey, spawned: &Spawned) -> Result<()> {
        // The results are messages.
        self.close_calls_not_made();
        self.ready_for_step().await?;
        let ids: Vec<TaskId> =
            spawned.calls.iter().filter_map(|call| self.output_of(*call)?.task()).collect();
        let mut tasks = Vec::with_capacity(ids.len());
        for id in &ids {
            tasks.push((*id, self.engine.store().record::<Task>(&self.scope(), *id).await?));
        }
        let at = self.engine.now();
        // The result of a task that was taken up again comes as a message of its own, perhaps in a moment.
        let is_open = |task: &Task| {
            !task.status.is_terminal() || (task.on_end != OnEnd::Join && self.result_of(task.id).is_none())
        };
        if tasks.iter().filter_map(|(_, task)| task.as_ref()).any(is_open) {
            if self.steps.get(&key).is_none() {
                let wait = StepState::Open(Wait::Join { tasks: ids });
                self.batch.push(Write::Step(self.steps.row(key, wait, at)));
            }
            return Err(Interrupt::Suspended(WaitingOn::Agent));
        }
        let mut writes = vec![Write::Step(self.steps.row(key.clone(), StepState::Done(None), at))];
        for task in tasks.into_iter().filter_map(|(_, task)| task) {
            if self.result_of(task.id).is_none() {
                let message = ItemBody::Message(message_of(task));
                writes.push(self.append_of_step(Some(key.clone()), message, at));
            }
        }
        writes.extend(self.resumed_if_asleep(at));
        self.commit(writes).await
    }

    /// Commits the end of an agent together with the end of these tasks, each of which another agent will join. The last
    /// one of a group to end wakes the joiner. Of two that end at once, each would take the other for the last: so the
    /// commit expects that another one is still open. If that has just ended, this one is looked at once more; what the
    /// agent has done is not repeated.
    pub(in crate::run) async fn commit_end(&self, commit: Commit, joined: &[Task]) -> Result<(), StoreError> {
        loop {
            let mut attempt = Commit { id: CommitId::new(), ..commit.clone() };
            let mut siblings = Vec::new();
            for task in joined {
                match self.open_sibling(task).await? {
                    Some(sibling) => siblings.push(sibling.id),
                    None => {
                        let wakeup = Wakeup::new(task.from, task.owner.clone(), commit.at);
                        attempt.push(Write::ScheduleWakeup(wakeup));
                    }
                }
            }
            let open = siblings.iter().map(|sibling| Expect::status::<Task>(*sibling, Status::Queued));
            attempt.expect.extend(open);
            match self.commit_as_is(attempt).await {
                Err(StoreError::NotInStatus { id, .. })
                    if siblings.iter().any(|sibling| sibling.to_string() == id) => {}
                done => return done.map(drop),
            }
        }
    }

    /// Returns another open task of the group that this one belongs to, if there is one.
    async fn open_sibling(&self, task: &Task) -> Result<Option<Task>, StoreError> {
        let (parent, status) = (Some(task.from.into()), Some(Status::Queued));
        let open = RecordFilter::<Task> { parent, status, page: Page::all(), ..RecordFilter::default() };
        let open = self.engine.store().records(&self.scope(), open).await?;
        Ok(open.into_iter().find(|other| other.group == task.group && other.id != task.id))
    }

    /// Returns what came of the work that a call started, from the transcript.
    fn joined(&self, call: CallId) -> Joined {
        let failed = |text: &str| Joined { task: None, status: Status::Failed, text: text.to_owned() };
        let Some(output) = self.output_of(call) else { return failed("no agent was started") };
        let Some(task) = output.task() else { return failed(&output.text) };
        self.result_of(task).unwrap_or_else(|| failed("its result is lost"))
    }

    /// Returns the result of a task, if this run has read it.
    fn result_of(&self, task: TaskId) -> Option<Joined> {
        self.transcript.latest_of(self.record.id).find_map(|item| match &item.body {
            ItemBody::Message(message) if message.task == Some(task) => {
                let Author::Agent { id, .. } = message.from else { return None };
                Some(Joined { task: Some((task, id)), status: message.ended?, text: message.text.clone() })
            }
            _ => None,
        })
    }
}

/// Returns a result as the message that the transcript keeps.
fn message_of(task: Task) -> Message {
    let text = match task.result {
        Some(TaskResult::Text(text) | TaskResult::Error(text)) => text,
        None => "the work was cancelled".to_owned(),
    };
    let from = Author::Agent { id: task.to, kind: task.kind };
    Message { ended: Some(task.status), ..Message::new(from, text, Some(task.id)) }
}
