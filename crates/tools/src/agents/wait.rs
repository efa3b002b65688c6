//! `wait`: continues later.

use std::time::Duration;

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::WAIT;
const LONGEST: u64 = 86_400;

/// Sleeps on disk for a while, without occupying a task or memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wait;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// How many seconds to wait: 1 to 86400.
    #[schemars(range(min = 1, max = 86_400))]
    seconds: u64,
}

#[async_trait]
impl Tool for Wait {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Wait for some time before going on, for at most a day."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { seconds } = parse(NAME, arguments)?;
        if !(1..=LONGEST).contains(&seconds) {
            let why = format!("`seconds` is {seconds}; give a number from 1 to {LONGEST}");
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        Ok(Outcome::Await(Duration::from_secs(seconds)))
    }
}
