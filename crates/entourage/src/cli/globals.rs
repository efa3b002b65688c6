//! The options of every command, and the settings they lead to.

use std::path::PathBuf;

use clap::Args;
use entourage::{Settings, settings::NamedModel};

use super::{failure::Failure, python_worker, supervise};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Globals {
    // `Settings` reads the variables. Clap would show each that is set as a part of the usage.
    /// The data directory [default: $XDG_DATA_HOME/entourage or ~/.local/share/entourage] [env:
    /// ENTOURAGE_DATA]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The settings file [default: entourage.toml in the data directory] [env: ENTOURAGE_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The model, as provider::name, or `rehearsal` [env: ENTOURAGE_MODEL]
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON on stdout, for programs: one object a line, and for a list a line for each entry
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Print more of the log on stderr; give it twice for all of it
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// The format of the log
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Globals {
    /// The settings, with the options of the command line.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::load(self.data.as_deref(), self.config.as_deref())?;
        for ignored in &settings.ignored {
            tracing::warn!("{ignored}");
        }
        if let Some(model) = &self.model {
            settings.models.default = Some(model.clone());
            settings.note_option("models.default", "--model", model);
            settings.model_from = Some(NamedModel { by: "--model".to_owned(), model: model.clone() });
        }
        settings.supervisor = supervise::words();
        settings.python_worker = python_worker::words();
        Ok(settings)
    }

    /// The options with which another command uses the same data, for commands shown to a user.
    pub(crate) fn again(&self) -> String {
        let mut options = String::new();
        let given =
            [("--data", &self.data, "ENTOURAGE_DATA"), ("--config", &self.config, "ENTOURAGE_CONFIG")];
        for (option, path, variable) in given {
            // A variable is still set when the next command runs.
            let is_set =
                |path: &&PathBuf| std::env::var_os(variable).is_some_and(|set| set == path.as_os_str());
            if let Some(path) = path.as_ref().filter(|path| !is_set(path)) {
                options.push_str(&format!(" {option} {}", quoted(&path.display().to_string())));
            }
        }
        options
    }
}

/// Quotes a text as one word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
