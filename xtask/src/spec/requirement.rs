//! One line of a specification: `- **id** text. [status]`.

/// A requirement, without its text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement<'a> {
    /// Its id, such as `S1-R001`.
    pub id: &'a str,
    /// Whether tests show it.
    pub status: Status<'a>,
}

/// Whether tests show a requirement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Status<'a> {
    /// Not yet.
    Open,
    /// These tests show it, each as `file#function`.
    Met(Vec<&'a str>),
}

impl<'a> Requirement<'a> {
    /// Reads a line that begins with `- **`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(line: &'a str) -> Result<Self, &'static str> {
        let rest = line.strip_prefix("- **").ok_or("no requirement")?;
        let (id, rest) = rest.split_once("** ").ok_or("no id between `**`")?;
        let (text, status) = rest.rsplit_once(" [").ok_or("no text or no status")?;
        let status = status.strip_suffix(']').ok_or("the line does not end in its status")?;
        if text.trim().is_empty() {
            return Err("no text");
        }
        let status = match status.strip_prefix("met: ") {
            None if status == "open" => Status::Open,
            None => return Err("an unknown status"),
            Some(tests) => Status::Met(tests.split(", ").collect()),
        };
        Ok(Self { id, status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_line_is_open_or_met_by_tests() {
        let open = Requirement::parse("- **S1-R001** (derived) A `[x]` happens. [open]");
        assert_eq!(open, Ok(Requirement { id: "S1-R001", status: Status::Open }));
        let met = Requirement::parse("- **INV-01** It holds. [met: a/b.rs#c, d.rs#e]");
        assert_eq!(met, Ok(Requirement { id: "INV-01", status: Status::Met(vec!["a/b.rs#c", "d.rs#e"]) }));
    }

    #[test]
    fn a_malformed_requirement_line_is_refused() {
        for line in [
            "- **S1-R001 It happens. [open]",
            "- **S1-R001** It happens.",
            "- **S1-R001** It happens. [open].",
            "- **S1-R001** It happens. [done]",
            "- **S1-R001** It happens. [met:]",
            "- **S1-R001** [open]",
        ] {
            assert!(Requirement::parse(line).is_err(), "{line}");
        }
    }
}
