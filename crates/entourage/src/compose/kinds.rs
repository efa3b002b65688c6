//! The kinds, and what of them cannot be used.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use entourage_engine::{Engine, Kinds, kinds::Finding};
use entourage_llm::{Rehearsal, check_name};
use entourage_store::MemoryStore;

use super::choice;
use crate::{Result, Settings, settings::Sessions};

/// As many summaries as a kind may read.
const MOST_SUMMARIES: u32 = 20;

/// Removes the kinds whose cost limit cannot be enforced with the models of these settings, and returns why.
///
/// # Errors
/// [`Error::Model`](crate::Error::Model) when a kind has such a limit, and no model can be chosen.
pub async fn unpriced(settings: &Settings, kinds: &mut Kinds) -> Result<Vec<Finding>> {
    if kinds.iter().all(|kind| kind.limits.max_cost.or(kind.limits.max_tree_cost).is_none()) {
        return Ok(Vec::new());
    }
    let builder = Engine::builder(Arc::new(MemoryStore::default()), choice(settings).await?.model);
    let engine = builder.budgets(settings.budget.clone().into()).build();
    Ok(kinds.leave_out_where(|kind| engine.check_kind(kind).err()))
}

/// Removes the kinds that name guardrails, programs, or models of providers that do not exist, and returns why: a
/// program that is built from settings alone has none of its own. The same goes for kinds whose program refuses its settings.
#[must_use]
pub fn unchecked(kinds: &mut Kinds) -> Vec<Finding> {
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(Rehearsal)).build();
    kinds.leave_out_where(|kind| {
        let wrong = || kind.model.iter().chain(&kind.fallback).find_map(|model| check_name(model).err());
        let checked = engine.check_program(kind).and_then(|()| engine.check_guardrails(kind));
        checked.err().or_else(|| Some(format!("kind `{}`: {}", kind.name, wrong()?)))
    })
}

/// The built-in kinds and the user's kinds that load, and all findings.
///
/// # Errors
/// When the configured directory cannot be read.
pub fn loaded_kinds(settings: &Settings) -> Result<(Kinds, Vec<Finding>)> {
    Ok(read(settings)?)
}

/// Like [`loaded_kinds`], for the engine, which reads the kinds again while it works.
pub(super) fn read(settings: &Settings) -> entourage_engine::Result<(Kinds, Vec<Finding>)> {
    let mut kinds = Kinds::builtin();
    let mut findings = Vec::new();
    let usual = settings.kinds_directory();
    let beside = settings.agency.as_deref().map(directory_of).filter(|beside| usual.as_ref() != Some(beside));
    for directory in usual.into_iter().chain(beside) {
        findings.extend(kinds.load(&directory)?);
    }
    let Sessions { idle_minutes, summaries } = settings.sessions;
    kinds.set_sessions(idle_minutes, summaries.min(MOST_SUMMARIES));
    Ok((kinds, findings))
}

/// The directory of a file.
fn directory_of(file: &Path) -> PathBuf {
    file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")).to_owned()
}
