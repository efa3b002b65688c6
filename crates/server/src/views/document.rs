//! Documents, what differs between their versions, and what messages about them came to.

use entourage_api::{
    Act, ActOutcome, DiffHunk, DiffLine, DiffLineKind, DocumentDiff, DocumentHead, FoundDocument, Replaced,
};
use entourage_engine::{self as engine, ActResult};
use entourage_types::AgentId;

/// What differs between two versions.
pub(crate) fn document_diff(diff: engine::DocumentDiff) -> DocumentDiff {
    let unified = diff.to_string();
    let replaced = |texts: engine::Replaced| Replaced { before: texts.before, after: texts.after };
    DocumentDiff {
        from: diff.from,
        to: diff.to,
        name: diff.name.map(replaced),
        standing_instruction: diff.standing_instruction.map(replaced),
        hunks: diff.hunks.into_iter().map(hunk).collect(),
        unified,
    }
}

fn hunk(hunk: engine::DiffHunk) -> DiffHunk {
    let engine::DiffHunk { before, after, lines } = hunk;
    let line = |line| match line {
        engine::DiffLine::Same(text) => DiffLine { kind: DiffLineKind::Same, text },
        engine::DiffLine::Removed(text) => DiffLine { kind: DiffLineKind::Removed, text },
        engine::DiffLine::Added(text) => DiffLine { kind: DiffLineKind::Added, text },
    };
    let (before, after) = (before as u64, after as u64);
    DiffHunk { before, after, lines: lines.into_iter().map(line).collect() }
}

/// A document that a search found.
pub(crate) fn found_document(found: engine::FoundDocument) -> FoundDocument {
    FoundDocument { head: DocumentHead::from(found.head), snippet: found.snippet }
}

/// What a message came to.
pub(crate) fn act(chat: AgentId, result: ActResult) -> Act {
    let ActResult { answer, document } = result;
    let act = answer.act;
    Act {
        chat,
        run: answer.run,
        answer: answer.text,
        outcome: act.as_ref().map(|act| ActOutcome::from(act.outcome)),
        web_search_performed: act.as_ref().is_some_and(|act| act.web_search_performed),
        decision: act.map(|act| act.decision),
        document: document.map(Into::into),
    }
}
