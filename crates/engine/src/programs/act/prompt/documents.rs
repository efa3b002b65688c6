//! The documents of a project, as sections of a prompt.

use std::{cmp::Reverse, collections::HashSet};

use entourage_types::{Document, DocumentHead, DocumentId};

use super::{
    Surroundings,
    section::{element, escaped_attribute, section},
};
use crate::programs::act::excerpt::{DocumentExcerpt, Excerpt};

/// How many characters of all documents together a prompt shows. Beyond that it names them.
const ROOM: usize = 120_000;
/// How many characters it shows of a document that is shown whole.
const WHOLE: usize = 60_000;

/// What follows the documents if the prompt does not have all of each.
const CUT: &str = "\n\
A document that is shown in part or by name has more text than this prompt. It is not lost: whoever edits the document \
reads all of it.";

/// Returns the beginning and the end of a text of any length.
pub(super) fn excerpt(text: &str) -> String {
    Excerpt::of(text).text
}

/// Renders all documents of a project (S5-R023, S5-R024), in the order of their ids: excerpts (S5-R025), and much more of
/// the one that the message is about.
pub(super) fn render(around: Surroundings<'_>, about: Option<&Document>) -> String {
    let longer = about.map(|about| (about.head.id, Excerpt::within(&about.content, WHOLE)));
    let mut documents: Vec<(&DocumentHead, &Excerpt)> = Vec::with_capacity(around.documents.len());
    for DocumentExcerpt { head, content } in around.documents {
        let longer = longer.as_ref().filter(|(id, _)| *id == head.id);
        documents.push((head, longer.map_or(content, |(_, content)| content)));
    }
    documents.sort_by_key(|(head, _)| head.number);
    let with_content = with_content(&documents, [around.open, about.map(|about| about.head.id)]);
    let mut all_whole = true;
    let mut list = String::new();
    for (head, content) in &documents {
        let content = with_content.contains(&head.id).then_some(content);
        let how = match content {
            Some(Excerpt { is_whole: true, .. }) => "whole",
            Some(Excerpt { is_whole: false, .. }) => "in part",
            None => "by name",
        };
        all_whole &= how == "whole";
        list.push('\n');
        list.push_str(&rendered(head, Some(how), content.map(|content| content.text.as_str())));
    }
    let count = documents.len().to_string();
    let out = element("documents", &[("count", &count)], &format!("{list}\n"));
    if all_whole { out } else { out + CUT }
}

/// Renders one document whole, to be written anew.
pub(super) fn whole(document: &Document) -> String {
    rendered(&document.head, None, Some(&document.content))
}

/// Returns the documents whose content there is room for: first the ones that the user most likely means.
fn with_content(
    documents: &[(&DocumentHead, &Excerpt)],
    meant: [Option<DocumentId>; 2],
) -> HashSet<DocumentId> {
    let mut likely = documents.to_vec();
    likely.sort_by_key(|(head, _)| (!meant.contains(&Some(head.id)), Reverse(head.updated)));
    let mut room = ROOM;
    let fits = |(head, content): &&(&DocumentHead, &Excerpt)| {
        let standing = excerpt(&head.standing_instruction).len();
        room.checked_sub(content.text.len() + standing).map(|left| room = left).is_some()
    };
    likely.iter().take_while(fits).map(|(head, _)| head.id).collect()
}

fn rendered(head: &DocumentHead, shown: Option<&str>, content: Option<&str>) -> String {
    let (id, name) = (head.number.to_string(), escaped_attribute(&head.name));
    let mut attributes = vec![("id", id.as_str()), ("name", &name)];
    attributes.extend(shown.map(|how| ("shown", how)));
    let standing = section("standing_instruction", &[], &excerpt(&head.standing_instruction));
    let content = content.map(|content| section("content", &[], content) + "\n").unwrap_or_default();
    element("document", &attributes, &format!("\n{standing}\n{content}"))
}
