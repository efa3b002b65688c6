//! Reading the settings from where they stand.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use config::{Config, Environment, File, FileFormat};

use super::{Settings, paths};
use crate::{Error, Result};

/// The name of the settings' file in the data directory.
pub const FILE: &str = "entourage.toml";

const PREFIX: &str = "ENTOURAGE_";
/// The variables with the places of data and settings; a place that is named otherwise wins.
const DATA: &str = "DATA";
const CONFIG: &str = "CONFIG";
/// Other variables with that prefix that are no settings: what they say is said to the command line.
const NO_SETTINGS: [&str; 4] = [DATA, CONFIG, "LOG", "TOKEN"];
/// The one setting with a name of its own.
const MODEL: (&str, &str) = ("MODEL", "models.default");
/// The one setting that is a list and yet worth a variable; its entries are parted by commas.
const ALLOW: (&str, &str) = ("TOOLS__FETCH__ALLOW", "tools.fetch.allow");

impl Settings {
    /// The settings from their file and the environment. `data` is the data directory: that of
    /// `ENTOURAGE_DATA` when none is given, or else the platform's. `file` is the settings' file:
    /// that of `ENTOURAGE_CONFIG`, or else the one in the data directory; it must exist when named.
    ///
    /// # Errors
    /// [`Error::Settings`] names the file and line, or the variable's place in the settings.
    pub fn load(data: Option<&Path>, file: Option<&Path>) -> Result<Self> {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::from_sources(data, file, variables)
    }

    fn from_sources(
        data: Option<&Path>,
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let mut variables: BTreeMap<String, String> = ours_among(variables).collect();
        let mut place = |named: Option<&Path>, variable| {
            named.map(Path::to_owned).or(variables.remove(variable).map(PathBuf::from))
        };
        let (data, file) = (place(data, DATA), place(file, CONFIG));
        variables.retain(|name, _| !NO_SETTINGS.contains(&name.as_str()));
        let data = data.map_or_else(paths::data_directory, Ok)?;
        let (path, must_exist) = file.map_or_else(|| (data.join(FILE), false), |file| (file, true));
        let text = read(&path, must_exist)?;
        let allowed = variables.remove(ALLOW.0).map(|hosts| {
            hosts
                .split(',')
                .map(|host| host.trim().to_owned())
                .filter(|host| !host.is_empty())
                .collect::<Vec<_>>()
        });
        let model = variables.remove(MODEL.0);
        let from_variables = Environment::default()
            .separator("__")
            .ignore_empty(true)
            .source(Some(variables.into_iter().collect()));
        let merged = Config::builder()
            .add_source(File::from_str(&text, FileFormat::Toml))
            .add_source(from_variables)
            .set_override_option(ALLOW.1, allowed)
            .and_then(|builder| builder.set_override_option(MODEL.1, model))
            .and_then(|builder| builder.build())
            .and_then(Config::try_deserialize::<Self>);
        let mut settings = merged.map_err(|error| match toml::from_str::<Self>(&text) {
            // The file alone is read with lines to name.
            Err(error) => mistake(&path, &text, &error),
            Ok(_) => Error::Settings {
                place: format!("the environment ({PREFIX}…)"),
                why: format!("{error}. Mend or unset the variable"),
            },
        })?;
        (settings.data, settings.file) = (data, Some(path));
        Ok(settings)
    }

    /// The directory with the user's kinds, if there is one.
    ///
    /// A directory that is set is returned whether it is there or not, so that its absence is told.
    #[must_use]
    pub fn kinds_directory(&self) -> Option<PathBuf> {
        self.kinds.clone().or_else(|| Some(self.data.join("kinds")).filter(|usual| usual.is_dir()))
    }
}

/// The variables that say something to the house, without their prefix.
fn ours_among(variables: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = (String, String)> {
    variables
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_owned(), value)))
        .filter(|(_, value)| !value.trim().is_empty())
}

fn read(path: &Path, must_exist: bool) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if !must_exist && is_absent(&error) => Ok(String::new()),
        Err(error) => Err(Error::Settings {
            place: path.display().to_string(),
            why: format!("cannot be read: {error}"),
        }),
        Ok(text) => Ok(text),
    }
}

/// Whether there is no such file; nor can there be, where its directory is none.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A mistake in the file with its line, in one line.
fn mistake(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    let why = error.message().lines().collect::<Vec<_>>().join(" ");
    Error::Settings { place: format!("{}:{line}", path.display()), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, variables: &[(&str, &str)]) -> Result<Settings> {
        let data = tempfile::tempdir().expect("a directory");
        fs::write(data.path().join(FILE), file).expect("writable");
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::from_sources(Some(data.path()), None, variables)
    }

    #[test]
    fn the_environment_says_where_they_are_unless_somebody_else_does() {
        let [here, there] = ["one", "two"].map(|model| {
            let data = tempfile::tempdir().expect("a directory");
            fs::write(data.path().join(FILE), format!("[models]\ndefault = \"{model}\"")).expect("writable");
            data
        });
        let load = |data: Option<&Path>, file: Option<&Path>| {
            let data_there = ("ENTOURAGE_DATA".to_owned(), there.path().display().to_string());
            let settings =
                Settings::from_sources(data, file, [data_there].into_iter()).expect("they are read");
            settings.models.default
        };
        assert_eq!(load(None, None).as_deref(), Some("two"));
        assert_eq!(load(Some(here.path()), None).as_deref(), Some("one"));
        assert_eq!(load(None, Some(&here.path().join(FILE))).as_deref(), Some("one"));
    }

    #[test]
    fn the_environment_wins_over_the_file_and_leaves_the_rest() {
        let file = "[dispatch]\nconcurrency = 3\n[server]\nbind = \"127.0.0.1:1\"\n\
                    auth.jwt.algorithm = \"HS256\"\n";
        let settings = load(
            file,
            &[
                ("ENTOURAGE_DISPATCH__CONCURRENCY", "7"),
                ("ENTOURAGE_TOOLS__FETCH__ALLOW", "localhost:8080, wiki"),
                ("ENTOURAGE_MODELS__PROVIDERS__ANTHROPIC__KEY", "0123"),
                ("ENTOURAGE_STORE__DURABILITY", "normal"),
                ("ENTOURAGE_MODEL", "rehearsal"),
                ("ENTOURAGE_SERVER__BODY_LIMIT", ""),
                ("ENTOURAGE_SERVER__AUTH__JWT__KEY", "from the environment, as secrets should be"),
                ("UNRELATED", "x"),
            ],
        )
        .expect("valid");
        assert_eq!(settings.dispatch.concurrency, 7);
        assert_eq!(settings.server.bind.port(), 1);
        assert_eq!(settings.models.default.as_deref(), Some("rehearsal"));
        assert_eq!(settings.tools.fetch.allow.len(), 2);
        assert_eq!(settings.models.providers.len(), 1);
        assert_eq!(settings.store.durability, super::super::Durability::Normal);
    }

    #[test]
    fn what_the_readme_shows_is_taken_as_it_stands() {
        let readme = include_str!("../../../../README.md");
        let (_, rest) = readme.split_once("```toml\n").expect("settings");
        let settings = load(rest.split("```").next().expect("an end"), &[]).expect("valid");
        assert_eq!(settings.models.fallback, ["openai::gpt-5-mini"]);
        let anthropic = &settings.models.providers[&entourage_llm::Provider::Anthropic];
        assert_eq!(anthropic.requests_per_minute, Some(50));
        assert!(settings.telemetry.otlp_endpoint.is_some() && settings.retention.trees.is_some());
    }

    #[test]
    fn names_with_capitals_and_colons_stay_as_written() {
        let file = "[models.prices.\"compatible::My-Model\"]\ninput = 1.0\noutput = 2.0\n\
                    [[tools.mcp]]\nname = \"x\"\ncommand = \"x\"\nenv = { API_Token = \"y\" }\n";
        let settings = load(file, &[]).expect("valid");
        assert!(settings.models.prices.contains_key("compatible::My-Model"));
        let entourage_tools::McpTransport::Command { env, .. } = &settings.tools.mcp[0].transport else {
            panic!("a command was set");
        };
        assert!(env.contains_key("API_Token"));
    }

    #[test]
    fn every_mistake_names_its_place() {
        let place =
            |file: &str, variables: &[(&str, &str)]| load(file, variables).expect_err("wrong").to_string();
        assert!(place("\n\n[server]\nbnd = \"x\"\n", &[]).contains("entourage.toml:4: unknown field `bnd`"));
        assert!(
            place("[dispatch]\nconcurrency = \"many\"\n", &[]).contains("entourage.toml:2: invalid type")
        );
        assert!(place("x = [", &[]).contains("entourage.toml:1: "));
        let variable = place("", &[("ENTOURAGE_SERVRE__BIND", "x")]);
        assert!(variable.contains("environment") && variable.contains("servre"), "{variable}");
    }
}
