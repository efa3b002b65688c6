//! Secrets of an owner in the settings of a server: `${secret:NAME}` in a value of `env` or `headers`.

use std::collections::{BTreeMap, BTreeSet};

use entourage_types::SecretName;
use secrecy::{ExposeSecret, SecretString};

#[cfg(feature = "mcp")]
use super::credentials::has_credentials;
use super::{McpSettings, McpTransport};

const OPENS: &str = "${secret:";
const CLOSES: char = '}';

/// A value, cut into what is written and the secrets between.
enum Part<'a> {
    Written(&'a str),
    Secret(SecretName),
}

fn parts(value: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), value);
    while let Some((before, after)) = rest.split_once(OPENS) {
        let (name, after) = after
            .split_once(CLOSES)
            .ok_or_else(|| format!("`{OPENS}` is not closed: write `{OPENS}NAME{CLOSES}`"))?;
        parts.push(Part::Written(before));
        parts.push(Part::Secret(name.parse()?));
        rest = after;
    }
    parts.push(Part::Written(rest));
    Ok(parts)
}

/// The names of the secrets in the values.
///
/// # Errors
/// What is wrong with one of them, without the value.
pub(super) fn names<'a>(
    values: impl Iterator<Item = &'a SecretString>,
) -> Result<BTreeSet<SecretName>, String> {
    let mut names = BTreeSet::new();
    for value in values {
        names.extend(parts(value.expose_secret())?.into_iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name),
            Part::Written(_) => None,
        }));
    }
    Ok(names)
}

/// Whether a text holds the beginning of a placeholder.
pub(super) fn has_any(text: &str) -> bool {
    text.contains(OPENS)
}

impl McpSettings {
    /// The secrets of an owner that it needs.
    #[must_use]
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        names(self.transport.values().values()).unwrap_or_default()
    }

    /// The settings with the secrets of an owner in their places. One that is not given is left out.
    #[must_use]
    pub fn with_secrets(&self, secrets: &BTreeMap<SecretName, SecretString>) -> Self {
        let mut settings = self.clone();
        for value in settings.transport.values_mut().values_mut() {
            let filled =
                parts(value.expose_secret()).unwrap_or_default().into_iter().map(|part| match part {
                    Part::Written(text) => text,
                    Part::Secret(name) => {
                        secrets.get(&name).map(ExposeSecret::expose_secret).unwrap_or_default()
                    }
                });
            let filled: String = filled.collect();
            *value = filled.into();
        }
        settings.given = secrets.values().cloned().collect();
        settings
    }

    /// Whether each value that it is given has a secret of an owner, and neither its arguments nor its address have
    /// one, so that it uses no credentials of the operator: placeholders stand in values alone.
    #[must_use]
    pub fn is_of_owners(&self) -> bool {
        let values = self.transport.values();
        !values.is_empty()
            && values.values().all(|value| has_any(value.expose_secret()))
            && !has_credentials(&self.transport)
    }
}

/// Without the feature no server is connected.
#[cfg(not(feature = "mcp"))]
const fn has_credentials(_: &McpTransport) -> bool {
    false
}

impl McpTransport {
    /// The values that may hold secrets.
    fn values(&self) -> &BTreeMap<String, SecretString> {
        match self {
            Self::Command { env, .. } => env,
            Self::Url { headers, .. } => headers,
        }
    }

    fn values_mut(&mut self) -> &mut BTreeMap<String, SecretString> {
        match self {
            Self::Command { env, .. } => env,
            Self::Url { headers, .. } => headers,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(settings: serde_json::Value) -> Result<McpSettings, String> {
        serde_json::from_value(settings).map_err(|error| error.to_string())
    }

    #[test]
    fn the_secrets_of_an_owner_take_the_places_of_their_names() {
        let headers =
            json!({ "Authorization": "Bearer ${secret:bank}", "X": "${secret:a}-${secret:bank}", "Y": "$" });
        let bank = settings(json!({ "name": "bank", "url": "http://host/", "headers": headers })).unwrap();
        let names = ["a", "bank"].map(|name| name.parse::<SecretName>().unwrap());
        assert_eq!(bank.secrets(), BTreeSet::from(names.clone()));
        let values = names.into_iter().zip(["one".into(), "two ${secret:a}".into()]).collect();
        let filled = bank.with_secrets(&values);
        let filled: Vec<&str> = filled.transport.values().values().map(ExposeSecret::expose_secret).collect();
        assert_eq!(filled, ["Bearer two ${secret:a}", "one-two ${secret:a}", "$"]);
    }

    #[test]
    fn what_has_a_value_of_the_operator_is_not_of_owners_alone() {
        let of_owners = |env: serde_json::Value| {
            settings(json!({ "name": "a", "command": "c", "env": env })).unwrap().is_of_owners()
        };
        assert!(of_owners(json!({ "A": "${secret:a}", "B": "x ${secret:b}" })));
        assert!(!of_owners(json!({ "A": "${secret:a}", "B": "of the operator" })) && !of_owners(json!({})));
    }

    #[test]
    fn a_placeholder_that_is_malformed_or_misplaced_is_refused() {
        let command = |env: &str, arg: &str| {
            settings(json!({ "name": "a", "command": "c", "args": [arg], "env": { "K": env } }))
        };
        assert!(command("${secret:a}", "x").is_ok());
        for (env, arg) in
            [("${secret:a", "x"), ("${secret:a b}", "x"), ("${secret:}", "x"), ("", "${secret:a}")]
        {
            assert!(command(env, arg).is_err(), "{env} {arg}");
        }
        assert!(settings(json!({ "name": "a", "url": "http://host/?k=${secret:a}" })).is_err());
    }
}
