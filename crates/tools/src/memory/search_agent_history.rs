//! `search_agent_history`: finds closed sessions.

use async_trait::async_trait;
use entourage_types::{ResultSource, Session, Time, Timeframe, ToolSpec, tool_names};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::{Caller, Context, Effect, Outcome, RecordQuery, RecordScope, Result, Tool, find, parse, spec_of};

const NAME: &str = tool_names::SEARCH_AGENT_HISTORY;
/// The maximum number of sessions.
const LIMIT: u32 = 5;

/// Finds closed sessions of the caller by the words in them.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchAgentHistory;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A few words to look for; empty for the latest sessions.
    query: String,
    /// How far back to look; as far as there is when left out.
    #[serde(default)]
    #[schemars(schema_with = "timeframes")]
    timeframe: Timeframe,
}

fn timeframes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Timeframe::WORDS })
}

#[async_trait]
impl Tool for SearchAgentHistory {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Find earlier conversations of yours by their words. You get their summaries.";
        caller.has_sessions.then(|| spec_of::<Arguments>(NAME, description))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { query, timeframe } = parse(NAME, arguments)?;
        let found = sessions(context, query.trim(), timeframe.since(context.now)).await?;
        if found.is_empty() {
            let text = format!("No earlier conversation matches `{query}`. Try other or fewer words.");
            return Ok(Outcome::text(text));
        }
        Ok(Outcome::text(found.iter().map(section).collect::<Vec<_>>().join("\n\n")))
    }
}

/// Returns the caller's sessions that were closed at `since` or later: the best matches for the words, or the
/// latest if there are no words.
async fn sessions(context: &Context, words: &str, since: Option<Time>) -> Result<Vec<Session>> {
    let words = Some(words.to_owned()).filter(|words| !words.is_empty());
    let query = RecordQuery {
        newest_first: words.is_none(),
        words,
        since,
        limit: LIMIT,
        ..RecordQuery::of::<Session>(RecordScope::Agent)
    };
    find(&*context.reader, query).await
}

fn section(session: &Session) -> String {
    let Session { number, started, completed, messages, summary, .. } = session;
    format!("## Session {number}, {started} to {completed}, {messages} messages\n{summary}")
}
