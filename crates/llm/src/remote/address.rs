//! Completes addresses as operators write them.

use reqwest::Url;

use crate::{Error, Provider, Result};

/// Returns the address with a trailing slash, and with the version if it is missing: Anthropic's own variable
/// is set without `/v1`, and OpenAI-compatible servers all have it.
pub(super) fn complete(provider: Provider, given: Option<&str>) -> Result<String> {
    let given = given.map(str::trim).filter(|url| !url.is_empty());
    let Some(given) = given.or(provider.default_base_url()) else {
        return Err(Error::Configuration(format!(
            "{provider} has no address: set `models.providers.{provider}.base_url` in the settings, or {}",
            provider.base_url_variable()
        )));
    };
    // The address itself is not repeated: it may hold a password.
    let wrong = |why: &str| {
        Error::Configuration(format!(
            "`models.providers.{provider}.base_url` is not an address ({why}): one looks like `http://127.0.0.1:8080/v1`"
        ))
    };
    let full = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    let mut url = Url::parse(&full).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("neither http nor https"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = match provider {
        Provider::Ollama => path.trim_end_matches("/v1").to_owned(),
        Provider::Anthropic if !path.ends_with("/v1") => path + "/v1",
        _ if path.is_empty() => "/v1".to_owned(),
        _ => path,
    };
    url.set_path(&format!("{path}/"));
    Ok(url.into())
}

/// Returns an address as it may be shown: without user and password, and without query and fragment.
pub(crate) fn without_credentials(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return String::new() };
    // Both only fail for addresses without a host, which have nothing to hide.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
