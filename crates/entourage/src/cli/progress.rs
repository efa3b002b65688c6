//! Tracks the state of a tree from its events.

mod standstill;

use std::collections::{BTreeMap, HashMap, HashSet};

use entourage_api::{Author, Delta, Event, EventBody, Intervention, Item, ItemBody, Piece, Question, Task};
use entourage_types::{
    Action, AgentId, CallId, Cost, InterventionId, InterventionStatus, NoticeCode, OnEnd, PostId, QuestionId,
    QuestionStatus, RunId, ShownStatus, Status, StopReason, TaskId, Time, Usage, WaitingOn,
};

use super::describe;
pub(crate) use standstill::Standstill;
use standstill::ends_questions;

/// The state of a tree.
pub(crate) struct Progress {
    root: AgentId,
    /// In the order of their creation.
    members: Vec<Member>,
    runs: HashMap<RunId, (Usage, Cost)>,
    questions: BTreeMap<QuestionId, Question>,
    /// Tasks that have not ended, and those whose result has not been read yet.
    tasks: HashMap<TaskId, Task>,
    /// The user's messages that the root has yet to read.
    unread: HashSet<PostId>,
    /// Whether the root has yet to read the message that it was created with.
    begins: bool,
    /// Whether an agent has something to do that no event shows yet.
    stirring: bool,
    /// Interventions that the agents have yet to apply.
    pending: HashMap<InterventionId, Box<Intervention>>,
    /// The number of the last event.
    pub(crate) last: u64,
    /// The agent that streamed text last.
    writer: Option<AgentId>,
    /// Whether a user stopped the root's last run.
    pub(crate) stopped: bool,
    /// Why the root's last run failed.
    pub(crate) error: Option<String>,
}

/// One agent of the tree.
pub(crate) struct Member {
    pub(crate) id: AgentId,
    pub(crate) parent: Option<AgentId>,
    pub(crate) kind: String,
    /// What it is for.
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped.
    stop_reason: Option<StopReason>,
    /// The status in the agent's own last event.
    reported: Status,
    /// Descriptions of the running calls.
    calls: Vec<(CallId, String)>,
    /// When it calls the model again, and why.
    again: Option<(Time, String)>,
    /// Whether that is because a budget has no room, until more is granted.
    over_budget: bool,
    /// The text that it has streamed so far.
    pub(crate) text: String,
    /// The tool that it is about to call.
    about_to: Option<String>,
}

impl Progress {
    /// A tree without any event yet.
    pub(crate) fn new(root: AgentId) -> Self {
        Self {
            root,
            members: Vec::new(),
            runs: HashMap::new(),
            questions: BTreeMap::new(),
            tasks: HashMap::new(),
            unread: HashSet::new(),
            begins: false,
            stirring: false,
            pending: HashMap::new(),
            last: 0,
            writer: None,
            stopped: false,
            error: None,
        }
    }

    /// The agent that the user talks to: the top of the tree, or one below it.
    pub(crate) const fn root(&self) -> AgentId {
        self.root
    }

    /// Records that the root was created with a message: it will run.
    pub(crate) fn begins(&mut self) {
        self.begins = true;
    }

    /// Records a message to the root: it will run. Other senders' messages say nothing about this one.
    pub(crate) fn sent(&mut self, post: PostId) {
        self.unread.insert(post);
    }

    /// Records that an agent has something to do that no event shows yet: the next event will.
    pub(crate) fn stir(&mut self) {
        self.stirring = true;
    }

    /// Whether there is work that no event shows yet.
    pub(crate) fn is_stirring(&self) -> bool {
        self.stirring
    }

    /// Records that a question was answered; the event follows.
    pub(crate) fn answered(&mut self, id: QuestionId) {
        self.questions.remove(&id);
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn member(&self, id: AgentId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// The agent that is writing; if there are several, the one that wrote last.
    pub(crate) fn writing(&self) -> Option<&Member> {
        let last = self.writer.and_then(|writer| self.member(writer));
        let writes = |member: &&Member| !member.text.trim().is_empty();
        last.filter(writes).or_else(|| self.members.iter().find(writes))
    }

    /// The usage and cost of all runs.
    pub(crate) fn spent(&self) -> (Usage, Cost) {
        let mut cost = Cost::default();
        self.runs.values().for_each(|(_, run)| cost += *run);
        (self.runs.values().map(|(usage, _)| *usage).sum(), cost)
    }

    /// The agents whose next model call a budget has no room for, each with what is missing.
    pub(crate) fn over_budget(&self) -> impl Iterator<Item = (AgentId, &str)> {
        let waiting = self.members.iter().filter(|member| member.waits_for_budget());
        waiting.filter_map(|member| member.again.as_ref().map(|(_, error)| (member.id, error.as_str())))
    }

    /// Records that no budget keeps an agent waiting any more; no event shows that before it goes on.
    pub(crate) fn has_room(&mut self, agent: AgentId) {
        if let Some(member) = self.member_mut(agent) {
            (member.over_budget, member.again) = (false, None);
        }
    }

    /// The unanswered questions, oldest first.
    pub(crate) fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.values().filter(|question| self.is_in_branch(question.agent))
    }

    /// The status of the root.
    pub(crate) fn status(&self) -> Status {
        self.member(self.root).map_or(Status::Idle, |root| root.status)
    }

    /// The status of the root as it is shown.
    pub(crate) fn shown(&self) -> ShownStatus {
        self.member(self.root).map_or(ShownStatus::Idle, Member::shown)
    }

    /// Applies an event.
    pub(crate) fn event(&mut self, event: &Event) {
        self.last = event.seq;
        // What an agent reads beside a message, and what changed of a record, come before the work itself.
        self.stirring &= matches!(&event.body, EventBody::Record { .. }) || is_context(&event.body);
        match &event.body {
            EventBody::AgentCreated { parent, kind, title } => self.members.push(Member {
                id: event.agent,
                parent: *parent,
                kind: kind.clone(),
                title: title.clone(),
                status: Status::Idle,
                waiting_on: None,
                stop_reason: None,
                reported: Status::Idle,
                calls: Vec::new(),
                again: None,
                over_budget: false,
                text: String::new(),
                about_to: None,
            }),
            EventBody::AgentStatus { status, waiting_on, stop_reason } => {
                let status = status.status();
                if let Some(member) = self.member_mut(event.agent) {
                    member.reported = status;
                    member.stop_reason = *stop_reason;
                    member.stands(status, *waiting_on);
                }
            }
            EventBody::Run { run, status, waiting_on, usage, cost, error, stop_reason } => {
                let status = status.status();
                // An agent has the status of its run. If that is no change for the agent, only this event
                // shows it; otherwise an event of the agent follows.
                if let Some(member) = self.member_mut(event.agent).filter(|member| member.reported == status)
                {
                    member.stop_reason = *stop_reason;
                    member.stands(status, *waiting_on);
                }
                self.runs.insert(*run, ((*usage).into(), *cost));
                if event.agent == self.root {
                    self.stopped = *stop_reason == Some(StopReason::Cancelled);
                    self.error.clone_from(error);
                }
            }
            EventBody::Item { item: Some(item), .. } => self.item(item),
            EventBody::Step { due: Some(due), error, .. } => {
                if let Some(member) = self.member_mut(event.agent) {
                    member.again = Some((*due, error.clone().unwrap_or_default()));
                }
            }
            EventBody::Item { item: None, .. }
            | EventBody::Step { due: None, .. }
            | EventBody::Grant { .. }
            | EventBody::Session { .. }
            | EventBody::Budget { .. }
            | EventBody::Record { .. } => {}
            EventBody::Intervention { intervention } => {
                match intervention.status {
                    InterventionStatus::Pending => self.pending.insert(intervention.id, intervention.clone()),
                    InterventionStatus::Applied => self.pending.remove(&intervention.id),
                };
                // The agent's next event shows the status of an agent that waits.
                if let Some(member) = self.member_mut(event.agent)
                    && intervention.status == InterventionStatus::Applied
                {
                    let is_held = member.is_held();
                    match intervention.action {
                        Action::Resume | Action::Stop if is_held => member.status = Status::Running,
                        Action::Pause if is_held => member.status = Status::Waiting,
                        _ if ends_questions(intervention) && member.status == Status::Waiting => {
                            member.status = Status::Running;
                        }
                        _ => {}
                    }
                }
            }
            EventBody::Task { task } => {
                if task.on_end == OnEnd::Quiet && task.status.is_terminal() {
                    self.tasks.remove(&task.id);
                } else {
                    self.tasks.insert(task.id, (**task).clone());
                }
            }
            EventBody::Question { question } => {
                if question.status == QuestionStatus::Open {
                    self.questions.insert(question.id, (**question).clone());
                } else {
                    self.questions.remove(&question.id);
                }
            }
        }
    }

    fn item(&mut self, item: &Item) {
        if let ItemBody::Message { from: Author::User, post, .. } = &item.body
            && item.agent == self.root
        {
            self.begins = false;
            if let Some(post) = post {
                self.unread.remove(post);
            }
        }
        // The agent read a result: as a message, or as the output of the call that waited for it.
        self.tasks.retain(|id, task| {
            let read = match &item.body {
                ItemBody::Message { task, .. } => *task == Some(*id),
                ItemBody::Output { call, .. } | ItemBody::SubOutput { call, .. } => {
                    task.on_end == OnEnd::Answer && *call == task.call
                }
                _ => false,
            };
            !(read && item.agent == task.from && task.status.is_terminal())
        });
        let used = match &item.body {
            ItemBody::Turn { used, .. } | ItemBody::Decision { used, .. } => used.as_ref(),
            _ => None,
        };
        if let Some(used) = used {
            // The run's own event, which has its total usage, comes when it stops.
            let (usage, cost) = self.runs.entry(item.run).or_default();
            *usage += used.usage.into();
            *cost += used.cost.unwrap_or_default();
        }
        let Some(member) = self.member_mut(item.agent) else { return };
        match &item.body {
            ItemBody::Turn { calls, .. } => {
                member.text.clear();
                member.about_to = None;
                member.calls = calls.iter().map(|call| (call.id, describe::call(call))).collect();
            }
            ItemBody::SubCalls { calls, .. } => {
                member.calls.extend(calls.iter().map(|call| (call.id, describe::call(call))));
            }
            ItemBody::Output { call, .. } | ItemBody::SubOutput { call, .. } => {
                member.calls.retain(|(open, _)| open != call);
            }
            // An agent that reads a message is at work; the event that shows it comes with the next message.
            ItemBody::Message { .. } => member.status = Status::Running,
            ItemBody::Notice { code, .. } => member.over_budget |= code == NoticeCode::OverBudget.as_str(),
            ItemBody::Decision { .. } | ItemBody::Digest { .. } | ItemBody::Context { .. } => {}
        }
    }

    /// Applies a piece of a streamed answer.
    pub(crate) fn delta(&mut self, delta: &Delta) {
        let Some(member) = self.member_mut(delta.agent) else { return };
        match &delta.piece {
            Piece::Text(text) => {
                member.text.push_str(text);
                self.writer = Some(delta.agent);
            }
            Piece::Reasoning(_) => {}
            Piece::Call(tool) => member.about_to = Some(tool.clone()),
            Piece::Reset(_) => {
                member.text.clear();
                member.about_to = None;
            }
        }
    }

    /// Describes in a few words what an agent is doing.
    pub(crate) fn doing(&self, member: &Member) -> String {
        match member.status {
            Status::Running if !member.calls.is_empty() => member.calls(),
            Status::Running => match (&member.about_to, member.text.is_empty()) {
                (Some(tool), _) => format!("calls {tool}"),
                (None, true) => "thinks".into(),
                (None, false) => "writes".into(),
            },
            Status::Waiting if member.waiting_on == Some(WaitingOn::Agent) => {
                let awaited = |task: &&Task| matches!(task.on_end, OnEnd::Answer | OnEnd::Join);
                let working = self.tasks.values().filter(|task| task.from == member.id).filter(awaited);
                let mut kinds = BTreeMap::<&str, usize>::new();
                working.for_each(|task| *kinds.entry(&task.kind).or_default() += 1);
                let counted = kinds.into_iter().map(|(kind, count)| match count {
                    1 => kind.to_owned(),
                    _ => format!("{count} × {kind}"),
                });
                let counted = counted.collect::<Vec<_>>().join(", ");
                if counted.is_empty() { member.calls() } else { format!("waits for {counted}") }
            }
            Status::Waiting if member.waits_for_budget() => describe::WAITS_FOR_BUDGET.into(),
            Status::Waiting if member.waiting_on == Some(WaitingOn::Retry) => match &member.again {
                Some((due, error)) => describe::again(due.since(Time::now()), error),
                None => describe::status(member.shown(), member.waiting_on),
            },
            Status::Idle | Status::Queued => "begins".into(),
            _ => describe::status(member.shown(), member.waiting_on),
        }
    }

    fn member_mut(&mut self, id: AgentId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }
}

/// Whether an event is of what an agent reads beside the conversation.
fn is_context(event: &EventBody) -> bool {
    matches!(event, EventBody::Item { item: Some(item), .. } if matches!(item.body, ItemBody::Context { .. }))
}

impl Member {
    /// Its status as it is shown.
    pub(crate) fn shown(&self) -> ShownStatus {
        ShownStatus::of(self.status, self.stop_reason)
    }

    /// Whether its own last event says that it is paused.
    fn is_held(&self) -> bool {
        self.waiting_on == Some(WaitingOn::Resume)
    }

    fn waits_for_budget(&self) -> bool {
        self.over_budget && (self.status, self.waiting_on) == (Status::Waiting, Some(WaitingOn::Retry))
    }

    fn stands(&mut self, status: Status, waiting_on: Option<WaitingOn>) {
        (self.status, self.waiting_on) = (status, waiting_on);
        self.over_budget &= status == Status::Waiting;
        if status.is_terminal() {
            self.calls.clear();
        }
    }

    fn calls(&self) -> String {
        self.calls.iter().map(|(_, call)| call.as_str()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
