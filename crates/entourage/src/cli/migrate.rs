//! `entourage migrate`: migrates the database to this program's version, and tells Restate where the nodes are.

use clap::Args;
use entourage::{Settings, restate};
use entourage_store::database::Migrated;
use reqwest::Url;
use serde_json::json;

use super::{
    backend::Result,
    failure::{Exit, Failure},
    globals::Globals,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage migrate
  entourage --data /srv/entourage migrate --json
  entourage migrate --restate-admin http://restate:9070 --restate-uri http://balancer:4182

Every command that opens the database does this by itself, unless the settings say `store.migrate = false`. \
There is no way back: an older program cannot read the database afterwards. Each step is atomic.

With Restate (`dispatch.by`): tell it where the processes that work for agents are, once while one of them runs, after each \
upgrade, and after Restate has lost what it had. It does no harm to tell it again.";

/// Migrate the database to this program's version
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Migrate {
    /// Then tell the Restate with this admin API where the processes that work for agents are
    #[arg(long, value_name = "URL")]
    restate_admin: Option<Url>,
    /// Where Restate reaches them: one URI for all, of a balancer or a name before them [default: `dispatch.restate.listen`]
    #[arg(long, value_name = "URI", requires = "restate_admin")]
    restate_uri: Option<Url>,
}

impl Migrate {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        // Before anything is changed.
        let registration = match &self.restate_admin {
            Some(admin) => Some((admin, self.uri(&settings)?)),
            None => None,
        };
        let path = entourage::database(&settings)?.place();
        let Migrated { before, version } = entourage::migrate(&settings).await?;
        if globals.json {
            out::json(&json!({ "path": path, "before": before, "version": version }))?;
        } else {
            out::result(match before {
                None => format!("{path} was created with version {version}"),
                Some(before) if before == version => format!("{path} already has version {version}"),
                Some(before) => format!("{path} was migrated from version {before} to version {version}"),
            })?;
        }
        if let Some((admin, uri)) = registration {
            register(globals, admin, &uri).await?;
        }
        Ok(Exit::Done)
    }

    /// Where Restate reaches the processes.
    fn uri(&self, settings: &Settings) -> Result<Url> {
        if entourage::chosen_restate(settings)?.is_none() {
            return Err(Failure::usage(
                "the database delivers to the processes, and no Restate: set `dispatch.by = \"restate\"` for all of them, or \
                 leave --restate-admin out",
            ));
        }
        let listen = settings.dispatch.restate.listen;
        match &self.restate_uri {
            Some(uri) => Ok(uri.clone()),
            None if listen.ip().is_unspecified() => Err(Failure::usage(format!(
                "{listen} is where a process listens, and not where Restate reaches it: name that with --restate-uri, such as \
                 http://balancer:{}",
                listen.port()
            ))),
            None => {
                Url::parse(&format!("http://{listen}")).map_err(|error| Failure::usage(error.to_string()))
            }
        }
    }
}

async fn register(globals: &Globals, admin: &Url, uri: &Url) -> Result<()> {
    let refused = |error: restate::Error| {
        let failure = Failure::failed(error.to_string());
        match error {
            restate::Error::Unreachable(_) | restate::Error::Foreign(_) => {
                failure.then(&format!("Is {} its admin API?", place(admin)))
            }
            restate::Error::Refused { .. } => failure.then(&format!(
                "A process that works for agents must answer at {} now: start one with `entourage serve --role \
                 worker`, look at its `dispatch.restate.listen` and `dispatch.restate.identity_key`, and try again",
                place(uri)
            )),
            _ => failure,
        }
    };
    restate::register(admin, uri).await.map_err(refused)?;
    if globals.json {
        return out::json(&json!({ "restate": place(admin), "uri": place(uri) }));
    }
    out::result(format!("Restate at {} calls processes at {}", place(admin), place(uri)))
}

/// A URL without a password.
fn place(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path().trim_end_matches('/'))
}
