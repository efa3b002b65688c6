//! The measurements, with their targets.

use std::fmt::Write as _;

use serde::Serialize;

/// All lines of one execution of this program.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

/// One number. Less is always better.
#[derive(Debug, Serialize)]
struct Line {
    target: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    must: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
}

impl Report {
    /// Adds a number that explains others.
    pub(crate) fn note(
        &mut self,
        target: &'static str,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) {
        self.lines.push(Line {
            target,
            what: what.into(),
            value,
            unit,
            must: None,
            aim: None,
            verdict: None,
        });
    }

    /// Adds a number that must be below `must` and should be below `aim`.
    pub(crate) fn target(
        &mut self,
        target: &'static str,
        what: impl Into<String>,
        (value, unit): (f64, &'static str),
        must: f64,
        aim: Option<f64>,
    ) {
        let verdict = match aim {
            Some(aim) if value <= aim => "aim",
            _ if value <= must => "must",
            // Also if there is no number at all.
            _ => MISSED,
        };
        let line =
            Line { target, what: what.into(), value, unit, must: Some(must), aim, verdict: Some(verdict) };
        self.lines.push(line);
    }

    /// Whether a target is missed.
    pub(crate) fn missed(&self) -> bool {
        self.lines.iter().any(|line| line.verdict == Some(MISSED))
    }

    pub(crate) fn table(&self) -> String {
        let mut out = format!(
            "{:4} {:62} {:>12} {:6} {:>8} {:>8}  {}\n",
            "", "", "measured", "", "must", "aim", "reached"
        );
        let bound = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        for line in &self.lines {
            let (must, aim) = (bound(line.must), bound(line.aim));
            let verdict = line.verdict.unwrap_or_default();
            let value = number(line.value);
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{:4} {:62} {value:>12} {:6} {must:>8} {aim:>8}  {verdict}",
                line.target, line.what, line.unit
            );
        }
        out
    }

    pub(crate) fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(&self.lines)? + "\n")
    }
}

const MISSED: &str = "MISSED";

/// Formats a number with three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
