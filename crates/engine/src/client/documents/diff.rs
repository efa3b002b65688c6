//! What differs between two versions of a document.

use std::{fmt, time::Duration};

use entourage_store::Error as StoreError;
use entourage_types::{DocumentId, DocumentVersion};
use similar::{ChangeTag, TextDiff};
use tokio::sync::Semaphore;

use super::super::Client;
use crate::Result;

/// After this time the rest is shown as one change: texts of many lines that differ everywhere take long.
const LONGEST: Duration = Duration::from_secs(1);
/// So many comparisons are made at once, of all callers. Others wait.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// So many unchanged lines stand around changed ones.
const AROUND: usize = 3;

/// What differs between two versions of a document. [`Display`](fmt::Display) writes its lines as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentDiff {
    /// The document.
    pub document: DocumentId,
    /// The version compared.
    pub from: u64,
    /// The version that it is compared with.
    pub to: u64,
    /// The names, if they differ.
    pub name: Option<Replaced>,
    /// The standing instructions, if they differ.
    pub standing_instruction: Option<Replaced>,
    /// The stretches of the text in which lines differ.
    pub hunks: Vec<DiffHunk>,
}

/// A text in both versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// In the one.
    pub before: String,
    /// In the other.
    pub after: String,
}

/// A stretch of the text in which lines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// The number of its first line in the one version, from 1.
    pub before: usize,
    /// The number of its first line in the other.
    pub after: usize,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// A line of a diff, with its line end if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// It is in both versions.
    Same(String),
    /// It is in the one alone.
    Removed(String),
    /// It is in the other alone.
    Added(String),
}

impl Client {
    /// What differs between any two versions of a document.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for the document or a version.
    pub async fn document_diff(&self, id: DocumentId, from: u64, to: u64) -> Result<DocumentDiff> {
        // Long texts take a while, and memory. The comparison keeps its place until it ends, even if its caller has gone.
        let place = AT_ONCE.acquire().await;
        let one = self.document_version(id, from).await?;
        let other = self.document_version(id, to).await?;
        let compared = tokio::task::spawn_blocking(move || {
            let _place = place;
            compare(&one, &other)
        });
        let compared = compared.await;
        // Only a runtime that shuts down cuts it off.
        compared.map_err(|_| StoreError::Closed.into())
    }
}

fn compare(one: &DocumentVersion, other: &DocumentVersion) -> DocumentDiff {
    let replaced = |before: &String, after: &String| {
        (before != after).then(|| Replaced { before: before.clone(), after: after.clone() })
    };
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(&one.content, &other.content);
    let hunks = diff.grouped_ops(AROUND).into_iter().filter_map(|group| {
        let first = group.first()?;
        let lines = group.iter().flat_map(|op| diff.iter_changes(op)).map(|change| {
            let line = change.value().to_owned();
            match change.tag() {
                ChangeTag::Equal => DiffLine::Same(line),
                ChangeTag::Delete => DiffLine::Removed(line),
                ChangeTag::Insert => DiffLine::Added(line),
            }
        });
        let (before, after) = (first.old_range().start + 1, first.new_range().start + 1);
        Some(DiffHunk { before, after, lines: lines.collect() })
    });
    DocumentDiff {
        document: one.document,
        from: one.number,
        to: other.number,
        name: replaced(&one.name, &other.name),
        standing_instruction: replaced(&one.standing_instruction, &other.standing_instruction),
        hunks: hunks.collect(),
    }
}

impl fmt::Display for DocumentDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hunk in &self.hunks {
            let count =
                |is_counted: fn(&DiffLine) -> bool| hunk.lines.iter().filter(|line| is_counted(line)).count();
            let before = count(|line| !matches!(line, DiffLine::Added(_)));
            let after = count(|line| !matches!(line, DiffLine::Removed(_)));
            // As in every unified diff, an empty stretch has the number of the line before it.
            let [first, second] = [(hunk.before, before), (hunk.after, after)]
                .map(|(line, count)| if count == 0 { line - 1 } else { line });
            writeln!(f, "@@ -{first},{before} +{second},{after} @@")?;
            for line in &hunk.lines {
                let (mark, text) = match line {
                    DiffLine::Same(text) => (' ', text),
                    DiffLine::Removed(text) => ('-', text),
                    DiffLine::Added(text) => ('+', text),
                };
                write!(f, "{mark}{text}")?;
                if !text.ends_with('\n') {
                    writeln!(f, "\n\\ No newline at the end")?;
                }
            }
        }
        Ok(())
    }
}
