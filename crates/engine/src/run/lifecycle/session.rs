//! The end of a session: its content is summarised and archived, and the next message begins with an empty
//! context. All of it is one commit, so that a session is closed once or not at all.

use std::time::Duration;

use entourage_store::Write;
use entourage_types::{
    Action, Agent, Author, Digest, Item, ItemBody, Kind, Message, Post, PostBody, Record, Session,
    SessionEnd, SessionId, Sessions, Status, StopReason, Switches, Time, WakeupId,
};

use crate::prompt::{self, SummaryOf, View};
use crate::run::{
    Result, Run, inbox::Taken, model::summarize::SummaryRequest, run_record::RunRecord, steps::Steps,
    trace::RunSpans,
};

/// The maximum length of the text by which a session is found, in characters.
const WORDS: usize = 200_000;

const SUMMARY: SummaryRequest = SummaryRequest { of: SummaryOf::Session, max_chars: 1_000 };

/// Why the session of an agent without a run is over, if it is: a trigger said so, or it has been idle for as long as
/// the agent's kind says.
pub(crate) fn why_over(agent: &Agent, kind: &Kind, items: &[Item], now: Time) -> Option<SessionEnd> {
    if !items.iter().any(is_said) {
        return None;
    }
    if agent.status == Status::Succeeded && ending_trigger(agent, kind, items).is_some() {
        return Some(SessionEnd::Triggered);
    }
    let last = items.last()?;
    (ends_by_idleness(agent, kind) && now.since(last.at) >= idleness(kind)).then_some(SessionEnd::Idle)
}

/// The name of a trigger that the last run read and that ends the session, if it read one.
fn ending_trigger<'a>(agent: &Agent, kind: &Kind, items: &'a [Item]) -> Option<&'a str> {
    let last = items.last().filter(|_| agent.works_for.is_person() && !kind.triggers.is_empty())?;
    items.iter().rev().take_while(|item| item.run == last.run).find_map(|item| {
        let ItemBody::Message(Message { from: Author::Trigger { trigger }, .. }) = &item.body else {
            return None;
        };
        kind.triggers.get(&trigger.name).filter(|rule| rule.ends_session).map(|_| &*trigger.name)
    })
}

fn ends_by_idleness(agent: &Agent, kind: &Kind) -> bool {
    agent.works_for.is_person() && kind.context.sessions == Sessions::Idle
}

fn idleness(kind: &Kind) -> Duration {
    Duration::from_secs(u64::from(kind.context.idle_minutes()) * 60)
}

fn is_said(item: &Item) -> bool {
    matches!(item.body, ItemBody::Message(_) | ItemBody::Turn(_))
}

impl Run<'_> {
    /// Closes the session if it is over, before anything new is read.
    pub(crate) async fn end_session(&mut self) -> Result<()> {
        if self.record.is_open() {
            return Ok(());
        }
        let reason = match self.is_asked_to_close().await? {
            true => SessionEnd::Asked,
            false if self.control.is_hurried() => return Ok(()),
            false => match why_over(&self.agent, &self.kind, self.items(), self.moment()) {
                Some(reason) => reason,
                None => return Ok(()),
            },
        };
        // Without a message or turn there is nothing to close.
        if self.items().iter().any(is_said) { Box::pin(self.archive(reason)).await } else { Ok(()) }
    }

    /// Whether a person asked to close the session; that intervention is applied with the next commit.
    async fn is_asked_to_close(&mut self) -> Result<bool> {
        let mut asked = false;
        let closes =
            |post: &Post| matches!(post.body, PostBody::Intervention { action: Action::CloseSession, .. });
        for Taken { post, consume } in self.inbox.take(closes) {
            if let PostBody::Intervention { id, .. } = post.body {
                asked = true;
                let writes = [Some(consume), self.applied(id).await?];
                self.batch.extend(writes.into_iter().flatten());
            }
        }
        Ok(asked)
    }

    async fn archive(&mut self, reason: SessionEnd) -> Result<()> {
        let items = self.transcript.lend();
        let view = View::whole(&items, self.kind.limits.max_output_chars);
        let summary = self.summarize(view, SUMMARY).await;
        let words = prompt::render_transcript(
            &View { digest: None, items: &items, ..view },
            WORDS,
            prompt::PerItem::Excerpt,
        );
        self.transcript.give_back(items);
        let (summary, at) = (summary?, self.engine.now());
        let (Some(first), Some(last)) = (self.items().first(), self.items().last()) else { return Ok(()) };
        let trigger = match reason {
            SessionEnd::Triggered => ending_trigger(&self.agent, &self.kind, self.items()),
            SessionEnd::Idle | SessionEnd::Asked => None,
        };
        let session = Session {
            id: SessionId::new(),
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            agent: self.agent.id,
            number: self.agent.session,
            summary: summary.text,
            reason,
            trigger: trigger.map(str::to_owned),
            messages: u32::try_from(self.items().iter().filter(|item| is_said(item)).count())
                .unwrap_or(u32::MAX),
            tokens: self.items().iter().map(characters).sum::<u64>() / 4,
            items: (first.seq, last.seq),
            used: summary.used,
            started: first.at,
            completed: at,
        };
        // Closing is a run of its own, so that the costs of the agent's runs add up.
        let (text, used) = (session.summary.clone(), session.used.clone());
        let digest = Digest { from: self.agent.items + 1, text, max_chars: None, used, asked: summary.asked };
        let mut archived = session.entity()?;
        archived.text = Some(format!("{}\n{words}", session.summary));
        let archived = Write::Record(archived, session.event()?.map(Box::new));
        let mut writes = vec![self.append(ItemBody::Digest(digest), at), archived];
        self.record.end(StopReason::Completed, at);
        writes.push(self.record.write(Status::Succeeded, None));
        self.agent.session += 1;
        // A failed run before it can no longer be retried.
        let status = if self.agent.status == Status::Failed { Status::Idle } else { self.agent.status };
        writes.push(self.agent_row(status, self.agent.waiting_on, at));
        self.commit(writes).await?;
        RunSpans::of(self).end(Status::Succeeded).await;
        let switches = self.engine.switches_for(&self.agent).await?;
        self.begin_clean(switches, at);
        Ok(())
    }

    fn begin_clean(&mut self, switches: Switches, at: Time) {
        self.transcript.clear();
        self.offered.begin_clean(&switches);
        self.record = RunRecord::of(None, &self.agent, (&self.kind, switches), at);
        self.steps = Steps::new(self.record.id, Vec::new(), &[]);
        self.offered.renew_position(self.transcript.items(), self.engine, &self.agent, &self.kind);
    }

    /// Returns the wake-up that closes the session, at once or unless something happens before.
    pub(in crate::run) fn idle_wakeup(&self, at: Time) -> Option<Write> {
        let due = if ending_trigger(&self.agent, &self.kind, self.items()).is_some() {
            at
        } else if ends_by_idleness(&self.agent, &self.kind) {
            at + idleness(&self.kind)
        } else {
            return None;
        };
        Some(self.wake_by(idle_id(&self.agent), due))
    }
}

/// The id of the wake-up that closes an agent's session: the agent's own, so that there is one per agent.
pub(in crate::run) fn idle_id(agent: &Agent) -> WakeupId {
    WakeupId::from_uuid(agent.id.uuid())
}

fn characters(item: &Item) -> u64 {
    let text = match &item.body {
        ItemBody::Message(message) => message.text.chars().count(),
        ItemBody::Turn(turn) => {
            let calls = turn.calls.iter().map(|call| call.tool.len() + call.arguments.to_string().len());
            turn.text.chars().count() + calls.sum::<usize>()
        }
        ItemBody::Output(output) => output.text.chars().count(),
        ItemBody::Decision(decision) => decision.outcome.to_string().len(),
        ItemBody::Notice(_)
        | ItemBody::Digest(_)
        | ItemBody::Context(_)
        | ItemBody::SubCalls(_)
        | ItemBody::SubOutput(_) => 0,
    };
    text as u64
}
