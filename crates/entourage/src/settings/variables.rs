//! Variables of the environment: those that the program reads, and those that only look alike.

use std::collections::BTreeMap;

use super::reference::{Key, keys};

/// The prefix of their names.
pub(super) const PREFIX: &str = "ENTOURAGE_";
/// Separates the names of tables and keys in the name of a variable.
pub(super) const SEPARATOR: &str = "__";
/// The data directory; an explicit path wins.
pub(super) const DATA: &str = "DATA";
/// The settings file; an explicit path wins.
pub(super) const CONFIG: &str = "CONFIG";
/// The only setting with a variable of its own name.
pub(super) const MODEL: (&str, &str) = ("MODEL", "models.default");

/// The database; the variable that has the name of its key wins.
pub(super) const STORE: (&str, &str) = ("STORE", "STORE__URL");

/// Variables that set no key, or not by its name, without their prefix.
pub(super) const OWN: [(&str, &str); 6] = [
    (DATA, "The data directory, as `--data`."),
    (CONFIG, "The settings file, as `--config`."),
    (MODEL.0, "The model, as `--model` or `models.default`."),
    (STORE.0, "The database that several processes share, as `store.url`."),
    ("LOG", "The log's level or filter, such as `info` or `warn,entourage_engine=debug`."),
    ("TOKEN", "The token that commands send to a server that requires one."),
];

/// Variables of other programs that apply where no setting is given.
pub(super) const OTHERS: [(&str, &str); 9] = [
    ("AGENT_SESSION_TIMEOUT`, `AGENT_HISTORY_SUMMARY_COUNT", "`sessions.idle_minutes`, `sessions.summaries`"),
    ("ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `OPENROUTER_API_KEY", "`models.providers.NAME.key`"),
    (
        "ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL`, `OPENROUTER_BASE_URL`, `OLLAMA_BASE_URL`, `COMPATIBLE_BASE_URL",
        "`models.providers.NAME.base_url`",
    ),
    ("TAVILY_API_KEY`, `BRAVE_API_KEY", "`tools.search.tavily_api_key`, `tools.search.brave_api_key`"),
    ("SEARXNG_URL", "`tools.search.searxng_url`"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "`telemetry.otlp_endpoint`"),
    (
        "OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_SDK_DISABLED",
        "as OpenTelemetry describes them",
    ),
    ("LOG_LEVEL", "`ENTOURAGE_LOG`"),
    ("XDG_DATA_HOME", "the parent of the data directory, if no data directory is set"),
];

/// Variables of other programs that stand for a variable of this one, which is named without its prefix (S4-R057, R058).
const STAND_FOR: [(&str, &str, [&str; 2]); 2] = [
    ("AGENT_SESSION_TIMEOUT", "SESSIONS__IDLE_MINUTES", ["sessions", "idle_minutes"]),
    ("AGENT_HISTORY_SUMMARY_COUNT", "SESSIONS__SUMMARIES", ["sessions", "summaries"]),
];

/// The variables that others stand for, where neither the file nor a variable of this program sets the same.
pub(super) fn stood_for<'v>(
    file: &str,
    others: &'v BTreeMap<String, String>,
) -> impl Iterator<Item = (&'static str, &'v String)> {
    let file: toml::Table = toml::from_str(file).unwrap_or_default();
    STAND_FOR.into_iter().filter_map(move |(other, own, [table, key])| {
        let is_in_file = file.get(table).and_then(|table| table.get(key)).is_some();
        let value = others.get(other).filter(|value| !is_in_file && !value.trim().is_empty())?;
        Some((own, value))
    })
}

/// The name of the variable that a person has set to set this one, which is named without its prefix.
pub(super) fn set_by(own: &str, others: &BTreeMap<String, String>) -> String {
    let name = format!("{PREFIX}{own}");
    let other = STAND_FOR.iter().find(|(other, stands_for, _)| {
        *stands_for == own && !others.contains_key(&name) && others.contains_key(*other)
    });
    other.map_or(name, |(other, ..)| (*other).to_owned())
}

/// The setting that a variable names, by its name without the prefix.
pub(super) fn setting(name: &str) -> Option<&'static Key> {
    let parts: Vec<String> = name.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
    keys().iter().find(|key| key.is_at(&parts))
}

/// A sentence about a variable that names no setting, with the setting it resembles.
pub(super) fn unknown(name: &str) -> String {
    // Names that are less alike than this are unrelated.
    const ALIKE: f64 = 0.7;
    let own = OWN.iter().map(|(own, _)| (*own).to_owned());
    let names = keys().iter().filter_map(Key::variable).chain(own);
    let near = names
        .map(|known| (strsim::normalized_damerau_levenshtein(name, &known), known))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .filter(|(alike, _)| *alike >= ALIKE);
    let next = match near {
        Some((_, known)) => format!("did you mean {PREFIX}{known}?"),
        None => "`entourage settings` lists them all".to_owned(),
    };
    format!("{PREFIX}{name} names no setting and has no effect: {next}")
}
