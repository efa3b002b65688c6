//! How pages write what they show: the filters of their templates.

use std::fmt::{self, Display};

use askama::{Template, Values, filter_fn, filters::Safe};
use axum::response::Html;
use entourage_api::{Question, Tally};
use entourage_types::{Cost, QuestionStatus, ShownStatus, Time, WaitingOn, one_line, shows_in};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

pub(super) use super::markdown::{markdown, unmarked};
use super::shell::unrendered;
use crate::Problem;

/// How much of a text stands on a page with others, in bytes.
pub(super) const LONG: usize = 32 << 10;

/// An HTML response.
pub(super) fn rendered(template: &impl Template) -> Result<Html<String>, Problem> {
    template.render().map(Html).map_err(|error| unrendered(&error))
}

/// Foreign text for people: characters that show nothing, or turn the direction of reading, are written as their codes.
pub(super) struct Visible<'a>(pub(super) &'a str);

impl Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut before, mut from) = (None, 0);
        for (at, char) in self.0.char_indices() {
            let is_break = char == '\r' && self.0[at..].starts_with("\r\n");
            if !is_break && !shows_in(&mut before, char) {
                write!(f, "{}⟨U+{:04X}⟩", &self.0[from..at], u32::from(char))?;
                from = at + char.len_utf8();
            }
        }
        f.write_str(&self.0[from..])
    }
}

/// Foreign text for people, as [`Visible`].
#[filter_fn]
pub(super) fn visible(text: impl Display, _: &dyn Values) -> askama::Result<String> {
    Ok(Visible(&text.to_string()).to_string())
}

/// How a question has ended, in a word or two: one whose time has not come has ended with the work that asks it.
pub(super) fn how_it_ended(question: &Question) -> String {
    let is_over = |due: Time| due <= question.updated;
    match question.status {
        QuestionStatus::Expired if !question.due.is_some_and(is_over) => {
            "not answered: the work that asked has ended".to_owned()
        }
        status => status.to_string(),
    }
}

/// The same, in a page.
#[filter_fn]
pub(super) fn ended(question: &Question, _: &dyn Values) -> askama::Result<String> {
    Ok(how_it_ended(question))
}

/// The first characters of a text on one line.
#[filter_fn]
pub(super) fn short(text: impl Display, _: &dyn Values, most: usize) -> askama::Result<String> {
    let text = text.to_string();
    // The rest is not looked at: it may be megabytes.
    let line = one_line(&text[..text.floor_char_boundary(most.saturating_mul(16))]);
    Ok(match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}

/// A value as people read it: as JSON in lines.
#[filter_fn]
pub(super) fn pretty(value: &Value, _: &dyn Values) -> askama::Result<String> {
    Ok(pretty_json(value))
}

/// A value as JSON that a person may edit: what cannot be seen is escaped.
#[filter_fn]
pub(super) fn editable(value: &Value, _: &dyn Values) -> askama::Result<String> {
    let mut before = None;
    Ok(escaped(&pretty_json(value), |char| char == '\n' || shows_in(&mut before, char)))
}

/// JSON in which all characters but those that are kept are escapes; those of its syntax must be kept.
pub(super) fn escaped(json: &str, mut keeps: impl FnMut(char) -> bool) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut written, char| {
        if keeps(char) {
            written.push(char);
        } else {
            let mut units = [0; 2];
            written.extend(char.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
        written
    })
}

/// Whether a value is short enough for a page with others.
#[filter_fn]
pub(super) fn is_short(value: &Value, _: &dyn Values) -> askama::Result<bool> {
    Ok(pretty_json(value).len() <= LONG)
}

/// What went wrong, without the advice to look for the cause elsewhere: it is on the page, or a link leads to it.
#[filter_fn]
pub(super) fn without_log(text: impl Display, _: &dyn Values) -> askama::Result<String> {
    let text = text.to_string();
    Ok(text.strip_suffix("; the operator finds the cause in the log").map_or(text.clone(), str::to_owned))
}

/// The beginning of a text that would make a page slow.
#[filter_fn]
pub(super) fn beginning(text: impl Display, _: &dyn Values) -> askama::Result<String> {
    Ok(cut(text.to_string()))
}

/// A value as JSON on one line.
#[filter_fn]
pub(super) fn compact(value: &Value, _: &dyn Values) -> askama::Result<String> {
    Ok(value.to_string())
}

/// What something cost; the exact amount is the title, where it has more digits.
#[filter_fn]
pub(super) fn money(cost: &Cost, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(exactly(*cost)))
}

/// What model calls cost, as far as it is known.
#[filter_fn]
pub(super) fn spent(tally: &Tally, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(match (tally.cost.nanos(), tally.unpriced) {
        (_, 0) => exactly(tally.cost),
        (0, _) => "unknown".to_owned(),
        _ => format!("{} + unknown", exactly(tally.cost)),
    }))
}

/// A moment to the minute, where a script cannot write it as people read it.
#[filter_fn]
pub(super) fn minute(at: &Time, _: &dyn Values) -> askama::Result<String> {
    let text = at.to_string();
    Ok(text.get(..16).map_or_else(|| text.clone(), |begin| format!("{} UTC", begin.replace('T', " "))))
}

/// A number in groups of three digits.
#[filter_fn]
pub(super) fn grouped(number: &u64, _: &dyn Values) -> askama::Result<String> {
    Ok(in_groups(*number))
}

/// The shape of a status, beside its word.
#[filter_fn]
pub(super) fn shape(status: &ShownStatus, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(match status {
        ShownStatus::Idle => "○",
        ShownStatus::Queued => "◌",
        ShownStatus::Running => "●",
        ShownStatus::Waiting => "◐",
        ShownStatus::Succeeded => "✓",
        ShownStatus::Failed => "✕",
        ShownStatus::Stopped => "■",
        ShownStatus::Cancelled => "⊘",
    })
}

/// What a waiting agent waits for, in a word or two.
#[filter_fn]
pub(super) fn waits_for(on: &WaitingOn, _: &dyn Values) -> askama::Result<&'static str> {
    Ok(waits_on(*on))
}

/// What a waiting agent waits for, in a word or two.
pub(super) const fn waits_on(on: WaitingOn) -> &'static str {
    match on {
        WaitingOn::User => "for a person",
        WaitingOn::Agent => "for another agent",
        WaitingOn::Timer => "for a time",
        WaitingOn::Retry => "for a retry",
        WaitingOn::Resume => "paused",
    }
}

/// How long something took, given in microseconds.
#[filter_fn]
pub(super) fn lasted(micros: &u64, _: &dyn Values) -> askama::Result<String> {
    Ok(duration(*micros))
}

/// How long something took, given in milliseconds.
#[filter_fn]
pub(super) fn lasted_ms(millis: &u64, _: &dyn Values) -> askama::Result<String> {
    Ok(duration(millis.saturating_mul(1000)))
}

/// A number of units of a drawing.
#[filter_fn]
pub(super) fn tenths(number: &f64, _: &dyn Values) -> askama::Result<String> {
    Ok(format!("{number:.1}"))
}

/// Which share of a whole this is.
#[filter_fn]
pub(super) fn share(part: &u64, _: &dyn Values, whole: &u64) -> askama::Result<String> {
    Ok(part
        .saturating_mul(100)
        .checked_div(*whole)
        .map_or_else(|| "0 %".to_owned(), |share| format!("{share} %")))
}

/// A text as the id of an element.
#[filter_fn]
pub(super) fn as_id(text: impl Display, _: &dyn Values) -> askama::Result<String> {
    let word = |char: char| if char.is_ascii_alphanumeric() || char == '_' { char } else { '-' };
    Ok(text.to_string().chars().map(word).collect())
}

/// What an agent is called: by its kind, where it has no title.
#[filter_fn]
pub(super) fn title_or(title: impl Display, _: &dyn Values, kind: &str) -> askama::Result<String> {
    Ok(title_of(&title.to_string(), kind).to_owned())
}

/// The beginning of a text that would make a page slow.
pub(super) fn cut(text: String) -> String {
    if text.len() <= LONG {
        return text;
    }
    let end = text.floor_char_boundary(LONG);
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

/// A text as a part of a path or a query.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The query of a link: a parameter that it has, and those that it may have.
pub(super) fn query<'n>(
    name: &str,
    value: &str,
    more: impl IntoIterator<Item = (&'n str, Option<String>)>,
) -> String {
    let mut query = format!("{name}={}", encoded(value));
    for (name, value) in more {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", encoded(&value)));
        }
    }
    query
}

/// What an agent is called.
pub(super) fn title_of<'a>(title: &'a str, kind: &'a str) -> &'a str {
    if title.trim().is_empty() { kind } else { title }
}

pub(super) fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

pub(super) fn duration(micros: u64) -> String {
    let millis = micros / 1000;
    match millis {
        0 => format!("{micros} µs"),
        1..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis / 1000 % 60),
        _ => format!("{} h {} min", millis / 3_600_000, millis / 60_000 % 60),
    }
}

/// An amount, with the exact one as its title where that has more digits.
fn exactly(cost: Cost) -> String {
    let (shown, exact) = (amount(cost), dollars(cost.nanos(), 9));
    if shown == exact { shown } else { format!("<span title=\"{exact}\">{shown}</span>") }
}

/// An amount to the hundredth of a cent, whatever it is: a sum is as exact as its parts.
fn amount(cost: Cost) -> String {
    const UNIT: u64 = 100_000;
    match cost.nanos() {
        0 => "$0".to_owned(),
        1..UNIT => "&lt;$0.0001".to_owned(),
        nanos => dollars((nanos.saturating_add(UNIT / 2)) / UNIT, 4),
    }
}

/// So many units of which a dollar has ten to this power, without needless zeros.
fn dollars(units: u64, digits: usize) -> String {
    let written = format!("{units:0>width$}", width = digits + 1);
    let (whole, part) = written.split_at(written.len() - digits);
    let part = part.trim_end_matches('0');
    if whole == "0" && part.is_empty() { "$0".to_owned() } else { format!("${whole}.{part:0<2}") }
}

fn in_groups(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_as_its_code() {
        for (text, shown) in [
            ("plain\n\tä €", "plain\n\tä €"),
            ("a\u{202e}b", "a⟨U+202E⟩b"),
            ("zero\u{200b}width", "zero⟨U+200B⟩width"),
            ("\u{1b}[31m", "⟨U+001B⟩[31m"),
            ("one\r\ntwo\rthree", "one\r\ntwo⟨U+000D⟩three"),
        ] {
            assert_eq!(Visible(text).to_string(), shown);
        }
    }

    #[test]
    fn durations_have_the_units_that_matter() {
        for (micros, shown) in [
            (12, "12 µs"),
            (3_400, "3 ms"),
            (1_250_000, "1.2 s"),
            (61_000_000, "1 min 1 s"),
            (7_260_000_000, "2 h 1 min"),
        ] {
            assert_eq!(duration(micros), shown);
        }
    }

    #[test]
    fn amounts_have_the_digits_that_matter() {
        for (nanos, shown) in [
            (0, "$0"),
            (1_500_000_000, "$1.50"),
            (13_500_000, "$0.0135"),
            (1_234_000, "<span title=\"$0.001234\">$0.0012</span>"),
            (2_000_049_999, "<span title=\"$2.000049999\">$2.00</span>"),
            (7, "<span title=\"$0.000000007\">&lt;$0.0001</span>"),
        ] {
            assert_eq!(exactly(Cost::from_nanos(nanos)), shown);
        }
        assert_eq!([1, 1_000, 1_234_567].map(in_groups), ["1", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
    }
}
