//! Asks a self-hosted server for the window with which it serves a model.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::{Connection, Provider, http};

/// How long a server may take: a caller is waiting for an answer meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the window of a model in tokens; none if the server does not say. The window that the model was
/// trained with does not count: servers often serve less.
pub(super) async fn ask(
    provider: Provider,
    base_url: &str,
    connection: &Connection,
    name: &str,
) -> Option<u32> {
    let client = http::client(base_url).ok()?;
    let get = async |url: String, body: Option<Value>| -> Option<Value> {
        let request = match body {
            Some(body) => client.post(url).json(&body),
            None => client.get(url),
        };
        let request = match &connection.key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        };
        let response = request.send().await.ok()?.error_for_status().ok()?;
        http::json(response).await
    };
    let root = base_url.trim_end_matches('/').trim_end_matches("/v1");
    let found = async {
        match provider {
            Provider::Ollama => {
                let loaded = get(format!("{root}/api/ps"), None).await;
                if let Some(window) = loaded.as_ref().and_then(|loaded| of_loaded(loaded, name)) {
                    return Some(window);
                }
                of_shown(&get(format!("{root}/api/show"), Some(json!({"model": name}))).await?)
            }
            Provider::Compatible => {
                let listed = get(format!("{base_url}models"), None).await;
                if let Some(window) = listed.as_ref().and_then(|listed| of_listed(listed, name)) {
                    return Some(window);
                }
                let props = get(format!("{root}/props"), None).await?;
                number(props.pointer("/default_generation_settings/n_ctx")?)
            }
            _ => None,
        }
    };
    tokio::time::timeout(PATIENCE, found).await.ok().flatten()
}

/// Reads `/v1/models`: each server names the field differently, and a list with one entry describes that
/// model.
fn of_listed(listed: &Value, name: &str) -> Option<u32> {
    let models = listed.get("data")?.as_array()?;
    let only = models.first().filter(|_| models.len() == 1);
    let model = models.iter().find(|model| model["id"] == name).or(only)?;
    let words =
        ["/max_model_len", "/meta/n_ctx", "/loaded_context_length", "/context_length", "/context_window"];
    words.iter().find_map(|word| number(model.pointer(word)?))
}

/// Reads `/api/ps` of Ollama: the loaded models, with their current windows.
fn of_loaded(loaded: &Value, name: &str) -> Option<u32> {
    let is_it = |model: &&Value| {
        let called = model["name"].as_str().unwrap_or_default();
        called == name || called.strip_suffix(":latest") == Some(name)
    };
    number(loaded.get("models")?.as_array()?.iter().find(is_it)?.get("context_length")?)
}

/// Reads `/api/show` of Ollama: the window that the model's file sets.
fn of_shown(shown: &Value) -> Option<u32> {
    let parameters = shown.get("parameters")?.as_str()?;
    let line = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
    line.trim().parse().ok().filter(|window| *window > 0)
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok().filter(|window| *window > 0)
}
