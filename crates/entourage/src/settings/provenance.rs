//! Which settings were given, where, and what holds. Values that may be secrets are not kept here.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use entourage_llm::Provider;

use super::{
    Settings,
    reference::{Key, LIST, NAME, keys, written},
    variables::{MODEL, PREFIX, SEPARATOR},
};

/// The keys whose values are texts of any form and no secrets. The values of others are not shown: keys, addresses
/// (which may contain passwords) and what programs are started with. A new key is not shown until it is listed here.
const PLAIN: [&str; 26] = [
    "kinds",
    "models.default",
    "models.fallback",
    "models.summary",
    "tools.fetch.allow",
    "tools.files",
    "tools.files.path",
    "tools.files.owners",
    "tools.mcp[].name",
    "tools.mcp[].owners",
    "server.bind",
    "server.auth",
    "server.auth.jwt.algorithm",
    "server.auth.jwt.operator",
    "server.auth.jwt.audience",
    "server.auth.jwt.issuer",
    "server.webhooks.NAME.owner",
    "webhooks.NAME.owner",
    "webhooks.NAME.events",
    "dispatch.restate.listen",
    "budget.per_owner_per_day",
    "budget.owners.NAME.per_day",
    "retention.events",
    "retention.trees",
    "retention.requests",
    "retention.deliveries",
];

/// What set a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing: its default holds.
    Default,
    /// The settings file.
    File(PathBuf),
    /// This variable of the environment.
    Variable(String),
    /// This option of the command line.
    Option(String),
}

/// A setting that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// Its key, with the names and places that the operator chose: `tools.mcp[0].name`.
    pub key: String,
    /// Its value as TOML; none if it has none, and if it may be a secret.
    pub value: Option<String>,
    /// Whether its value may be a secret and is not shown.
    pub is_hidden: bool,
    /// What set it.
    pub origin: Origin,
}

/// The settings that something other than their defaults set, by key.
#[derive(Debug, Clone, Default)]
pub struct Given(BTreeMap<String, InForce>);

impl Given {
    /// What a valid file and valid variables give, the latter by their names without our prefix. Variables of other
    /// programs apply where neither gives anything.
    pub(super) fn new(
        file: &str,
        path: &Path,
        variables: &[(String, String)],
        others: &BTreeMap<String, String>,
    ) -> Self {
        let mut given = Self::default();
        if let Ok(table) = file.parse::<toml::Table>() {
            given.read(&mut Vec::new(), &table.into(), &Origin::File(path.to_owned()));
        }
        for (name, value) in variables {
            let parts: Vec<String> = match name == MODEL.0 {
                true => MODEL.1.split('.').map(str::to_owned).collect(),
                false => name.split(SEPARATOR).map(str::to_ascii_lowercase).collect(),
            };
            if let Some(key) = keys().iter().find(|key| leads(&parts, key)) {
                given.set(&parts, key, &value_of(key, value), Origin::Variable(format!("{PREFIX}{name}")));
            }
        }
        for (key, variable) in of_others() {
            let is_set = others.get(variable).is_some_and(|value| !value.trim().is_empty());
            if is_set && !given.0.contains_key(&key) {
                let (value, origin) = (None, Origin::Variable(variable.to_owned()));
                given.0.insert(key.clone(), InForce { key, value, is_hidden: true, origin });
            }
        }
        given
    }

    /// Finds the settings in a part of the file.
    fn read(&mut self, parts: &mut Vec<String>, value: &toml::Value, origin: &Origin) {
        match value {
            toml::Value::Table(table) if keys().iter().any(|key| leads_towards(parts, key)) => {
                for (name, inner) in table {
                    self.read_below(parts, name.clone(), inner, origin);
                }
            }
            toml::Value::Array(entries) if is_list_of_tables(parts) => {
                let Some(list) = parts.pop() else { return };
                for (at, inner) in entries.iter().enumerate() {
                    self.read_below(parts, format!("{list}[{at}]"), inner, origin);
                }
                parts.push(list);
            }
            value => {
                if let Some(key) = keys().iter().find(|key| leads(parts, key)) {
                    self.set(parts, key, value, origin.clone());
                }
            }
        }
    }

    fn read_below(&mut self, parts: &mut Vec<String>, part: String, inner: &toml::Value, origin: &Origin) {
        parts.push(part);
        self.read(parts, inner, origin);
        parts.pop();
    }

    fn set(&mut self, parts: &[String], key: &Key, value: &toml::Value, origin: Origin) {
        let is_hidden = !is_shown(key);
        let value = serde_json::to_value(value).ok().filter(|_| !is_hidden);
        let value = value.and_then(|value| written(&value, true));
        let key = parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".");
        self.0.insert(key.clone(), InForce { key, value, is_hidden, origin });
    }
}

impl Settings {
    /// Notes that an option of the command line set a setting whose value is a text.
    pub fn note_option(&mut self, key: &str, option: &str, value: &str) {
        let parts: Vec<String> = key.split('.').map(str::to_owned).collect();
        if let Some(known) = keys().iter().find(|key| leads(&parts, key)) {
            self.given.set(&parts, known, &value.into(), Origin::Option(option.to_owned()));
        }
    }

    /// Every setting that holds, with what set it, in the order of their keys: those that were given, and the defaults
    /// of the others. No value that may be a secret is among them.
    #[must_use]
    pub fn in_force(&self) -> Vec<InForce> {
        let mut all = self.given.0.clone();
        let has_names = |key: &Key| key.path.iter().any(|part| part == NAME || part.ends_with(LIST));
        for key in keys().iter().filter(|key| !has_names(key)) {
            let (dotted, value) = (key.dotted(), key.default.clone());
            let below = format!("{dotted}.");
            if !self.given.0.keys().any(|given| *given == dotted || given.starts_with(&below)) {
                let unset = InForce { key: dotted, value, is_hidden: false, origin: Origin::Default };
                all.insert(unset.key.clone(), unset);
            }
        }
        all.into_values().collect()
    }
}

/// The settings for which variables of other programs apply, by key.
fn of_others() -> impl Iterator<Item = (String, &'static str)> {
    let of_providers = Provider::ALL.into_iter().flat_map(|provider| {
        let address = (format!("models.providers.{provider}.base_url"), provider.base_url_variable());
        let key = provider.key_variable().map(|key| (format!("models.providers.{provider}.key"), key));
        key.into_iter().chain([address])
    });
    let single = [
        ("tools.search.tavily_api_key", "TAVILY_API_KEY"),
        ("tools.search.brave_api_key", "BRAVE_API_KEY"),
        ("tools.search.searxng_url", "SEARXNG_URL"),
        ("telemetry.otlp_endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        ("telemetry.otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ];
    of_providers.chain(single.map(|(key, variable)| (key.to_owned(), variable)))
}

/// Whether the values of a key can be shown: each is a number, a yes or no, or one of a few words, or its texts are no
/// secrets.
fn is_shown(key: &Key) -> bool {
    !key.is_text || PLAIN.contains(&&*key.dotted())
}

/// What a variable gives, as a file would.
fn value_of(key: &Key, text: &str) -> toml::Value {
    if key.is_list {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        return entries.map(toml::Value::from).collect::<Vec<_>>().into();
    }
    let figure = text.trim().parse::<i64>().map(toml::Value::from);
    let figure = figure.or_else(|_| text.trim().parse::<bool>().map(toml::Value::from));
    let figure = figure.or_else(|_| text.trim().parse::<f64>().map(toml::Value::from));
    figure.ok().filter(|_| !key.is_text).unwrap_or_else(|| text.into())
}

/// Whether these parts are a key's path, with names and places for its stand-ins.
fn leads(parts: &[String], key: &Key) -> bool {
    parts.len() == key.path.len() && fit(parts, key)
}

/// Whether there is more of a key's path after these parts.
fn leads_towards(parts: &[String], key: &Key) -> bool {
    parts.len() < key.path.len() && fit(parts, key)
}

fn fit(parts: &[String], key: &Key) -> bool {
    key.path.iter().zip(parts).all(|(own, part)| match own.strip_suffix(LIST) {
        Some(list) => part.strip_prefix(list).is_some_and(|place| place.starts_with('[')),
        None => own == part || (own == NAME && !part.is_empty()),
    })
}

/// Whether these parts lead to a list of tables, such as `tools.mcp`.
fn is_list_of_tables(parts: &[String]) -> bool {
    let Some((list, above)) = parts.split_last() else { return false };
    let first = [above, &[format!("{list}[0]")]].concat();
    keys().iter().any(|key| leads_towards(&first, key) && key.path[above.len()].ends_with(LIST))
}

/// A part of a key as TOML has it.
fn quoted(part: &str) -> String {
    let (name, place) = part.split_once('[').unwrap_or((part, ""));
    let is_bare = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    match is_bare(name) && is_bare(place.trim_end_matches(']')) {
        true => part.to_owned(),
        false => format!("{part:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [models]
        default = "openai::m"
        [models.providers.openai]
        key = "sk-canary"
        base_url = "http://me:canary@127.0.0.1/v1"
        concurrency = 3
        [models.prices."compatible::My-Model"]
        input = 1.5
        output = 2.0
        [[tools.mcp]]
        name = "child"
        command = "canary"
        args = ["canary"]
        env = { SECRET = "canary" }
        [[tools.mcp]]
        name = "remote"
        url = "http://canary/"
        headers = { Authorization = "canary" }
        [server.auth.jwt]
        algorithm = "HS256"
        key = "canary"
        [webhooks.crm]
        url = "http://host/?canary"
        secret = "canary"
        events = ["task_ended"]
        [retention]
        events = "90d"
    "#;

    fn settings() -> Settings {
        let path = Path::new("/etc/entourage.toml");
        let variables = [
            ("DISPATCH__CONCURRENCY", "8"),
            ("STORE__MIGRATE", "false"),
            ("MODELS__FALLBACK", "a::b, c::d"),
            ("SERVER__AUTH__JWT__KEY", "another canary"),
            ("MODEL", "rehearsal"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let others = [("ANTHROPIC_API_KEY", "canary"), ("OPENAI_API_KEY", "canary"), ("SEARXNG_URL", " ")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = Given::new(FILE, path, &variables, &others.into());
        Settings { given, ..Settings::default() }
    }

    fn found(settings: &Settings, key: &str) -> Option<(Option<String>, Origin)> {
        let found = settings.in_force().into_iter().find(|setting| setting.key == key)?;
        Some((found.value, found.origin))
    }

    #[test]
    fn each_setting_says_what_holds_and_what_set_it() {
        let mut settings = settings();
        settings.note_option("server.bind", "--bind", "127.0.0.1:1");
        let file = || Origin::File("/etc/entourage.toml".into());
        let variable = |name: &str| Origin::Variable(name.to_owned());
        for (key, value, origin) in [
            ("models.default", Some("\"rehearsal\""), variable("ENTOURAGE_MODEL")),
            ("models.fallback", Some(r#"["a::b", "c::d"]"#), variable("ENTOURAGE_MODELS__FALLBACK")),
            ("models.providers.openai.concurrency", Some("3"), file()),
            (r#"models.prices."compatible::My-Model".input"#, Some("1.5"), file()),
            ("models.providers.openai.key", None, file()),
            ("models.providers.anthropic.key", None, variable("ANTHROPIC_API_KEY")),
            ("tools.mcp[1].name", Some("\"remote\""), file()),
            ("tools.mcp[0].env", None, file()),
            ("webhooks.crm.url", None, file()),
            ("retention.events", Some("\"90d\""), file()),
            ("dispatch.concurrency", Some("8"), variable("ENTOURAGE_DISPATCH__CONCURRENCY")),
            ("store.migrate", Some("false"), variable("ENTOURAGE_STORE__MIGRATE")),
            ("server.auth.jwt.key", None, variable("ENTOURAGE_SERVER__AUTH__JWT__KEY")),
            ("server.bind", Some("\"127.0.0.1:1\""), Origin::Option("--bind".into())),
            ("server.streams", Some("64"), Origin::Default),
            ("retention.trees", None, Origin::Default),
            ("tools.search.searxng_url", None, Origin::Default),
        ] {
            assert_eq!(found(&settings, key), Some((value.map(str::to_owned), origin)), "{key}");
        }
        // Where a table was given, the word that stands for it does not hold.
        assert_eq!(found(&settings, "server.auth"), None);
        assert!(found(&settings, "models.providers.NAME.key").is_none());
    }

    #[test]
    fn every_key_of_the_budget_is_shown_as_it_is_set() {
        let file = r#"
            [budget]
            per_owner_per_day = "$5.00"
            unpriced = { input = 1.5, output = 2.0 }
            [budget.owners."ann@example.org"]
            per_day = "$20"
        "#;
        let path = Path::new("/etc/entourage.toml");
        let variables = [("BUDGET__UNPRICED__CACHED".to_owned(), "0.5".to_owned())];
        let given = Given::new(file, path, &variables, &BTreeMap::new());
        let given = Settings { given, ..Settings::default() };
        let of_budget = |settings: &Settings| {
            let shown = settings.in_force().into_iter().filter(|setting| setting.key.starts_with("budget."));
            shown.map(|setting| (setting.key, setting.value)).collect::<Vec<_>>()
        };
        let expected = [
            (r#"budget.owners."ann@example.org".per_day"#, Some(r#""$20""#)),
            ("budget.per_owner_per_day", Some(r#""$5.00""#)),
            ("budget.unpriced.cache_written", None),
            ("budget.unpriced.cached", Some("0.5")),
            ("budget.unpriced.input", Some("1.5")),
            ("budget.unpriced.output", Some("2.0")),
        ];
        let owned = |(key, value): (&str, Option<&str>)| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(of_budget(&given), expected.map(owned));
        // Without it, one line says that no price is assumed.
        let unset = of_budget(&Settings::default());
        assert!(unset.contains(&("budget.unpriced".into(), None)), "{unset:?}");
    }

    #[test]
    fn no_value_that_may_be_a_secret_is_kept() {
        let settings = settings();
        assert!(FILE.matches("canary").count() > 8);
        let kept = format!("{:?}", settings.in_force());
        assert!(!kept.contains("canary"), "{kept}");
        assert!(!format!("{:?}", settings.given).contains("canary"));
    }

    #[test]
    fn every_plain_key_is_a_setting_and_no_key_or_address_is_plain() {
        let shown: Vec<String> = keys().iter().filter(|key| is_shown(key)).map(Key::dotted).collect();
        for plain in PLAIN {
            assert!(shown.iter().any(|key| key == plain), "{plain}");
        }
        let secret = |key: &&String| {
            let last = key.rsplit('.').next().unwrap_or_default();
            ["key", "secret", "url", "endpoint", "env", "headers", "args", "command", "ollama", "compatible"]
                .iter()
                .any(|word| last.ends_with(word))
        };
        assert_eq!(shown.iter().filter(secret).collect::<Vec<_>>(), [""; 0]);
    }
}
