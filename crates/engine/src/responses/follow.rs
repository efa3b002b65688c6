//! Following one message to its answer: which runs belong to it, and what they produce. All of it is read
//! from the events of the chat, so that nothing is missed and nothing is emitted twice.

use std::collections::{HashMap, HashSet, VecDeque};

use entourage_store::Page;
use entourage_types::{
    Agent, AgentId, CallId, Event, EventBody, Item, ItemBody, PostId, Question, QuestionId, QuestionStatus,
    RunId, Status, Tally, Task, TaskId,
};
use tokio_util::sync::CancellationToken;

use super::{Origin, RunItem, RunResult, StreamEvent, hang_up::HangUp, pieces::Pieces, sender_of};
use crate::{AcceptedMessage, AgentDelta, ChatMessage, Client, Result, Signal, Watch, thread::USER};

/// Follows one message to its answer. If it is dropped before its end, it [withdraws](Client::withdraw) the
/// message: no client waits for the answer any more.
pub struct Follow {
    client: Client,
    chat_id: String,
    spoken: AcceptedMessage,
    caller: String,
    agent: String,
    watch: Watch,
    /// The run that answers the message, once the agent has read it.
    run: Option<RunId>,
    runs: HashMap<RunId, Origin>,
    /// The calls of these runs, and the tasks that they assigned.
    calls: HashMap<CallId, Origin>,
    tasks: HashMap<TaskId, (AgentId, Origin)>,
    pieces: Pieces,
    /// Whether to look for an open question that keeps the message from being read.
    looks: bool,
    /// The questions that were emitted.
    asked: HashSet<QuestionId>,
    /// What is to be emitted before more is read.
    pending: VecDeque<StreamEvent>,
    state: State,
    hang_up: HangUp,
}

/// How far a `Follow` has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The run goes on.
    Open,
    /// The run has ended; its result is still to be read.
    Ended,
    /// All is read.
    Over,
}

impl Follow {
    /// Sends a message and follows it. A message that was sent before under the same key is followed again.
    /// Once `stays` is cancelled, the message goes on although no client waits for its answer.
    ///
    /// # Errors
    /// As for [`Client::speak`].
    pub async fn begin(
        client: &Client,
        speech: ChatMessage,
        key: Option<&str>,
        stays: CancellationToken,
    ) -> Result<Self> {
        let root = client.chat(&speech.chat).await?;
        let last = client.last_event(root).await?;
        let (chat, caller, to) = (speech.chat.clone(), speech.from.clone(), speech.to.clone());
        let spoken = client.speak(speech, key).await?;
        // From here on the client may stop waiting, also before there is anything to follow.
        let hang_up = HangUp::new(client, spoken, stays);
        // A chat that takes the name of a deleted one has events of its own.
        let from = if spoken.root == root { last } else { 0 };
        Self::of(hang_up, chat, (to, caller.unwrap_or_else(|| USER.to_owned())), from).await
    }

    /// Follows an earlier message of a thread; `stays` as for [`Follow::begin`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn again(
        client: &Client,
        chat: String,
        thread: &Agent,
        post: PostId,
        stays: CancellationToken,
    ) -> Result<Self> {
        let spoken = AcceptedMessage { root: thread.root, agent: thread.id, post, again: true };
        let from = client.last_event(thread.root).await?;
        let hang_up = HangUp::new(client, spoken, stays);
        Self::of(hang_up, chat, (thread.kind.clone(), sender_of(thread)), from).await
    }

    /// Follows a message that was put on record after this event of its tree; `stays` as for [`Follow::begin`].
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn new_message(
        client: &Client,
        thread: &Agent,
        post: PostId,
        after: u64,
        stays: CancellationToken,
    ) -> Result<Self> {
        let spoken = AcceptedMessage { root: thread.root, agent: thread.id, post, again: false };
        let hang_up = HangUp::new(client, spoken, stays);
        Self::of(hang_up, String::new(), (thread.kind.clone(), sender_of(thread)), after).await
    }

    async fn of(
        hang_up: HangUp,
        chat_id: String,
        (agent, caller): (String, String),
        from: u64,
    ) -> Result<Self> {
        let (client, spoken) = (hang_up.client.clone(), hang_up.spoken);
        let mut follow = Self {
            watch: client.watch(spoken.root, from).await?,
            client,
            chat_id,
            spoken,
            caller,
            agent,
            run: None,
            runs: HashMap::new(),
            calls: HashMap::new(),
            tasks: HashMap::new(),
            pieces: Pieces::default(),
            looks: false,
            asked: HashSet::new(),
            pending: VecDeque::new(),
            state: State::Open,
            hang_up,
        };
        if spoken.again {
            follow.catch_up().await?;
        }
        follow.looks = follow.run.is_none();
        Ok(follow)
    }

    /// Emits the open questions that a person must answer before the agent reads the message: the agent's
    /// own, and those of agents that work for it while it waits.
    async fn find_what_it_waits_for(&mut self) -> Result<()> {
        let (root, open) = (Some(self.spoken.root), Some(QuestionStatus::Open));
        let questions = self.client.questions(root, open, Page::all()).await?;
        if questions.is_empty() {
            return Ok(());
        }
        let tasks = self.client.tasks(root, Some(Status::Queued), Page::all()).await?;
        let mut waited_for = vec![self.spoken.agent];
        let mut at = 0;
        while let Some(agent) = waited_for.get(at).copied() {
            let given =
                tasks.iter().filter(|task| task.is_awaited() && task.from == agent).map(|task| task.to);
            let new: Vec<AgentId> = given.filter(|to| !waited_for.contains(to)).collect();
            waited_for.extend(new);
            at += 1;
        }
        for question in questions {
            if waited_for.contains(&question.agent) && self.asked.insert(question.id) {
                self.pending.push_back(StreamEvent::Question(Box::new(question)));
            }
        }
        Ok(())
    }

    /// Reads what became of an earlier message: it may have been read, and answered, before it was followed.
    async fn catch_up(&mut self) -> Result<()> {
        let Some(run) = self.client.run_of(self.spoken.agent, self.spoken.post).await? else { return Ok(()) };
        let run = self.client.run(run).await?;
        self.begins(run.id, self.own(run.id));
        let items = self.client.items_of(&run).await?;
        let below = self.client.runs_below(&run, &items).await?;
        for one in &below {
            let origin = self.runs.get(&one.parent).map(|above| above.below(&one.task));
            if let Some(origin) = origin {
                self.begins(one.run.id, Origin { run: one.run.id, ..origin });
            }
        }
        below.iter().flat_map(|below| &below.items).chain(&items).for_each(|item| self.learn(item));
        if run.status.is_terminal() {
            self.state = State::Ended;
            return Ok(());
        }
        let open = Some(QuestionStatus::Open);
        for question in self.client.questions(Some(self.spoken.root), open, Page::all()).await? {
            self.asks(question);
        }
        Ok(())
    }

    /// Emits a question that one of the runs asks, once.
    fn asks(&mut self, question: Question) {
        if self.runs.contains_key(&question.run) && self.asked.insert(question.id) {
            self.pending.push_back(StreamEvent::Question(Box::new(question)));
        }
    }

    /// Returns the next event; none once it is over. The future may be dropped before it is ready: nothing is
    /// lost.
    pub async fn next(&mut self) -> Option<Result<StreamEvent>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(Ok(event));
            }
            let read = match self.state {
                State::Open => self.read().await,
                State::Ended => self.ends().await,
                State::Over => return None,
            };
            if let Err(error) = read {
                self.is_over();
                return Some(Err(error));
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        if self.looks {
            self.find_what_it_waits_for().await?;
            self.looks = false;
            return Ok(());
        }
        match self.watch.next().await? {
            Signal::Event(event) => self.heard(&event),
            Signal::Delta(delta) => {
                if self.runs.contains_key(&delta.run) {
                    self.piece(&delta);
                } else {
                    self.pieces.hold(delta);
                }
            }
            Signal::Inbox | Signal::CaughtUp(_) => {}
        }
        Ok(())
    }

    fn heard(&mut self, event: &Event) {
        match &event.body {
            EventBody::Item { item: Some(item), .. } => {
                self.learn(item);
                if let Some(origin) = self.runs.get(&item.run) {
                    self.pending.extend(RunItem::of(item, origin).into_iter().map(StreamEvent::Item));
                }
                self.pieces.held_of(item.run).iter().for_each(|delta| self.piece(delta));
            }
            EventBody::Task { task } => self.assigned(task),
            EventBody::Question { question } if question.status == QuestionStatus::Open => {
                self.looks |= self.run.is_none();
                self.asks((**question).clone());
            }
            EventBody::Run { run, status, .. } if Some(*run) == self.run && status.is_terminal() => {
                self.state = State::Ended;
            }
            _ => {}
        }
    }

    /// Learns from an item which runs to follow: a message may begin such a run; a turn has calls that other
    /// agents may work for.
    fn learn(&mut self, item: &Item) {
        match &item.body {
            ItemBody::Message(message) => {
                if item.agent == self.spoken.agent && message.post == Some(self.spoken.post) {
                    self.begins(item.run, self.own(item.run));
                }
                let assigned = message.task.and_then(|task| self.tasks.get(&task));
                if let Some((_, origin)) = assigned.filter(|(to, _)| *to == item.agent) {
                    let origin = Origin { run: item.run, ..origin.clone() };
                    self.runs.insert(item.run, origin);
                }
            }
            ItemBody::Turn(turn) => {
                if let Some(origin) = self.runs.get(&item.run) {
                    self.calls.extend(turn.calls.iter().map(|call| (call.id, origin.clone())));
                }
            }
            _ => {}
        }
    }

    fn begins(&mut self, run: RunId, origin: Origin) {
        if origin.parent_run.is_none() {
            self.run = Some(run);
        }
        self.runs.insert(run, origin);
    }

    fn assigned(&mut self, task: &Task) {
        if let Some(caller) = self.calls.get(&task.call) {
            self.tasks.insert(task.id, (task.to, caller.below(task)));
        }
    }

    /// The origin of the run that answers the message.
    fn own(&self, run: RunId) -> Origin {
        Origin {
            agent: self.agent.clone(),
            caller: self.caller.clone(),
            depth: 0,
            run,
            parent_run: None,
            thread: self.spoken.agent,
        }
    }

    fn piece(&mut self, delta: &AgentDelta) {
        let Some(origin) = self.runs.get(&delta.run) else { return };
        let (is_void, new) = self.pieces.take(delta);
        if is_void {
            self.pending.push_back(StreamEvent::Void { origin: origin.clone() });
        }
        if let Some(text) = new {
            self.pending.push_back(StreamEvent::Text { origin: origin.clone(), text });
        }
    }

    /// What the run that answers the message and the runs that work for it have used so far, as stored: a
    /// question may be emitted before their events are read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn usage(&self) -> Result<Tally> {
        let run = self.client.run_of(self.spoken.agent, self.spoken.post).await?;
        let Some(run) = run else { return Ok(Tally::default()) };
        let run = self.client.run(run).await?;
        let items = self.client.items_of(&run).await?;
        let mut usage = run.tally();
        for below in self.client.runs_below(&run, &items).await? {
            usage += below.run.tally();
        }
        Ok(usage)
    }

    async fn ends(&mut self) -> Result<()> {
        if let Some(run) = self.run {
            let origin = self.own(run);
            let result = Box::new(RunResult::read(&self.client, self.chat_id.clone(), origin).await?);
            self.pending.push_back(match result.error {
                Some(_) => StreamEvent::Error(result),
                None => StreamEvent::Done(result),
            });
        }
        self.is_over();
        Ok(())
    }

    fn is_over(&mut self) {
        self.state = State::Over;
        self.hang_up.disarm();
    }
}
