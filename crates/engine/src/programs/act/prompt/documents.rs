//! The documents of a project, as sections of a prompt.

use std::{cmp::Reverse, collections::HashSet};

use entourage_types::{Document, DocumentHead, DocumentId};

use super::{
    Surroundings,
    section::{element, escaped_attribute, section},
};
use crate::programs::act::excerpt::Excerpt;

/// How many characters of all documents together a prompt shows. Beyond that it names them.
const ROOM: usize = 120_000;
/// How many characters it shows of a document that is shown whole.
const WHOLE: usize = 60_000;

/// What follows the documents if the prompt does not have all of each.
const CUT: &str = "\n\
A document that is shown in part or by name has more text than this prompt. It is not lost: whoever edits the document \
reads all of it.";

/// How much of the documents is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Excerpts (S5-R025).
    Excerpts,
    /// The whole of one, and excerpts of the others.
    WholeOf(Option<DocumentId>),
}

impl Shown {
    fn most(self, document: &Document) -> Option<usize> {
        (self == Self::WholeOf(Some(document.head.id))).then_some(WHOLE)
    }

    fn excerpt(self, document: &Document) -> Excerpt<'_> {
        match self.most(document) {
            Some(most) => Excerpt::within(&document.content, most),
            None => Excerpt::of(&document.content),
        }
    }
}

/// Returns the beginning and the end of a text of any length.
pub(super) fn excerpt(text: &str) -> String {
    Excerpt::of(text).text().to_owned()
}

/// Renders all documents of a project (S5-R023, S5-R024), in the order of their ids.
pub(super) fn render(around: Surroundings<'_>, shown: Shown) -> String {
    let mut documents: Vec<&Document> = around.documents.iter().collect();
    documents.sort_by_key(|document| document.head.number);
    let with_content = with_content(&documents, around.open, shown);
    let mut all_whole = true;
    let mut list = String::new();
    for document in &documents {
        let content = with_content.contains(&document.head.id).then(|| shown.excerpt(document));
        let (how, content) = match content {
            Some(Excerpt::Whole(content)) => ("whole", Some(section("content", &[], content))),
            Some(Excerpt::Part(content)) => ("in part", Some(section("content", &[], &content))),
            None => ("by name", None),
        };
        all_whole &= how == "whole";
        list.push('\n');
        list.push_str(&rendered(&document.head, Some(how), content));
    }
    let count = documents.len().to_string();
    let out = element("documents", &[("count", &count)], &format!("{list}\n"));
    if all_whole { out } else { out + CUT }
}

/// Renders one document whole, to be written anew.
pub(super) fn whole(document: &Document) -> String {
    rendered(&document.head, None, Some(section("content", &[], &document.content)))
}

/// Returns the documents whose content there is room for: first the ones that the user most likely means.
fn with_content(documents: &[&Document], open: Option<DocumentId>, shown: Shown) -> HashSet<DocumentId> {
    let mut likely = documents.to_vec();
    let is_meant = |document: &Document| Some(document.head.id) == open || shown.most(document).is_some();
    likely.sort_by_key(|document| (!is_meant(document), Reverse(document.head.updated)));
    let mut room = ROOM;
    let fits = |document: &&&Document| {
        let standing = excerpt(&document.head.standing_instruction).len();
        room.checked_sub(shown.excerpt(document).text().len() + standing).map(|left| room = left).is_some()
    };
    likely.iter().take_while(fits).map(|document| document.head.id).collect()
}

fn rendered(head: &DocumentHead, shown: Option<&str>, content: Option<String>) -> String {
    let (id, name) = (head.number.to_string(), escaped_attribute(&head.name));
    let mut attributes = vec![("id", id.as_str()), ("name", &name)];
    attributes.extend(shown.map(|how| ("shown", how)));
    let standing = section("standing_instruction", &[], &excerpt(&head.standing_instruction));
    let content = content.map(|content| format!("{content}\n")).unwrap_or_default();
    element("document", &attributes, &format!("\n{standing}\n{content}"))
}
