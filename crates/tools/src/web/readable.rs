//! Converts a page to text that a model can read.
//!
//! A page is untrusted input, and the libraries that parse and convert it were not designed for that: a few
//! kilobytes can make the parser allocate gigabytes (it reopens unclosed formatting elements in every block),
//! and deep nesting can overflow the stack of recursive code, which would end the whole engine. So the parser
//! is fed in small portions and stopped when the tree exceeds its limits, and a tree that is too deep is not
//! processed further. The serializer scans from each special character to the end of its text, so texts are
//! cut into pieces first.

use std::time::{Duration, Instant};

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use html5ever::{
    Attribute, ParseOpts,
    tendril::{StrTendril, TendrilSink},
    tree_builder::TreeBuilderOpts,
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{Error, Result};

/// The maximum number of nodes in a page's tree.
const MOST_NODES: usize = 200_000;
/// The maximum nesting depth of elements.
const DEEPEST: usize = 256;
/// The number of new nodes after which the depth is measured again.
const LOOK_AFTER: usize = 2_000;
/// How long parsing may take: not only depth can make its time quadratic in the page's size.
const LONGEST: Duration = Duration::from_secs(3);
/// Above this number of elements the article is not extracted, which takes longer than parsing.
const MOST_ELEMENTS: usize = 50_000;
/// How many bytes the parser gets between two checks of its tree: few, because each tag may copy all elements
/// that are still open.
const SPOON: usize = 64;

/// A longer text is split into pieces of so many bytes.
const PIECE: usize = 4 * 1024;
/// The same if more than every eighth byte is a special character, or the first byte of one.
const DENSE_PIECE: usize = 256;
/// A longer attribute is removed: images and data embedded in the page.
const LONGEST_ATTRIBUTE: usize = 4 * 1024;

/// A page's title and its text as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) text: String,
}

/// Returns the readable part of an HTML page; all of it if no article can be identified. Stops early once the
/// caller no longer waits.
pub(super) fn page(html: &str, url: &str, abandoned: &CancellationToken) -> Result<Page> {
    let document = prepared(html, abandoned)?;
    let whole = document.clone();
    let config = Config { max_elements_to_parse: MOST_ELEMENTS, ..Config::default() };
    let mut reader = Readability::with_document(document, Some(url), Some(config))
        .map_err(|error| Error::Failed(format!("the page cannot be read: {error}")))?;
    let title = reader.get_article_title();
    let article = reader.parse().ok().filter(|article| !article.text_content.trim().is_empty());
    go_on(abandoned)?;
    let (title, html) = match article {
        Some(article) => (article.title.into(), article.content),
        None => {
            make_absolute(&whole, url);
            (title, whole.html())
        }
    };
    go_on(abandoned)?;
    let converter = HtmlToMarkdown::builder().skip_tags(vec!["head", "title", "svg"]).build();
    let text =
        converter.convert(&html).map_err(|error| Error::Failed(format!("the page has no text: {error}")))?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Page { title, text: text.trim().to_owned() })
}

/// Returns a page's tree, ready for search and serialization: without unread elements and without long texts
/// and attributes.
fn prepared(html: &str, abandoned: &CancellationToken) -> Result<Document> {
    let document = parse(html, abandoned)?;
    document.select("script, style, noscript, template").remove();
    shorten(&document);
    Ok(document)
}

fn go_on(abandoned: &CancellationToken) -> Result<()> {
    if abandoned.is_cancelled() { Err(too_much("it takes too long to read")) } else { Ok(()) }
}

/// Cuts long texts into pieces, and removes long attributes.
fn shorten(document: &Document) {
    for node in document.root().descendants() {
        if node.is_text() {
            let text = node.text();
            let most = longest_piece(&text);
            if text.len() <= most {
                continue;
            }
            let mut rest: &str = &text;
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(rest.floor_char_boundary(most));
                node.insert_before(&document.tree.new_text(piece));
                rest = tail;
            }
            node.remove_from_parent();
        } else {
            let long = |attribute: &Attribute| attribute.value.len() > LONGEST_ATTRIBUTE;
            for attribute in node.attrs().into_iter().filter(long) {
                node.remove_attr(&attribute.name.local);
            }
        }
    }
}

fn longest_piece(text: &str) -> usize {
    let special = text.bytes().filter(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | 0xc2)).count();
    if special > text.len() / 8 { DENSE_PIECE } else { PIECE }
}

/// Makes links absolute, as in an extracted article, so that they can be followed.
fn make_absolute(document: &Document, url: &str) {
    let Ok(base) = Url::parse(url) else { return };
    for link in document.select("a[href]").nodes() {
        if let Some(url) = link.attr("href").and_then(|href| base.join(&href).ok()) {
            link.set_attr("href", url.as_str());
        }
    }
}

fn parse(html: &str, abandoned: &CancellationToken) -> Result<Document> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = html5ever::parse_document(Document::default(), options);
    let started = Instant::now();
    let mut next_look = LOOK_AFTER;
    let mut rest = html;
    while !rest.is_empty() {
        let (spoonful, tail) = rest.split_at(rest.floor_char_boundary(SPOON));
        parser.process(StrTendril::from(spoonful));
        let document = &parser.tokenizer.sink.sink;
        let nodes = document.tree.len();
        if nodes > MOST_NODES {
            return Err(too_much("it has too many elements"));
        }
        if started.elapsed() > LONGEST {
            return Err(too_much("it takes too long to read"));
        }
        go_on(abandoned)?;
        if nodes > next_look {
            check_depth(document)?;
            next_look = nodes + LOOK_AFTER;
        }
        rest = tail;
    }
    let document = parser.finish();
    check_depth(&document)?;
    Ok(document)
}

fn too_much(why: &str) -> Error {
    Error::Failed(format!("the page is not made for reading: {why}. Try another address"))
}

/// Refuses a tree that is too deep. Walks it without recursion.
fn check_depth(document: &Document) -> Result<()> {
    let mut node = document.root();
    let mut depth = 0;
    loop {
        if let Some(child) = node.first_child() {
            depth += 1;
            if depth > DEEPEST {
                return Err(too_much("its elements are nested too deeply"));
            }
            node = child;
            continue;
        }
        loop {
            if depth == 0 {
                return Ok(());
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            let Some(parent) = node.parent() else { return Ok(()) };
            depth -= 1;
            node = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The serializer scans from each special character to the end of its text or attribute, which takes
    /// quadratic time.
    #[test]
    fn long_texts_are_split_and_long_attributes_removed_before_serializing() {
        let (text, value) = ("&©".repeat(100_000), "&".repeat(5_000));
        assert_eq!([longest_piece(&text), longest_piece("a plain text & more")], [DENSE_PIECE, PIECE]);
        let page = format!("<p id='{value}' class='a'>{text}<b>end</b></p>");
        let document = prepared(&page, &CancellationToken::new()).unwrap();
        let texts: Vec<usize> = document
            .root()
            .descendants()
            .iter()
            .filter(|node| node.is_text())
            .map(|node| node.text().len())
            .collect();
        assert!(texts.len() > 50 && texts.iter().all(|length| *length <= DENSE_PIECE), "{texts:?}");
        assert_eq!(document.select("p").text().to_string(), format!("{text}end"));
        assert_eq!((document.select("p").attr("id"), document.select("p").has_attr("class")), (None, true));
    }

    #[test]
    fn a_cancelled_reading_of_a_page_ends_with_an_error() {
        let abandoned = CancellationToken::new();
        abandoned.cancel();
        assert!(page("<p>text</p>", "http://a.example/", &abandoned).is_err());
    }
}
