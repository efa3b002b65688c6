//! `entourage secrets`: what MCP servers are given, and the keys that seal it.

use clap::{Args, Subcommand};
use entourage_api::SetSecret;
use entourage_engine::new_secret_key;
use entourage_types::SecretName;
use secrecy::ExposeSecret;
use serde_json::json;

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    input, out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage secrets                             their names, never their values
  entourage secrets set github                  asks for the value
  entourage secrets set github < token.txt      reads it
  entourage secrets delete github
  (umask 077; entourage secrets key > keys)     a key that seals them; `secrets.keys_file` names the file
  entourage secrets reseal                      after a new first key was added

Settings of MCP servers refer to a secret as ${secret:NAME}, in `env` and `headers`. Each owner sets their own.";

/// Set, list and delete the secrets that MCP servers are given
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Secrets {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the secrets, newest first, without their values (as without a command)
    #[command(after_help = "Example:\n  entourage secrets list")]
    List,
    /// Set a secret: its value is asked for, or read from the standard input
    #[command(after_help = "Example:\n  entourage secrets set github < token.txt")]
    Set(Named),
    /// Delete a secret: servers that need it cannot be used
    #[command(after_help = "Example:\n  entourage secrets delete github")]
    Delete(Named),
    /// Make a key that seals secrets, and print it
    #[command(after_help = "Example:\n  (umask 077; entourage secrets key > keys)")]
    Key,
    /// Seal the secrets of all owners anew with the first key; for the operator
    #[command(after_help = "Example:\n  entourage secrets reseal")]
    Reseal,
}

#[derive(Debug, Args)]
struct Named {
    /// The secret's name: letters, digits, _ and -
    name: SecretName,
}

impl Secrets {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or(Command::List) {
            Command::List => list(globals).await?,
            Command::Set(named) => set(globals, &named.name).await?,
            Command::Delete(named) => {
                let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
                backend.delete_secret(&named.name).await?;
                if !globals.quiet && !globals.json {
                    out::note(format!("the secret `{}` is deleted", named.name));
                }
            }
            Command::Key => {
                let key = new_secret_key()?;
                match globals.json {
                    true => out::json(&json!({ "key": key.expose_secret() }))?,
                    false => out::result(key.expose_secret())?,
                }
            }
            Command::Reseal => {
                let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
                let done = backend.reseal_secrets().await?;
                match globals.json {
                    true => out::json(&done)?,
                    false => out::result(text![
                        done.resealed,
                        " sealed anew, ",
                        done.current,
                        " sealed with the first key before, ",
                        done.unreadable,
                        " that no key opens"
                    ])?,
                }
            }
        }
        Ok(Exit::Done)
    }
}

async fn list(globals: &Globals) -> Result<()> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let secrets = backend.secrets().await?;
    for secret in &secrets {
        match globals.json {
            true => out::json(secret)?,
            false => out::result(text![
                &secret.name,
                "  set ",
                describe::moment(secret.updated),
                "  key ",
                &secret.key
            ])?,
        }
    }
    if secrets.is_empty() && !globals.json && !globals.quiet {
        out::note("no secrets yet; `entourage secrets set NAME` sets one");
    }
    Ok(())
}

async fn set(globals: &Globals, name: &SecretName) -> Result<()> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
    let value = match input::is_interactive() {
        true => rpassword::prompt_password(format!("value of `{name}` (not shown): ")),
        false => input::whole(),
    };
    let value = value.map_err(|error| Failure::failed(format!("the value cannot be read: {error}")))?;
    let secret = backend.set_secret(name, &SetSecret { value }).await?;
    match globals.json {
        true => out::json(&secret)?,
        false if globals.quiet => {}
        false => {
            out::note(format!("the secret `{name}` is set; agents use it when they next begin or go on"))
        }
    }
    Ok(())
}
