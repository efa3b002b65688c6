//! `list_goals`: the user's goals.

use async_trait::async_trait;
use entourage_types::{Goal, ResultSource, ToolSpec, one_line, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{beginning, offer};
use crate::{Caller, Context, Effect, Outcome, RecordQuery, RecordScope, Result, Tool, find, parse};

const NAME: &str = tool_names::LIST_GOALS;
/// So many goals are listed at once.
const MOST: u32 = 50;
/// So many characters of a description are shown.
const SHOWN: usize = 200;

/// Lists the goals of the user, the latest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListGoals;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// How many to leave out, to continue a long list.
    #[serde(default)]
    from: Option<u32>,
}

#[async_trait]
impl Tool for ListGoals {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        offer::<Arguments>(caller, NAME, "List all goals of the user, with their ids. Start here.")
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { from } = parse(NAME, arguments)?;
        let skip = from.unwrap_or_default();
        let of = RecordQuery::of::<Goal>(RecordScope::Owner);
        let query = RecordQuery { skip, newest_first: true, limit: MOST + 1, ..of };
        let mut goals: Vec<Goal> = find(&*context.reader, query).await?;
        let is_cut = goals.len() > MOST as usize;
        goals.truncate(MOST as usize);
        if goals.is_empty() {
            let more = if skip > 0 { "no more goals" } else { "no goals" };
            return Ok(Outcome::text(format!("The user has {more}.")));
        }
        let mut text = "Goals of the user:".to_owned();
        goals.iter().for_each(|goal| text.push_str(&line(goal)));
        if is_cut {
            text.push_str(&format!("\n[there are more: go on with `from` {}]", skip + MOST));
        }
        Ok(Outcome::text(text))
    }
}

fn line(goal: &Goal) -> String {
    let Goal { agent, title, description, status, .. } = goal;
    let description = beginning(&one_line(description), SHOWN);
    let description = if description.is_empty() { description } else { format!(": {description}") };
    format!("\n- {agent} `{title}`, {status}{description}")
}
