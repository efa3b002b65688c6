//! What an event still tells once what it is about was forgotten.

use serde_json::Value;

use crate::{
    Answer, Author, EntityKind, EventBody, Grant, GrantSubject, Intervention, Question, Record, Session,
    Task, TaskResult,
};

impl EventBody {
    /// The record whose change it reports, by noun and id.
    #[must_use]
    pub fn record(&self) -> Option<(&str, String)> {
        fn of<R: Record>(id: impl ToString) -> Option<(&'static str, String)> {
            Some((R::KIND.as_str(), id.to_string()))
        }
        match self {
            Self::AgentCreated { .. }
            | Self::AgentStatus { .. }
            | Self::Run { .. }
            | Self::Step { .. }
            | Self::Item { .. }
            | Self::Budget { .. } => None,
            Self::Task { task } => of::<Task>(task.id),
            Self::Intervention { intervention } => of::<Intervention>(intervention.id),
            Self::Grant { grant } => of::<Grant>(grant.id),
            Self::Question { question } => of::<Question>(question.id),
            Self::Session { session } => of::<Session>(session.id),
            Self::Record { kind, id, .. } => Some((kind, id.clone())),
        }
    }

    /// What is left of it once what it is about was forgotten: what happened to whom and when, in ids, words of the
    /// engine and numbers. No text that a person, a model, a tool or a provider wrote is left.
    // Every field is named, so that a new one does not compile until it is decided whether it stays.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        match &mut self {
            Self::AgentCreated { parent: _, kind: _, title } => title.clear(),
            Self::AgentStatus { status: _, waiting_on: _, stop_reason: _ } => {}
            Self::Run { run: _, status: _, waiting_on: _, stop_reason: _, error, usage: _, cost: _ }
            | Self::Step { run: _, key: _, state: _, due: _, attempt: _, class: _, error, lacks_budget: _ } =>
            {
                *error = None;
            }
            Self::Item { item_seq: _, item } => *item = None,
            Self::Task { task } => clear_task(task),
            Self::Intervention { intervention } => clear_intervention(intervention),
            Self::Grant { grant } => clear_grant(grant),
            Self::Question { question } => clear_question(question),
            Self::Session { session } => clear_session(session),
            Self::Budget { by: _, action: _, amount: _ } => {}
            // A tombstone has no text, and says why the others have none.
            Self::Record { kind, id: _, status: _, record: _ } if *kind == EntityKind::TOMBSTONE.as_str() => {
            }
            Self::Record { kind: _, id: _, status: _, record } => *record = Value::Null,
        }
        self
    }
}

fn clear_task(task: &mut Task) {
    let Task {
        id: _,
        owner: _,
        root: _,
        from: _,
        to: _,
        call: _,
        on_end: _,
        group: _,
        kind: _,
        title,
        instruction,
        origin: _,
        status: _,
        result,
        post: _,
        run: _,
        reactivated: _,
        created: _,
        updated: _,
    } = task;
    title.clear();
    instruction.clear();
    match result {
        Some(TaskResult::Text(text) | TaskResult::Error(text)) => text.clear(),
        None => {}
    }
}

fn clear_intervention(intervention: &mut Intervention) {
    let Intervention {
        id: _,
        owner: _,
        root: _,
        agent: _,
        by,
        action: _,
        text,
        of: _,
        status: _,
        created: _,
        updated: _,
    } = intervention;
    *text = None;
    match by {
        Author::User | Author::Agent { id: _, kind: _ } => {}
        Author::Trigger { trigger } => trigger.payload = Value::Null,
    }
}

fn clear_grant(grant: &mut Grant) {
    let Grant {
        id: _,
        owner: _,
        root: _,
        agent: _,
        tool: _,
        subject,
        question: _,
        status: _,
        created: _,
        updated: _,
    } = grant;
    match subject {
        // The kind's file says it.
        GrantSubject::Rule(_) => {}
        GrantSubject::Host(host) => host.clear(),
    }
}

fn clear_question(question: &mut Question) {
    let Question {
        id: _,
        owner: _,
        root: _,
        agent: _,
        kind: _,
        run: _,
        call: _,
        task: _,
        about: _,
        text,
        options,
        proposal,
        due: _,
        otherwise: _,
        status: _,
        answer,
        answered_by: _,
        created: _,
        updated: _,
    } = question;
    text.clear();
    options.clear();
    // With the digest: a guess of the arguments could be checked against it.
    *proposal = None;
    match answer {
        Some(Answer::Text(text)) => text.clear(),
        Some(Answer::Approve { arguments, always: _, digest }) => (*arguments, *digest) = (None, None),
        Some(Answer::Reject { reason }) => *reason = None,
        Some(Answer::Declined | Answer::Retry | Answer::GiveUp | Answer::Granted | Answer::Expired)
        | None => {}
    }
}

fn clear_session(session: &mut Session) {
    let Session {
        id: _,
        owner: _,
        root: _,
        agent: _,
        number: _,
        summary,
        reason: _,
        trigger: _,
        messages: _,
        tokens: _,
        items: _,
        used: _,
        started: _,
        completed: _,
    } = session;
    summary.clear();
}
