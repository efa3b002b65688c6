//! A page as text that a model can read.
//!
//! A page is whatever a stranger sent, and what parses and converts it was not made against
//! strangers: a few kilobytes can ask the parser for gigabytes (unclosed formatting elements are
//! opened again in every block), and deep nesting can exhaust the stack of what works recursively,
//! which would end the whole house. So the parser is fed by the spoonful and stopped when the tree
//! outgrows its measure, and a tree too deep goes no further.

use std::time::{Duration, Instant};

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use html5ever::{
    ParseOpts,
    tendril::{StrTendril, TendrilSink},
    tree_builder::TreeBuilderOpts,
};

use crate::{Error, Result};

/// Nodes in a page's tree, at most.
const MOST_NODES: usize = 200_000;
/// Elements inside elements, at most.
const DEEPEST: usize = 256;
/// How long parsing may take: its work can grow with the square of the page.
const LONGEST: Duration = Duration::from_secs(10);
/// What the parser is given between two looks at its tree, in bytes: small, because each of its
/// tags may copy all elements that are still open.
const SPOON: usize = 64;

/// A page's title and its text as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) text: String,
}

/// The readable part of an HTML page; all of it where no article can be told from the rest.
pub(super) fn page(html: &str, url: &str) -> Result<Page> {
    let document = parse(html)?;
    if is_deeper_than(&document, DEEPEST) {
        return Err(too_much("its elements are nested too deeply"));
    }
    let title = document.select("title").text().trim().to_owned();
    document.select("script, style, noscript, template").remove();
    let whole = document.html();
    let article = Readability::with_document(document, Some(url), Some(Config::default()))
        .and_then(|mut reader| reader.parse())
        .ok()
        .filter(|article| !article.text_content.trim().is_empty());
    let (title, html) = match &article {
        Some(article) if !article.title.is_empty() => (article.title.clone(), &article.content),
        Some(article) => (title, &article.content),
        None => (title, &whole),
    };
    let converter = HtmlToMarkdown::builder().skip_tags(vec!["head", "title", "svg"]).build();
    let text =
        converter.convert(html).map_err(|error| Error::Failed(format!("the page has no text: {error}")))?;
    Ok(Page { title, text: text.trim().to_owned() })
}

fn parse(html: &str) -> Result<Document> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = html5ever::parse_document(Document::default(), options);
    let started = Instant::now();
    let mut rest = html;
    while !rest.is_empty() {
        let (spoonful, tail) = rest.split_at(rest.floor_char_boundary(SPOON));
        parser.process(StrTendril::from(spoonful));
        if parser.tokenizer.sink.sink.tree.len() > MOST_NODES {
            return Err(too_much("it has too many elements"));
        }
        if started.elapsed() > LONGEST {
            return Err(too_much("it takes too long to read"));
        }
        rest = tail;
    }
    Ok(parser.finish())
}

fn too_much(why: &str) -> Error {
    Error::Failed(format!("the page is not made for reading: {why}. Try another address"))
}

/// Whether the tree has more levels than this. Walks without recursion.
fn is_deeper_than(document: &Document, most: usize) -> bool {
    let mut node = document.root();
    let mut depth = 0;
    loop {
        if let Some(child) = node.first_child() {
            depth += 1;
            if depth > most {
                return true;
            }
            node = child;
            continue;
        }
        loop {
            if depth == 0 {
                return false;
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            let Some(parent) = node.parent() else { return false };
            depth -= 1;
            node = parent;
        }
    }
}
