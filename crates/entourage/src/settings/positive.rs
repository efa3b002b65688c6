//! Checks the settings that must be greater than 0: otherwise nothing would ever be done.

use super::Settings;

/// The key of the first setting that must be greater than 0 and is not.
pub(super) fn wrong(settings: &Settings) -> Option<String> {
    let Settings { dispatch, documents, health, models, sessions, store, tools, .. } = settings;
    let mut greater = server(settings);
    let mut see = |key: String, is_greater: bool| greater.push((key, is_greater));
    see("dispatch.concurrency".into(), dispatch.concurrency > 0);
    see("dispatch.give_up_after".into(), dispatch.give_up_after > 0);
    see("documents.acts_at_once".into(), documents.acts_at_once > 0);
    see("sessions.idle_minutes".into(), sessions.idle_minutes > 0);
    see("store.connections".into(), store.connections > 0);
    for (name, number) in health.numbers() {
        see(format!("health.{name}"), number > 0);
    }
    for (provider, set) in &models.providers {
        let key = |name: &str| format!("models.providers.{provider}.{name}");
        see(key("concurrency"), set.concurrency != Some(0));
        see(key("requests_per_minute"), set.requests_per_minute != Some(0));
        see(key("header_seconds"), is_time(set.header_seconds));
        see(key("silence_seconds"), is_time(set.silence_seconds));
    }
    for (model, set) in &models.profiles {
        see(format!("models.profiles.\"{model}\".context_window"), set.context_window != Some(0));
    }
    see("tools.fetch.max_bytes".into(), tools.fetch.max_bytes > 0);
    see("tools.fetch.max_seconds".into(), tools.fetch.max_seconds > 0);
    for (name, is_greater) in tools.python.numbers() {
        see(format!("tools.python.{name}"), is_greater);
    }
    for (at, set) in tools.mcp.iter().enumerate() {
        see(format!("tools.mcp[{at}].connect_seconds"), !set.connect_timeout.is_zero());
    }
    greater.into_iter().find(|(_, is_greater)| !is_greater).map(|(key, _)| key)
}

#[cfg(feature = "server")]
fn server(settings: &Settings) -> Vec<(String, bool)> {
    let server = &settings.server;
    vec![
        ("server.connections".into(), server.connections != Some(0)),
        ("server.streams".into(), server.streams > 0),
        ("server.body_limit".into(), server.body_limit > 0),
    ]
}

/// A build without a server reads none of them.
#[cfg(not(feature = "server"))]
fn server(_: &Settings) -> Vec<(String, bool)> {
    Vec::new()
}

fn is_time(seconds: f64) -> bool {
    seconds > 0.0 && seconds.is_finite()
}
