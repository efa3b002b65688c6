//! `entourage openapi`: writes the description of the HTTP API.

use clap::Args;

use super::{backend::Result, failure::Exit, out};

const AFTER_HELP: &str = "\
Examples:
  entourage openapi > openapi.json
  cargo run -p entourage -- openapi > docs/openapi.json      the copy in the repository";

/// Write the description of the HTTP API (OpenAPI 3.1)
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(self) -> Result<Exit> {
        out::piece(entourage_server::openapi_json())?;
        Ok(Exit::Done)
    }
}
