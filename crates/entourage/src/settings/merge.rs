//! Merges the settings' file with the variables of the environment, which win.

use config::{Config, ConfigError, Environment, File, FileFormat};

use super::{
    Settings,
    variables::{self, MODEL, SEPARATOR},
};

/// Merges the settings of a file with those of variables, whose names are without their prefix.
pub(super) fn merged(file: &str, variables: &[(String, String)]) -> Result<Settings, ConfigError> {
    let is_list = |name: &str| variables::setting(name).is_some_and(|key| key.is_list);
    let (lists, plain): (Vec<_>, Vec<_>) =
        variables.iter().filter(|(name, _)| name != MODEL.0).cloned().partition(|(name, _)| is_list(name));
    let from_variables = Environment::default()
        .separator(SEPARATOR)
        .ignore_empty(true)
        .source(Some(plain.into_iter().collect()));
    let mut builder =
        Config::builder().add_source(File::from_str(file, FileFormat::Toml)).add_source(from_variables);
    for (name, entries) in lists {
        let entries = entries.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let entries: Vec<String> = entries.map(str::to_owned).collect();
        builder = builder.set_override(name.to_lowercase().replace(SEPARATOR, "."), entries)?;
    }
    if let Some((_, model)) = variables.iter().find(|(name, _)| name == MODEL.0) {
        builder = builder.set_override(MODEL.1, model.as_str())?;
    }
    builder.build()?.try_deserialize()
}
