//! The choice of the model.

use entourage_llm::{Choice, MODEL_VARIABLE, TriedServer, check_name, choose, choose_offline};

use crate::{Error, Result, Settings};

/// Chooses the model by these settings.
///
/// # Errors
/// [`Error::Model`] when an explicit setting cannot work; [`Error::Settings`] when a variable or an option
/// names no model.
pub async fn choice(settings: &Settings) -> Result<Choice> {
    check_named(settings)?;
    Ok(named(settings, choose(settings.models.clone(), variable).await?))
}

/// Like [`choice`], but asks no server: chooses the rehearsal, with a remark, where only a server could tell.
///
/// # Errors
/// As [`choice`].
pub fn choice_offline(settings: &Settings) -> Result<Choice> {
    check_named(settings)?;
    Ok(named(settings, choose_offline(settings.models.clone(), variable)?))
}

fn check_named(settings: &Settings) -> Result<()> {
    let Some((from, model)) = settings.names_model().zip(settings.models.default.as_deref()) else {
        return Ok(());
    };
    let wrong =
        |error: entourage_llm::Error| Error::Settings { place: from.to_owned(), why: error.to_string() };
    check_name(model).map_err(wrong).map(drop)
}

/// The environment without the variable that names the model: the settings have it already, below the command
/// line.
fn variable(name: &str) -> Option<String> {
    if name == MODEL_VARIABLE { None } else { std::env::var(name).ok() }
}

/// Returns the choice with the place that names the model as its reason, if there is one.
fn named(settings: &Settings, mut choice: Choice) -> Choice {
    if let Some(from) = settings.names_model() {
        choice.why = format!("{from} says so");
        choice.tried = vec![TriedServer { what: from.to_owned(), found: Ok(choice.default_model.clone()) }];
    }
    choice
}
