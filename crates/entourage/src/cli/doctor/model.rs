//! Checks which models would answer: asks for each model that agents would use, unless offline.

use std::collections::BTreeMap;

use entourage::Settings;
use entourage_llm::{Choice, Error, Missing, Provider, Result};

use super::{Finding, broken, good, remark};
use crate::cli::models::probe;

/// The models that providers offer.
type Offers = BTreeMap<Provider, Result<Option<Vec<String>>>>;

/// Checks the models that agents use, and the other providers that are set up.
pub(super) async fn models(settings: &Settings, offline: bool) -> Vec<Finding> {
    let choice = match offline {
        true => entourage::choice_offline(settings),
        false => entourage::choice(settings).await,
    };
    let choice = match choice {
        Ok(choice) => choice,
        Err(error) => return vec![broken("model", error.to_string())],
    };
    let used = used(settings, &choice);
    let mut providers: Vec<Provider> =
        used.iter().filter_map(|(_, model, _)| Some(Provider::split(model).ok()?.0)).collect();
    let besides: Vec<Provider> = choice
        .router
        .providers()
        .filter(|other| !providers.contains(other) && is_set(settings, *other))
        .collect();
    providers.extend(&besides);
    let mut offers = Offers::new();
    if !offline {
        let ask = |provider: Provider| {
            let choice = &choice;
            async move { (provider, probe::offered(choice, provider).await) }
        };
        offers.extend(futures::future::join_all(providers.into_iter().map(ask)).await);
    }
    let mut findings = Vec::new();
    for (what, model, text) in &used {
        findings.push(finding(&choice, &offers, what, model, text).await);
    }
    let seen = choice.tried.iter().map(|tried| match &tried.found {
        Ok(found) => format!("{}: {found}", tried.what),
        Err(why) => format!("{}: {why}", tried.what),
    });
    let window = if offline { None } else { Some(window(&choice).await) };
    if let Some(first) = findings.first_mut() {
        first.seen = seen.chain(window).collect();
    }
    findings.extend(besides.into_iter().filter_map(|provider| {
        Some(match offers.get(&provider)? {
            Ok(Some(names)) => good(
                provider.name(),
                format!("answers and offers {} models; no agent uses it yet", names.len()),
            ),
            Ok(None) => {
                let text = "has no list of models at its address: `entourage models test NAME` tries \
                            one. If that fails too, check the path of";
                remark(provider.name(), format!("{text} {}", address_of(provider)))
            }
            // It is set up and would not work; no model needs it so far.
            Err(error) => remark(provider.name(), error.to_string()),
        })
    }));
    findings
}

/// How large the engine assumes the window of the default model is, and why.
async fn window(choice: &Choice) -> String {
    choice.model.learn(None).await;
    let known = choice.model.profile(None);
    match known.context_window {
        Some(size) => format!("window: {size} tokens, {}", known.window_from),
        None => format!("window: none assumed, {}", known.window_from),
    }
}

/// The configured models, the default first: the purpose of each, its name, and why it was chosen.
fn used(settings: &Settings, choice: &Choice) -> Vec<(&'static str, String, String)> {
    let default = ("model", choice.default_model.clone(), choice.why.clone());
    let fallback = settings.models.fallback.iter();
    let fallback =
        fallback.map(|model| ("fallback", model.clone(), "asked when the default fails for good".into()));
    let summary = settings.models.summary.iter();
    let summary = summary.map(|model| ("summary", model.clone(), "sums up what is long or old".into()));
    std::iter::once(default).chain(fallback).chain(summary).collect()
}

/// Whether a provider that no model needs is set up. OpenAI's second API has no key of its own.
fn is_set(settings: &Settings, provider: Provider) -> bool {
    let address = || {
        let set = settings.models.providers.get(&provider);
        set.is_some_and(|connection| connection.base_url.is_some())
            || std::env::var_os(provider.base_url_variable()).is_some()
    };
    provider != Provider::OpenAiResp && (provider.key_variable().is_some() || address())
}

/// The setting with a provider's address.
fn address_of(provider: Provider) -> String {
    format!("`models.providers.{provider}.base_url`")
}

async fn finding(choice: &Choice, offers: &Offers, what: &str, model: &str, why: &str) -> Finding {
    let text = format!("{model}: {why}");
    let Ok((provider, name)) = Provider::split(model) else {
        return match choice.model.disclaimer() {
            Some(disclaimer) => remark(what, format!("{text}. {disclaimer}")),
            None => good(what, text),
        };
    };
    match offers.get(&provider) {
        None => good(what, format!("{text}. Not checked whether it answers: --offline")),
        Some(Err(error)) => {
            // Names the address, which may be set in several places.
            let is_lost = matches!(error, Error::Unreachable { .. }) && model == choice.default_model;
            let asked = is_lost.then(|| format!(". The request went to {}", choice.model.describe()));
            broken(what, format!("{text}, but it cannot be used. {error}{}", asked.unwrap_or_default()))
        }
        Some(Ok(Some(list))) if probe::has(list, name) => {
            good(what, format!("{text}. {provider} answers and lists it; asking for the list costs nothing"))
        }
        // A model on no list may exist all the same: under another name, or unlisted.
        Some(Ok(list)) => match probe::call(choice, model).await {
            Ok(used) => good(what, format!("{text}. It answers ({used})")),
            Err(error) => {
                let next = match list {
                    Some(list) => {
                        format!(" {provider} offers {} other models: `entourage models`", list.len())
                    }
                    None if matches!(error, Error::Denied { lack: Missing::Model, .. }) => format!(
                        " There is no list of models either, so the path of {} is probably wrong; most end with \
                         `/v1`",
                        address_of(provider)
                    ),
                    None => String::new(),
                };
                broken(what, format!("{text}, but it cannot be used. {error}.{next}"))
            }
        },
    }
}
