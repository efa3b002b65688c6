//! Markdown of models and people as markup: what of it a page may have, and nothing else.
//!
//! Raw HTML becomes text before there is markup, and what then comes out passes a list of elements and attributes. So a
//! text has no class, no id, no style, no attribute of htmx and no image, and htmx looks at none of it.

use std::{
    collections::{HashMap, HashSet},
    fmt::{self, Write},
    sync::LazyLock,
};

use ammonia::{Builder, UrlRelative};
use askama::{Template, Values, filter_fn, filters::Safe};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::write_html_fmt};

use super::filters::Visible;

/// Longer texts are shown as they are written, in bytes.
const LONGEST: usize = 64 << 10;
/// So are those with more elements within each other, which nobody writes for readers.
const DEEPEST: usize = 24;
/// And those with more markup than this, such as tables with few of their cells filled, in bytes.
const MOST: usize = 4 * LONGEST;

/// What a text may have: elements without classes and ids, and links that lead to other sites.
static ALLOWED: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let inline = ["a", "br", "code", "del", "em", "strong"];
    let blocks = ["blockquote", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"];
    let tables = ["table", "tbody", "td", "th", "thead", "tr"];
    let attributes = [("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))];
    let mut allowed = Builder::empty();
    allowed
        .tags(inline.into_iter().chain(blocks).chain(tables).collect())
        .tag_attributes(HashMap::from(attributes))
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .attribute_filter(|_, attribute, value| {
            (attribute != "href" || leads_away(value)).then_some(value.into())
        })
        .link_rel(Some("noopener noreferrer nofollow"))
        // What is too wide or too high is scrolled by keyboard, too.
        .set_tag_attribute_value("pre", "tabindex", "0")
        .set_tag_attribute_value("table", "tabindex", "0");
    allowed
});

/// Whether an address leads to another site, or begins a mail. One with the scheme of the page and no host, such as
/// `http:/path`, is an address of the page's own site.
fn leads_away(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    let host = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    let has_host =
        host.is_some_and(|host| host.starts_with(|char: char| char.is_alphanumeric() || char == '['));
    has_host || lower.starts_with("mailto:")
}

/// A text that is shown as it is written.
#[derive(Template)]
#[template(source = r#"<p class="text">{{ text }}</p>"#, ext = "html")]
struct Plain<'a> {
    text: Visible<'a>,
}

/// Markdown as markup, in an element of its own.
#[filter_fn]
pub(super) fn markdown(text: impl fmt::Display, _: &dyn Values) -> askama::Result<Safe<String>> {
    let text = text.to_string();
    Ok(Safe(match marked_up(&text) {
        Some(markup) => format!("<div class=\"markdown\" hx-ignore>{}</div>", Visible(&markup)),
        None => Plain { text: Visible(&text) }.render()?,
    }))
}

/// The words of a Markdown text, without its markup.
#[filter_fn]
pub(super) fn unmarked(text: impl fmt::Display, _: &dyn Values) -> askama::Result<String> {
    Ok(words(&text.to_string()))
}

fn words(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let mut words = String::with_capacity(text.len());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                words.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => words.push(' '),
            Event::End(end) if !is_within_line(end) => words.push(' '),
            _ => {}
        }
    }
    words.trim().to_owned()
}

/// Whether what ends stands among other words.
fn is_within_line(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// The markup of a text, in which characters that cannot be seen are still themselves: references to them are resolved.
fn marked_up(text: &str) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let (mut events, mut depth, mut written) = (Vec::new(), 0_usize, Written::default());
    for event in parser {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
        written.add(event, &mut events);
    }
    let mut markup = Bounded(String::with_capacity(text.len() * 3 / 2));
    write_html_fmt(&mut markup, events.into_iter()).ok()?;
    Some(ALLOWED.clean(&markup.0).to_string())
}

/// How far the text is written.
#[derive(Default)]
struct Written {
    /// The level of the last heading below the page's own.
    level: usize,
    /// Where an image leads to whose description has not come.
    undescribed: Option<String>,
}

impl Written {
    /// Adds an event as a page may show it.
    fn add<'t>(&mut self, event: Event<'t>, events: &mut Vec<Event<'t>>) {
        let event = match event {
            Event::Html(text) => {
                events.push(Event::Text(text));
                Event::HardBreak
            }
            Event::InlineHtml(text) => Event::Text(text),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            // People end lines where they want them to end.
            Event::SoftBreak => Event::HardBreak,
            Event::Start(Tag::Heading { level, id, classes, attrs }) => {
                let wanted = level as usize;
                self.level = wanted.min(self.level + 1);
                Event::Start(Tag::Heading { level: below(self.level), id, classes, attrs })
            }
            Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(below(self.level))),
            // An image would tell its server who reads the text, and when.
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                self.undescribed = Some(dest_url.to_string());
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            Event::End(TagEnd::Image) => {
                if let Some(path) = self.undescribed.take() {
                    events.push(Event::Text(path.into()));
                }
                Event::End(TagEnd::Link)
            }
            other => other,
        };
        if matches!(event, Event::Text(_) | Event::Code(_)) {
            self.undescribed = None;
        }
        events.push(event);
    }
}

/// The level of a heading in a text: below the title of the page, and no more than one below the heading before it.
fn below(level: usize) -> HeadingLevel {
    HeadingLevel::try_from(level + 1).unwrap_or(HeadingLevel::H6)
}

/// A text that ends where it would be too long.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        marked_up(text).map(|markup| Visible(&markup).to_string()).expect("markup")
    }

    #[test]
    fn where_a_line_is_all_there_is_a_text_has_its_words_alone() {
        for (text, line) in [
            ("**bold** `code` ~~gone~~", "bold code gone"),
            ("# One\n\n- two\n- [three](https://a.example)", "One  two three"),
            ("|a|b|\n|-|-|\n|1|2|", "a b 1 2"),
            ("<b>raw</b> 2 * 3", "<b>raw</b> 2 * 3"),
        ] {
            assert_eq!(
                words(text).split_whitespace().collect::<Vec<_>>().join(" "),
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            );
        }
    }

    #[test]
    fn what_people_write_is_marked_up() {
        let links = "rel=\"noopener noreferrer nofollow\"";
        for (text, markup) in [
            ("one\ntwo", "<p>one<br>\ntwo</p>".to_owned()),
            ("**bold** *slanted* ~~gone~~ `code`", "<p><strong>bold</strong> <em>slanted</em> <del>gone</del> <code>code</code></p>".to_owned()),
            ("3. c\n4. d", "<ol start=\"3\">\n<li>c</li>\n<li>d</li>\n</ol>".to_owned()),
            ("```rust\nlet a = \"<b>\";\n```", "<pre tabindex=\"0\"><code>let a = \"&lt;b&gt;\";\n</code></pre>".to_owned()),
            ("# One\n### Three\n# One", "<h2>One</h2>\n<h3>Three</h3>\n<h2>One</h2>".to_owned()),
            ("[there](https://a.example/?b=c&d)", format!("<p><a href=\"https://a.example/?b=c&amp;d\" {links}>there</a></p>")),
            ("<mailto:a@b.example>", format!("<p><a href=\"mailto:a@b.example\" {links}>mailto:a@b.example</a></p>")),
            ("|a|b|\n|-|:-:|\n|1|2|", "<table tabindex=\"0\"><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody></table>".to_owned()),
        ] {
            assert_eq!(shown(text).trim(), markup, "{text}");
        }
    }

    #[test]
    fn hostile_texts_have_no_markup_but_that_of_the_list() {
        for (text, parts) in [
            ("<script>alert(1)</script>", &["&lt;script&gt;alert(1)&lt;/script&gt;"][..]),
            ("a <img src=x onerror=alert(1)> b", &["&lt;img src=x onerror=alert(1)&gt;"]),
            (
                "<div hx-get=/console hx-trigger=load>\n\n*x*\n\n</div>",
                &["&lt;div hx-get=/console", "<em>x</em>", "&lt;/div&gt;"],
            ),
            ("<!-- a comment -->", &["&lt;!-- a comment --&gt;"]),
            ("![seen](https://evil.example/?who)", &["href=\"https://evil.example/?who\"", ">seen</a>"]),
            ("![](https://evil.example/a)", &[">https://evil.example/a</a>"]),
            ("[![](https://a.example/1)](https://a.example/2)", &[">https://a.example/1</a>"]),
            (
                "[x](javascript:alert(1)) [y](JAVASCRIPT:alert(1)) [z](data:text/html,x)",
                &[">x</a>", ">y</a>", ">z</a>"],
            ),
            ("[out](/console/logout) [also](//evil.example)", &[">out</a>"]),
            ("[one](http:/console/runs) [two](http:runs)", &[">one</a>", ">two</a>"]),
            ("[one](HTTP:/runs) [two](http:\\\\runs)", &[">one</a>", ">two</a>"]),
            ("[one](https:///runs) [two](<http:// a.example>)", &[">one</a>"]),
            ("[one](http:?page) [two](https:#id)", &[">one</a>", ">two</a>"]),
            ("[a\u{202e}b](https://a.example \"title\" )", &["a⟨U+202E⟩b"]),
            (
                "&#x202e;turned &#8203;hidden `\u{200b}`",
                &["⟨U+202E⟩turned ⟨U+200B⟩hidden", "<code>⟨U+200B⟩</code>"],
            ),
            ("# x {#main .bar onclick=y}", &["<h2>x {#main .bar onclick=y}</h2>"]),
            ("`\"><b>`", &["<code>\"&gt;&lt;b&gt;</code>"]),
        ] {
            let shown = shown(text);
            for part in parts {
                assert!(shown.contains(part), "{text}: {part} in {shown}");
            }
            let lower = shown.to_lowercase();
            for (at, _) in lower.match_indices("href=\"http") {
                let rest = &lower[at + 6..];
                assert!(
                    rest.starts_with("https://evil.") || rest.starts_with("https://a."),
                    "{text}: {shown}"
                );
            }
            for word in [
                "<script",
                "<img",
                "<div",
                "<!--",
                "javascript:",
                "data:",
                "href=\"/",
                "\u{202e}",
                "\u{200b}",
                "title=",
                "lang=",
                "class=",
                " id=",
            ] {
                assert!(!lower.contains(word), "{text}: {word} in {shown}");
            }
        }
    }

    #[test]
    fn what_would_make_a_page_slow_is_shown_as_it_is_written() {
        let wide = format!("{}|\n{}|\n{}", "|a".repeat(2_000), "|-".repeat(2_000), "|b\n".repeat(2_000));
        for text in [">".repeat(1_000), "*a **b ".repeat(200), "word ".repeat(60_000), wide] {
            let bytes = marked_up(&text).map_or(0, |markup| markup.len());
            assert!(bytes <= text.len() * 3, "{} bytes of {}", bytes, text.len());
        }
        assert_eq!(marked_up(&"> ".repeat(DEEPEST + 1)), None);
        assert_eq!(marked_up(&"word ".repeat(60_000)), None);
    }
}
