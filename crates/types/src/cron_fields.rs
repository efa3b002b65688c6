//! The fields of a cron expression: what each takes, and what is wrong with one that takes something else.

/// A field of a cron expression.
struct Field {
    name: &'static str,
    first: u32,
    last: u32,
    /// Words for its values, from the first one on.
    words: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { name: "minute", first: 0, last: 59, words: &[] },
    Field { name: "hour", first: 0, last: 23, words: &[] },
    Field { name: "day of month", first: 1, last: 31, words: &[] },
    Field { name: "month", first: 1, last: 12, words: MONTHS },
    Field { name: "day of week", first: 0, last: 7, words: DAYS },
];

/// Checks the five fields of an expression. Each is a list of values, of ranges, or of steps through a range or through
/// `*`: what all crons take alike, and nothing that some of them add.
///
/// # Errors
/// What is wrong with which field.
pub(crate) fn check(expression: &str) -> Result<(), String> {
    let given: Vec<&str> = expression.split_whitespace().collect();
    if given.len() != FIELDS.len() {
        let s = if given.len() == 1 { "" } else { "s" };
        return Err(format!("it has {} field{s}, not {}", given.len(), FIELDS.len()));
    }
    FIELDS.iter().zip(given).try_for_each(|(field, given)| field.check(given))
}

impl Field {
    fn check(&self, given: &str) -> Result<(), String> {
        given.split(',').try_for_each(|part| match part.split_once('/') {
            None => self.range(part).map(drop),
            Some((range, step)) => match (self.range(range)?, step.parse::<u32>()) {
                (first, _) if !range.contains(['*', '-']) => Err(format!(
                    "the {} `{part}` has a step, which follows `*` or a range: `{first}-{}/{step}`",
                    self.name, self.last
                )),
                (_, Ok(1..=59)) => Ok(()),
                _ => Err(format!("the step of the {} `{part}` is no number from 1 to 59", self.name)),
            },
        })
    }

    /// Checks a range, a value, or `*`, and returns where it begins.
    fn range(&self, given: &str) -> Result<u32, String> {
        if given == "*" {
            return Ok(self.first);
        }
        let (first, last) = given.split_once('-').unwrap_or((given, given));
        let (begin, end) = (self.value(first, given)?, self.value(last, given)?);
        if begin > end {
            return Err(format!("the {} `{given}` ends before it begins", self.name));
        }
        Ok(begin)
    }

    /// Reads a value of a part of the field, which the error names.
    fn value(&self, given: &str, part: &str) -> Result<u32, String> {
        let Self { name, first, last, words } = self;
        let word = words.iter().zip(*first..).find(|(word, _)| word.eq_ignore_ascii_case(given));
        let number = given.parse().ok().filter(|number| given.len() <= 2 && (first..=last).contains(&number));
        word.map(|(_, value)| value).or(number).ok_or_else(|| {
            let taken = match words {
                [] => format!("no number from {first} to {last}"),
                [word, ..] => format!("neither a number from {first} to {last} nor a word such as `{word}`"),
            };
            match given {
                "" => format!("the {name} `{part}` is {taken}"),
                given => format!("the {name} `{given}` is {taken}"),
            }
        })
    }
}
