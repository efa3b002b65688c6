//! Formats questions for a user. For an approval the program itself shows the call, not a text about it,
//! behind a margin, so that nothing in the call can pass for a line of the program.

use entourage_api::Question;
use entourage_types::About;

use super::{
    describe,
    paint::Paint,
    screen,
    text::{Text, block, text},
};

/// The kind that asks and its question, on one line.
pub(crate) fn in_short(question: &Question, paint: Paint) -> Text {
    let asked = match &question.proposal {
        Some(proposal) => describe::short(&format!("{} {}", proposal.tool, proposal.arguments)),
        None => describe::short(&question.text),
    };
    text![lead(question, paint), " ", asked]
}

/// The same with its id, by which it is answered.
pub(crate) fn with_id(question: &Question, paint: Paint) -> Text {
    text![in_short(question, paint), " ", paint.dim(format!("({})", question.id))]
}

/// The whole question, with its options and its deadline; each line with its end.
pub(crate) fn in_full(question: &Question, paint: Paint) -> Text {
    let columns = screen::columns();
    let mut whole = text![lead(question, paint)];
    let mut below = |text: &str| {
        for row in block(text, columns) {
            whole.push(text!["\n", row]);
        }
    };
    match &question.proposal {
        Some(proposal) => {
            below(&format!("{} {}", proposal.tool, describe::arguments(&proposal.arguments)));
            if let Some(rule) = &proposal.rule {
                below(&format!("the rule: {rule}"));
            }
        }
        None if is_short(question, columns) => whole.push(text![" ", &question.text]),
        None => below(&question.text),
    }
    for (number, option) in (1..).zip(&question.options) {
        let option = describe::cut(option, columns.saturating_sub(8));
        whole.push(text!["\n  ", paint.dim(format!("{number})")), " ", option]);
    }
    if let Some(limit) = describe::limit(question) {
        whole.push(text!["\n  ", paint.dim(limit)]);
    }
    text![whole, "\n"]
}

fn lead(question: &Question, paint: Paint) -> Text {
    let asks = match question.about {
        About::Information => " asks:",
        About::Approval => " asks for approval to call:",
        About::Doubt => " may or may not have called:",
    };
    text![paint.yellow("?"), " ", paint.bold(&question.kind), asks]
}

/// Whether a question fits on the line that names the asking kind.
fn is_short(question: &Question, columns: usize) -> bool {
    let Question { text, kind, .. } = question;
    !text.contains('\n') && text![kind, text].width() + " ? asks:  ".len() < columns
}
