//! The log, on stderr: warnings for a person at work, what happens for a server.

use tracing_subscriber::{EnvFilter, fmt};

use super::{
    failure::Failure,
    globals::{Globals, LogFormat},
    out,
};

/// Where a filter may be set, the first that is.
const VARIABLES: [&str; 2] = ["ENTOURAGE_LOG", "LOG_LEVEL"];

/// These log the words of providers and servers, some of which repeat the key. They return them too,
/// and what they return is told without the key.
const SILENT: &str = "genai=off,rmcp=off";

/// Starts the log.
pub(crate) fn start(globals: &Globals, serves: bool) -> Result<(), Failure> {
    let usual = match (globals.verbose, serves) {
        // What the commands show themselves is not told twice.
        (0, false) => "warn,entourage_engine::run::call_model=error",
        (0, true) => "warn,entourage=info,entourage_server=info,entourage_engine=info",
        (1, _) => "info",
        _ => "debug",
    };
    let set = VARIABLES.iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.trim().is_empty()).then_some((*name, value))
    });
    let filter = match &set {
        Some((name, value)) if globals.verbose == 0 => EnvFilter::try_new(format!("{value},{SILENT}"))
            .map_err(|error| {
                Failure::usage(format!(
                    "{name}=`{value}` is no filter: {error}. Write a level such as `info`"
                ))
            })?,
        _ => EnvFilter::new(format!("{usual},{SILENT}")),
    };
    let json = globals.log_format == LogFormat::Json;
    let log = fmt().with_env_filter(filter).with_writer(move || out::Log { json });
    // A second start in one process has no effect, and no process makes one.
    let _ = match globals.log_format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log.with_ansi(false).with_target(globals.verbose > 0).try_init(),
    };
    Ok(())
}
