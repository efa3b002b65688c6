//! A kind, and what a reload changed.

use entourage_api::{EarlierKind, Kind, KindFinding, KindVersion, Reloaded, Severity};
use entourage_engine::{
    KindUsage,
    kinds::{self, Finding},
};

/// A kind; its source is for the operator alone.
pub(crate) fn kind(KindUsage { kind, is_gone, open_runs, earlier }: KindUsage, is_operator: bool) -> Kind {
    let earlier = earlier.into_iter().map(|(version, open_runs)| EarlierKind { version, open_runs });
    Kind {
        name: kind.name.clone(),
        description: kind.description.clone(),
        model: kind.model.clone(),
        fallback: kind.fallback.clone(),
        tools: kind.tools.clone(),
        approval: kind.approval.iter().map(ToString::to_string).collect(),
        program: kind.program.clone(),
        program_settings: kind.program_settings.clone().filter(|_| is_operator),
        peers: kind.peers.clone(),
        reply: kind.reply,
        conversational: kind.conversational,
        guardrails: kind.guardrails.clone().into(),
        output_schema: kind.output_schema.clone(),
        temperature: kind.temperature,
        input: kind.input,
        on_limit: kind.on_limit,
        tasks: kind.tasks.clone(),
        triggers: kind.triggers.clone(),
        permanent: kind.permanent,
        limits: kind.limits.clone(),
        context: kind.context.clone(),
        effects: kind.effects.clone(),
        in_doubt: kind.in_doubt.clone(),
        source: is_operator.then(|| kind.instructions.clone()),
        version: kind.version.clone(),
        open_runs,
        earlier: earlier.collect(),
        gone: is_gone,
    }
}

pub(crate) fn kind_version(version: entourage_engine::KindVersion) -> KindVersion {
    let entourage_engine::KindVersion { kind, first_used } = version;
    let (version, description) = (kind.version.clone(), kind.description.clone());
    KindVersion { version, description, first_used }
}

pub(crate) fn reloaded(reloaded: entourage_engine::Reloaded) -> Reloaded {
    let entourage_engine::Reloaded { added, changed, removed, remarks } = reloaded;
    Reloaded { added, changed, removed, remarks: remarks.into_iter().map(finding).collect() }
}

pub(crate) fn finding(Finding { file, line, severity, text }: Finding) -> KindFinding {
    let severity = match severity {
        kinds::Severity::Mistake => Severity::Mistake,
        kinds::Severity::Remark => Severity::Remark,
    };
    KindFinding { file, line, severity, text }
}
