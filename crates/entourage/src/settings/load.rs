//! Reads the settings from their file and the environment.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Given, NamedModel, Settings,
    merge::merged,
    message::without_value,
    mistake::in_file,
    paths, positive,
    variables::{self, CONFIG, DATA, MODEL, OWN, PREFIX, SEPARATOR, STORE},
};
use crate::{Error, Result};

/// The name of the settings' file in the data directory.
pub const FILE: &str = "entourage.toml";

/// What is wrong with the value of a variable, without the value.
fn said(error: &str, variable: &str, value: &str) -> String {
    if error.contains("does not have variant constructor") {
        // What reads variables does not name the choices of a setting; what reads JSON does.
        let parts: Vec<String> = variable.split(SEPARATOR).map(str::to_lowercase).collect();
        let given = parts.into_iter().rev().fold(serde_json::Value::from(value), |inner, part| {
            serde_json::Value::Object(serde_json::Map::from_iter([(part, inner)]))
        });
        if let Err(choices) = serde_json::from_value::<Settings>(given) {
            return without_value(&choices.to_string());
        }
    }
    let why = without_value(error);
    if value.is_empty() { why } else { why.replace(value, "this") }
}

impl Settings {
    /// Reads the settings from their file and the environment. `data` is the data directory; if not given,
    /// that of `ENTOURAGE_DATA`, or else the platform's. `file` is the settings file; if not given, that of
    /// `ENTOURAGE_CONFIG`, or else the one in the data directory. A named file must exist.
    ///
    /// # Errors
    /// [`Error::Settings`] names the file and line, or the variable.
    pub fn load(data: Option<&Path>, file: Option<&Path>) -> Result<Self> {
        // A path need not be UTF-8; every other value must be.
        let place = |named: Option<&Path>, variable: &str| {
            let set = || std::env::var_os(format!("{PREFIX}{variable}")).filter(|set| !set.is_empty());
            named.map(Path::to_owned).or_else(|| set().map(PathBuf::from))
        };
        let (data, file) = (place(data, DATA), place(file, CONFIG));
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::from_sources(data.as_deref(), file.as_deref(), variables)
    }

    fn from_sources(
        data: Option<&Path>,
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let others: BTreeMap<String, String> = variables.collect();
        let mut variables: BTreeMap<String, String> = ours_among(others.clone().into_iter()).collect();
        let mut place = |named: Option<&Path>, variable| {
            named.map(Path::to_owned).or(variables.remove(variable).map(PathBuf::from))
        };
        let (data, file) = (place(data, DATA), place(file, CONFIG));
        let data = data.map_or_else(paths::data_directory, Ok)?;
        if data.exists() && !data.is_dir() {
            let why = "this is no directory; name one with --data, or in ENTOURAGE_DATA".to_owned();
            return Err(Error::Settings { place: data.display().to_string(), why });
        }
        let (path, must_exist) = file.map_or_else(|| (data.join(FILE), false), |file| (file, true));
        let text = read(&path, must_exist)?;
        let model = variables.remove(MODEL.0).map(|model| (MODEL.0.to_owned(), model));
        if let Some(url) = variables.remove(STORE.0) {
            variables.entry(STORE.1.to_owned()).or_insert(url);
        }
        variables.retain(|name, _| OWN.iter().all(|(own, _)| own != name));
        for (name, value) in variables::stood_for(&text, &others) {
            variables.entry(name.to_owned()).or_insert_with(|| value.clone());
        }
        // Other programs share the environment and may set names with our prefix for reasons of their own, as
        // Kubernetes does for each service. Only a variable that names a setting is an error if it is wrong.
        let (known, unknown): (BTreeMap<_, _>, BTreeMap<_, _>) =
            variables.into_iter().partition(|(name, _)| variables::setting(name).is_some());
        let mut known: Vec<(String, String)> = known.into_iter().chain(model).collect();
        let mut settings = merged(&text, &known).map_err(|error| match toml::from_str::<Self>(&text) {
            // Parsing the file alone gives line numbers.
            Err(error) => in_file(&path, &text, &error),
            Ok(_) => {
                // The culprit is the last variable whose removal makes the rest valid.
                let (mut culprit, mut value) = (String::new(), String::new());
                while merged(&text, &known).is_err() && !known.is_empty() {
                    (culprit, value) = known.remove(0);
                }
                let why = said(&error.to_string(), &culprit, &value);
                let place = format!("the variable {}", variables::set_by(&culprit, &others));
                Error::Settings { place, why: format!("{why}. Correct or unset it") }
            }
        })?;
        if let Some(key) = positive::wrong(&settings) {
            let variable = key.to_uppercase().replace('.', SEPARATOR);
            let place = match known.iter().any(|(name, _)| *name == variable) {
                true => format!("the variable {}", variables::set_by(&variable, &others)),
                false => path.display().to_string(),
            };
            let why = format!("`{key}` must be greater than 0; leave it out for the default");
            return Err(Error::Settings { place, why });
        }
        settings.given = Given::new(&text, &path, &known, &others);
        (settings.data, settings.file) = (data, Some(path));
        // The variable with a name of its own is applied last, and wins.
        let of_its_key = MODEL.1.replace('.', SEPARATOR);
        let names_model = |name: &&String| *name == MODEL.0 || name.eq_ignore_ascii_case(&of_its_key);
        let named = known.iter().map(|(name, _)| name).rfind(names_model);
        let named = named.map(|name| format!("the variable {PREFIX}{name}"));
        settings.model_from =
            named.zip(settings.models.default.clone()).map(|(by, model)| NamedModel { by, model });
        settings.ignored = unknown.keys().map(|name| variables::unknown(name)).collect();
        Ok(settings)
    }

    /// What names the model, if that is not the file and no other model was set since.
    #[must_use]
    pub fn names_model(&self) -> Option<&str> {
        let named = self.model_from.as_ref()?;
        (self.models.default.as_ref() == Some(&named.model)).then_some(named.by.as_str())
    }

    /// The directory with the user's kinds, if there is one.
    ///
    /// A configured directory is returned whether it exists or not, so that its absence is reported.
    #[must_use]
    pub fn kinds_directory(&self) -> Option<PathBuf> {
        self.kinds.clone().or_else(|| Some(self.data.join("kinds")).filter(|usual| usual.is_dir()))
    }
}

/// The variables with our prefix and a value, without the prefix.
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

/// Whether the file does not exist, or its directory is no directory.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
