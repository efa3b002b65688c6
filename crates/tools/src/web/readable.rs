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
/// New nodes after which the depth is measured again.
const LOOK_AFTER: usize = 2_000;
/// How long parsing may take: there are more ways than depth to make its work grow with the square
/// of the page.
const LONGEST: Duration = Duration::from_secs(3);
/// Above this many elements the article is not looked for, which takes longer than parsing.
const MOST_ELEMENTS: usize = 50_000;
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
    document.select("script, style, noscript, template").remove();
    let whole = document.html();
    let config = Config { max_elements_to_parse: MOST_ELEMENTS, ..Config::default() };
    let mut reader = Readability::with_document(document, Some(url), Some(config))
        .map_err(|error| Error::Failed(format!("the page cannot be read: {error}")))?;
    let title = reader.get_article_title();
    let article = reader.parse().ok().filter(|article| !article.text_content.trim().is_empty());
    let (title, html) = match &article {
        Some(article) => (article.title.as_str(), &article.content),
        None => (&*title, &whole),
    };
    let converter = HtmlToMarkdown::builder().skip_tags(vec!["head", "title", "svg"]).build();
    let text =
        converter.convert(html).map_err(|error| Error::Failed(format!("the page has no text: {error}")))?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Page { title, text: text.trim().to_owned() })
}

fn parse(html: &str) -> Result<Document> {
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

/// Refuses a tree with too many levels. Walks without recursion.
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
