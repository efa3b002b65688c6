//! `entourage models`: lists what the configured providers offer, and tests whether a model answers.

pub(crate) mod probe;

use clap::{Args, Subcommand};
use entourage::Settings;
use entourage_llm::{Choice, Provider};
use serde_json::json;

use super::{
    backend::Result,
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage models                                        every model that can be used
  entourage models test                                   call the model that agents use by default
  entourage models test anthropic::claude-sonnet-5-5      call this model

Lists cost nothing; a test makes one short call, and shows its cost. `entourage doctor` checks the models \
that agents would use.";

/// List the models that the configured providers offer, or test one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Models {
    #[command(subcommand)]
    what: Option<ModelsCommand>,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Make one short call of a model
    Test {
        /// The model, as provider::name [default: the one that agents use]
        name: Option<String>,
    },
}

impl Models {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        match self.what {
            None => list(globals, &settings).await,
            Some(ModelsCommand::Test { name }) => {
                let choice = entourage::choice(&settings).await?;
                let name = name.unwrap_or_else(|| choice.default_model.clone());
                let used = probe::call(&choice, &name).await.map_err(failure)?;
                match globals.json {
                    true => out::json(&json!({ "model": name, "used": used }))?,
                    false => out::result(format!("{name} answers ({used})"))?,
                }
                Ok(Exit::Done)
            }
        }
    }
}

async fn list(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let (choice, wrong) = chosen(settings).await?;
    let choice = &choice;
    // Ollama need not run at its usual address: only one that was set up is reported as missing.
    let has_ollama = is_default(choice, Provider::Ollama)
        || settings.models.providers.contains_key(&Provider::Ollama)
        || std::env::var_os(Provider::Ollama.base_url_variable()).is_some();
    let mut failed = false;
    let asked = choice
        .router
        .providers()
        .map(|provider| async move { (provider, probe::offered(choice, provider).await) });
    for (provider, offered) in futures::future::join_all(asked).await {
        match offered {
            Ok(Some(mut names)) => {
                names.sort();
                for name in names {
                    let model = format!("{provider}::{name}");
                    match globals.json {
                        true => out::json(&json!({ "model": model }))?,
                        false => out::result(model)?,
                    }
                }
            }
            Ok(None) => note(globals, &format!("{provider} keeps no list of its models")),
            Err(_) if provider == Provider::Ollama && !has_ollama => {}
            Err(error) if provider == Provider::Ollama && !is_default(choice, provider) => {
                note(globals, &error.to_string());
            }
            Err(error) => {
                failed = true;
                out::note(text![out::stderr().red("error:"), " ", error.to_string()]);
            }
        }
    }
    match wrong {
        None => note(globals, &format!("agents use {}: {}", choice.default_model, choice.why)),
        // Neither the list nor the exit code shows this.
        Some(wrong) => out::note(out::stderr().dim(format!("agents cannot work: {wrong}"))),
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// The providers to ask for models. If the configured model cannot be used, also returns the reason, and
/// chooses another model: a user who mistyped a name looks it up in the list.
async fn chosen(settings: &Settings) -> Result<(Choice, Option<entourage::Error>)> {
    match entourage::choice(settings).await {
        Err(wrong) if settings.models.default.is_some() => {
            let mut unnamed = settings.clone();
            unnamed.models.default = None;
            Ok((entourage::choice(&unnamed).await?, Some(wrong)))
        }
        chosen => Ok((chosen?, None)),
    }
}

fn is_default(choice: &Choice, provider: Provider) -> bool {
    Provider::split(&choice.default_model).is_ok_and(|(default, _)| default == provider)
}

fn note(globals: &Globals, text: &str) {
    if !globals.quiet {
        out::note(out::stderr().dim(text));
    }
}

/// A malformed name is a usage error.
fn failure(error: entourage_llm::Error) -> Failure {
    match error {
        entourage_llm::Error::Configuration(_) => Failure::usage(error.to_string()),
        error => Failure::failed(error.to_string()),
    }
}
