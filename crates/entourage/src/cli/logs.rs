//! The log, on stderr: only warnings for commands of a user, and what happens for a server.

use tracing_subscriber::{EnvFilter, fmt};

use super::{
    failure::Failure,
    globals::{Globals, LogFormat},
    out,
};

/// The variables that may set a filter; the first that is set counts.
const VARIABLES: [&str; 2] = ["ENTOURAGE_LOG", "LOG_LEVEL"];

/// The first two log messages of providers and servers, some of which repeat the key. They return the
/// messages too, and the engine removes the key from those before it shows them.
///
/// The parsers of pages log each mistake in them, of which a page may have millions.
///
/// The clients of the database and of other processes log what they send: rows, and tokens.
const SILENT: &str = "genai=off,tokio_postgres=info,tungstenite=info,rmcp=off,html5ever=off,markup5ever=off,markup5ever_rcdom=off,dom_query=off,\
                      dom_smoothie=off,htmd=off,selectors=off,cssparser=off";

/// What says nothing that the program does not say itself, unless it is asked for by name: the SDK of Restate warns of
/// each call that is to come again.
const QUIET: &str = "restate_sdk=error";

/// What is logged unless something else is set.
fn usual(verbose: u8, serves: bool) -> &'static str {
    match (verbose, serves) {
        // Commands show failed attempts and long steps themselves, so the log does not repeat them.
        (0, false) => "warn,entourage_engine::run::model::call=error,entourage_engine::watchdog=error",
        (0, true) => "warn,entourage=info,entourage_server=info,entourage_engine=info",
        (1, _) => "info",
        _ => "debug",
    }
}

/// Starts the log.
pub(crate) fn start(globals: &Globals, serves: bool) -> Result<(), Failure> {
    let usual = usual(globals.verbose, serves);
    let set = VARIABLES.iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.trim().is_empty()).then_some((*name, value))
    });
    let filter = match &set {
        Some((name, value)) if globals.verbose == 0 => {
            EnvFilter::try_new(format!("{QUIET},{value},{SILENT}")).map_err(|error| {
                Failure::usage(format!(
                    "{name}=`{value}` is no filter: {error}. Write a level such as `info`"
                ))
            })?
        }
        _ => EnvFilter::new(format!("{QUIET},{usual},{SILENT}")),
    };
    let json = globals.log_format == LogFormat::Json;
    let log = fmt().with_env_filter(filter).with_writer(move || out::Log { json });
    // A second start in one process has no effect, and no process does it.
    let _ = match globals.log_format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log.with_ansi(false).with_target(globals.verbose > 0).try_init(),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a warning of a part of the program is written.
    macro_rules! warned {
        ($usual:expr, $target:literal) => {{
            let log = fmt().with_env_filter(EnvFilter::new($usual)).finish();
            tracing::subscriber::with_default(log, || {
                tracing::enabled!(target: $target, tracing::Level::WARN)
            })
        }};
    }

    /// The display of `run` shows how long an agent has been at work; a server logs it.
    #[test]
    fn a_command_does_not_log_the_warnings_that_it_displays() {
        assert!(!warned!(usual(0, false), "entourage_engine::watchdog"));
        assert!(!warned!(usual(0, false), "entourage_engine::run::model::call"));
        assert!(warned!(usual(0, false), "entourage_engine::maintenance"));
        assert!(warned!(usual(0, true), "entourage_engine::watchdog"));
        assert!(warned!(usual(1, false), "entourage_engine::watchdog"));
    }

    /// A page may have millions of mistakes, and a call of Restate may come again for hours.
    #[test]
    fn warnings_of_the_html_parser_and_of_restates_sdk_are_not_logged() {
        for (verbose, serves) in [(0, false), (0, true), (1, true), (2, false)] {
            let filter = format!("{QUIET},{},{SILENT}", usual(verbose, serves));
            assert!(!warned!(&filter, "restate_sdk::endpoint"));
            assert!(!warned!(&filter, "html5ever::tree_builder"));
            assert!(!warned!(&filter, "html5ever::tokenizer"));
        }
        assert!(warned!(&format!("{QUIET},info,restate_sdk=warn,{SILENT}"), "restate_sdk::endpoint"));
    }
}
