//! `entourage token`: makes a token for the HTTP API.

use std::time::Duration;

use clap::Args;
use entourage::{Owner, settings::time};
use serde_json::json;

use super::{backend::Result, failure::Exit, globals::Globals, out};

const AFTER_HELP: &str = "\
Examples:
  entourage token --owner ada                   valid for a day
  entourage token --owner ada --ttl 30d
  curl -H \"Authorization: Bearer $(entourage token --owner ada)\" http://127.0.0.1:4180/v1/agents

It needs the server's secret: [server.auth.jwt] with algorithm HS256 in the settings.";

/// Make a token for the HTTP API
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Token {
    /// The owner whose agents the token gives access to
    #[arg(long, value_name = "NAME")]
    owner: String,
    /// How long the token is valid: 90m, 12h, 30d
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    ttl: Duration,
}

impl Token {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let token = entourage_server::mint(&settings.server, &Owner::new(&self.owner), self.ttl)?;
        if globals.json {
            out::json(&json!({ "token": token, "owner": self.owner, "seconds": self.ttl.as_secs() }))?;
        } else {
            out::result(&token)?;
        }
        Ok(Exit::Done)
    }
}
