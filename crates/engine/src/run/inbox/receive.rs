//! Inbox to transcript: reads what others wrote since the last look, before the next model call.

use entourage_store::Write;
use entourage_types::{
    Action, Author, Item, ItemBody, Message, Post, PostBody, Status, Task, TaskId, TaskResult,
};

use crate::run::{
    Interrupt, Result, Run,
    inbox::{Taken, run_options},
    steps::Phase,
};

/// How much of the inbox is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InboxShare {
    All,
    /// Only the first of the posts that open a run, and all posts that open none.
    First,
}

/// What opened the run of a program that handles one inbox entry per run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A message.
    Said,
    /// A task is done, and its result can be read.
    Done,
    /// A task failed.
    Failed {
        /// The kind of the agent that worked on it.
        kind: String,
        /// Why.
        why: String,
    },
}

impl Run<'_> {
    /// Reads the inbox into the transcript. Interventions and the end of the process take effect here.
    ///
    /// # Errors
    /// An [`Interrupt`] when somebody stops the run, the process ends or the store fails.
    pub async fn receive(&mut self) -> Result<()> {
        self.drain_inbox(InboxShare::All).await
    }

    /// Reads the first message or result, and leaves the others for runs of their own.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn receive_one(&mut self) -> Result<Arrival> {
        self.drain_inbox(InboxShare::First).await?;
        let messages = || {
            self.items().iter().rev().filter_map(|item| match &item.body {
                ItemBody::Message(message) => Some((item.run, message)),
                _ => None,
            })
        };
        // A run that retries a failed one was opened by what the failed one read.
        let of_run = messages().take_while(|(run, _)| *run == self.record.id).last();
        let opened_by = of_run.or_else(|| messages().next());
        Ok(opened_by.map_or(Arrival::Said, |(_, message)| arrival(message)))
    }

    async fn drain_inbox(&mut self, share: InboxShare) -> Result<()> {
        if self.replaying() {
            return Ok(());
        }
        self.close_calls_not_made();
        self.read_inbox(share).await
    }

    /// Reads the inbox before a step of the program that is no turn of the model. The limits of the loop do not bound
    /// it. While calls of the model are yet to be made, no message may come before their outputs.
    pub(in crate::run) async fn ready_for_step(&mut self) -> Result<()> {
        if self.calls_not_made().next().is_some() {
            return self.look_out().await;
        }
        self.read_inbox(InboxShare::All).await
    }

    /// Lets an instruction that has come take the place of the present phase, so that the program reads nothing of the
    /// calls that the instruction dropped.
    pub(in crate::run) async fn give_way(&mut self) -> Result<()> {
        let is_instruction =
            |post: &Post| matches!(post.body, PostBody::Intervention { action: Action::Modify, .. });
        let is_due = self.steps.phase().is_some() && !self.replaying();
        if is_due && self.inbox.posts().iter().any(is_instruction) {
            self.read_inbox(InboxShare::All).await?;
        }
        Ok(())
    }

    /// Lets interventions and the end of the process take effect.
    async fn look_out(&mut self) -> Result<()> {
        if self.control.cancel().is_cancelled() {
            return Err(Interrupt::Stopping);
        }
        self.refresh().await?;
        self.apply_interventions().await
    }

    async fn read_inbox(&mut self, share: InboxShare) -> Result<()> {
        self.look_out().await?;
        let posts = self.take_inbox(share);
        let mut is_replaced = false;
        if !posts.is_empty() || !self.record.is_open() {
            is_replaced = self.append_messages(posts).await?;
        }
        self.check_input().await?;
        if is_replaced { Err(Interrupt::Replaced) } else { Ok(()) }
    }

    /// Adds the texts of the posts to the transcript, and before them what the model is to know beside them, so
    /// that the last words that it reads are those of the messages. Returns whether the present phase begins anew.
    async fn append_messages(&mut self, posts: Vec<Taken>) -> Result<bool> {
        let at = self.engine.now();
        let (mut writes, mut messages) = (Vec::with_capacity(posts.len() * 2 + 4), Vec::new());
        // The last of several instructions ends the phase.
        let mut replaced = None;
        for Taken { post, consume } in posts {
            writes.push(consume);
            if let PostBody::Intervention { id, .. } = post.body {
                writes.extend(self.applied(id).await?);
            }
            if let PostBody::Message { task: Some(task), .. } = post.body {
                writes.extend(self.taken_up_again(task).await?);
            }
            let message = self.message_of(&post);
            if matches!(post.body, PostBody::Intervention { action: Action::Modify, .. }) {
                replaced = self.steps.phase().cloned().map(|phase| (messages.len(), phase));
            }
            messages.extend(message);
        }
        if !messages.is_empty() {
            let said = messages.iter().filter(|message| !message.is_result()).count();
            writes.extend(self.append_context(said).await?);
            writes.extend(self.offered.keep_tools(self.engine)?);
            self.offered.note_context();
        }
        for (nth, message) in messages.into_iter().enumerate() {
            let phase = replaced.as_ref().filter(|(last, _)| *last == nth).map(|(_, phase)| phase);
            writes.extend(phase.into_iter().flat_map(|phase| self.end_waits(phase, at)));
            writes.push(self.append_of_step(phase.map(Phase::replaced), ItemBody::Message(message), at));
        }
        writes.extend(self.resumed(at));
        self.record.open();
        self.commit(writes).await?;
        // A stop may concern what was just read.
        self.apply_interventions().await?;
        Ok(replaced.is_some())
    }

    /// Takes the posts for this run. A message that needs a run of its own begins one, and the next such
    /// message waits for the next run; so does a queued message. A stop of another run waits too, and the
    /// session is closed between runs.
    fn take_inbox(&mut self, share: InboxShare) -> Vec<Taken> {
        let mut owed = self.record.tasks.clone();
        let opened = self.record.is_open();
        let (mut is_free, mut has_one) = (!opened && owed.is_empty(), opened);
        self.inbox.take(|post| {
            let opens = opens(&post.body);
            let is_for_now = match &post.body {
                _ if opens && has_one && share == InboxShare::First => false,
                // More about a task that this run works on.
                PostBody::Message { task: Some(task), .. } if owed.contains(task) => true,
                _ if run_options::is_alone(post) => is_free,
                PostBody::Message { queued: true, .. } => !opened,
                PostBody::Intervention { action: Action::CloseSession | Action::Stop, .. } => false,
                _ => true,
            };
            if is_for_now && opens {
                (is_free, has_one) = (false, true);
                owed.extend(run_options::task_of(post));
            }
            is_for_now
        })
    }

    /// Returns the write that reopens a task which this agent had before, for a post with more about it that
    /// is read when the task has just ended.
    async fn taken_up_again(&mut self, id: TaskId) -> Result<Option<Write>> {
        let is_of_it =
            |item: &Item| matches!(&item.body, ItemBody::Message(message) if message.task == Some(id));
        if self.record.tasks.contains(&id) || !self.items().iter().any(is_of_it) {
            return Ok(None);
        }
        self.under_way_again(id).await
    }

    /// Returns the write that reopens a task that has ended.
    pub(in crate::run) async fn under_way_again(&mut self, id: TaskId) -> Result<Option<Write>> {
        let scope = self.scope();
        let found = self.engine.store().record::<Task>(&scope, id).await?;
        let Some(task) = found else { return Ok(None) };
        if !matches!(task.status, Status::Succeeded | Status::Failed) {
            return Ok(None);
        }
        self.batch.expect_task(&task);
        Ok(Some(Write::record(&task.again(self.engine.now()))?))
    }

    /// Returns what a post says to the agent, as a message. Calls have taken the answers and results that
    /// they wait for; a result that arrives too late for its call becomes a message, so that it is not lost.
    pub(in crate::run) fn message_of(&mut self, post: &Post) -> Option<Message> {
        match &post.body {
            PostBody::Message { from, text, task, options, .. } => {
                if let Some(task) = *task {
                    self.record.add_task(task);
                }
                let known_by = (from.is_outside() || options.is_some()).then_some(post.id);
                if options.is_some() {
                    self.record.set_options(options.clone());
                    self.control.set_answers(Some(post.id));
                }
                let message = Message::new(from.clone(), text.clone(), *task);
                Some(Message { post: known_by, options: options.clone(), ..message })
            }
            PostBody::Done { task, from, kind, result, .. } => {
                let (text, ended) = match result {
                    TaskResult::Text(text) => (text, Status::Succeeded),
                    TaskResult::Error(text) => (text, Status::Failed),
                };
                let from = Author::Agent { id: *from, kind: kind.clone() };
                Some(Message { ended: Some(ended), ..Message::new(from, text.clone(), Some(*task)) })
            }
            PostBody::Intervention { action: Action::Modify, text, .. } => {
                let text = text.clone().unwrap_or_default();
                Some(Message { post: Some(post.id), ..Message::new(Author::User, text, None) })
            }
            PostBody::Answer { .. } | PostBody::Intervention { .. } => None,
        }
    }
}

/// Whether a post opens a run. A new instruction does not: it goes to the run whose work it replaces.
fn opens(body: &PostBody) -> bool {
    matches!(body, PostBody::Message { .. } | PostBody::Done { .. })
}

fn arrival(message: &Message) -> Arrival {
    match &message.from {
        Author::Agent { kind, .. } if message.is_failure() => {
            Arrival::Failed { kind: kind.clone(), why: message.text.clone() }
        }
        _ if message.is_result() => Arrival::Done,
        _ => Arrival::Said,
    }
}
