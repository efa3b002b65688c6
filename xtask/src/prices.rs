//! `cargo xtask prices`: extracts prices and context windows from `genai-prices`' table, a file for
//! each provider, so that a process decodes one and not all of them.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

const PROVIDERS: [&str; 3] = ["anthropic", "openai", "openrouter"];
/// The fields needed for a price or a context window.
const OF_PROVIDER: [&str; 5] = ["id", "name", "api_pattern", "fallback_model_providers", "provider_match"];
const OF_MODEL: [&str; 5] = ["id", "match", "context_window", "prices", "price_variants"];

/// Rewrites the files.
pub(crate) fn write(root: &Path) -> Result<String> {
    let folder = root.join("crates/llm/data");
    let table: Value = serde_json::from_slice(&fs::read(table(root)?)?)?;
    for provider in table.as_array().context("the table is a list of providers")? {
        let Some(name) = PROVIDERS.iter().find(|name| provider["id"] == **name) else { continue };
        fs::write(folder.join(format!("{name}.json")), text(provider))?;
    }
    Ok(format!("{} are written anew in {}\n", PROVIDERS.join(", "), folder.display()))
}

/// The path of the crate's table.
fn table(root: &Path) -> Result<std::path::PathBuf> {
    let asked =
        Command::new("cargo").args(["metadata", "--format-version", "1"]).current_dir(root).output()?;
    let metadata: Value = serde_json::from_slice(&asked.stdout)?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let Some(found) = packages.iter().find(|package| package["name"] == "genai-prices") else {
        bail!("genai-prices is no dependency");
    };
    let manifest = Path::new(found["manifest_path"].as_str().context("a path")?);
    Ok(manifest.with_file_name("data").join("prices.json"))
}

/// One provider, a model on each line.
fn text(provider: &Value) -> String {
    let mut head = only(provider, &OF_PROVIDER);
    head.insert("models".into(), Value::Array(Vec::new()));
    let models = provider["models"].as_array().into_iter().flatten();
    let models: Vec<String> = models.map(|model| Value::Object(only(model, &OF_MODEL)).to_string()).collect();
    let head = Value::Array(vec![Value::Object(head)]).to_string();
    head.replacen("\"models\":[]", &format!("\"models\":[\n{}\n]", models.join(",\n")), 1) + "\n"
}

fn only(value: &Value, keys: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
