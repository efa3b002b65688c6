//! The records of a database after years of use, as their types have them, written without a store.

use std::{path::Path, time::Duration};

use anyhow::Result;
use entourage_types::{
    Action, AgentId, Asked, Author, CallId, Chat, Columns, Entity, EntityKind, Grant, GrantId, GrantStatus,
    GrantSubject, Intervention, InterventionId, InterventionStatus, ItemBody, Kind, Learning, LearningId,
    LearningStatus, Message, OnEnd, Output, Owner, QuestionId, Record, Recurrence, Schedule, ScheduleId,
    ScheduleStatus, Session, SessionEnd, SessionId, Sha256, Status, StepKey, Task, TaskId, Time, ToolCall,
    Trigger, Turn,
};
use rusqlite::{Connection, Statement, params};
use serde_json::json;

use super::id;

/// Versions of kinds: years of edited files. One kind in ten is the one that is asked for, one in 500 is rare.
const VERSIONS: u32 = 1_000;
/// Learnings: of each of a hundred agents a hundred that it reads, and as many that were retired.
const LEARNINGS: u32 = 20_000;
/// Closed sessions, a tenth of them of one agent.
const SESSIONS: u32 = 10_000;
/// Tasks: nearly all agents of the tree were given one, and one in a hundred has failed.
const TASKS: u32 = 98_000;
const GRANTS: u32 = 2_000;
/// Interventions, half of them in one agent.
const INTERVENTIONS: u32 = 10_000;
/// Chats, of which one in a thousand is one of an agency.
const CHATS: u32 = 10_000;
/// Schedules, a hundred of each of a hundred agents.
const SCHEDULES: u32 = 10_000;
/// Calls of one run, and the items of its agent from before.
const CALLS: u32 = 100;
const EARLIER: u32 = 10_000;

/// The kind of the agency, and of most versions.
pub(super) const KIND: &str = "clerk";
/// A kind with two versions.
pub(super) const RARE: &str = "seldom";
/// The agency.
pub(super) const AGENCY: &str = "desk";
/// An agent, its first run, and its last one, which makes many calls.
const CALLER: u32 = 9;
const FIRST_RUN: u32 = 8;
pub(super) const RUN: u32 = 100_008;

/// The version of a kind with this number.
pub(super) fn version(number: u32) -> String {
    format!("{number:064x}")
}

/// Writes the records, and a run of many calls.
pub(super) fn filled(database: &Path) -> Result<()> {
    let mut connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let transaction = connection.transaction()?;
    let mut rows = Rows(transaction.prepare(
        "INSERT INTO entities (kind, id, owner, root, parent, status, created, updated, name, body, text) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?);
    (1..=VERSIONS).try_for_each(|number| rows.write(&kind(number)?))?;
    (1..=LEARNINGS).try_for_each(|number| rows.record(&learning(number)?))?;
    (1..=SESSIONS).try_for_each(|number| rows.record(&session(number)?))?;
    (1..=TASKS).try_for_each(|number| rows.record(&task(number)?))?;
    (1..=GRANTS).try_for_each(|number| rows.record(&grant(number)?))?;
    (1..=INTERVENTIONS).try_for_each(|number| rows.record(&intervention(number)?))?;
    (1..=CHATS).try_for_each(|number| rows.record(&chat(number)?))?;
    (1..=SCHEDULES).try_for_each(|number| rows.record(&schedule(number)?))?;
    drop(rows);
    write_calls(&transaction)?;
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

struct Rows<'c>(Statement<'c>);

impl Rows<'_> {
    fn record<R: Record>(&mut self, record: &R) -> Result<()> {
        self.write(&record.entity()?)
    }

    fn write(&mut self, row: &Entity) -> Result<()> {
        self.0.execute(params![
            row.kind.as_str(),
            row.id,
            row.owner.as_str(),
            row.root.map(|root| root.to_string()),
            row.parent.as_ref().map(ToString::to_string),
            row.status,
            row.created.micros(),
            row.updated.micros(),
            row.name,
            row.body,
            row.text,
        ])?;
        Ok(())
    }
}

/// When the record with this number was written.
fn at(number: u32) -> Time {
    Time::from_micros(i64::from(number))
}

/// The agent that each of a hundred rows in a row belongs to: one of the second to the hundred and first.
fn one_of_hundred(number: u32) -> Result<AgentId> {
    id(2 + number % 100)
}

fn kind(number: u32) -> Result<Entity> {
    let name = match number {
        _ if number.is_multiple_of(500) => RARE.to_owned(),
        _ if number % 10 == 1 => KIND.to_owned(),
        _ => format!("{KIND} {}", number % 10),
    };
    let instructions =
        format!("You are number {number}. {}", "Look up what is asked for, and say it. ".repeat(25));
    let kind = Kind { instructions, version: version(number), ..Kind::bare(name) };
    let columns = Columns {
        id: kind.version.clone(),
        owner: Owner::engine(),
        root: None,
        parent: None,
        status: "kept",
        created: at(number),
        updated: at(number),
        name: None,
        text: None,
    };
    Ok(columns.entity(EntityKind::KIND, serde_json::to_string(&kind)?))
}

fn learning(number: u32) -> Result<Learning> {
    let is_kept = (number / 100).is_multiple_of(2);
    Ok(Learning {
        id: LearningId::new(),
        owner: Owner::local(),
        root: id(1)?,
        agent: one_of_hundred(number)?,
        text: format!("Trains to place {number} are late"),
        status: if is_kept { LearningStatus::Kept } else { LearningStatus::Retired },
        created: at(number),
        updated: at(number),
    })
}

fn session(number: u32) -> Result<Session> {
    let of_one = number.is_multiple_of(10);
    Ok(Session {
        id: SessionId::new(),
        owner: Owner::local(),
        root: id(1)?,
        agent: if of_one { id(2)? } else { id(2 + number)? },
        number: if of_one { number / 10 } else { 1 },
        summary: format!("They asked for trains to place {number}, and took the first one."),
        trigger: None,
        reason: SessionEnd::Idle,
        messages: 2,
        tokens: 100,
        items: (0, 1),
        used: None,
        started: at(number),
        completed: at(number),
    })
}

fn task(number: u32) -> Result<Task> {
    Ok(Task {
        id: TaskId::new(),
        owner: Owner::local(),
        root: id(1)?,
        from: one_of_hundred(number)?,
        to: id(1_002 + number)?,
        call: CallId::new(),
        on_end: OnEnd::Answer,
        group: None,
        kind: KIND.into(),
        title: String::new(),
        instruction: format!("Find trains to place {number}."),
        origin: None,
        status: if number.is_multiple_of(100) { Status::Failed } else { Status::Succeeded },
        result: None,
        post: None,
        run: None,
        reactivated: 0,
        created: at(number),
        updated: at(number),
    })
}

fn grant(number: u32) -> Result<Grant> {
    Ok(Grant {
        id: GrantId::new(),
        owner: Owner::local(),
        root: id(1)?,
        agent: one_of_hundred(number)?,
        tool: "look_up".into(),
        subject: GrantSubject::Rule("look_up".into()),
        question: QuestionId::new(),
        status: if number.is_multiple_of(100) { GrantStatus::Standing } else { GrantStatus::Revoked },
        created: at(number),
        updated: at(number),
    })
}

fn intervention(number: u32) -> Result<Intervention> {
    Ok(Intervention {
        id: InterventionId::new(),
        owner: Owner::local(),
        root: id(1)?,
        agent: if number.is_multiple_of(2) { id(1)? } else { one_of_hundred(number)? },
        by: Author::User,
        action: Action::Comment,
        text: Some("seen".into()),
        of: None,
        status: InterventionStatus::Applied,
        created: at(number),
        updated: at(number),
    })
}

fn chat(number: u32) -> Result<Chat> {
    let name = format!("chat {number}");
    Ok(Chat {
        id: format!("{number:064x}"),
        owner: Owner::local(),
        name: if number.is_multiple_of(1_000) { format!("{AGENCY}/{name}") } else { name },
        root: id(1_001 + number)?,
        deleted: false,
        created: at(number),
        updated: at(number),
    })
}

fn schedule(number: u32) -> Result<Schedule> {
    Ok(Schedule {
        id: ScheduleId::new(),
        owner: Owner::local(),
        root: id(1)?,
        agent: one_of_hundred(number)?,
        text: "Look again.".into(),
        trigger: Trigger { name: "look".into(), payload: json!({ "number": number }), schedule: None },
        recurrence: Recurrence::Every { seconds: 86_400 },
        status: match number {
            _ if number.is_multiple_of(1_000) => ScheduleStatus::Paused,
            _ if number.is_multiple_of(2) => ScheduleStatus::Ended,
            _ => ScheduleStatus::Active,
        },
        due: at(number),
        fired: 7,
        left_out: 0,
        created: at(number),
        updated: at(number),
    })
}

/// Writes the transcript of an agent that has talked much, up to a run of many calls, one after the other.
fn write_calls(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(
        "INSERT INTO items (n, run, session, at, type, body, step) VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6)",
    )?;
    let mut number = 0_u32;
    let mut write = |run: u32, body: &ItemBody, step: Option<StepKey>| -> Result<()> {
        let n = i64::from(CALLER) << 32 | i64::from(number);
        let (run, step) = (format!("run_{run:032x}"), step.map(|step| step.to_string()));
        statement.execute(params![n, run, number, body.type_name(), body.to_json()?, step])?;
        number += 1;
        Ok(())
    };
    let asks = ItemBody::Message(Message::new(Author::User, "Which trains?", None));
    for made in 1..=EARLIER / 2 {
        write(FIRST_RUN, &asks, None)?;
        write(FIRST_RUN, &turn(made, Vec::new()), Some(StepKey::Model(made)))?;
    }
    write(RUN, &asks, None)?;
    for made in 1..=CALLS {
        let (call, tool) = (CallId::new(), "look_up".to_owned());
        let arguments = json!({ "query": "trains", "page": made });
        let calls = vec![ToolCall { id: call, tool: tool.clone(), arguments }];
        write(RUN, &turn(made, calls), Some(StepKey::Model(made)))?;
        let text = format!("Trains to place {made}: at seven, at eight, and at nine.");
        let output = Output { call, tool, text, error: false, effect: None, details: None };
        write(RUN, &ItemBody::Output(output), Some(StepKey::Tool(call)))?;
    }
    write(RUN, &turn(CALLS + 1, Vec::new()), Some(StepKey::Model(CALLS + 1)))
}

/// A turn with these calls; without any, an answer.
fn turn(made: u32, calls: Vec<ToolCall>) -> ItemBody {
    let text = if calls.is_empty() { "The first one.".to_owned() } else { String::new() };
    let asked = Asked {
        sha256: Sha256::from_bytes([7; 32]),
        tools: None,
        model: None,
        max_tokens: None,
        at: at(made),
        first_token: Some(at(made)),
        gate_ms: 0,
        failed: Vec::new(),
        held_back: false,
    };
    ItemBody::Turn(Turn { text, calls, used: None, asked: Some(Box::new(asked)) })
}
