//! Follows an agent of an exploration, and all below it, chunk by chunk.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use entourage_store::{EventQuery, RunQuery};
use entourage_types::{Agent, AgentId, AgentState, Event, EventName, Unread};

use super::{
    chunk::{Chunk, Subagent},
    outcome::SubagentResult,
    position::{AnswerSoFar, Position, SentOf},
    render::Renderer,
};
use crate::{AgentDelta, Client, Error, Result, Signal, Watch};

/// The stream of an agent of an exploration and of all agents below it (S3-R071): all that has happened, then what
/// happens, until the agent has nothing more to do. It changes nothing: an agent does not notice whether anybody follows
/// it, and a question stays open although the stream ends (S3-R102).
pub struct ExplorerStream {
    client: Client,
    top: Agent,
    watch: Watch,
    renderer: Renderer,
    /// What an earlier stream sent, until this one has come to that point.
    resume: Option<Position>,
    ready: VecDeque<(Position, Chunk)>,
    /// The event that is to be rendered next.
    event: Option<Arc<Event>>,
    /// The event after which the followed agent rests, while it is to be found out whether it has ended.
    rested: Option<Arc<Event>>,
    /// The followed agent has not ended before this event, which changes its status again.
    works_from: u64,
    /// How many chunks of the end an earlier stream sent.
    skipped_of_end: usize,
    pieces: Pieces,
    is_over: bool,
}

/// Pieces of answers that wait until all events from before them were rendered: pieces are published at once, events
/// once they are committed.
#[derive(Default)]
struct Pieces {
    waiting: VecDeque<Piece>,
    /// The attempt of each agent that was heard last.
    heard: HashMap<AgentId, u64>,
}

struct Piece {
    delta: Arc<AgentDelta>,
    /// The last event from before it; none as long as that is not known.
    after: Option<u64>,
}

impl Client {
    /// Follows an agent and all below it from a position on, or from the beginning. The agent may be anywhere in a
    /// tree, and may have ended long ago: then the stream ends with what is on record. The position of event 0 is the
    /// beginning, too: the first event that is kept.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] for a position in the stream of another agent; [`Error::CursorGone`] and
    /// [`Error::CursorAhead`] for one whose events were pruned, or do not exist.
    pub async fn follow_explorer(&self, agent: AgentId, after: Option<Position>) -> Result<ExplorerStream> {
        let top = self.agent(agent).await?;
        if after.as_ref().is_some_and(|after| after.agent != agent) {
            return Err(Error::Invalid(format!(
                "the position belongs to the stream of another agent than {agent}"
            )));
        }
        let after = after.filter(|after| after.event > 0);
        let created = EventQuery {
            agent: Some(agent),
            name: Some(EventName::AgentCreated),
            ..EventQuery::of(top.root, 0, 1)
        };
        let created = self.engine.store().select_events(&self.scope, created).await?.pop();
        if let Some(Position { event, sent, .. }) = after {
            // Refuses a position whose events are not kept. What came before it is rendered, too: the rest depends on it.
            let is_whole = !matches!(sent, SentOf::Chunks(_));
            self.watch(top.root, if is_whole { event } else { event.saturating_sub(1) }).await?;
        }
        let watch = self.watch(top.root, created.as_ref().map(|created| created.seq - 1)).await?;
        let mut stream = ExplorerStream {
            client: self.clone(),
            watch,
            renderer: Renderer::new(agent),
            resume: after,
            ready: VecDeque::new(),
            event: None,
            rested: None,
            works_from: 0,
            skipped_of_end: 0,
            pieces: Pieces::default(),
            is_over: false,
            top,
        };
        if created.is_none() {
            stream.know_tree().await?;
        }
        Ok(stream)
    }
}

impl ExplorerStream {
    /// Waits for the next chunk, and returns it with the position after it; none after `finish`. Dropping the future
    /// loses nothing.
    ///
    /// # Errors
    /// [`Error::CursorGone`] for a client that reads more slowly than events are pruned; when the store fails or is
    /// closed. The call may be repeated.
    pub async fn next(&mut self) -> Result<Option<(Position, Chunk)>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            if self.is_over {
                return Ok(None);
            }
            self.advance().await?;
        }
    }

    /// Whether the followed agent had nothing to do when the stream was made: all that it did by then is on record.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.top.status.is_terminal()
    }

    /// Takes one step. Where it waits, all that it has taken is kept in a field, as the future may be dropped there.
    async fn advance(&mut self) -> Result<()> {
        if let Some(event) = self.event.clone() {
            if let Some(agent) = self.renderer.newcomer(&event) {
                self.follow(agent).await?;
            }
            if let Some(id) = self.renderer.unknown_run(&event) {
                let query = RunQuery { id: Some(id), ..RunQuery::default() };
                let runs = self.client.engine.store().runs(&self.client.scope, query).await?;
                self.renderer.know_run(id, runs.first());
            }
            self.event = None;
            self.render(&event);
        } else if let Some(event) = self.rested.clone() {
            if let Some(state) = self.renderer.rests() {
                self.end(&event, state).await?;
            }
            self.rested = None;
        } else if self.pieces.is_ready(self.watch.last()) {
            self.piece().await?;
        } else {
            match self.watch.next().await? {
                Signal::Event(event) => self.event = Some(event),
                Signal::Delta(delta) => self.pieces.push(delta),
                Signal::Inbox | Signal::CaughtUp(_) => {}
            }
        }
        Ok(())
    }

    /// Follows all agents that there are, for want of the events that created them.
    async fn know_tree(&mut self) -> Result<()> {
        let mut line = vec![self.top.id];
        for agent in self.client.tree(self.top.id).await? {
            if agent.id == self.top.id || agent.parent.is_some_and(|parent| line.contains(&parent)) {
                line.push(agent.id);
                self.follow(agent.id).await?;
            }
        }
        // Where the event with which the followed agent came to rest is not kept, the first that is kept comes after it.
        let Agent { id, root, status, waiting_on, .. } = self.top;
        let (agent, name) = (Some(id), Some(EventName::AgentStatus));
        let kept = EventQuery { agent, name, ..EventQuery::of(root, 0, 1) };
        if self.client.engine.store().select_events(&self.client.scope, kept).await?.is_empty() {
            self.renderer.know_state(AgentState::of(status, waiting_on, Unread::Nothing));
        }
        if self.resume.is_none() {
            self.ask_again(root, &line).await?;
        }
        Ok(())
    }

    /// Shows the open questions of these agents whose events are not kept.
    async fn ask_again(&mut self, root: AgentId, agents: &[AgentId]) -> Result<()> {
        let first = self.client.engine.store().select_events(&self.client.scope, EventQuery::of(root, 0, 1));
        let Some(first) = first.await?.pop() else { return Ok(()) };
        for agent in agents {
            for question in self.client.open_questions(*agent).await? {
                if question.created < first.at
                    && let Some(chunk) = self.renderer.question(&question)
                {
                    self.send(first.seq - 1, SentOf::Whole, Vec::new(), chunk);
                }
            }
        }
        Ok(())
    }

    async fn follow(&mut self, agent: AgentId) -> Result<()> {
        let name = self.client.agent_name(agent).await?;
        self.renderer.follow(agent, name);
        Ok(())
    }

    /// Renders the next event. Until the stream has come to where it is to go on, it only learns from events.
    fn render(&mut self, event: &Arc<Event>) {
        let resume = self.resume.take_if(|resume| resume.event <= event.seq);
        if let Some(resume) = resume.as_ref().filter(|resume| resume.event < event.seq) {
            self.renderer.claim(&resume.answers);
        }
        let chunks = self.renderer.event(event);
        if self.resume.is_some() {
            return;
        }
        self.rested = self.renderer.rests().map(|_| Arc::clone(event));
        let mut skipped = 0;
        if let Some(resume) = resume.filter(|resume| resume.event == event.seq) {
            self.renderer.claim(&resume.answers);
            (skipped, self.skipped_of_end) = match resume.sent {
                SentOf::Whole => (chunks.len(), 0),
                SentOf::Chunks(count) => (count, 0),
                SentOf::End(count) => (chunks.len(), count),
            };
        } else {
            self.skipped_of_end = 0;
        }
        let (answers, last) = (self.renderer.answers(), chunks.iter().rposition(Option::is_some));
        for (at, chunk) in chunks.into_iter().enumerate().skip(skipped) {
            let sent = if Some(at) == last { SentOf::Whole } else { SentOf::Chunks(at + 1) };
            if let Some(chunk) = chunk {
                self.send(event.seq, sent, answers.clone(), chunk);
            }
        }
    }

    /// Renders the first piece that waits, once it is known to be its turn.
    async fn piece(&mut self) -> Result<()> {
        let is_known = self.pieces.front().is_none_or(|piece| piece.after.is_some());
        if !is_known {
            let last = self.client.last_event(self.top.root).await?;
            self.pieces.comes_after(last);
            return Ok(());
        }
        let event = self.watch.last();
        let chunks = self.pieces.pop().map(|delta| self.renderer.delta(&delta)).unwrap_or_default();
        for (chunk, answers) in chunks {
            self.send(event, SentOf::Whole, answers, chunk);
        }
        Ok(())
    }

    /// Ends the stream if the followed agent, which rests after this event, has nothing more to do.
    async fn end(&mut self, event: &Event, state: AgentState) -> Result<()> {
        let (client, top) = (&self.client, &self.top);
        if event.seq < self.works_from
            || (state != AgentState::Deleted && !client.inbox(top).await?.is_empty())
        {
            return Ok(());
        }
        let (agent, name) = (Some(top.id), Some(EventName::AgentStatus));
        let later = EventQuery { agent, name, ..EventQuery::of(top.root, event.seq, 1) };
        if let Some(later) = client.engine.store().select_events(&client.scope, later).await?.pop() {
            self.works_from = later.seq;
            return Ok(());
        }
        let result = match state {
            AgentState::Completed => client.final_text(top).await?,
            _ => None,
        };
        let subagents = client.subagent_results(top.id).await?.into_iter().map(|child| {
            let SubagentResult { agent, result, status } = child;
            Subagent { agent_id: self.renderer.name(agent), result, status }
        });
        let chunks = self.renderer.end(event, state, result, subagents.collect());
        let answers = self.renderer.answers();
        for (at, chunk) in chunks.into_iter().enumerate().skip(self.skipped_of_end) {
            self.send(event.seq, SentOf::End(at + 1), answers.clone(), chunk);
        }
        self.is_over = true;
        Ok(())
    }

    fn send(&mut self, event: u64, sent: SentOf, answers: Vec<AnswerSoFar>, chunk: Chunk) {
        self.ready.push_back((Position::new(self.top.id, event, sent, answers), chunk));
    }
}

impl Pieces {
    fn push(&mut self, delta: Arc<AgentDelta>) {
        // While its model writes, an agent commits nothing: what the first piece of an attempt comes after, the others
        // do.
        let is_first = self.heard.insert(delta.agent, delta.attempt) != Some(delta.attempt);
        self.waiting.push_back(Piece { delta, after: (!is_first).then_some(0) });
    }

    fn front(&self) -> Option<&Piece> {
        self.waiting.front()
    }

    /// Whether it is the turn of the first piece once the event with this number is rendered, or that is unknown.
    fn is_ready(&self, event: u64) -> bool {
        self.front().is_some_and(|piece| piece.after.is_none_or(|after| after <= event))
    }

    fn comes_after(&mut self, event: u64) {
        if let Some(piece) = self.waiting.front_mut() {
            piece.after = Some(event);
        }
    }

    fn pop(&mut self) -> Option<Arc<AgentDelta>> {
        self.waiting.pop_front().map(|piece| piece.delta)
    }
}
