//! `read_goal`: what happens in one of the user's goals.

use async_trait::async_trait;
use entourage_types::{
    Goal, Note, Record, ResultSource, Session, Task, TaskResult, ToolSpec, one_line, tool_names,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{beginning, offer};
use crate::{Caller, Context, Effect, Error, Outcome, RecordQuery, RecordScope, Result, Tool, find, parse};

const NAME: &str = tool_names::READ_GOAL;
/// So many of the latest tasks, notes and conversations are shown.
const MOST: u32 = 10;
/// So many characters are shown of each.
const SHOWN: usize = 500;
/// So many characters are shown of a description, and of instructions.
const WHOLE: usize = 4_000;

/// Reads a goal of the user: what is to be reached, the latest tasks and notes, and what the latest conversations were
/// about.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadGoal;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The id of the goal, from `list_goals`.
    goal: String,
}

#[async_trait]
impl Tool for ReadGoal {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Read one goal of the user: what is to be reached, its latest tasks with what they came to, \
                           its latest notes, and what the latest conversations about it were.";
        offer::<Arguments>(caller, NAME, description)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { goal } = parse(NAME, arguments)?;
        let found = context.reader.record(Goal::KIND, goal.trim()).await?;
        let Some(entity) = found else {
            let why = format!("there is no goal `{}`: take an id from `list_goals`", goal.trim());
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        };
        let goal = Goal::from_entity(&entity).map_err(|error| Error::Failed(error.to_string()))?;
        let of_goal = RecordScope::Below(goal.agent.into());
        let tasks: Vec<Task> = latest(context, of_goal.clone()).await?;
        let notes: Vec<Note> = latest(context, RecordScope::InTree(goal.agent)).await?;
        let sessions: Vec<Session> = latest(context, of_goal).await?;
        Ok(Outcome::text(written(&goal, &tasks, &notes, &sessions)))
    }
}

async fn latest<R: Record>(context: &Context, of: RecordScope) -> Result<Vec<R>> {
    find(&*context.reader, RecordQuery { newest_first: true, limit: MOST, ..RecordQuery::of::<R>(of) }).await
}

fn written(goal: &Goal, tasks: &[Task], notes: &[Note], sessions: &[Session]) -> String {
    let mut text = format!("Goal {} `{}`, {}", goal.agent, goal.title, goal.status);
    for (name, said) in [("Description", &goal.description), ("Instructions", &goal.instructions)] {
        if !said.trim().is_empty() {
            text.push_str(&format!("\n{name}: {}", beginning(said, WHOLE)));
        }
    }
    let tasks = tasks.iter().map(task_line);
    let notes = notes.iter().map(|note| format!("{}: {}", note.title, beginning(&note.content, SHOWN)));
    let sessions = sessions.iter().map(|session| beginning(&session.summary, SHOWN));
    part(&mut text, "Tasks", tasks);
    part(&mut text, "Notes", notes);
    part(&mut text, "Conversations", sessions);
    text
}

fn part(text: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("\n- {}", one_line(&line))).collect();
    let lines = if lines.is_empty() { " none".to_owned() } else { lines };
    text.push_str(&format!("\n{name}, the latest first:{lines}"));
}

fn task_line(task: &Task) -> String {
    let what = if task.title.is_empty() {
        beginning(&task.instruction, SHOWN)
    } else {
        beginning(&task.title, SHOWN)
    };
    let came_to = match &task.result {
        Some(TaskResult::Text(text)) => format!(": {}", beginning(text, SHOWN)),
        Some(TaskResult::Error(text)) => format!(", without a result: {}", beginning(text, SHOWN)),
        None => String::new(),
    };
    format!("{what} ({}){came_to}", task.status)
}
